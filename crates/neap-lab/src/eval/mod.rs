//! Measures how much of a question's evidence is in its assembled context, on any conversations.

mod ask;
mod baseline;
mod coding;
mod conversation_store;
mod curve;
mod data;
mod efforts;
mod precision;
mod ranking_term;
mod shared;
mod surface;
mod tally;
mod time;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use neap_core::recall::RankWeights;
use neap_model::Embedder;

use crate::{LabError, OnProgress};
use conversation_store::ConversationStore;
pub use curve::svg;
pub use data::{Conversation, read};
pub use precision::{PrecisionMiss, PrecisionReport, PrecisionRow, Surface, measure_precision};
pub use ranking_term::RankingTerm;
pub use shared::{Sharing, measure_shared};
pub use surface::EvalSurface;
pub use tally::{EvalTally, ScoreRow, percent};

/// Budgets of a curve of recall.
pub const CURVE_BUDGETS: [u64; 6] = [250, 500, 1_000, 2_000, 4_000, 8_000];

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    Recall,
    Efforts,
    Freshness,
    Coding,
}

impl Suite {
    pub const ALL: [Self; 4] = [Self::Recall, Self::Efforts, Self::Freshness, Self::Coding];
}

#[derive(Clone)]
pub struct EvalOptions {
    pub budgets: Vec<u64>,
    pub suites: Vec<Suite>,
    pub weights: RankWeights,
    /// Each question is repeated with these weights, each without one ranking term.
    pub ablations: Vec<(RankingTerm, RankWeights)>,
    pub embedder: Option<Arc<dyn Embedder>>,
    pub with_baselines: bool,
    /// Where questions with evidence are asked.
    pub surface: EvalSurface,
}

impl EvalOptions {
    fn has_suite(&self, suite: Suite) -> bool {
        self.suites.contains(&suite)
    }
}

/// Measures conversations in parallel, each with its own store and thread. Results are joined in file order, so
/// that they do not depend on scheduling.
pub fn measure(
    name: &str,
    conversations: Vec<Conversation>,
    options: &EvalOptions,
    threads: usize,
    progress: OnProgress<'_>,
) -> Result<EvalTally, LabError> {
    let conversations: Vec<Arc<Conversation>> = conversations.into_iter().map(Arc::new).collect();
    let (next, measured) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = || -> Result<Vec<(usize, EvalTally)>, LabError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut done = Vec::new();
        while let Some((at, conversation)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            conversations.get(at).map(|conversation| (at, conversation.clone()))
        } {
            done.push((at, runtime.block_on(measure_one(conversation, options))?));
            progress(name, measured.fetch_add(1, Ordering::Relaxed) + 1, conversations.len() as u64);
        }
        Ok(done)
    };
    let mut done = std::thread::scope(|scope| -> Result<Vec<(usize, EvalTally)>, LabError> {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().map_err(|_| LabError::new("a thread of the measurement panicked"))??);
        }
        Ok(all)
    })?;
    done.sort_by_key(|(at, _)| *at);
    let mut sum = EvalTally::default();
    done.into_iter().for_each(|(_, tally)| sum.join(tally));
    Ok(sum)
}

async fn measure_one(conversation: Arc<Conversation>, options: &EvalOptions) -> Result<EvalTally, LabError> {
    let mut tally = EvalTally { turns: conversation.turns.len() as u64, ..EvalTally::default() };
    // Each suite starts with an empty store, since it must not have recorded what it asks for.
    let new_store = || ConversationStore::new(conversation.clone(), options.embedder.clone());
    let mut store = new_store()?;
    if options.has_suite(Suite::Coding) {
        coding::evaluate_moves(&mut store, options, &mut tally).await?;
        store = new_store()?;
    }
    if options.has_suite(Suite::Efforts) {
        efforts::evaluate_openings(&mut store, options, &mut tally).await?;
        store = new_store()?;
    }
    if options.has_suite(Suite::Recall) || options.has_suite(Suite::Freshness) {
        ask::ask_all(&mut store, options, &mut tally).await?;
    }
    if options.with_baselines {
        baseline::ask_all(&conversation, options, &mut tally);
    }
    store.record_before(None).await?;
    let footprint = store.footprint().await?;
    tally.index_bytes = footprint.index;
    tally.text_bytes = footprint.said;
    Ok(tally)
}
