//! Masks in JSON: what was JSON still is, whatever a mask would have reached over.

use std::borrow::Cow;
use std::ops::Range;

use super::{Masking, Secret};

/// A text that may be JSON, without its secrets: what was JSON still is, as with every other text.
pub fn mask_json(masking: Masking, text: &str) -> (Cow<'_, str>, u32) {
    masking.text(text)
}

/// Whether a text is JSON, and of a kind that a mask can break.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// A part of JSON that holds a value.
enum Token {
    /// What is between two quotes.
    Text(Range<usize>),
    Number(Range<usize>),
}

/// The masks of a text that is JSON, each inside one of its texts; one over a number stands for it as a text.
pub(super) fn fitted(text: &str, secrets: &[Secret]) -> Vec<(Range<usize>, String)> {
    let mut out: Vec<(Range<usize>, String)> = Vec::new();
    let mut secrets = secrets.iter().peekable();
    for token in tokens(text) {
        let (Token::Text(range) | Token::Number(range)) = &token;
        while secrets.next_if(|secret| secret.range.end <= range.start).is_some() {}
        // One may reach over several texts, and one text may hold several.
        let mut ahead = secrets.clone();
        while let Some(secret) = ahead.next_if(|secret| secret.range.start < range.end) {
            match &token {
                Token::Number(range) => {
                    out.push((range.clone(), format!("\"{}\"", secret.mask())));
                    break;
                }
                Token::Text(range) => {
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

/// The texts and numbers of JSON, in order.
fn tokens(text: &str) -> Vec<Token> {
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
                tokens.push(Token::Text(start + 1..at.min(bytes.len())));
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                at += bytes[at..].iter().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
                tokens.push(Token::Number(start..at));
            }
            _ => at += 1,
        }
    }
    tokens
}

/// Longest escape, in bytes: `\u0026`.
const ESCAPE_BYTES: usize = 6;

/// The place, or the beginning of the escape that it is inside.
fn escape_start(text: &str, first: usize, at: usize) -> usize {
    let bytes = text.as_bytes();
    let low = at.saturating_sub(ESCAPE_BYTES - 1).max(first);
    (low..at).find(|from| escape(bytes, first, *from).is_some_and(|end| end > at)).unwrap_or(at)
}

fn escape_end(text: &str, range: &Range<usize>, at: usize) -> usize {
    let bytes = text.as_bytes();
    let low = at.saturating_sub(ESCAPE_BYTES - 1).max(range.start);
    let end = (low..at).find_map(|from| escape(bytes, range.start, from).filter(|end| *end > at));
    end.unwrap_or(at).min(range.end)
}

/// Where the escape ends that begins here, if one does: backslashes before it come in pairs.
fn escape(bytes: &[u8], first: usize, from: usize) -> Option<usize> {
    let before = bytes[first..from].iter().rev().take_while(|byte| **byte == b'\\').count();
    if bytes[from] != b'\\' || before % 2 == 1 {
        return None;
    }
    Some(from + if bytes.get(from + 1) == Some(&b'u') { ESCAPE_BYTES } else { 2 })
}
