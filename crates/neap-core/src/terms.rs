//! Words as search sees them: lower case, stemmed, identifiers split and kept whole, stop words out.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use rust_stemmers::{Algorithm, Stemmer};

use crate::reference::{is_stop_word, is_unspaced, pieces};

/// Longest word that is indexed, in characters; longer ones are data, not words.
const TERM_CHARS_MAX: usize = 64;
/// Distinct terms of a query, at most: a question has some tens of them.
pub const QUERY_TERMS_MAX: usize = 256;
/// Bytes of a query that are looked at, at most.
pub const QUERY_BYTES_MAX: usize = 16 * 1_024;

/// The search terms of a text, in order, repetitions included.
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

/// Gives each term as it is found, until no more are wanted.
fn each_term(text: &str, take: &mut dyn FnMut(String) -> ControlFlow<()>) -> ControlFlow<()> {
    let stemmer = Stemmer::create(Algorithm::English);
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        if run.chars().any(is_unspaced) {
            for piece in pieces(run) {
                push(&stemmer, take, &piece)?;
            }
            continue;
        }
        let word = run;
        let parts = camel_parts(word);
        if parts.len() > 1 {
            for part in parts {
                push(&stemmer, take, part)?;
            }
        }
        push(&stemmer, take, word)?;
    }
    ControlFlow::Continue(())
}

/// The distinct terms of a query, in order, at most [`QUERY_TERMS_MAX`]. Of a long one its beginning and its end are looked at,
/// [`QUERY_BYTES_MAX`] together: whoever pastes a page asks before it or after it.
pub fn query_terms(query: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    let (begin, end) = ends(query);
    // Each half has its share, so that a page of words does not take the room of the question after it.
    let most = if end.is_empty() { QUERY_TERMS_MAX } else { QUERY_TERMS_MAX / 2 };
    let _ = each_term(begin, &mut |term| {
        if out.len() >= most {
            return ControlFlow::Break(());
        }
        if known.insert(term.clone()) {
            out.push(term);
        }
        ControlFlow::Continue(())
    });
    let last = terms(end).into_iter().rev().filter(|term| known.insert(term.clone()));
    let last: Vec<String> = last.take(QUERY_TERMS_MAX - out.len()).collect();
    out.extend(last.into_iter().rev());
    out
}

/// The beginning and the end of a query that are looked at; no word is cut in two.
fn ends(query: &str) -> (&str, &str) {
    if query.len() <= QUERY_BYTES_MAX {
        return (query, "");
    }
    let half = QUERY_BYTES_MAX / 2;
    let is_between = |c: char| !c.is_alphanumeric();
    let begin = &query[..query.floor_char_boundary(half)];
    let end = &query[query.ceil_char_boundary(query.len() - half)..];
    // A text without spaces is one long word, of which any part is looked at.
    let begin = begin.rfind(is_between).map_or(begin, |at| &begin[..at]);
    let end = end.find(is_between).map_or(end, |at| &end[at..]);
    (begin, end)
}

fn push(stemmer: &Stemmer, take: &mut dyn FnMut(String) -> ControlFlow<()>, word: &str) -> ControlFlow<()> {
    let lower = word.to_lowercase();
    if is_stop_word(&lower) || lower.chars().nth(TERM_CHARS_MAX).is_some() {
        return ControlFlow::Continue(());
    }
    let plain = lower.bytes().all(|b| b.is_ascii_lowercase());
    take(if plain { stemmer.stem(&lower).into_owned() } else { lower })
}

/// `NetError2` as `Net`, `Error`, `2`.
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

    /// What is asked for is bounded, whatever was pasted: both ends of it count, and no more is looked at.
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
        // Whatever the length, no word is cut in two.
        for more in 0..12 {
            let page = format!("{}{}", "x".repeat(more), " harbours".repeat(10_000));
            assert!(query_terms(&page).iter().all(|term| term == "harbour" || term.starts_with('x')));
        }
        let cjk: String = (0..400_000_u32).filter_map(|n| char::from_u32(0x4e00 + n % 20_000)).collect();
        assert_eq!(query_terms(&cjk).len(), QUERY_TERMS_MAX);
    }
}
