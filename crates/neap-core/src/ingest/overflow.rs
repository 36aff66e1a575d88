//! A request that is over its budget, whatever is left out of it.

use std::fmt;

use crate::tokens::Tokens;

/// What a request costs at the least, and where that comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    /// The least that it can be brought to.
    pub needed: Tokens,
    /// What it may cost.
    pub budget: Tokens,
    /// Its system prompt.
    pub system: Tokens,
    /// The schemas of its tools.
    pub tools: Tokens,
    /// Its members that hold neither of them, nor the history.
    pub other: Tokens,
}

/// What is taken off beyond what a request was over: another cut has other pieces.
const SLACK: Tokens = Tokens(16);
/// Whoever is over by more, in per cent of the budget, is not over by how pieces add up.
const ROUNDING_PERCENT: u64 = 10;

impl Overflow {
    /// What to cut a request to instead, which was cut to `aim` and is still over as it is written: its pieces are counted one by
    /// one, and may cost more together. None where that is not the reason.
    pub fn lower_aim(&self, aim: Tokens) -> Option<Tokens> {
        let over = self.needed.saturating_sub(self.budget);
        let is_rounding = over > Tokens::ZERO && over <= self.budget.percent(ROUNDING_PERCENT);
        is_rounding.then(|| aim.saturating_sub(over + SLACK))
    }

    /// Of a request that was not taken apart.
    pub fn of_whole(needed: Tokens, budget: Tokens) -> Self {
        Self { needed, budget, system: Tokens::ZERO, tools: Tokens::ZERO, other: Tokens::ZERO }
    }

    /// What is left for the newest messages, which are shortened but never left out.
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
        let lower = |needed, aim| Overflow::of_whole(Tokens(needed), Tokens(8_000)).lower_aim(Tokens(aim));
        assert_eq!(lower(8_029, 8_000), Some(Tokens(8_000 - 29 - 16)));
        assert_eq!(lower(8_003, 7_955), Some(Tokens(7_955 - 3 - 16)), "each try starts where the last one ended");
        assert_eq!(lower(8_801, 8_000), None, "no rounding");
        assert_eq!(lower(7_999, 7_900), None, "it fits the budget");
    }
}
