//! The account of one request that was passed on: what came, what went on, and what the provider says it used.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::class::Class;
use super::verdict::Verdict;
use crate::tokens::Tokens;

/// What a provider says that a request used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// All that was sent, what was cached included.
    pub input: Tokens,
    /// Of those, read from the cache.
    pub cached: Tokens,
    /// What came back.
    pub output: Tokens,
}

/// A request that was passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// What kind of request it was.
    pub class: Class,
    /// What it was to what was heard before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What came cost, by our count.
    pub tokens_in: Tokens,
    /// What went on cost.
    pub tokens_sent: Tokens,
    /// Places in which it differed from what came.
    pub changes: u64,
    /// How often the history had been cut.
    pub epoch: u64,
    /// What the provider says it used, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
    /// Whether the end of the answer came.
    pub is_whole: bool,
}

/// All requests of a session, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PassedSum {
    /// How many.
    pub requests: u64,
    /// Those that went on otherwise than they came.
    pub changed: u64,
    /// Those whose answer broke off.
    pub broken_off: u64,
    /// What came cost, by our count.
    pub tokens_in: Tokens,
    /// What went on cost.
    pub tokens_sent: Tokens,
    /// What providers say was used.
    pub used: Used,
}

impl PassedSum {
    /// The share of what was sent that the provider had in its cache; none if it did not say.
    pub fn cached_share(&self) -> Option<f64> {
        (self.used.input > Tokens::ZERO).then(|| self.used.cached.0 as f64 / self.used.input.0 as f64)
    }

    /// Whether there were none: then it need not be told.
    pub fn is_empty(&self) -> bool {
        self.requests == 0
    }
}

impl AddAssign<&Passed> for PassedSum {
    fn add_assign(&mut self, passed: &Passed) {
        let Used { input, cached, output } = passed.used.unwrap_or_default();
        self.requests += 1;
        self.changed += u64::from(passed.changes > 0);
        self.broken_off += u64::from(!passed.is_whole);
        // What a provider says was used may be any number.
        let sums = [
            (&mut self.tokens_in, passed.tokens_in),
            (&mut self.tokens_sent, passed.tokens_sent),
            (&mut self.used.input, input),
            (&mut self.used.cached, cached),
            (&mut self.used.output, output),
        ];
        for (sum, more) in sums {
            *sum = Tokens(sum.0.saturating_add(more.0));
        }
    }
}
