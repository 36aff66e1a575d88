//! Chooses what to omit from a history: whole turns from its middle and, only if needed, rounds of the current
//! turn.

use std::ops::Range;

use super::cut_points::{ToolPairs, opening_end, turn_starts};
use super::forward::Bounds;
use super::request::{ClientRequest, HistoryItem, Speaker};
use crate::base::tokens::Tokens;

/// Share of the budget, less fixed costs, that the head of a history may keep.
const HEAD_PERCENT: u64 = 25;
/// Share of the budget for the note that replaces omitted items.
const NOTE_PERCENT: u64 = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryCut {
    /// Omitted items, in order; the note replaces the first range.
    pub dropped: Vec<Range<usize>>,
    pub note_budget: Tokens,
    /// Cost of what is kept, fixed costs included.
    pub kept_tokens: Tokens,
}

/// Keeps as much as pays (`Prices::tail_tokens`), else as much as fits. None if nothing can be omitted.
pub(super) fn choose_cut(request: &ClientRequest, pairs: &ToolPairs, bounds: &Bounds) -> Option<HistoryCut> {
    let items = &request.items[..request.stable_len()];
    let sizes = PrefixSums::of(items);
    let trailing: Tokens = request.items[request.stable_len()..].iter().map(|item| item.tokens).sum();
    let fixed = request.fixed_tokens + trailing;
    let note_budget = bounds.budget.percent(NOTE_PERCENT);
    let starts = turn_starts(items, pairs);
    let head = head_len(items, &sizes, pairs, bounds.budget.saturating_sub(fixed));
    let overhead = fixed + sizes.range_tokens(0..head) + note_budget;
    let full = bounds.high_water().saturating_sub(overhead);
    let low = bounds.prices.tail_tokens(overhead, full, growth_per_request(items, &sizes));
    let last = starts.last().copied().filter(|last| *last >= head).unwrap_or(head);
    let mut tails = starts.iter().copied().filter(|start| *start > head && *start <= last);
    let tail = tails.find(|start| sizes.range_tokens(*start..items.len()) <= low);
    let dropped = match tail {
        Some(tail) => [head..tail, 0..0],
        // The current turn is longer than that, but fits.
        None if sizes.range_tokens(last..items.len()) <= full => [head..last, 0..0],
        None => {
            let opening = opening_end(items, last).max(head);
            let kept = sizes.range_tokens(last.min(opening)..opening);
            let rounds: Vec<usize> =
                (opening + 1..items.len()).filter(|at| is_round_start(items, pairs, *at)).collect();
            let fits = |limit: Tokens| {
                rounds.iter().copied().find(|at| kept + sizes.range_tokens(*at..items.len()) <= limit)
            };
            let resumes = fits(low).or_else(|| fits(full)).or(rounds.last().copied()).unwrap_or(opening);
            [head..last.max(head), opening..resumes]
        }
    };
    let dropped: Vec<Range<usize>> = dropped.into_iter().filter(|gap| !gap.is_empty()).collect();
    let dropped_tokens: Tokens = dropped.iter().map(|gap| sizes.range_tokens(gap.clone())).sum();
    let kept_tokens = fixed + sizes.range_tokens(0..items.len()).saturating_sub(dropped_tokens);
    (!dropped.is_empty()).then_some(HistoryCut { dropped, note_budget, kept_tokens })
}

/// What each request added so far: the model speaks once in each.
fn growth_per_request(items: &[HistoryItem], sizes: &PrefixSums) -> Tokens {
    let requests = items.iter().filter(|item| item.speaker == Speaker::Assistant).count() as u64;
    Tokens(sizes.range_tokens(0..items.len()).0 / (requests + 1))
}

/// Number of leading items to keep: the system items and, unless it is long, the first question.
fn head_len(items: &[HistoryItem], sizes: &PrefixSums, pairs: &ToolPairs, budget: Tokens) -> usize {
    let system_len = items.iter().position(|item| item.speaker != Speaker::System).unwrap_or(items.len());
    let opening = opening_end(items, 0);
    let fits = sizes.range_tokens(0..opening) <= budget.percent(HEAD_PERCENT);
    if fits && pairs.is_cut_point(opening) { opening } else { system_len }
}

/// Whether the model starts to speak here, with no call unanswered before.
fn is_round_start(items: &[HistoryItem], pairs: &ToolPairs, at: usize) -> bool {
    let speaks = matches!(items[at].speaker, Speaker::Assistant);
    let spoke = matches!(items[at - 1].speaker, Speaker::Assistant);
    speaks && pairs.is_cut_point(at) && (!spoke || items[at - 1].calls().next().is_none())
}

struct PrefixSums(Vec<Tokens>);

impl PrefixSums {
    fn of(items: &[HistoryItem]) -> Self {
        let mut sums = vec![Tokens::ZERO];
        let mut sum = Tokens::ZERO;
        for item in items {
            sum += item.tokens;
            sums.push(sum);
        }
        Self(sums)
    }

    fn range_tokens(&self, range: Range<usize>) -> Tokens {
        if range.is_empty() { Tokens::ZERO } else { self.0[range.end].saturating_sub(self.0[range.start]) }
    }
}
