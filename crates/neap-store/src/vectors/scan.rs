//! One scan for the nearest embeddings; several threads may share it.

use std::mem::take;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use neap_core::recall::Embedding;

use super::hamming::HammingTopK;
use super::sign_bits::sign_words;
use super::{VectorEntry, VectorIndex, by_similarity_of};

/// Up to this many are compared exactly; beyond, comparing the signs of ten times as many is faster.
const EXACT_MAX: usize = SCAN_STEP;
/// Above `EXACT_MAX`, this many times `max` are compared exactly, but at least `RERANK_MIN`.
const RERANK_FACTOR: usize = 8;
const RERANK_MIN: usize = 1_000;
/// Embeddings per step; threads take steps in turn.
const SCAN_STEP: usize = 4_096;

pub(crate) type VectorFilter<'a> = &'a (dyn Fn(&VectorEntry) -> bool + Sync);

/// Finds the nearest `max` that match the filter. The result is the same however many threads run it.
pub(crate) struct VectorScan<'a> {
    index: &'a VectorIndex,
    query: &'a Embedding,
    signs: Vec<u64>,
    max: usize,
    filter: Option<VectorFilter<'a>>,
    next: AtomicUsize,
    found: Mutex<ScanResults>,
}

/// Results of the threads that have finished.
#[derive(Default)]
struct ScanResults {
    seen: usize,
    /// Candidates for the exact comparison.
    top_k: Vec<HammingTopK>,
    nearest: Vec<(usize, f64)>,
}

impl<'a> VectorScan<'a> {
    pub(super) fn new(
        index: &'a VectorIndex,
        query: &'a Embedding,
        max: usize,
        filter: Option<VectorFilter<'a>>,
    ) -> Self {
        let is_possible = max > 0 && index.dimensions > 0 && query.values().len() == index.dimensions;
        // If impossible, nothing is scanned.
        let next = AtomicUsize::new(if is_possible { 0 } else { index.texts.len() });
        let signs = sign_words(query.values()).collect();
        Self { index, query, signs, max, filter, next, found: Mutex::default() }
    }

    pub(crate) fn is_large(&self) -> bool {
        self.index.texts.len() > SCAN_STEP
    }

    /// Takes steps until none is left. Other threads may still be running then; the last to finish compares the
    /// candidates of all exactly.
    pub(crate) fn run(&self) {
        let (mut top_k, mut seen) = (self.new_top_k(), 0);
        while let Some(step) = self.next_range() {
            seen += step.len();
            top_k.scan(step, &self.index.signs, &self.signs, |at| self.admits(at));
        }
        if seen == 0 {
            return;
        }
        let mut found = self.found();
        found.seen += seen;
        found.top_k.push(top_k);
        if found.seen == self.index.texts.len() {
            let merged = take(&mut found.top_k).into_iter().fold(self.new_top_k(), HammingTopK::merge);
            found.nearest = self.rank_exact(&merged.finish());
        }
    }

    /// Most similar first, then newer. All threads must have finished.
    pub(crate) fn nearest(self) -> Vec<(i64, f64)> {
        let nearest = take(&mut self.found().nearest);
        nearest.into_iter().map(|(at, similarity)| (self.index.texts[at].text, similarity)).collect()
    }

    /// The nearest at these indexes, in order.
    fn rank_exact(&self, places: &[usize]) -> Vec<(usize, f64)> {
        let text = |at: &usize| self.index.texts[*at].text;
        let nearer = |a: &(usize, f64), b: &(usize, f64)| by_similarity_of(text, a, b);
        let mut nearest = self.index.exact_similarities(self.query.values(), places);
        if nearest.len() > self.max {
            nearest.select_nth_unstable_by(self.max, nearer);
            nearest.truncate(self.max);
        }
        nearest.sort_unstable_by(nearer);
        nearest
    }

    fn found(&self) -> MutexGuard<'_, ScanResults> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_range(&self) -> Option<Range<usize>> {
        let (start, end) = (self.next.fetch_add(SCAN_STEP, Relaxed), self.index.texts.len());
        (start < end).then(|| start..end.min(start + SCAN_STEP))
    }

    fn admits(&self, at: usize) -> bool {
        self.filter.is_none_or(|filter| filter(&self.index.texts[at]))
    }

    fn new_top_k(&self) -> HammingTopK {
        let count = self.index.texts.len();
        let wanted =
            if count <= EXACT_MAX { count } else { self.max.saturating_mul(RERANK_FACTOR).max(RERANK_MIN) };
        HammingTopK::new(self.index.dimensions, wanted)
    }
}
