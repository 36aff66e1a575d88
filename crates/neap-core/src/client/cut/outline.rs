//! The structure of a history by which cuts are chosen: its turns, rounds and requests, and their sizes.

use std::ops::Range;

use super::points::{ToolPairs, opening_end, turn_starts};
use super::room::Room;
use super::stale::{FileInWork, ItemWeights, Staleness};
use crate::base::tokens::Tokens;
use crate::client::request::{ClientRequest, HistoryItem, Speaker};

/// Files that were used in the turn in progress, or in this many before it, are in work.
const RECENT_TURNS: usize = 10;
/// Share of the room for a history that its head may keep.
const HEAD_PERCENT: u64 = 15;
/// The same while there is but one turn.
const ONLY_HEAD_PERCENT: u64 = 35;

/// A client's history without trailing system items, which may move.
pub(super) struct Outline<'a> {
    pub(super) items: &'a [HistoryItem],
    pub(super) pairs: ToolPairs,
    pub(super) stale: Staleness,
    weights: ItemWeights,
    /// Sizes of items as they are.
    pub(super) sizes: PrefixSums,
    /// Sizes of items without what is stale.
    pub(super) lean_sizes: PrefixSums,
    turn_starts: Vec<usize>,
    round_starts: Vec<usize>,
    request_count: usize,
}

impl<'a> Outline<'a> {
    pub(super) fn of(request: &'a ClientRequest) -> Self {
        let items = &request.items[..request.stable_len()];
        let pairs = ToolPairs::of(items);
        let turn_starts = turn_starts(items, &pairs);
        let recent = turn_starts.len().checked_sub(RECENT_TURNS + 1).map_or(0, |nth| turn_starts[nth]);
        let weights = ItemWeights::of(items);
        let present = turn_starts.last().copied().unwrap_or(0);
        let stale = Staleness::of((items, &weights), &pairs, recent, (opening_end(items, 0), present));
        let round_starts = (1..items.len()).filter(|at| is_round_start(items, &pairs, *at)).collect();
        let sizes = PrefixSums::of(items.iter().map(|item| item.tokens));
        let lean = items.iter().enumerate().map(|(at, item)| {
            let blocks = stale.blocks.range((at, 0)..(at + 1, 0));
            item.tokens.saturating_sub(blocks.map(|(_, block)| block.saved).sum())
        });
        let lean_sizes = PrefixSums::of(lean);
        let request_count = request_ends(items).len();
        Self { items, pairs, stale, weights, sizes, lean_sizes, turn_starts, round_starts, request_count }
    }

    /// Number of leading system items, which are never omitted.
    pub(super) fn system_len(&self) -> usize {
        self.items.iter().position(|item| item.speaker != Speaker::System).unwrap_or(self.items.len())
    }

    /// Number of leading items to keep: the system items and, unless it is long, the first question.
    /// The question of the only turn stays in any case, and here the provider still has it.
    pub(super) fn head_len(&self, room: &Room) -> usize {
        let (system, opening) = (self.system_len(), opening_end(self.items, 0));
        let is_only_turn = self.turn_starts.last().is_none_or(|last| *last < opening);
        let limit = room.history().percent(if is_only_turn { ONLY_HEAD_PERCENT } else { HEAD_PERCENT });
        let fits = self.sizes.range(system..opening.max(system)) <= limit;
        if fits && self.pairs.is_cut_point(opening) { opening } else { system }
    }

    /// What each request added so far.
    pub(super) fn growth_per_request(&self) -> Tokens {
        Tokens(self.sizes.range(0..self.items.len()).0 / self.request_count.max(1) as u64)
    }

    pub(super) fn requests_per_turn(&self) -> f64 {
        self.request_count as f64 / self.turn_starts.len().max(1) as f64
    }

    /// What is new in this request.
    pub(super) fn new_items(&self) -> Range<usize> {
        new_from(self.items)..self.items.len()
    }

    /// The items of the question of the last turn behind the head.
    pub(super) fn question(&self, head: usize) -> Range<usize> {
        let last = self.turn_starts.last().copied().filter(|last| *last >= head).unwrap_or(head);
        last..opening_end(self.items, last).max(last)
    }

    /// About what the items of a file in work cost that `counts` selects.
    pub(super) fn file_tokens(&self, file: &FileInWork, counts: impl Fn(usize) -> bool) -> Tokens {
        let places = file.pairs.iter().flat_map(|(call, result)| [*call, *result]);
        places.filter(|(at, _)| counts(*at)).map(|place| self.weights.block_tokens(self.items, place)).sum()
    }

    /// What to omit of the first `end` items so that the rest after `head` costs at most `low`: whole turns; if the last
    /// turn alone costs more than `low`, all others and, unless it costs at most `high`, its oldest rounds.
    pub(super) fn gaps(&self, head: usize, end: usize, low: Tokens, high: Tokens) -> [Range<usize>; 2] {
        let size = |from: usize| self.lean_sizes.range(from..end);
        if size(head) <= low {
            return [head..head, 0..0];
        }
        let starts = &self.turn_starts[..self.turn_starts.partition_point(|start| *start < end)];
        let last = starts.last().copied().filter(|last| *last >= head).unwrap_or(head);
        let later = &starts[starts.partition_point(|start| *start <= head)..];
        if let Some(tail) = later.get(later.partition_point(|start| size(*start) > low)) {
            return [head..*tail, 0..0];
        }
        if size(last) <= high {
            return [head..last, 0..0];
        }
        let opening = opening_end(&self.items[..end], last).max(head);
        let kept = self.lean_sizes.range(last.min(opening)..opening);
        let rounds = &self.round_starts[..self.round_starts.partition_point(|at| *at < end)];
        let rounds = &rounds[rounds.partition_point(|at| *at <= opening)..];
        let fits = |limit: Tokens| rounds.get(rounds.partition_point(|at| kept + size(*at) > limit)).copied();
        let resumes = fits(low).or_else(|| fits(high)).or(rounds.last().copied()).unwrap_or(opening);
        [head..last.max(head), opening..resumes]
    }
}

/// The first item that is new in a request: the reply to the one before.
pub(super) fn new_from(items: &[HistoryItem]) -> usize {
    let ends = request_ends(items);
    ends.len().checked_sub(2).map_or(0, |nth| ends[nth])
}

/// Number of items in each request; the last is this one. The model speaks once for each.
pub(super) fn request_ends(items: &[HistoryItem]) -> Vec<usize> {
    let speaks = |at: usize| items[at].speaker == Speaker::Assistant;
    let mut ends: Vec<usize> = (1..items.len()).filter(|at| speaks(*at) && !speaks(*at - 1)).collect();
    ends.push(items.len());
    ends
}

/// Whether the model starts to speak here, with no call unanswered before.
fn is_round_start(items: &[HistoryItem], pairs: &ToolPairs, at: usize) -> bool {
    let speaks = matches!(items[at].speaker, Speaker::Assistant);
    let spoke = matches!(items[at - 1].speaker, Speaker::Assistant);
    speaks && pairs.is_cut_point(at) && (!spoke || items[at - 1].calls().next().is_none())
}

pub(super) struct PrefixSums(Vec<Tokens>);

impl PrefixSums {
    pub(super) fn of(sizes: impl Iterator<Item = Tokens>) -> Self {
        let mut sums = vec![Tokens::ZERO];
        let mut sum = Tokens::ZERO;
        for size in sizes {
            sum += size;
            sums.push(sum);
        }
        Self(sums)
    }

    pub(super) fn range(&self, range: Range<usize>) -> Tokens {
        if range.is_empty() { Tokens::ZERO } else { self.0[range.end].saturating_sub(self.0[range.start]) }
    }
}
