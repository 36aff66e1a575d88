//! A token counter for tests, simple enough to check by hand.

use crate::base::tokens::{TokenCounter, Tokens};

/// One token per word, other visible character and newline: exact and additive.
pub struct WordCounter;

impl TokenCounter for WordCounter {
    fn encoding(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> Tokens {
        let mut tokens = 0;
        let mut in_word = false;
        for c in text.chars() {
            let word = c.is_alphanumeric();
            tokens += u64::from((word && !in_word) || (!word && (!c.is_whitespace() || c == '\n')));
            in_word = word;
        }
        Tokens(tokens)
    }
}
