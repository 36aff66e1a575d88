//! Tells secrets from values that two strangers may send by chance, which prove nothing. Flags, numbers, dates,
//! versions, words of any language and placeholders from manuals are sent by many. A secret is long and not a row
//! of words: letters, digits and case change where no word ends.

use std::collections::BTreeSet;

use super::credentials::percent_decoded;

/// A shorter value can be guessed or coincide.
const CHARS_MIN: usize = 12;
/// Least changes between letters, digits and cases. A date with time has three (`20260101T000000Z`).
const KIND_CHANGES_MIN: usize = 4;
/// No word has this many letters, and no common number this many digits.
const RUN_MIN: usize = 24;
/// A value with fewer distinct characters is filler (`sk-xxxxxxxxxxxx`).
const DISTINCT_CHARS_MIN: usize = 6;

pub(super) fn is_strong_secret(value: &str) -> bool {
    // Percent-encoded characters would look like a secret's.
    let value = percent_decoded(value.trim());
    if value.chars().count() < CHARS_MIN || distinct_chars(&value) < DISTINCT_CHARS_MIN {
        return false;
    }
    let runs = alphanumeric_runs(&value);
    let is_long = |run: &Vec<char>| {
        run.len() >= RUN_MIN && distinct_chars(&run.iter().collect::<String>()) >= DISTINCT_CHARS_MIN
    };
    runs.iter().any(is_long) || runs.iter().map(|run| kind_changes(run)).sum::<usize>() >= KIND_CHANGES_MIN
}

/// For `user:password`. The user name does not count: many share one.
pub(super) fn is_strong_userinfo(pair: &str) -> bool {
    is_strong_secret(pair.split_once(':').map_or(pair, |(_, password)| password))
}

/// For the base64 of a Basic header, in which every word looks like a secret.
pub(super) fn is_strong_basic_auth(encoded: &str) -> bool {
    let pair = decode_base64(encoded).and_then(|bytes| String::from_utf8(bytes).ok());
    is_strong_userinfo(pair.as_deref().filter(|pair| pair.contains(':')).unwrap_or(encoded))
}

fn distinct_chars(text: &str) -> usize {
    let distinct: BTreeSet<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
    distinct.len()
}

/// Runs of letters and digits, also split where a capital starts a word (`signedIn`).
fn alphanumeric_runs(value: &str) -> Vec<Vec<char>> {
    let chars: Vec<char> = value.chars().collect();
    let is_lower = |at: usize| chars.get(at).is_some_and(|c| c.is_lowercase());
    let mut runs = vec![Vec::new()];
    for (at, c) in chars.iter().enumerate() {
        let begins_word = c.is_uppercase() && at > 0 && is_lower(at - 1) && is_lower(at + 1);
        if begins_word || !c.is_alphanumeric() {
            runs.push(Vec::new());
        }
        if let Some(run) = runs.last_mut().filter(|_| c.is_alphanumeric()) {
            run.push(*c);
        }
    }
    runs
}

/// Changes between digits, capitals and small letters. A capital that starts a word does not count.
fn kind_changes(run: &[char]) -> usize {
    let kind = |c: &char| match (c.is_alphabetic(), c.is_uppercase()) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => 2,
    };
    let kinds: Vec<u8> = run.iter().map(kind).collect();
    kinds.windows(2).filter(|pair| pair[0] != pair[1] && **pair != [1, 2]).count()
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut bits, mut bit_count) = (Vec::with_capacity(text.len()), 0u32, 0u32);
    for byte in text.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        (bits, bit_count) = ((bits << 6 | u32::from(six)) & 0xfff, bit_count + 6);
        if bit_count >= 8 {
            bit_count -= 8;
            out.push((bits >> bit_count) as u8);
        }
    }
    Some(out)
}
