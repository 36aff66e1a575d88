//! What model calls cost: tokens read from the provider's cache, tokens sent anew, and output.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::base::policy::Policy;
use crate::base::token_ratio::reported_ratio;
use crate::base::tokens::Tokens;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    pub calls: u64,
    /// Tokens sent, tool schemas included.
    pub sent: Tokens,
    /// Of those, tokens in the provider's cache: the prefix shared with the previous call.
    pub cached: Tokens,
    pub output: Tokens,
    /// At the policy's prices.
    pub nanodollars: u64,
}

/// One cent per million tokens is 10 nanodollars per token.
const NANODOLLARS_PER_CENT: u64 = 10;

impl Cost {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub fn of_call(policy: &Policy, sent: Tokens, cached: Tokens) -> Self {
        let written = sent.saturating_sub(cached);
        let cents = cached.0 * policy.price_cache_read_cents + written.0 * policy.price_cache_write_cents;
        Self { calls: 1, sent, cached, output: Tokens::ZERO, nanodollars: cents * NANODOLLARS_PER_CENT }
    }

    pub fn of_reply(policy: &Policy, output: Tokens) -> Self {
        let nanodollars = output.0 * policy.price_output_cents * NANODOLLARS_PER_CENT;
        Self { output, nanodollars, ..Self::default() }
    }

    pub fn dollars(&self) -> f64 {
        self.nanodollars as f64 / 1e9
    }

    /// The share of sent tokens that came from the cache, in per cent.
    pub fn cached_percent(&self) -> u64 {
        (self.cached.0 * 100).checked_div(self.sent.0).unwrap_or(0)
    }
}

/// The budget drops by this fraction more than needed: how much more a provider counts varies a little between
/// calls, and the budget should not change each time.
const MARGIN_DIVISOR: u64 = 16;
/// A budget rises by at least this fraction: each change rewrites the prompt.
const RAISE_DIVISOR: u64 = 8;

/// The budget at which a provider that counts `provider_count` tokens where Neap counts `our_count` stays within
/// `limit`; `None` if `budget` already does.
pub fn fitting_budget(budget: Tokens, our_count: Tokens, provider_count: Tokens, limit: Tokens) -> Option<Tokens> {
    if provider_count <= our_count {
        return (budget > limit).then_some(limit);
    }
    let fitting = u128::from(limit.0) * u128::from(our_count.0) / u128::from(provider_count.0);
    let fitting = Tokens(u64::try_from(fitting).unwrap_or(u64::MAX));
    (budget > fitting).then(|| fitting.saturating_sub(Tokens(fitting.0 / MARGIN_DIVISOR)))
}

/// The budget to which a lowered one may rise: what the provider's count leaves room for within `limit`, at most
/// `wanted`; `None` if that is hardly more, or if the counts tell nothing.
pub fn raised_budget(
    budget: Tokens,
    wanted: Tokens,
    our_count: Tokens,
    provider_count: Tokens,
    limit: Tokens,
) -> Option<Tokens> {
    reported_ratio(our_count, provider_count)?;
    let fitting = u128::from(limit.0) * u128::from(our_count.0) / u128::from(provider_count.0.max(1));
    let fitting = Tokens(u64::try_from(fitting).unwrap_or(u64::MAX));
    let room = fitting.saturating_sub(Tokens(fitting.0 / MARGIN_DIVISOR)).min(wanted);
    (room.0 > budget.0 + budget.0 / RAISE_DIVISOR).then_some(room)
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.calls += other.calls;
        self.sent += other.sent;
        self.cached += other.cached;
        self.output += other.output;
        self.nanodollars += other.nanodollars;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_rises_to_what_the_provider_counts_and_no_further() {
        let raised = |budget, wanted, ours, theirs| {
            raised_budget(Tokens(budget), Tokens(wanted), Tokens(ours), Tokens(theirs), Tokens(4_000)).map(|t| t.0)
        };
        assert_eq!(raised(2_600, 16_000, 2_000, 2_000), Some(3_750), "as we count");
        assert_eq!(raised(2_600, 3_000, 2_000, 1_500), Some(3_000), "not above what was wanted");
        assert_eq!(raised(3_700, 16_000, 2_000, 2_000), None, "hardly more");
        assert_eq!(raised(2_600, 16_000, 2_000, 3_200), None, "it counts more than we do");
        assert_eq!(raised(2_600, 16_000, 400, 200), None, "too little to tell");
        for theirs in (1_000..4_000).step_by(37) {
            let room = raised(1_000, 16_000, 2_000, theirs).unwrap_or(1_000);
            assert!(room * theirs / 2_000 <= 4_000, "{theirs}: {room} is within the provider's limit");
            let lowered = fitting_budget(Tokens(room), Tokens(2_000), Tokens(theirs), Tokens(4_000));
            assert!(theirs <= 2_000 || lowered.is_none(), "{theirs}: a raised budget is not lowered at once");
        }
    }

    /// RELIABILITY: once the budget is lowered, the provider's own count stays within its limit.
    #[test]
    fn a_budget_is_lowered_until_the_provider_counts_it_as_fitting() {
        let table = [
            (16_000, 1_000, 1_000, 20_000, None),
            (16_000, 1_000, 900, 20_000, None),
            (24_000, 1_000, 900, 20_000, Some(20_000)),
            (16_000, 1_000, 1_350, 20_000, Some(13_889)),
            (14_814, 1_000, 1_350, 20_000, None),
            (13_889, 1_000, 1_430, 20_000, None),
            (16_000, 0, 5, 20_000, Some(0)),
        ];
        for (budget, ours, theirs, most, want) in table {
            let got = fitting_budget(Tokens(budget), Tokens(ours), Tokens(theirs), Tokens(most));
            assert_eq!(got, want.map(Tokens), "{budget} {ours} {theirs} {most}");
            let counted_there = got.unwrap_or(Tokens(budget)).0 * theirs.max(1) / ours.max(1);
            assert!(counted_there <= most, "{budget} {ours} {theirs} {most}");
        }
    }

    /// PROTOCOLS, fact 1: rewriting a 16k prompt costs as much as reading 200k from the cache.
    #[test]
    fn rewriting_16k_costs_as_much_as_reading_200k() {
        let policy = Policy::default();
        let rewritten = Cost::of_call(&policy, Tokens(16_000), Tokens::ZERO);
        let read = Cost::of_call(&policy, Tokens(200_000), Tokens(200_000));
        assert_eq!(rewritten.nanodollars, read.nanodollars);
        assert_eq!(
            (read.cached_percent(), rewritten.cached_percent(), Cost::default().cached_percent()),
            (100, 0, 0)
        );
    }
}
