//! Development tasks: `cargo xtask test` runs all tests, `cargo xtask tidy` checks what the compiler does not.

mod agents;
mod dist;
mod edges;
mod mcp;
mod page;
mod picture;
mod postgres;
mod python;
mod rooms;
mod secrets;
mod sleeps;
mod test;
mod tidy;
mod typescript;

use std::process::ExitCode;

fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    let result = match task.as_deref() {
        Some("test") => test::run(),
        Some("tidy") => tidy::run(),
        Some("dist") => dist::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        Some("picture") => picture::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        Some("postgres") => postgres::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        Some("secrets") => secrets::run(std::env::args().nth(2)),
        _ => {
            eprintln!(
                "usage: cargo xtask <task>\n\n  test   install and start what tests need, then pass them all"
            );
            eprintln!("  tidy   check dependency edges, file sizes and style");
            eprintln!(
                "  dist [--out DIR] [--program PATH] | --check DIR   build the program for any Linux, and packages of it"
            );
            eprintln!("  picture <printed> <file.svg> <label>   draw what was printed in colour as a terminal");
            eprintln!("  postgres <command> …   run a command, such as some tests, beside a Postgres server");
            eprintln!("  secrets <gitleaks.toml>   rewrite the rules by which secrets are found");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> std::path::PathBuf {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}
