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

impl Overflow {
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
}
