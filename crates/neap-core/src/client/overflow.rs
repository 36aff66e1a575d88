//! A request that exceeds its budget whatever is omitted.

use std::fmt;

use crate::base::token_ratio::RequestBudget;
use crate::base::tokens::Tokens;

/// The smallest size of a request, and what it consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    pub needed: Tokens,
    pub budget: Tokens,
    pub system: Tokens,
    pub tools: Tokens,
    /// Fields other than the system prompt, tools and history.
    pub other: Tokens,
}

/// Taken off beyond the excess: another cut has other parts.
const SLACK: Tokens = Tokens(16);
/// A larger excess, in per cent of the budget, is no rounding error.
const ROUNDING_PERCENT: u64 = 10;

impl Overflow {
    /// The next target for a request that was cut to `target` and still exceeds the budget as written: parts are
    /// counted one by one and may cost more together. None if rounding is not the reason.
    pub fn lower_target(&self, target: Tokens) -> Option<Tokens> {
        let over = self.needed.saturating_sub(self.budget);
        let is_rounding = over > Tokens::ZERO && over <= self.budget.percent(ROUNDING_PERCENT);
        is_rounding.then(|| target.saturating_sub(over + SLACK))
    }

    /// Sizes that were counted in our tokens, as the provider may count them.
    pub fn in_provider_tokens(self, budget: &RequestBudget) -> Self {
        let needed = budget.at_most(self.needed).max(budget.limit + Tokens(1));
        let scaled = |part: Tokens| Tokens(part.0.saturating_mul(needed.0) / self.needed.0.max(1));
        let [system, tools, other] = [self.system, self.tools, self.other].map(scaled);
        Self { needed, budget: budget.limit, system, tools, other }
    }

    /// For a request with unknown parts.
    pub fn of_whole(needed: Tokens, budget: Tokens) -> Self {
        Self { needed, budget, system: Tokens::ZERO, tools: Tokens::ZERO, other: Tokens::ZERO }
    }

    /// The newest messages, which are shortened but never omitted.
    pub fn messages(&self) -> Tokens {
        self.needed.saturating_sub(self.system + self.tools + self.other)
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Overflow { needed, budget, system, tools, other } = self;
        let messages = self.messages();
        write!(f, "the request needs {needed} tokens but the budget is {budget}")?;
        let parts =
            [("system prompt", *system), ("tools", *tools), ("messages", messages), ("other fields", *other)];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, tokens)| *tokens > Tokens::ZERO)
            .map(|(name, tokens)| format!("{name} {tokens}"))
            .collect();
        write!(f, " ({})", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_where_the_tokens_are() {
        let (needed, budget) = (Tokens(14_006), Tokens(8_000));
        let overflow =
            Overflow { system: Tokens(13_950), other: Tokens(16), ..Overflow::of_whole(needed, budget) };
        assert_eq!(
            overflow.to_string(),
            "the request needs 14006 tokens but the budget is 8000 (system prompt 13950, messages 40, other fields 16)"
        );
    }

    #[test]
    fn a_request_over_by_rounding_is_cut_to_less() {
        let lower = |needed, aim| Overflow::of_whole(Tokens(needed), Tokens(8_000)).lower_target(Tokens(aim));
        assert_eq!(lower(8_029, 8_000), Some(Tokens(8_000 - 29 - 16)));
        assert_eq!(lower(8_003, 7_955), Some(Tokens(7_955 - 3 - 16)), "each try starts where the last one ended");
        assert_eq!(lower(8_801, 8_000), None, "no rounding");
        assert_eq!(lower(7_999, 7_900), None, "it fits the budget");
    }
}
