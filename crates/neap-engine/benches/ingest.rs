//! What taking in a client's request costs, on SQLite: at a history of about 50,000 tokens that fits, and at one that does not;
//! and that it grows with the reading of what the client sent, and with nothing else.
//!
//! `cargo bench -p neap-engine --bench ingest`. Goals: median ≤ 2 ms, p99 ≤ 10 ms, but for the requests that begin an epoch.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails loudly")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use neap_core::base::tokens::Tokens;
use neap_core::client::ProviderReply;
use neap_engine::{Engine, IncomingRequest};
use neap_model::bpe::counter_for;
use neap_model::caller::Tenancy;
use neap_model::wire::request::{CachedCounter, WireRequest};
use neap_sqlite::SqliteStore;

const PATH: &str = "/v1/messages";
const ENCODING: &str = "o200k_base";

/// A client that answers itself.
struct Client {
    messages: Vec<String>,
}

impl Client {
    fn body(&self) -> String {
        format!(r#"{{"model":"m","max_tokens":1000,"stream":true,"messages":[{}]}}"#, self.messages.join(","))
    }

    fn say(&mut self, turn: usize) {
        let words =
            format!("Look at module {turn}: what does its parser do, and which of its tests are left? ").repeat(3);
        self.messages.push(format!(r#"{{"role":"user","content":"{words}"}}"#));
    }

    fn hear(&mut self, turn: usize) -> ProviderReply {
        let text = format!(
            "Module {turn} reads lines and gives {} tokens; tests {} and {} are left. ",
            turn * 7,
            turn,
            turn + 1
        );
        let text = text.repeat(4);
        self.messages.push(format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#));
        ProviderReply { text, ..ProviderReply::default() }
    }
}

fn quantile(times: &mut [Duration], share: f64) -> Duration {
    times.sort();
    times[((times.len() - 1) as f64 * share) as usize]
}

/// Turns up to a length of history; the times of the last ones.
async fn run(name: &str, turns: usize, budget: Tokens) {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("neap.db")).unwrap());
    let engine = Engine::builder(store).callers(Tenancy::Single).build();
    let headers = vec![("x-neap-session".to_owned(), "bench".to_owned())];
    let mut client = Client { messages: Vec::new() };
    let counts = CachedCounter::new(counter_for(ENCODING));
    let (mut first, mut last, mut reads, mut epochs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut tokens, mut epoch, mut sent) = (Tokens::ZERO, 0, Tokens::ZERO);
    for turn in 0..turns {
        client.say(turn);
        let body = client.body();
        let incoming = IncomingRequest::new(PATH, &headers, &body, budget);
        let begun = Instant::now();
        let plan = engine.ingest(&incoming).await;
        let took = begun.elapsed();
        assert!(plan.fault.is_none() && plan.overflow.is_none(), "{:?}", plan.fault);
        if plan.epoch != epoch {
            epochs.push(took);
        } else if (20..120).contains(&turn) {
            first.push(took);
        } else if turn + 200 >= turns {
            last.push(took);
            let begun = Instant::now();
            WireRequest::read(PATH, &headers, &body, &counts).unwrap();
            reads.push(begun.elapsed());
        }
        (tokens, epoch, sent) = (plan.tokens_in, plan.epoch, plan.tokens_sent);
        engine.complete_request(&plan, &client.hear(turn)).await.unwrap();
    }
    println!("{name}: {turns} turns, {tokens} tokens in, {sent} sent, {} epochs", epochs.len());
    println!("  turns 20-120:  p50 {:?}, p99 {:?}", quantile(&mut first, 0.5), quantile(&mut first, 0.99));
    println!("  last 200:      p50 {:?}, p99 {:?}", quantile(&mut last, 0.5), quantile(&mut last, 0.99));
    println!("  of that, reading what the client sent: p50 {:?}", quantile(&mut reads, 0.5));
    if !epochs.is_empty() {
        println!(
            "  beginning an epoch: p50 {:?}, longest {:?}",
            quantile(&mut epochs, 0.5),
            quantile(&mut epochs, 1.0)
        );
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        run("all of it fits", 320, Tokens(200_000)).await;
        run("bounded", 320, Tokens(20_000)).await;
        run("bounded, long", 3_000, Tokens(20_000)).await;
    });
}
