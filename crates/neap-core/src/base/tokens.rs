//! Token counts of texts, messages and tool schemas.
//!
//! A text is counted once, when it is accepted, and the count is stored beside it. Counts add up because every
//! message is counted on its own and system sections are joined only at line breaks followed by a letter, `#`, `-`
//! or `[`, where no encoding merges across (see [`TokenCounter`]).

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(pub u64);

impl Tokens {
    pub const ZERO: Tokens = Tokens(0);

    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    pub fn saturating_sub(self, other: Tokens) -> Tokens {
        Tokens(self.0.saturating_sub(other.0))
    }

    /// Rounded down.
    pub fn percent(self, share: u64) -> Tokens {
        Tokens(self.0 * share / 100)
    }
}

impl Add for Tokens {
    type Output = Tokens;
    fn add(self, other: Tokens) -> Tokens {
        Tokens(self.0 + other.0)
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        self.0 += other.0;
    }
}

impl Sub for Tokens {
    type Output = Tokens;
    fn sub(self, other: Tokens) -> Tokens {
        Tokens(self.0.checked_sub(other.0).expect("a part is never larger than its whole"))
    }
}

impl SubAssign for Tokens {
    fn sub_assign(&mut self, other: Tokens) {
        *self = *self - other;
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Tokens>>(iter: I) -> Tokens {
        iter.fold(Tokens::ZERO, Add::add)
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Counts tokens as one model family does.
///
/// An implementation must be a pure function of the text and *additive at lines*: where a piece ends in a newline
/// and the next begins with a character that is neither white space nor `/`, the count of both together is the sum
/// of their counts. All byte-pair encodings in use are, because their pre-tokenizers end a piece there; a
/// conservative estimate is, because it rounds up.
pub trait TokenCounter: Send + Sync {
    /// The encoding's name, stored with every session.
    fn encoding(&self) -> &str;

    fn count(&self, text: &str) -> Tokens;
}

/// What primes the reply, once per request.
pub const REPLY_PRIMING: Tokens = Tokens(3);
