//! Builds and searches a store of one size.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use neap_core::base::ids::{SessionId, Stamp};
use neap_core::base::message::{Message, Role};
use neap_core::base::tokens::Tokens;
use neap_core::recall::UnembeddedText;
use neap_engine::{Author, Engine, RetrievalRequest};
use neap_model::Embedder as _;
use neap_sqlite::SqliteStore;
use neap_store::Store;

use super::zipf_chat::{SyntheticEmbedder, question, question_embedding, turn_embedding, turn_text};
use super::{BuildFigures, SearchFigures};
use crate::measure::{ms, percentile};
use crate::{LabError, OnProgress};

const SESSION_TURNS: u64 = 2_000;
/// Turns per commit.
const BATCH_TURNS: u64 = 64;
/// The same as the built-in embedder's.
const DIMENSIONS: usize = 384;
const QUESTIONS: u64 = 400;
const BUDGET: Tokens = Tokens(1_000);

fn engine(folder: &Path) -> Result<Engine, LabError> {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.join("bench.db"))?);
    Ok(Engine::builder(store).embedder(Arc::new(SyntheticEmbedder)).build())
}

/// Builds a store of so many turns in a folder.
pub async fn build(folder: &Path, turns: u64, progress: OnProgress<'_>) -> Result<BuildFigures, LabError> {
    let engine = engine(folder)?;
    let began = Instant::now();
    for first in (0..turns).step_by(BATCH_TURNS as usize) {
        let session = SessionId::from_name(&format!("talk {}", first / SESSION_TURNS))?;
        let batch: Vec<(Stamp, Message)> = (first..(first + BATCH_TURNS).min(turns)).map(message).collect();
        engine.record(&session, Author::Import, &batch).await?;
        progress("build", (first + BATCH_TURNS).min(turns), turns);
    }
    let appended = began.elapsed();
    let began = Instant::now();
    let (store, mut at) = (engine.store(), 0);
    let model = UnembeddedText::stored_model(SyntheticEmbedder.identity());
    loop {
        let waiting = store.unembedded(&model, BATCH_TURNS as usize).await?;
        if waiting.is_empty() {
            break;
        }
        let batch = waiting.into_iter().map(|waits| {
            at += 1;
            (waits.id, waits.text, turn_embedding(at - 1, DIMENSIONS))
        });
        store.put_embeddings(&model, batch.collect()).await?;
    }
    let embedded = began.elapsed();
    let file = engine.store().footprint(None).await?.file;
    let rate = |took: std::time::Duration| turns as f64 / took.as_secs_f64().max(1e-9);
    Ok(BuildFigures { append_per_s: rate(appended), embed_per_s: rate(embedded), file_mib: mib(file) })
}

fn message(turn: u64) -> (Stamp, Message) {
    let role = if turn.is_multiple_of(2) { Role::User } else { Role::Assistant };
    (Stamp(1_700_000_000_000 + turn as i64 * 60_000), Message { role, ..Message::user(turn_text(turn)) })
}

/// Searches the store that [`build`] left.
pub async fn search(folder: &Path, turns: u64) -> Result<SearchFigures, LabError> {
    let began = Instant::now();
    let engine = engine(folder)?;
    engine.store().sessions().await?;
    let open_ms = ms(began.elapsed());
    let mut times = Vec::new();
    for n in 0..QUESTIONS {
        let embedding = Some(question_embedding(n, turns, DIMENSIONS));
        let request = RetrievalRequest { embedding, ..RetrievalRequest::new(question(n, turns), BUDGET) };
        let began = Instant::now();
        let found = engine.retrieve(&request).await?;
        times.push(ms(began.elapsed()));
        if !found.ranked.iter().any(|ranked| ranked.candidate.similarity.is_some()) {
            return Err(LabError::new("a question was not embedded"));
        }
    }
    let first_ms = times.remove(0);
    let (p50_ms, p99_ms) = (percentile(&times, 50), percentile(&times, 99));
    Ok(SearchFigures { open_ms, first_ms, p50_ms, p99_ms, rss_mib: resident_mib() })
}

/// Resident memory of this process; 0 where the system does not report it.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.map_or(0.0, |kib| kib as f64 / 1_024.0)
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}
