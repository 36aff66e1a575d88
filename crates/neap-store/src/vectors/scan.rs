//! One scan for the embeddings whose signs are closest to a query; several threads may share it.

use std::mem::take;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use neap_core::recall::Embedding;

use super::hamming::HammingTopK;
use super::sign_bits::sign_words;
use super::sign_estimate::SignEstimate;
use super::{VectorEntry, VectorIndex};

/// So many times `max` are taken by their signs, but at least `HAMMING_MIN`; of those, so many times `max` by their
/// estimate, but at least `CLOSEST_MIN`. The caller compares the latter exactly.
const HAMMING_FACTOR: usize = 8;
const HAMMING_MIN: usize = 1_000;
const CLOSEST_FACTOR: usize = 3;
const CLOSEST_MIN: usize = 256;
/// Embeddings per step; threads take steps in turn.
const SCAN_STEP: usize = 4_096;

pub type VectorFilter<'a> = &'a (dyn Fn(&VectorEntry) -> bool + Sync);

/// Finds what may be among the nearest `max` that match the filter. The result is the same however many threads run
/// it.
pub struct VectorScan<'a> {
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
    top_k: Vec<HammingTopK>,
    closest: Vec<i64>,
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
        let next = AtomicUsize::new(if is_possible { 0 } else { index.text_count() });
        let signs = sign_words(query.values()).collect();
        Self { index, query, signs, max, filter, next, found: Mutex::default() }
    }

    pub fn is_large(&self) -> bool {
        self.index.text_count() > SCAN_STEP
    }

    /// Takes steps until none is left. Other threads may still be running then; the last to finish merges the
    /// candidates of all.
    pub fn run(&self) {
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
        if found.seen == self.index.text_count() {
            let merged = take(&mut found.top_k).into_iter().fold(self.new_top_k(), HammingTopK::merge);
            found.closest = self.closest_by_estimate(merged.finish());
        }
    }

    /// The texts to compare exactly, in any order. All threads must have finished.
    pub fn closest(self) -> Vec<i64> {
        take(&mut self.found().closest)
    }

    fn closest_by_estimate(&self, places: Vec<usize>) -> Vec<i64> {
        let wanted = self.max.saturating_mul(CLOSEST_FACTOR).max(CLOSEST_MIN);
        let text = |at: usize| self.index.texts[at];
        if places.len() <= wanted {
            return places.into_iter().map(text).collect();
        }
        let estimate = SignEstimate::new(self.query.values());
        let mut ranked: Vec<(i32, i64)> =
            places.into_iter().map(|at| (estimate.of(&self.index.signs, at), text(at))).collect();
        ranked.select_nth_unstable_by(wanted, |a, b| b.cmp(a));
        ranked.truncate(wanted);
        ranked.into_iter().map(|(_, text)| text).collect()
    }

    fn found(&self) -> MutexGuard<'_, ScanResults> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_range(&self) -> Option<Range<usize>> {
        let (start, end) = (self.next.fetch_add(SCAN_STEP, Relaxed), self.index.text_count());
        (start < end).then(|| start..end.min(start + SCAN_STEP))
    }

    fn admits(&self, at: usize) -> bool {
        self.filter.is_none_or(|filter| filter(&self.index.entry(at)))
    }

    fn new_top_k(&self) -> HammingTopK {
        HammingTopK::new(self.index.dimensions, self.max.saturating_mul(HAMMING_FACTOR).max(HAMMING_MIN))
    }
}
