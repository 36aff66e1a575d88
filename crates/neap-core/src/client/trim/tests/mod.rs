//! What is shown of tool results.

mod kinds;
mod random;

use super::*;
use crate::base::testing::WordCounter;

pub(super) fn long(text: &str) -> LongText<'_> {
    let handle = Handle::Result(ResultKey::new("call_1", text));
    LongText { text, handle, key: Digest::of("test", &[text.as_bytes()]) }
}

/// The short form, which is within its bounds and is not shortened again.
#[track_caller]
pub(super) fn trimmed(text: &str) -> String {
    let short = trim_text(&WordCounter, &long(text)).expect("it is long");
    let (before, after) = (wire_tokens(text), wire_tokens(&short));
    assert!(after <= Tokens(TRIMMED_PROBLEM_TOKENS.1).min(Tokens((before.0 / 4).max(600))), "{after} of {before}");
    assert_eq!(trim_text(&WordCounter, &long(&short)), None);
    assert!(short.contains(&long(text).handle.to_string()), "{short}");
    short
}

pub(super) fn wire_tokens(text: &str) -> Tokens {
    JsonTokenCounter(&WordCounter).count(text)
}
