//! Reading text: terms and references, masking of secrets, excerpts, and receipts that say what a summary kept.

pub mod background;
pub mod chunks;
pub mod completion;
pub mod excerpt;
pub mod figures;
pub(crate) mod identifiers;
pub(crate) mod naming;
pub mod opening;
pub mod own_words;
pub mod phrases;
pub mod receipt;
pub mod reference;
pub mod render;
pub mod sanitize;
pub mod secrets;
pub mod terms;

/// On one line: runs of whitespace become one space, with none at either end.
pub fn fold_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
