//! What model calls cost: tokens read from the provider's cache, tokens sent anew, and output.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::base::policy::Policy;
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
