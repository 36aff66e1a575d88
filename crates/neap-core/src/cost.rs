//! What calling the model costs: what it read from its cache, what it had to read anew, and what it said.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::policy::Policy;
use crate::tokens::Tokens;

/// The bill of one or more calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Calls of the model.
    pub calls: u64,
    /// Tokens sent, schemas included.
    pub sent: Tokens,
    /// Of those, tokens that the provider has in its cache, because they begin as the call before began.
    pub cached: Tokens,
    /// Tokens that came back.
    pub output: Tokens,
    /// At the prices of the policy, in thousand-millionths of a dollar.
    pub nanodollars: u64,
}

/// A cent for a million tokens, for one token.
const NANODOLLARS_PER_CENT: u64 = 10;

impl Cost {
    /// Whether nothing was called.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// One call.
    pub fn of_call(policy: &Policy, sent: Tokens, cached: Tokens) -> Self {
        let written = sent.saturating_sub(cached);
        let cents = cached.0 * policy.price_cache_read_cents + written.0 * policy.price_cache_write_cents;
        Self { calls: 1, sent, cached, output: Tokens::ZERO, nanodollars: cents * NANODOLLARS_PER_CENT }
    }

    /// What came back.
    pub fn of_reply(policy: &Policy, output: Tokens) -> Self {
        let nanodollars = output.0 * policy.price_output_cents * NANODOLLARS_PER_CENT;
        Self { output, nanodollars, ..Self::default() }
    }

    /// The price in dollars.
    pub fn dollars(&self) -> f64 {
        self.nanodollars as f64 / 1e9
    }

    /// The share of what was sent that came from the cache, in per cent.
    pub fn cached_percent(&self) -> u64 {
        (self.cached.0 * 100).checked_div(self.sent.0).unwrap_or(0)
    }
}

/// What a budget is lowered by beyond what is needed, as a part of it: how much more a provider counts differs a little from
/// call to call, and the budget is not to follow each time.
const SPARE_PART: u64 = 16;

/// The budget at which a provider who counts `theirs` where we count `ours` still sees no more than `most`; none if this
/// one is small enough.
pub fn budget_that_fits(budget: Tokens, ours: Tokens, theirs: Tokens, most: Tokens) -> Option<Tokens> {
    if theirs <= ours {
        return (budget > most).then_some(most);
    }
    let fitting = u128::from(most.0) * u128::from(ours.0) / u128::from(theirs.0);
    let fitting = Tokens(u64::try_from(fitting).unwrap_or(u64::MAX));
    (budget > fitting).then(|| fitting.saturating_sub(Tokens(fitting.0 / SPARE_PART)))
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

    /// RELIABILITY: a provider counts more than we do; from then on nothing it counts is over.
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
            let got = budget_that_fits(Tokens(budget), Tokens(ours), Tokens(theirs), Tokens(most));
            assert_eq!(got, want.map(Tokens), "{budget} {ours} {theirs} {most}");
            let counted_there = got.unwrap_or(Tokens(budget)).0 * theirs.max(1) / ours.max(1);
            assert!(counted_there <= most, "{budget} {ours} {theirs} {most}");
        }
    }

    /// PROTOCOLS, fact 1: a prompt of 16k rewritten costs as much as one of 200k read from the cache.
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
