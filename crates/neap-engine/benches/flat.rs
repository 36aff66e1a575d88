//! A turn costs the same however long the session is: ratios within one run.
//!
//! `cargo bench -p neap-engine --bench flat` takes 10,000 turns on SQLite and compares the median turn around
//! turn 100 with the median at the end, then opens and assembles a session of 100,000 messages and 5,000
//! concluded efforts. Goals: ratio ≤ 1.2, opening < 300 ms.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails loudly")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use neap_core::base::ids::{EffortId, SessionId, Stamp};
use neap_core::base::message::Role;
use neap_core::session::effort::EffortStatus;
use neap_core::session::import::{ImportedEffort, ImportedFolder, ImportedLine};
use neap_engine::{Author, Engine, NullObserver, Session, SessionOptions};
use neap_model::scripted::ScriptedModel;
use neap_sqlite::SqliteStore;
use neap_store::{MemStore, Store};

const TURNS: usize = 10_000;
const EFFORT_TURNS: usize = 10;

const TOPICS: [&str; 8] = [
    "billing export", "login page", "search index", "mobile layout", "backup job", "release notes", "cache layer",
    "mail queue",
];

struct Bench {
    model: Arc<ScriptedModel>,
    engine: Engine,
}

impl Bench {
    fn open(path: &Path) -> Self {
        Self::on(Arc::new(SqliteStore::open(path).unwrap()))
    }

    fn on(store: Arc<dyn Store>) -> Self {
        let model = Arc::new(ScriptedModel::new());
        Self { engine: Engine::builder(store).model(model.clone()).build(), model }
    }

    async fn resume(&self) -> Session {
        self.engine.resume(&SessionId::parse("bench").unwrap(), &SessionOptions::default()).await.unwrap()
    }

    /// One turn of a life of efforts: opened, worked on, concluded, now and then referred back to.
    async fn turn(&self, session: &mut Session, n: usize) -> (Duration, u64) {
        let (effort, step) = (n / EFFORT_TURNS, n % EFFORT_TURNS);
        let topic = TOPICS[effort % TOPICS.len()];
        let id = format!("{}-{effort}", topic.replace(' ', "-"));
        let call = match step {
            0 => Some(("open_effort", format!("{{\"name\":\"{id}\"}}"))),
            s if s == EFFORT_TURNS - 1 => Some(("close_effort", "{}".to_owned())),
            4 if effort > 0 => {
                let earlier = effort / 2;
                let topic = TOPICS[earlier % TOPICS.len()].replace(' ', "-");
                Some(("expand_effort", format!("{{\"id\":\"{topic}-{earlier}\"}}")))
            }
            _ => None,
        };
        let user =
            format!("Step {step} of the {topic}: ticket {n} says that {} rows failed at node-{}.", n * 7, n % 13);
        let reply =
            format!("Then I would look at node-{} first and check the {topic} log for code {}.", n % 13, n % 997);
        self.model.push_turn(call.into_iter().collect::<Vec<_>>(), &reply);
        let began = Instant::now();
        let reply = session.turn(Author::Person, &user, &mut NullObserver).await.unwrap();
        (began.elapsed(), reply.ledger.tokens.total().0)
    }
}

fn median<T: Copy + Ord>(values: impl Iterator<Item = T>) -> T {
    let mut sorted: Vec<T> = values.collect();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        flat_turns("sqlite", Bench::open(&folder.path().join("neap.db"))).await;
        flat_turns("in memory", Bench::on(Arc::new(MemStore::new()))).await;
        large_session().await;
    });
}

async fn flat_turns(name: &str, bench: Bench) {
    let mut session = bench.resume().await;
    let mut turns = Vec::with_capacity(TURNS);
    for n in 0..TURNS {
        turns.push(bench.turn(&mut session, n).await);
    }
    let window = |range: std::ops::Range<usize>| {
        let part = &turns[range];
        (median(part.iter().map(|(time, _)| *time)), median(part.iter().map(|(_, tokens)| *tokens)))
    };
    let (early, early_tokens) = window(100..600);
    let (late, late_tokens) = window(TURNS - 500..TURNS);
    let ratio = late.as_secs_f64() / early.as_secs_f64();
    println!("{TURNS} turns, {} efforts, {name}", session.state().efforts().len());
    println!("  median turn  at 100: {early:?}  at {TURNS}: {late:?}  ratio {ratio:.2} (goal ≤ 1.20)");
    println!(
        "  median context  {early_tokens} → {late_tokens} tokens, peak {}",
        session.report().context_tokens_peak
    );
    assert!(session.report().context_tokens_peak.0 <= session.state().policy().context_tokens_max);
}

async fn large_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("neap.db");
    let id = SessionId::parse("bench").unwrap();
    Bench::open(&path).engine.import(&large_folder(), Path::new("large"), &id).await.unwrap();
    let began = Instant::now();
    let bench = Bench::open(&path);
    let mut session = bench.resume().await;
    let opened = began.elapsed();
    let began = Instant::now();
    let context = session.assemble(Some("where were we?")).await.unwrap();
    let assembled = began.elapsed();
    let began = Instant::now();
    let found = session.call_tool("search_efforts", r#"{"query":"mail queue ticket 4711"}"#).await.unwrap();
    let searched = began.elapsed();
    println!("100,000 messages, {} efforts, {} MB", session.state().efforts().len(), size_mb(&path));
    println!(
        "  open {opened:?} (goal < 300 ms)  first assembly {assembled:?}, {} tokens  search {searched:?}",
        context.tokens()
    );
    assert!(found.refusal.is_none());
}

/// 5,000 concluded efforts of 10 exchanges, as another tool would have left them.
fn large_folder() -> ImportedFolder {
    let effort = |n: i64| {
        let topic = TOPICS[usize::try_from(n).unwrap() % TOPICS.len()];
        let name = format!("{topic} {n}");
        let line = |at: i64, role: Role| ImportedLine {
            role,
            content: format!(
                "{topic}, step {at} of ticket {n}: node-{} reports code {}.",
                n % 13,
                (n * 31 + at) % 9973
            ),
            ts: Some(Stamp(n * 100_000 + at)),
        };
        let lines = (0..10).flat_map(|at| [line(at, Role::User), line(at, Role::Assistant)]).collect();
        ImportedEffort {
            id: EffortId::from_name(&name).unwrap(),
            summary: Some(format!(
                "The {topic} failed for ticket {n} at node-{} with code {}. The cause was a stale entry of host-{}, \
                 removed on day {} by hand; the job runs again since and took {} seconds in the last night.",
                n % 13,
                n * 31 % 9973,
                n % 211,
                n % 365,
                n % 977
            )),
            name,
            status: EffortStatus::Concluded,
            active: false,
            created: Some(Stamp(n * 100_000)),
            updated: Some(Stamp(n * 100_000 + 99)),
            lines,
        }
    };
    ImportedFolder { efforts: (0..5_000).map(effort).collect(), ..ImportedFolder::default() }
}

fn size_mb(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len() / 1_000_000)
}
