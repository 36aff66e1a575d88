//! Checks that run after every step, from outside: they share no arithmetic and no rule with the code that they
//! check.

pub mod agent;
pub(crate) mod forwarded;
pub mod marks;
pub mod oracle;
pub mod prefix;
pub mod request;
pub(crate) mod stored;
pub mod stream;
pub mod summary;
pub mod view;

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// `I1` to `I12`, or the promise's name.
    pub invariant: &'static str,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invariant, what } = self;
        // A message may be several times the budget; its beginning is enough.
        let short: String = what.chars().take(5_000).collect();
        write!(f, "{invariant}: {short}")
    }
}

pub type StepResult = Result<(), Vec<Violation>>;

#[derive(Debug, Default)]
pub struct Violations(Vec<Violation>);

impl Violations {
    pub fn add(&mut self, invariant: &'static str, what: impl Into<String>) {
        self.0.push(Violation { invariant, what: what.into() });
    }

    pub fn check(&mut self, invariant: &'static str, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.add(invariant, what());
        }
    }

    pub fn into_result(self) -> StepResult {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}
