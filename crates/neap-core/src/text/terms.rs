//! Search terms: lower case, stemmed, identifiers both split and whole, without stop words.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use rust_stemmers::{Algorithm, Stemmer};

use crate::text::reference::{is_stop_word, is_unspaced, word_segments};

/// Longest indexed word, in characters; longer ones are data.
const TERM_CHARS_MAX: usize = 64;
/// Most distinct terms of a query; a question has some tens.
pub const QUERY_TERMS_MAX: usize = 256;
pub const QUERY_BYTES_MAX: usize = 16 * 1_024;

/// The terms of a text, in order, repetitions included.
///
/// `auth_bug` gives `auth` and `bug`; `NetError` gives `net`, `error` and `neterror`; `401` stays.
pub fn terms(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let _ = each_term(text, &mut |term| {
        out.push(term);
        ControlFlow::Continue(())
    });
    out
}

fn each_term(text: &str, take: &mut dyn FnMut(String) -> ControlFlow<()>) -> ControlFlow<()> {
    let stemmer = Stemmer::create(Algorithm::English);
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        if run.chars().any(is_unspaced) {
            for piece in word_segments(run) {
                emit_term(&stemmer, take, piece)?;
            }
            continue;
        }
        let word = run;
        let parts = camel_parts(word);
        if parts.len() > 1 {
            for part in parts {
                emit_term(&stemmer, take, part)?;
            }
        }
        emit_term(&stemmer, take, word)?;
    }
    ControlFlow::Continue(())
}

/// The distinct terms of a query, in order, at most [`QUERY_TERMS_MAX`]. Of a long query only the beginning and
/// the end are read, [`QUERY_BYTES_MAX`] together: people ask before or after the page they paste.
pub fn query_terms(query: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    let (head, tail) = head_and_tail(query);
    // Each half has its share, so a pasted page does not displace the question after it.
    let head_max = if tail.is_empty() { QUERY_TERMS_MAX } else { QUERY_TERMS_MAX / 2 };
    let _ = each_term(head, &mut |term| {
        if out.len() >= head_max {
            return ControlFlow::Break(());
        }
        if known.insert(term.clone()) {
            out.push(term);
        }
        ControlFlow::Continue(())
    });
    let last = terms(tail).into_iter().rev().filter(|term| known.insert(term.clone()));
    let last: Vec<String> = last.take(QUERY_TERMS_MAX - out.len()).collect();
    out.extend(last.into_iter().rev());
    out
}

/// The terms of a query for memories, where one shared term may decide: without what apostrophes split off. Among many
/// messages these terms are weighed by how common they are, and help a little.
pub fn query_terms_without_clitics(query: &str) -> Vec<String> {
    query_terms(&without_clitics(query))
}

/// A query without what apostrophes split off: `Ann's` is Ann, and `don't` says nothing. Texts are indexed with them, so
/// `s` would find every text that has an `'s`.
fn without_clitics(query: &str) -> Cow<'_, str> {
    if !query.contains(APOSTROPHES) {
        return Cow::Borrowed(query);
    }
    let mut out = String::with_capacity(query.len());
    let mut rest = query;
    while let Some(at) = rest.find(APOSTROPHES) {
        let (before, after) = rest.split_at(at);
        let mark = after.chars().next().map_or(0, char::len_utf8);
        let end = after[mark..].find(|c: char| !c.is_alphanumeric()).map_or(after.len(), |end| mark + end);
        let clitic = after[mark..end].to_lowercase();
        let is_inside = before.chars().next_back().or(out.chars().next_back()).is_some_and(char::is_alphanumeric);
        if is_inside && clitic == "t" && before.ends_with(['n', 'N']) {
            out.push_str(before.trim_end_matches(char::is_alphanumeric));
            rest = &after[end..];
        } else if is_inside && CLITICS.contains(&clitic.as_str()) {
            out.push_str(before);
            rest = &after[end..];
        } else {
            out.push_str(before);
            out.push(' ');
            rest = &after[mark..];
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The parts of a query that are read; no word is cut in two.
fn head_and_tail(query: &str) -> (&str, &str) {
    if query.len() <= QUERY_BYTES_MAX {
        return (query, "");
    }
    let half = QUERY_BYTES_MAX / 2;
    let is_separator = |c: char| !c.is_alphanumeric();
    let head = &query[..query.floor_char_boundary(half)];
    let tail = &query[query.ceil_char_boundary(query.len() - half)..];
    // A text without spaces is one long word, cut anywhere.
    let head = head.rfind(is_separator).map_or(head, |at| &head[..at]);
    let tail = tail.find(is_separator).map_or(tail, |at| &tail[at..]);
    (head, tail)
}

const APOSTROPHES: [char; 2] = ['\'', '’'];
const CLITICS: [&str; 7] = ["s", "d", "m", "ll", "re", "ve", "em"];

fn emit_term(stemmer: &Stemmer, take: &mut dyn FnMut(String) -> ControlFlow<()>, word: &str) -> ControlFlow<()> {
    let lower = word.to_lowercase();
    if is_stop_word(&lower) || lower.chars().nth(TERM_CHARS_MAX).is_some() {
        return ControlFlow::Continue(());
    }
    let plain = lower.bytes().all(|b| b.is_ascii_lowercase());
    take(if plain { stemmer.stem(&lower).into_owned() } else { lower })
}

/// Splits `NetError2` into `Net`, `Error`, `2`.
fn camel_parts(word: &str) -> Vec<&str> {
    let mut cuts = vec![0];
    let mut before: Option<char> = None;
    for (at, c) in word.char_indices() {
        if let Some(b) = before
            && ((b.is_lowercase() && c.is_uppercase()) || (b.is_ascii_digit() != c.is_ascii_digit()))
        {
            cuts.push(at);
        }
        before = Some(c);
    }
    cuts.push(word.len());
    cuts.windows(2).map(|pair| &word[pair[0]..pair[1]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[&str]) {
        assert_eq!(terms(text), want, "{text}");
    }

    #[test]
    fn identifiers_are_split_and_kept() {
        check("auth_bug", &["auth", "bug"]);
        check("NetError", &["net", "error", "neterror"]);
        check("E0382", &["e", "0382", "e0382"]);
        check("src/io/net.rs", &["src", "io", "net", "rs"]);
    }

    #[test]
    fn words_are_stemmed_and_stop_words_left_out() {
        check("Fixed the errors", &["fix", "error"]);
        check("fixes fixing fix", &["fix", "fix", "fix"]);
        check("日本語 ошибка", &["日本", "本語", "ошибка"]);
    }

    #[test]
    fn a_query_has_each_term_once() {
        assert_eq!(query_terms("fix the fixes"), ["fix"]);
    }

    #[test]
    fn what_an_apostrophe_splits_off_is_no_term() {
        for (query, want) in [
            ("What is Ann's port?", vec!["ann", "port"]),
            ("the server’s port isn't open", vec!["server", "port", "open"]),
            ("we'll ask, I'm sure they'd've won't", vec!["ask", "sure"]),
            ("O'Brien 'quoted' d'accord", vec!["o", "brien", "quot", "d", "accord"]),
            ("s3 and C's", vec!["s", "3", "s3", "c"]),
            ("can’t", vec![]),
        ] {
            assert_eq!(query_terms_without_clitics(query), want, "{query}");
        }
        assert_eq!(query_terms("Ann's port"), ["ann", "s", "port"]);
    }

    /// Both ends of a pasted text count, and the terms stay bounded.
    #[test]
    fn a_long_query_is_bounded() {
        let words = |from: u32, count: u32| (from..from + count).map(|n| format!("w{n}x ")).collect::<String>();
        let long = format!("first {} last", words(0, 100_000));
        let terms = query_terms(&long);
        assert_eq!(terms.len(), QUERY_TERMS_MAX);
        let ends = (terms.first().map(String::as_str), terms.last().map(String::as_str));
        assert_eq!(ends, (Some("first"), Some("last")));
        let page = format!("{} which heron listens", "same page ".repeat(10_000));
        assert!(
            query_terms(&page).ends_with(&["heron".to_owned(), "listen".to_owned()]),
            "{:?}",
            query_terms(&page)
        );
        // No word is cut in two, whatever the length.
        for more in 0..12 {
            let page = format!("{}{}", "x".repeat(more), " harbours".repeat(10_000));
            assert!(query_terms(&page).iter().all(|term| term == "harbour" || term.starts_with('x')));
        }
        let cjk: String = (0..400_000_u32).filter_map(|n| char::from_u32(0x4e00 + n % 20_000)).collect();
        assert_eq!(query_terms(&cjk).len(), QUERY_TERMS_MAX);
    }
}
