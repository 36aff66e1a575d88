//! What a proxied request cost, and what the client's own request would have cost at the same prices.
//!
//! A history that nobody touches only grows: each request reads from the provider's cache what the one before had, and
//! writes the rest.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::request_account::TokenUsage;
use crate::base::tokens::Tokens;

/// A model's prices, in picodollars per token: a dollar per million tokens is a million of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenPrices {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
}

/// In nanodollars, the reply included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCost {
    pub sent_nanodollars: u64,
    pub untouched_nanodollars: u64,
}

impl RequestCost {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub fn sent_dollars(&self) -> f64 {
        self.sent_nanodollars as f64 / 1e9
    }

    pub fn untouched_dollars(&self) -> f64 {
        self.untouched_nanodollars as f64 / 1e9
    }

    /// Negative where what was sent cost more.
    pub fn saved_dollars(&self) -> f64 {
        self.untouched_dollars() - self.sent_dollars()
    }
}

impl AddAssign for RequestCost {
    fn add_assign(&mut self, other: Self) {
        self.sent_nanodollars = self.sent_nanodollars.saturating_add(other.sent_nanodollars);
        self.untouched_nanodollars = self.untouched_nanodollars.saturating_add(other.untouched_nanodollars);
    }
}

/// A prompt by our count, and how much of it the request before had at the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptSize {
    pub tokens: Tokens,
    pub repeated: Tokens,
}

impl TokenPrices {
    /// The cost of a request whose prompt was `sent` in place of the client's `received`, or as it was received if
    /// that is `None`. `used` is the provider's report over `calls` calls, which took the place of one if our tools
    /// were called.
    pub fn request_cost(
        &self,
        sent: PromptSize,
        received: Option<PromptSize>,
        used: Option<TokenUsage>,
        calls: u64,
    ) -> RequestCost {
        let spent = used.unwrap_or_else(|| self.growing(sent));
        let untouched = received.map_or(spent, |received| self.untouched(sent, received, used, calls));
        RequestCost {
            sent_nanodollars: self.nanodollars(&spent),
            untouched_nanodollars: self.nanodollars(&untouched),
        }
    }

    /// The provider counts and caches what it was not sent as it did what it was sent.
    fn untouched(
        &self,
        sent: PromptSize,
        received: PromptSize,
        used: Option<TokenUsage>,
        calls: u64,
    ) -> TokenUsage {
        let Some(used) = used.filter(|used| used.input > Tokens::ZERO && sent.tokens > Tokens::ZERO) else {
            return self.growing(received);
        };
        let scaled = |tokens: Tokens| {
            let ours = u128::from(sent.tokens.0) * u128::from(calls);
            Tokens(u64::try_from(u128::from(tokens.0) * u128::from(used.input.0) / ours).unwrap_or(u64::MAX))
        };
        // A cache that has nothing of what was sent before has nothing of what would have been.
        let is_missed = used.cached == Tokens::ZERO && sent.repeated > Tokens::ZERO;
        let (input, cached) = (scaled(received.tokens), scaled(received.repeated));
        let cached = if is_missed { Tokens::ZERO } else { cached.min(input) };
        let has_written = used.cache_written > Tokens::ZERO;
        let cache_written = if has_written { input.saturating_sub(cached) } else { Tokens::ZERO };
        TokenUsage { input, cached, cache_written, output: used.output }
    }

    /// A prompt that continues the one before, for which the provider reported nothing.
    fn growing(&self, prompt: PromptSize) -> TokenUsage {
        let cached = prompt.repeated.min(prompt.tokens);
        let cache_written = prompt.tokens.saturating_sub(cached);
        TokenUsage { input: prompt.tokens, cached, cache_written, output: Tokens::ZERO }
    }

    fn nanodollars(&self, usage: &TokenUsage) -> u64 {
        let TokenUsage { input, cached, cache_written, output } = *usage;
        let fresh = input.saturating_sub(cached).saturating_sub(cache_written);
        let parts = [
            (cached, self.cache_read),
            (cache_written, self.cache_write),
            (fresh, self.input),
            (output, self.output),
        ];
        // A provider may report any number.
        let picodollars: u128 =
            parts.iter().map(|(tokens, price)| u128::from(tokens.0) * u128::from(*price)).sum();
        u64::try_from(picodollars / 1_000).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dollar per million, a tenth of it to read, a quarter more to write, as Anthropic's are.
    const PRICES: TokenPrices =
        TokenPrices { input: 1_000_000, cache_read: 100_000, cache_write: 1_250_000, output: 5_000_000 };

    fn size(tokens: u64, repeated: u64) -> PromptSize {
        PromptSize { tokens: Tokens(tokens), repeated: Tokens(repeated) }
    }

    fn usage(input: u64, cached: u64, cache_written: u64) -> Option<TokenUsage> {
        let [input, cached, cache_written] = [input, cached, cache_written].map(Tokens);
        Some(TokenUsage { input, cached, cache_written, output: Tokens(10) })
    }

    fn cost(sent: PromptSize, received: Option<PromptSize>, used: Option<TokenUsage>) -> (u64, u64) {
        let cost = PRICES.request_cost(sent, received, used, 1);
        (cost.sent_nanodollars, cost.untouched_nanodollars)
    }

    #[test]
    fn a_request_that_was_not_touched_saves_nothing() {
        let fresh = (100 * 1_000 + 700 * 100 + 200 * 1_250) + 10 * 5_000;
        assert_eq!(cost(size(900, 800), None, usage(1_000, 700, 200)), (fresh, fresh));
        assert_eq!(cost(size(900, 800), None, None), (800 * 100 + 100 * 1_250, 800 * 100 + 100 * 1_250));
    }

    /// The untouched history reads what it had and writes what is new, however little of it was sent.
    #[test]
    fn an_untouched_history_is_read_from_the_cache_except_for_its_growth() {
        let cut_before = cost(size(3_000, 2_900), Some(size(10_000, 9_900)), usage(3_000, 2_900, 100));
        let output = 10 * 5_000;
        assert_eq!(cut_before.0, 2_900 * 100 + 100 * 1_250 + output);
        assert_eq!(cut_before.1, 9_900 * 100 + 100 * 1_250 + output);
        // The request that cuts writes what it keeps: it may cost more than the untouched one.
        let cut_now = cost(size(3_000, 500), Some(size(10_000, 9_900)), usage(3_000, 500, 2_500));
        assert_eq!(cut_now, (500 * 100 + 2_500 * 1_250 + output, cut_before.1));
        assert!(cut_now.0 > cut_now.1);
        // A client that compacted writes its history anew.
        let compacted = cost(size(3_000, 500), Some(size(4_000, 500)), usage(3_000, 500, 2_500));
        assert_eq!(compacted.1, 500 * 100 + 3_500 * 1_250 + output);
    }

    /// What was not sent is counted as the provider counts what was sent, over all calls that one answer took.
    #[test]
    fn the_providers_count_is_the_measure() {
        let (sent, received) = (size(1_000, 900), Some(size(5_000, 4_900)));
        let half = cost(sent, received, usage(500, 450, 50));
        assert_eq!(half.1, 2_450 * 100 + 50 * 1_250 + 10 * 5_000);
        let twice = PRICES.request_cost(sent, received, usage(1_000, 900, 100), 2);
        assert_eq!(twice.untouched_nanodollars, half.1);
    }

    /// A provider that caches nothing would not have cached the rest either; then nothing is written.
    #[test]
    fn a_cache_that_missed_would_have_missed() {
        let missed = cost(size(1_000, 900), Some(size(5_000, 4_900)), usage(1_000, 0, 0));
        assert_eq!(missed, (1_000 * 1_000 + 10 * 5_000, 5_000 * 1_000 + 10 * 5_000));
        let expired = cost(size(1_000, 900), Some(size(5_000, 4_900)), usage(1_000, 0, 1_000));
        assert_eq!(expired.1, 5_000 * 1_250 + 10 * 5_000);
    }

    #[test]
    fn without_a_report_both_are_counted_by_us() {
        let counted = cost(size(1_000, 900), Some(size(5_000, 4_900)), None);
        assert_eq!(counted, (900 * 100 + 100 * 1_250, 4_900 * 100 + 100 * 1_250));
        assert_eq!(cost(size(0, 0), Some(size(5_000, 0)), usage(0, 0, 0)).1, 5_000 * 1_250);
        let any = cost(size(1, 1), Some(size(u64::MAX, u64::MAX)), usage(u64::MAX, u64::MAX, 0));
        assert_eq!(any.1, u64::MAX, "a provider may report any number");
    }
}
