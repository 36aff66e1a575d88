//! Censors: rules about what not to say or do (003, Censors; docs/decisions/0003-memories.md).
//!
//! [`compile`] validates a pattern when its rule is written, and [`dry_run()`] tries it on recent texts.
//! [`check()`] runs on every text of the side that a rule names.

mod check;
mod dry_run;
mod pattern;

pub use check::{CensorHit, PatternCache, check};
pub use dry_run::{DryRun, dry_run};
pub use pattern::{AnalyzedText, CompiledPattern, PATTERN_CHARS_MAX, compile};

use crate::memory::{Author, CensorAction};

/// Caps an action at what its author may set: tools and imports steer, models refuse, only a person aborts.
pub fn cap_action(author: Author, action: CensorAction) -> CensorAction {
    action.min(match author {
        Author::Person => CensorAction::Abort,
        Author::Model => CensorAction::Refuse,
        Author::Tool | Author::Import => CensorAction::Steer,
    })
}

#[cfg(test)]
mod tests;
