//! One look through embeddings for the nearest; several threads may share it.

use std::mem::take;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use neap_core::recall::Embedding;

use super::agreeing::Agreeing;
use super::signs::signs;
use super::{Of, Vectors, nearer_of};

/// Of up to so many all are looked at closely, in one step: of more, that takes longer than to compare the signs of ten times as many.
const EXACT_MAX: usize = STEP;
/// Above that so many times what is wanted is looked at closely, and at least so many.
const CLOSER: usize = 8;
const CLOSER_MIN: usize = 1_000;
/// So many are looked at before others may have their turn.
const STEP: usize = 4_096;

/// Which of them are searched.
pub(crate) type Searched<'a> = &'a (dyn Fn(&Of) -> bool + Sync);

/// Looks for the nearest `max` of those that are searched. What is found is the same however many look.
pub(crate) struct Looking<'a> {
    all: &'a Vectors,
    meant: &'a Embedding,
    signs: Vec<u64>,
    max: usize,
    is_searched: Option<Searched<'a>>,
    /// Where the next step begins.
    next: AtomicUsize,
    found: Mutex<Found>,
}

/// What those have found that are done.
#[derive(Default)]
struct Found {
    /// So many have been looked at.
    seen: usize,
    /// To be looked at closely.
    agreeing: Vec<Agreeing>,
    /// In the end: where they stand, and how near they are.
    near: Vec<(usize, f64)>,
}

impl<'a> Looking<'a> {
    pub(super) fn new(
        all: &'a Vectors,
        meant: &'a Embedding,
        max: usize,
        is_searched: Option<Searched<'a>>,
    ) -> Self {
        let is_possible = max > 0 && all.dimensions > 0 && meant.values().len() == all.dimensions;
        // Otherwise there is nothing to look at.
        let next = AtomicUsize::new(if is_possible { 0 } else { all.texts.len() });
        let signs = signs(meant.values()).collect();
        Self { all, meant, signs, max, is_searched, next, found: Mutex::default() }
    }

    /// Whether it is worth to have help.
    pub(crate) fn is_long(&self) -> bool {
        self.all.texts.len() > STEP
    }

    /// Looks at what nobody has looked at, until nothing is left. Another may still be at it then; whoever ends last looks closely at what
    /// all have found.
    pub(crate) fn look(&self) {
        let (mut agreeing, mut seen) = (self.agreeing(), 0);
        while let Some(step) = self.step() {
            seen += step.len();
            agreeing.look(step, &self.all.signs, &self.signs, |at| self.admits(at));
        }
        if seen == 0 {
            return;
        }
        let mut found = self.found();
        found.seen += seen;
        found.agreeing.push(agreeing);
        if found.seen == self.all.texts.len() {
            let all = take(&mut found.agreeing).into_iter().fold(self.agreeing(), Agreeing::with);
            found.near = self.nearest_of(&all.end());
        }
    }

    /// The nearest, nearest first; of equally near ones, the newer. Whoever looks has come to an end.
    pub(crate) fn nearest(self) -> Vec<(i64, f64)> {
        let near = take(&mut self.found().near);
        near.into_iter().map(|(at, near)| (self.all.texts[at].text, near)).collect()
    }

    /// Of those at some places the nearest, in order.
    fn nearest_of(&self, places: &[usize]) -> Vec<(usize, f64)> {
        let text = |at: &usize| self.all.texts[*at].text;
        let nearer = |a: &(usize, f64), b: &(usize, f64)| nearer_of(text, a, b);
        let mut near = self.all.compared(self.meant.values(), places);
        if near.len() > self.max {
            near.select_nth_unstable_by(self.max, nearer);
            near.truncate(self.max);
        }
        near.sort_unstable_by(nearer);
        near
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(&self) -> Option<Range<usize>> {
        let (start, end) = (self.next.fetch_add(STEP, Relaxed), self.all.texts.len());
        (start < end).then(|| start..end.min(start + STEP))
    }

    fn admits(&self, at: usize) -> bool {
        self.is_searched.is_none_or(|is_searched| is_searched(&self.all.texts[at]))
    }

    fn agreeing(&self) -> Agreeing {
        let all = self.all.texts.len();
        let wanted = if all <= EXACT_MAX { all } else { self.max.saturating_mul(CLOSER).max(CLOSER_MIN) };
        Agreeing::new(self.all.dimensions, wanted)
    }
}
