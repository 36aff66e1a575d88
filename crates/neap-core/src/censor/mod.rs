//! What a censor looks for, and what comes of finding it (003, Censors; DESIGN, decision 14).
//!
//! A pattern is [`compile`]d when a rule is written, which refuses what cannot be meant, and tried on recent texts
//! ([`dry_run()`]); [`check()`] is made of every text on the side that a rule names.

mod check;
mod dry_run;
mod pattern;

pub use check::{Hit, Patterns, check};
pub use dry_run::{DryRun, dry_run};
pub use pattern::{Compiled, PATTERN_CHARS_MAX, Text, compile};

use crate::memory::{Action, Author};

/// The strictest that an author's rule may be: what comes from tools and files steers, a model's rule refuses, only
/// a person's ends a turn.
pub fn allowed(author: Author, action: Action) -> Action {
    action.min(match author {
        Author::Person => Action::Abort,
        Author::Model => Action::Refuse,
        Author::Tool | Author::Import => Action::Steer,
    })
}

#[cfg(test)]
mod tests;
