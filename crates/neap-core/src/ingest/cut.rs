//! Which items are left out when a history does not fit: whole turns from its middle, and only where that is not enough,
//! rounds of calls from the turn that goes on.

use std::ops::Range;

use super::atoms::{Pairs, opening_end, turns};
use super::bound::Bounds;
use super::heard::{Heard, Item, Speaker};
use crate::tokens::Tokens;

/// Most of the room that the beginning of a history may keep, in per cent.
const HEAD_PERCENT: u64 = 25;
/// Most of the budget for what stands for the items that are left out, in per cent.
const NOTE_PERCENT: u64 = 12;

/// What is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The items, in order; the first range is where something stands in their place.
    pub dropped: Vec<Range<usize>>,
    /// What that may cost.
    pub room: Tokens,
    /// What is kept costs, with all that is fixed.
    pub kept: Tokens,
}

impl Cut {
    /// The first item that is kept after the first gap.
    pub fn resumes_at(&self) -> usize {
        self.dropped.first().map_or(0, |gap| gap.end)
    }
}

/// Chooses what to leave out, so that the rest is at the low mark if it can be, and within the budget if that is possible
/// at all; none if nothing can be left out.
pub(super) fn choose(heard: &Heard, pairs: &Pairs, bounds: &Bounds) -> Option<Cut> {
    let items = &heard.items[..heard.stem()];
    let sizes = Sizes::of(items);
    let moving: Tokens = heard.items[heard.stem()..].iter().map(|item| item.tokens).sum();
    let fixed = heard.fixed + moving;
    let room = bounds.budget.percent(NOTE_PERCENT);
    let starts = turns(items, pairs);
    let head = head(items, &sizes, pairs, bounds.budget.saturating_sub(fixed));
    let around = fixed + sizes.of_range(0..head) + room;
    let low = bounds.low().saturating_sub(around);
    let last = starts.last().copied().filter(|last| *last >= head).unwrap_or(head);
    let mut tails = starts.iter().copied().filter(|start| *start > head && *start <= last);
    let tail = tails.find(|start| sizes.of_range(*start..items.len()) <= low);
    let full = bounds.high().saturating_sub(around);
    let dropped = match tail {
        Some(tail) => [head..tail, 0..0],
        // The turn that goes on is long: it may have more than the low mark gives.
        None if sizes.of_range(last..items.len()) <= full => [head..last, 0..0],
        None => {
            let opening = opening_end(items, last).max(head);
            let kept = sizes.of_range(last.min(opening)..opening);
            let rounds: Vec<usize> =
                (opening + 1..items.len()).filter(|at| begins_round(items, pairs, *at)).collect();
            let fits =
                |room: Tokens| rounds.iter().copied().find(|at| kept + sizes.of_range(*at..items.len()) <= room);
            let resumes = fits(low).or_else(|| fits(full)).or(rounds.last().copied()).unwrap_or(opening);
            [head..last.max(head), opening..resumes]
        }
    };
    let dropped: Vec<Range<usize>> = dropped.into_iter().filter(|gap| !gap.is_empty()).collect();
    let gone: Tokens = dropped.iter().map(|gap| sizes.of_range(gap.clone())).sum();
    let kept = fixed + sizes.of_range(0..items.len()).saturating_sub(gone);
    (!dropped.is_empty()).then_some(Cut { dropped, room, kept })
}

/// How many items of the beginning stay: what set the conversation up, and, if it is not long, what was asked first.
fn head(items: &[Item], sizes: &Sizes, pairs: &Pairs, room: Tokens) -> usize {
    let leading = items.iter().position(|item| item.speaker != Speaker::System).unwrap_or(items.len());
    let opened = opening_end(items, 0);
    let fits = sizes.of_range(0..opened) <= room.percent(HEAD_PERCENT);
    if fits && pairs.is_closed(opened) { opened } else { leading }
}

/// Whether the model begins to speak here, with nothing left unanswered before.
fn begins_round(items: &[Item], pairs: &Pairs, at: usize) -> bool {
    let speaks = matches!(items[at].speaker, Speaker::Assistant);
    let spoke = matches!(items[at - 1].speaker, Speaker::Assistant);
    speaks && pairs.is_closed(at) && (!spoke || items[at - 1].calls().next().is_none())
}

/// What runs of items cost.
struct Sizes(Vec<Tokens>);

impl Sizes {
    fn of(items: &[Item]) -> Self {
        let mut sums = vec![Tokens::ZERO];
        let mut sum = Tokens::ZERO;
        for item in items {
            sum += item.tokens;
            sums.push(sum);
        }
        Self(sums)
    }

    fn of_range(&self, range: Range<usize>) -> Tokens {
        if range.is_empty() { Tokens::ZERO } else { self.0[range.end].saturating_sub(self.0[range.start]) }
    }
}
