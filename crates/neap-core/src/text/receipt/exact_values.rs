//! Finds the values that a summary must not reword: URLs, paths, identifiers, numbers with units, dates.

use std::ops::Range;

use super::date::{self, Moment, PartialDate};
use super::number;
use super::probe::ProbeKind;
use super::words::{Word, value_words};
use crate::text::identifiers::has_file_extension;

/// Equal for two spellings of the same value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueKey {
    Text(String),
    Number(String, Option<&'static str>),
    Day(PartialDate),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExactValue {
    pub(super) kind: ProbeKind,
    pub(super) key: ValueKey,
    pub(super) range: Range<usize>,
}

/// A longer word is data, not a value.
const WORD_BYTES_MAX: usize = 400;

pub(super) fn find_values(text: &str) -> Vec<ExactValue> {
    let words = value_words(text);
    let mut out = Vec::new();
    let mut at = 0;
    while at < words.len() {
        at += read_value(text, &words[at..], &mut out);
    }
    out
}

/// Small numbers written as words. They support digits in a summary but are no values themselves.
pub(super) fn spelled_numbers(text: &str) -> Vec<ValueKey> {
    let words = value_words(text);
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if let Some(value) = number::spelled_digits(&word.text.to_lowercase()) {
            out.push(ValueKey::Number(value, unit_after(text, &words[at..])));
        }
    }
    out
}

/// Adds the value that begins with the first word; returns how many words it took.
fn read_value(text: &str, words: &[Word<'_>], out: &mut Vec<ExactValue>) -> usize {
    let Some(word) = words.first().filter(|word| word.text.len() <= WORD_BYTES_MAX) else { return 1 };
    let mut add = |kind, key, consumed: usize| {
        let end = words[consumed - 1].end();
        out.push(ExactValue { kind, key, range: word.start..end });
        consumed
    };
    if is_address(word.text) {
        return add(ProbeKind::Url, ValueKey::Text(normalize_word(word.text)), 1);
    }
    if let Some((moment, consumed)) = date::parse_moment(text, words) {
        let key = match moment {
            Moment::Day(day) => ValueKey::Day(day),
            Moment::Text(text) => ValueKey::Text(text),
        };
        return add(ProbeKind::Date, key, consumed);
    }
    if let Some((value, unit)) = number::parse_number(word.text) {
        let after = if unit.is_none() { unit_after(text, words) } else { None };
        return add(ProbeKind::Number, ValueKey::Number(value, unit.or(after)), 1 + usize::from(after.is_some()));
    }
    if is_path(word.text) {
        // A line number after a path is a value of its own.
        let path = word.text.split(':').find(|part| part.len() > 1).unwrap_or(word.text);
        if let Some(offset) = word.text.find(path) {
            let start = word.start + offset;
            out.push(ExactValue {
                kind: ProbeKind::Path,
                key: ValueKey::Text(normalize_word(path)),
                range: start..start + path.len(),
            });
            let rest = Word { text: &text[start + path.len()..word.end()], start: start + path.len() };
            read_parts(text, rest, out);
        }
        return 1;
    }
    if word.text.contains(':') && !word.text.contains("::") {
        read_parts(text, *word, out);
        return 1;
    }
    if is_identifier(word.text) {
        return add(ProbeKind::Identifier, ValueKey::Text(normalize_word(word.text)), 1);
    }
    1
}

/// Reads words joined by colons one by one: `host:8080`.
fn read_parts(text: &str, word: Word<'_>, out: &mut Vec<ExactValue>) {
    let mut start = word.start;
    for part in word.text.split(':') {
        if !part.is_empty() && part.len() < word.text.len() {
            read_value(text, &[Word { text: part, start }], out);
        }
        start += part.len() + 1;
    }
}

fn unit_after(text: &str, words: &[Word<'_>]) -> Option<&'static str> {
    let (number, next) = (words.first()?, words.get(1)?);
    let is_adjacent = text[number.end()..next.start].chars().all(|c| c == ' ' || c == '\u{a0}');
    is_adjacent.then(|| number::canonical_unit(&next.text.to_lowercase())).flatten()
}

pub(super) fn normalize_word(word: &str) -> String {
    word.trim_end_matches('/').to_lowercase()
}

fn is_address(word: &str) -> bool {
    let has_host = |rest: &str| rest.contains('.') && rest.len() > 3;
    word.contains("://") || word.strip_prefix("www.").is_some_and(has_host)
}

fn is_path(word: &str) -> bool {
    if !word.contains(['/', '\\', '.']) {
        return false;
    }
    let letters = word.chars().any(char::is_alphabetic);
    if !letters || word.contains('@') {
        return false;
    }
    let slashes = word.chars().filter(|c| matches!(c, '/' | '\\')).count();
    let rooted = ["/", "./", "../", "~/"].iter().any(|root| word.starts_with(root)) && word.len() > 2;
    let dotted = word.starts_with('.') && word.len() > 2 && !word[1..].contains('.');
    let file = word.split(':').next().is_some_and(has_file_extension);
    let marked = word.chars().any(|c| c == '_' || c == '.' || c.is_ascii_digit());
    file || dotted || (rooted && slashes > 0) || slashes >= 2 || (slashes == 1 && marked)
}

fn is_identifier(word: &str) -> bool {
    let has = |what: fn(char) -> bool| word.chars().any(what);
    if !has(char::is_alphabetic) {
        return false;
    }
    let digits = has(|c| c.is_ascii_digit());
    let inner_capital = word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let capitals = word.chars().count() >= 2 && !has(char::is_lowercase);
    let flag = word.starts_with("--");
    let dotted = word.split_once('.').is_some_and(|(before, after)| {
        before.chars().count() > 1 && after.chars().count() > 1 && after.starts_with(|c: char| c.is_lowercase())
    });
    digits
        || inner_capital
        || capitals
        || flag
        || dotted
        || word.contains('_')
        || word.contains("::")
        || word.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[(ProbeKind, &str)]) {
        let found: Vec<_> = find_values(text).into_iter().map(|v| (v.kind, &text[v.range])).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn each_kind_is_told_from_the_others() {
        use ProbeKind::{Date, Identifier, Number, Path, Url};
        check(
            "On May 8, 2026 `getUser` in src/net.rs:42 took 30 s.",
            &[
                (Date, "May 8, 2026"),
                (Identifier, "getUser"),
                (Path, "src/net.rs"),
                (Number, "42"),
                (Number, "30 s"),
            ],
        );
        check("see https://a.b/c, port localhost:8080", &[(Url, "https://a.b/c"), (Number, "8080")]);
        check(
            "vm.swappiness=90, E0382, --no-cache, std::fmt and x_y",
            &[
                (Identifier, "vm.swappiness"),
                (Number, "90"),
                (Identifier, "E0382"),
                (Identifier, "--no-cache"),
                (Identifier, "std::fmt"),
                (Identifier, "x_y"),
            ],
        );
        check("He and/or she said e.g. done.Then it is fine: yes.", &[]);
        check("v1.2.3 at 15% by 3 pm", &[(Number, "v1.2.3"), (Number, "15%"), (Date, "3 pm")]);
    }
}
