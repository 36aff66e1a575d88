//! Mending a summary: what it changed is put back, or the sentence that holds it is left out.

use super::change::{Changed, Nearest, changes};
use super::clause;
use super::compare::{Change, Original, listed};
use crate::message::Message;

/// A summary that says nothing the original does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The summary, mended.
    pub text: String,
    /// What was mended.
    pub changes: Vec<Change>,
}

/// Nothing of the summary is left once what it changed is out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it changed what was said: {}", .0.first().map(Change::to_string).unwrap_or_default())]
pub struct Unrepairable(
    /// What it changed.
    pub Vec<Change>,
);

/// Puts back what a summary changed where there is no doubt what it was, and leaves out the sentence where there is.
pub fn repair(messages: &[Message], summary: &str) -> Result<Repaired, Unrepairable> {
    Original::new(messages).repair(summary)
}

impl Original<'_> {
    /// Mends a summary; see [`repair()`].
    pub fn repair(&self, summary: &str) -> Result<Repaired, Unrepairable> {
        let first = changes(self, summary);
        let listed = listed(summary, &first);
        let mut text = put_back(summary, &first);
        loop {
            if text.trim().is_empty() {
                return Err(Unrepairable(listed));
            }
            let left = changes(self, &text);
            if left.is_empty() {
                return Ok(Repaired { text, changes: listed });
            }
            // Each pass leaves at least one sentence out, so this ends.
            text = leave_out(&text, &left);
        }
    }
}

/// Replaces what can be replaced.
fn put_back(summary: &str, changes: &[Changed]) -> String {
    let mut out = String::with_capacity(summary.len());
    let mut from = 0;
    for changed in changes {
        if let Nearest::One(original) = &changed.nearest
            && changed.range.start >= from
        {
            out.push_str(&summary[from..changed.range.start]);
            out.push_str(original);
            from = changed.range.end;
        }
    }
    out + &summary[from..]
}

/// Leaves out every sentence that holds a change.
fn leave_out(text: &str, changes: &[Changed]) -> String {
    let holds = |sentence: &std::ops::Range<usize>| {
        changes.iter().any(|changed| changed.range.start < sentence.end && sentence.start < changed.range.end)
    };
    let kept = clause::sentences(text).into_iter().filter(|sentence| !holds(sentence));
    kept.map(|sentence| text[sentence].to_owned()).collect::<Vec<_>>().join(" ")
}
