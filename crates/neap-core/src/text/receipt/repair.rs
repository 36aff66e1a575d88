//! Repairs a summary: restores changed values, or drops their sentences.

use super::change::{LocatedChange, NearestOriginal, find_changes};
use super::clause;
use super::compare::{Original, ValueChange, receipt_changes};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    pub text: String,
    pub changes: Vec<ValueChange>,
}

/// Removing the changes would leave nothing of the summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it changed what was said: {}", .0.first().map(ValueChange::to_string).unwrap_or_default())]
pub struct Unrepairable(pub Vec<ValueChange>);

impl Original<'_> {
    /// Restores a changed value if the original one is certain, and drops the sentence if it is not.
    pub fn repair(&self, summary: &str) -> Result<Repaired, Unrepairable> {
        let changes = find_changes(self, summary);
        let reported = receipt_changes(summary, &changes);
        let mut text = restore_values(summary, &changes);
        loop {
            if text.trim().is_empty() {
                return Err(Unrepairable(reported));
            }
            let remaining = find_changes(self, &text);
            if remaining.is_empty() {
                return Ok(Repaired { text, changes: reported });
            }
            // Each pass drops at least one sentence, so this ends.
            text = drop_sentences(&text, &remaining);
        }
    }
}

fn restore_values(summary: &str, changes: &[LocatedChange]) -> String {
    let mut out = String::with_capacity(summary.len());
    let mut from = 0;
    for change in changes {
        if let NearestOriginal::Certain(original) = &change.nearest
            && change.range.start >= from
        {
            out.push_str(&summary[from..change.range.start]);
            out.push_str(original);
            from = change.range.end;
        }
    }
    out + &summary[from..]
}

fn drop_sentences(text: &str, changes: &[LocatedChange]) -> String {
    let has_change = |sentence: &std::ops::Range<usize>| {
        changes.iter().any(|change| change.range.start < sentence.end && sentence.start < change.range.end)
    };
    let remaining = clause::sentences(text).into_iter().filter(|sentence| !has_change(sentence));
    remaining.map(|sentence| text[sentence].to_owned()).collect::<Vec<_>>().join(" ")
}
