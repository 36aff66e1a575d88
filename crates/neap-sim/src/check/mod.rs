//! What must hold after every step, looked at from outside: the checks share no arithmetic and no rule with
//! the code that they check.

pub mod marks;
pub mod mind;
pub mod oracle;
pub mod prefix;
pub mod request;
pub mod stream;
pub mod summary;
pub mod view;

use std::fmt;

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which: `I1` to `I12`, or the promise's name.
    pub invariant: &'static str,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invariant, what } = self;
        // A message may be several times the budget: the beginning says enough.
        let short: String = what.chars().take(5_000).collect();
        write!(f, "{invariant}: {short}")
    }
}

/// Collects what does not hold.
#[derive(Debug, Default)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// Notes one.
    pub fn add(&mut self, invariant: &'static str, what: impl Into<String>) {
        self.0.push(Violation { invariant, what: what.into() });
    }

    /// Notes one unless it holds.
    pub fn check(&mut self, invariant: &'static str, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.add(invariant, what());
        }
    }

    /// All of them.
    pub fn into_vec(self) -> Vec<Violation> {
        self.0
    }
}
