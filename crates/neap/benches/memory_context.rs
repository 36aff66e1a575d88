//! What it costs to build the context for a question over a year of memories, and how that grows with their number.
//!
//! `cargo bench -p neap --bench memory_context` writes a tenth of the note's proportions and all of it, and builds a
//! context for each question of the proof, with the store open (warm) and from nothing (cold: the store is opened, the
//! agent loaded). Ratios are within one run; goals at full size: cold < 100 ms, warm < 5 ms.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails loudly")]

#[path = "../src/cmd/proof/memory/corpus/mod.rs"]
#[allow(dead_code, reason = "the proof uses more of it")]
mod corpus;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corpus::{AGENT, NOW, Size};
use neap_core::base::ids::AgentId;
use neap_core::memory::knowledge::AgentProfile;
use neap_engine::{Agent, Engine, FixedClock};
use neap_model::bpe::counter_for;
use neap_sqlite::SqliteStore;

const QUESTIONS: &str = include_str!("../src/cmd/proof/memory/questions.txt");

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let tenth = figures(10).await;
        let whole = figures(100).await;
        let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
        println!(
            "ten times as many records:  warm × {:.2}  cold × {:.2}",
            ratio(whole.0, tenth.0),
            ratio(whole.1, tenth.1)
        );
        println!("cold against warm, at full size:  × {:.2}", ratio(whole.1, whole.0));
    });
}

/// Median times of a warm and a cold build.
async fn figures(percent: u32) -> (Duration, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("neap.db");
    let (id, size) = (AgentId::from_name(AGENT).unwrap(), Size::percent(percent));
    let began = Instant::now();
    let store = SqliteStore::open(&path).unwrap();
    let written = corpus::write(&store, &id, size, counter_for("o200k_base").as_ref()).await.unwrap();
    drop(store);
    println!("{} records written in {:?}", written.about.len(), began.elapsed());
    let open = agent(&path).await;
    let (mut warm, mut cold) = (Vec::new(), Vec::new());
    for question in QUESTIONS.lines().filter_map(|line| line.rsplit('|').next()) {
        open.context(question, None, None).await.unwrap();
        let began = Instant::now();
        open.context(question, None, None).await.unwrap();
        warm.push(began.elapsed());
        let began = Instant::now();
        agent(&path).await.context(question, None, None).await.unwrap();
        cold.push(began.elapsed());
    }
    let (warm, cold) = (sorted(warm), sorted(cold));
    let at = |times: &[Duration], percent: usize| times[times.len() * percent / 100];
    println!("  warm  p50 {:?}  p95 {:?} (goal < 5 ms)", at(&warm, 50), at(&warm, 95));
    println!("  cold  p50 {:?}  p95 {:?} (goal < 100 ms)", at(&cold, 50), at(&cold, 95));
    (at(&warm, 50), at(&cold, 50))
}

async fn agent(path: &Path) -> Agent {
    let store = Arc::new(SqliteStore::open(path).unwrap());
    let agent = AgentId::from_name(AGENT).unwrap();
    let engine =
        Engine::builder(store).clock(Arc::new(FixedClock::at(NOW))).agent(agent, AgentProfile::default()).build();
    engine.agent().await.unwrap().unwrap()
}

fn sorted(mut times: Vec<Duration>) -> Vec<Duration> {
    times.sort_unstable();
    times
}
