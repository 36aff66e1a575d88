//! What a conversation has cost so far, and what it would have cost sent whole. Both follow from the request and its
//! cut: nothing is stored for it. Costs are tokens times their price in per cent.

use super::bounds::Bounds;
use super::outline::{PrefixSums, request_ends};
use super::plan::CutPlan;
use super::prices::Prices;
use super::room::Room;
use crate::base::tokens::Tokens;
use crate::client::request::ClientRequest;

/// Most that a conversation may cost at any time, in per cent of what it costs sent whole.
const COST_PERCENT_MAX: u64 = 102;

pub(super) struct Spending {
    prices: Prices,
    fixed: Tokens,
    /// Number of items in each request.
    ends: Vec<usize>,
    /// Of all requests sent whole, this one included.
    direct: u64,
    /// Of all requests before this one, as they were sent.
    before: u64,
    /// Sizes of the items as they are sent with the cut that holds.
    sent: PrefixSums,
}

impl Spending {
    /// Without a cut, earlier requests count as sent whole. That is too much after a restart, so it errs on the safe
    /// side.
    pub(super) fn of(request: &ClientRequest, plan: Option<&CutPlan>, bounds: &Bounds) -> Self {
        let room = Room::of(request, bounds);
        let history = room.history_items(request);
        let is_history = |at: &usize| history.contains(at);
        let whole = PrefixSums::of((0..history.end).map(|at| match is_history(&at) {
            true => request.items[at].tokens,
            false => Tokens::ZERO,
        }));
        let ends = request_ends(&request.items[..history.end]);
        let (prices, fixed) = (bounds.prices, room.fixed());
        let mut spending = Self { prices, fixed, ends, direct: 0, before: 0, sent: whole };
        let (last, earlier) = spending.ends.split_last().map_or((0, &[][..]), |(last, rest)| (*last, rest));
        let before = spending.requests_cost(None, earlier);
        let this = spending.requests_cost(earlier.last().copied(), &[last]);
        spending.direct = before + this;
        spending.before = before;
        if let Some(plan) = plan {
            let sizes = (0..history.end).map(|at| match is_history(&at) {
                true => plan.item_tokens(at, &request.items[at]),
                false => Tokens::ZERO,
            });
            spending.sent = PrefixSums::of(sizes);
            let since = spending.ends.partition_point(|end| *end <= plan.item_count());
            let earlier = spending.ends.len().saturating_sub(1).max(since);
            let later = spending.requests_cost(Some(plan.item_count()), &spending.ends[since..earlier]);
            spending.before = plan.spent_before() + spending.cut_cost(plan) + later;
        }
        spending
    }

    /// Of the requests that end at `ends`, where the provider has cached the first `cached` items.
    fn requests_cost(&self, cached: Option<usize>, ends: &[usize]) -> u64 {
        let mut cached = cached;
        ends.iter().map(|end| self.request_cost(cached.replace(*end), *end)).sum()
    }

    fn request_cost(&self, cached: Option<usize>, end: usize) -> u64 {
        let read = cached.map_or(Tokens::ZERO, |cached| self.fixed + self.sent.range(0..cached));
        let written = (self.fixed + self.sent.range(0..end)).saturating_sub(read);
        read.0 * self.prices.cache_read + written.0 * self.prices.cache_write
    }

    /// Of the request that was cut first: what was new in it was in no cache.
    fn cut_cost(&self, plan: &CutPlan) -> u64 {
        let previous = self.ends.iter().rev().find(|end| **end < plan.item_count());
        let cached = previous.map(|end| plan.unchanged_len().min(*end));
        self.request_cost(cached, plan.item_count())
    }

    pub(super) fn before(&self) -> u64 {
        self.before
    }

    pub(super) fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Tokens of items as they are sent.
    pub(super) fn sent_tokens(&self, items: std::ops::Range<usize>) -> Tokens {
        self.sent.range(items)
    }

    /// How many tokens a cut of this request may write besides `new` ones, where the provider still has `cached`
    /// tokens of the history.
    pub(super) fn cut_allowance(&self, cached: Tokens, new: Tokens) -> Tokens {
        let needed = (self.fixed + cached).0 * self.prices.cache_read + new.0 * self.prices.cache_write;
        self.tokens_left(self.before + needed)
    }

    /// How many tokens may be added to an item of this request, which is sent with `plan`.
    pub(super) fn recall_allowance(&self, plan: &CutPlan, at: usize) -> Tokens {
        let end = self.ends.last().copied().unwrap_or(0);
        let previous = self.ends.len().checked_sub(2).map(|nth| self.ends[nth]);
        let (this, cached) = match plan.item_count() == end {
            true => (0, previous.map(|end| plan.unchanged_len().min(end))),
            false => (self.request_cost(previous, end), previous),
        };
        // What comes behind it is written again.
        let rewritten =
            cached.filter(|cached| at < *cached).map_or(Tokens::ZERO, |cached| self.sent.range(at..cached));
        let rewriting = rewritten.0 * self.prices.cache_write.saturating_sub(self.prices.cache_read);
        self.tokens_left(self.before + this + rewriting)
    }

    fn tokens_left(&self, cost: u64) -> Tokens {
        let most = self.direct * COST_PERCENT_MAX / 100;
        Tokens(most.saturating_sub(cost) / self.prices.cache_write.max(1))
    }
}
