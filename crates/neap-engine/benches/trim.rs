//! What tool results cost before and after they are shown in short, by type, and what sessions cost that have many.
//!
//! `cargo bench -p neap-engine --bench trim`. Outputs are seeded; those of commands are of this repository.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails loudly")]

#[path = "../tests/tool_outputs/mod.rs"]
mod tool_outputs;

use std::process::Command;
use std::time::Instant;

use neap_core::base::handle::{Handle, ResultKey};
use neap_core::base::tokens::Tokens;
use neap_core::client::{LongText, trim_text};
use neap_model::bpe::counter_for;

use tool_outputs::agent::{Bill, Way, bill};
use tool_outputs::outputs;

const ENCODING: &str = "o200k_base";
const COMMANDS: [(&str, &[&str]); 4] = [
    ("git log -60", &["git", "log", "-60"]),
    ("ls -R crates", &["ls", "-R", "crates"]),
    ("grep -rn fn crates/neap-core/src", &["grep", "-rn", "fn ", "crates/neap-core/src"]),
    ("cargo metadata", &["cargo", "metadata", "--format-version", "1", "--no-deps"]),
];

/// Prints what a text costs before and after; the short form must have what is needed.
fn print_sizes(name: &str, text: &str, needed: &[String]) {
    let counter = counter_for(ENCODING);
    let handle = Handle::Result(ResultKey::new("c", text));
    let long = LongText { text, handle, key: ResultKey::text_digest(text) };
    let begun = Instant::now();
    let short = trim_text(counter.as_ref(), &long);
    let took = begun.elapsed();
    assert!(needed.iter().all(|line| short.as_deref().unwrap_or(text).contains(line)), "{name}");
    let (before, after) = (counter.count(text).0, counter.count(short.as_deref().unwrap_or(text)).0);
    println!("{name:<36} {before:>8} {after:>6} {:>5.1} %  {took:.1?}", after as f64 * 100.0 / before as f64);
    if std::env::var_os("SHOW").is_some() {
        println!("{}\n", short.unwrap_or_default());
    }
}

fn print_bill(name: &str, bill: &Bill) {
    let cached = bill.cached as f64 * 100.0 / bill.tokens as f64;
    println!(
        "  {name:<8} {:>6.2} M tokens, {cached:.1} % cached, longest {:>7}, {} cuts, ${:.2}",
        bill.tokens as f64 / 1e6,
        bill.longest,
        bill.cuts,
        bill.dollars
    );
}

fn main() {
    println!("{:<36} {:>8} {:>6}", "output", "tokens", "after");
    for output in outputs(1) {
        print_sizes(output.name, &output.text, &output.needed);
    }
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for (name, words) in COMMANDS {
        let output = Command::new(words[0]).args(&words[1..]).current_dir(root).output();
        match output {
            Ok(output) => print_sizes(name, &String::from_utf8_lossy(&output.stdout), &[]),
            Err(error) => println!("{name}: {error}"),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for (turns, budget) in [(10, 1_000_000), (40, 1_000_000), (40, 60_000), (120, 60_000)] {
            let (mut whole_cost, mut short_cost) = (0.0, 0.0);
            println!("{turns} turns, budget {budget}");
            for seed in 1..=3 {
                let way = |trims_tools| Way { trims_tools, budget: Tokens(budget) };
                let (whole, short) = (bill(turns, seed, way(false)).await, bill(turns, seed, way(true)).await);
                print_bill("whole", &whole);
                print_bill("trimmed", &short);
                whole_cost += whole.dollars;
                short_cost += short.dollars;
            }
            println!("  cost ratio {:.2}", short_cost / whole_cost);
        }
    });
}
