//! Keeps JSON valid when it is masked, whatever a mask would have covered.

use std::ops::Range;

use super::MaskedRange;

/// Whether a text is JSON of a kind that a mask can break.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

enum JsonToken {
    /// The range between the quotes.
    Text(Range<usize>),
    Number(Range<usize>),
}

/// Fits masks into JSON: each inside one string; a masked number becomes a string.
pub(super) fn fit_masks(text: &str, secrets: &[MaskedRange]) -> Vec<(Range<usize>, String)> {
    let mut out: Vec<(Range<usize>, String)> = Vec::new();
    let mut secrets = secrets.iter().peekable();
    for token in json_tokens(text) {
        let (JsonToken::Text(range) | JsonToken::Number(range)) = &token;
        while secrets.next_if(|secret| secret.range.end <= range.start).is_some() {}
        // A secret may span several strings, and a string may contain several secrets.
        let mut ahead = secrets.clone();
        while let Some(secret) = ahead.next_if(|secret| secret.range.start < range.end) {
            match &token {
                JsonToken::Number(range) => {
                    out.push((range.clone(), format!("\"{}\"", secret.mask())));
                    break;
                }
                JsonToken::Text(range) => {
                    let start = secret.range.start.max(range.start).max(out.last().map_or(0, |last| last.0.end));
                    let start = escape_start(text, range.start, start);
                    let end = escape_end(text, range, secret.range.end.min(range.end));
                    if start < end {
                        out.push((start..end, secret.mask()));
                    }
                }
            }
        }
    }
    out
}

fn json_tokens(text: &str) -> Vec<JsonToken> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                tokens.push(JsonToken::Text(start + 1..at.min(bytes.len())));
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                at += bytes[at..].iter().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
                tokens.push(JsonToken::Number(start..at));
            }
            _ => at += 1,
        }
    }
    tokens
}

/// `\u0026`.
const ESCAPE_BYTES: usize = 6;

/// `at`, or the beginning of the escape that contains it.
fn escape_start(text: &str, first: usize, at: usize) -> usize {
    let bytes = text.as_bytes();
    let low = at.saturating_sub(ESCAPE_BYTES - 1).max(first);
    (low..at).find(|from| escape_end_from(bytes, first, *from).is_some_and(|end| end > at)).unwrap_or(at)
}

fn escape_end(text: &str, range: &Range<usize>, at: usize) -> usize {
    let bytes = text.as_bytes();
    let low = at.saturating_sub(ESCAPE_BYTES - 1).max(range.start);
    let end = (low..at).find_map(|from| escape_end_from(bytes, range.start, from).filter(|end| *end > at));
    end.unwrap_or(at).min(range.end)
}

/// The end of an escape that begins at `from`, if one does: an even number of backslashes precedes it.
fn escape_end_from(bytes: &[u8], first: usize, from: usize) -> Option<usize> {
    let before = bytes[first..from].iter().rev().take_while(|byte| **byte == b'\\').count();
    if bytes[from] != b'\\' || before % 2 == 1 {
        return None;
    }
    Some(from + if bytes.get(from + 1) == Some(&b'u') { ESCAPE_BYTES } else { 2 })
}
