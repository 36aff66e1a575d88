//! Which values only their owner can have: what two strangers may show by chance proves nothing of either.
//!
//! Flags, numbers, dates, versions, words in any language and what stands in manuals in the place of a key are shown by many. A secret is
//! long, and is no row of words: letters, digits and cases change in it where no word ends.

use std::collections::BTreeSet;

use super::credentials::percent_decoded;

/// A shorter value is guessed, or shown by chance.
const CHARS_MIN: usize = 12;
/// So often a secret changes between letters, digits and cases. A date and a time do three times (`20260101T000000Z`).
const CHANGES_MIN: usize = 4;
/// No word has so many letters, and no number that people use so many digits.
const RUN_MIN: usize = 24;
/// A value of fewer different signs is filled up (`sk-xxxxxxxxxxxx`).
const SIGNS_MIN: usize = 6;

/// Whether only its owner can have it.
pub(super) fn is_strong(value: &str) -> bool {
    // Signs that are written as numbers look like a secret's.
    let value = percent_decoded(value.trim());
    if value.chars().count() < CHARS_MIN || signs(&value) < SIGNS_MIN {
        return false;
    }
    let runs = runs(&value);
    let is_long = |run: &Vec<char>| run.len() >= RUN_MIN && signs(&run.iter().collect::<String>()) >= SIGNS_MIN;
    runs.iter().any(is_long) || runs.iter().map(|run| changes(run)).sum::<usize>() >= CHANGES_MIN
}

/// The same of a user and a password with a colon between: many have the user's name.
pub(super) fn is_strong_pair(pair: &str) -> bool {
    is_strong(pair.split_once(':').map_or(pair, |(_, password)| password))
}

/// The same of a pair as it is written in a header, in base64: there every word looks like a secret.
pub(super) fn is_strong_sign_in(written: &str) -> bool {
    let pair = from_base64(written).and_then(|bytes| String::from_utf8(bytes).ok());
    is_strong_pair(pair.as_deref().filter(|pair| pair.contains(':')).unwrap_or(written))
}

/// How many different letters and digits there are.
fn signs(text: &str) -> usize {
    let signs: BTreeSet<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
    signs.len()
}

/// The pieces of letters and digits, parted also where a capital letter begins a word (`signedIn`).
fn runs(value: &str) -> Vec<Vec<char>> {
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

/// How often a piece changes from one kind of sign to another; a capital letter that small ones follow is a word's first.
fn changes(run: &[char]) -> usize {
    let kind = |c: &char| match (c.is_alphabetic(), c.is_uppercase()) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => 2,
    };
    let kinds: Vec<u8> = run.iter().map(kind).collect();
    kinds.windows(2).filter(|two| two[0] != two[1] && **two != [1, 2]).count()
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut bits, mut held) = (Vec::with_capacity(text.len()), 0u32, 0u32);
    for byte in text.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        (bits, held) = ((bits << 6 | u32::from(six)) & 0xfff, held + 6);
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Some(out)
}
