//! One look through embeddings for the nearest; several threads may share it.

use std::mem::take;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use neap_core::recall::Embedding;

use super::agreeing::{Agreeing, signs};
use super::{Of, Vectors, nearer_of};

/// Up to so many are compared one by one, in one step: above, it takes longer than to compare the signs of ten times as many.
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
    /// Where they stand, and how near they are.
    near: Vec<(usize, f64)>,
    /// To be looked at closely.
    agreeing: Vec<Agreeing>,
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

    /// Looks at what nobody has looked at, until nothing is left. Another may still be at it then.
    pub(crate) fn look(&self) {
        if self.all.texts.len() <= EXACT_MAX {
            if let Some(all) = self.step() {
                let closely: Vec<usize> = all.filter(|at| self.admits(*at)).collect();
                let near = self.all.compared(self.meant.values(), &closely);
                self.found.lock().unwrap_or_else(PoisonError::into_inner).near = near;
            }
            return;
        }
        let mut agreeing = self.agreeing();
        while let Some(step) = self.step() {
            agreeing.look(step, &self.all.signs, &self.signs, |at| self.admits(at));
        }
        self.found.lock().unwrap_or_else(PoisonError::into_inner).agreeing.push(agreeing);
    }

    /// The nearest, nearest first; of equally near ones, the newer. Whoever looks has come to an end.
    pub(crate) fn nearest(mut self) -> Vec<(i64, f64)> {
        let Found { mut near, agreeing } = take(self.found.get_mut().unwrap_or_else(PoisonError::into_inner));
        let all = agreeing.into_iter().fold(self.agreeing(), Agreeing::with);
        near.append(&mut self.all.compared(self.meant.values(), &all.end()));
        let text = |at: &usize| self.all.texts[*at].text;
        let nearer = |a: &(usize, f64), b: &(usize, f64)| nearer_of(text, a, b);
        if near.len() > self.max {
            near.select_nth_unstable_by(self.max, nearer);
            near.truncate(self.max);
        }
        near.sort_unstable_by(nearer);
        near.into_iter().map(|(at, near)| (text(&at), near)).collect()
    }

    fn step(&self) -> Option<Range<usize>> {
        let (start, end) = (self.next.fetch_add(STEP, Relaxed), self.all.texts.len());
        (start < end).then(|| start..end.min(start + STEP))
    }

    fn admits(&self, at: usize) -> bool {
        self.is_searched.is_none_or(|is_searched| is_searched(&self.all.texts[at]))
    }

    fn agreeing(&self) -> Agreeing {
        Agreeing::new(self.all.dimensions, self.max.saturating_mul(CLOSER).max(CLOSER_MIN))
    }
}
