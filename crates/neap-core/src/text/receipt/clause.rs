//! Splits text into sentences and clauses, and finds negations, commitments and questions.

use std::collections::BTreeSet;
use std::ops::Range;

use super::date::is_due_word;
use crate::text::terms::terms;

const KEY_TERMS_MAX: usize = 8;
/// A longer sentence is data.
const SENTENCE_BYTES_MAX: usize = 2_000;

/// Negating words; sorted for binary search.
const DENIALS: &[&str] = &[
    "aren't", "can't", "cannot", "couldn't", "didn't", "doesn't", "don't", "hadn't", "hasn't", "haven't", "isn't",
    "kein", "keine", "keinem", "keinen", "keiner", "mustn't", "needn't", "neither", "never", "nicht", "nie",
    "niemals", "no", "nobody", "none", "nor", "not", "ohne", "shouldn't", "wasn't", "weren't", "without", "won't",
    "wouldn't",
];
/// After `no` or `not`, these mean that nothing is negated.
const NON_DENIALS: &str = "problem problems worries doubt idea only just yet matter";
const CONJUNCTIONS: &[&str] =
    &["aber", "although", "because", "but", "so", "though", "unless", "weil", "whereas", "which", "while"];
/// Phrases of a commitment or a duty, of one to three words.
const DUTIES: &[&str] = &[
    "i will", "i'll", "we will", "we'll", "must", "todo", "need to", "needs to", "have to", "has to",
    "remember to", "don't forget", "promise", "promised", "deadline", "follow up", "next step", "going to",
    "ich werde", "wir werden", "muss", "müssen",
];

pub(super) fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let ends = match c {
            '\n' | '。' | '！' | '？' | '；' => true,
            '.' | '!' | '?' | '…' | ';' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if ends {
            push_trimmed(text, start..end, &mut out);
            start = end;
        }
    }
    push_trimmed(text, start..text.len(), &mut out);
    out
}

fn push_trimmed(text: &str, range: Range<usize>, out: &mut Vec<Range<usize>>) {
    let body = text[range.clone()].trim();
    let lead = text[range.clone()].len() - text[range.clone()].trim_start().len();
    let start = range.start + lead;
    out.extend((!body.is_empty()).then_some(start..start + body.len()));
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause<'a> {
    pub(super) text: &'a str,
    /// Terms that identify the negation; empty if the clause negates nothing.
    pub(super) denies: Vec<String>,
    pub(super) is_duty: bool,
}

impl Clause<'_> {
    pub(super) fn terms(&self) -> BTreeSet<String> {
        terms(self.text).into_iter().collect()
    }

    pub(super) fn key_terms(&self) -> Vec<String> {
        key_terms(self.text)
    }
}

/// The distinct terms of a text, in order, at most [`KEY_TERMS_MAX`].
pub(super) fn key_terms(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for term in terms(text) {
        if out.len() < KEY_TERMS_MAX && !out.contains(&term) {
            out.push(term);
        }
    }
    out
}

/// A question has no clauses: it negates and promises nothing.
pub(super) fn clauses(sentence: &str) -> Vec<Clause<'_>> {
    if sentence.len() > SENTENCE_BYTES_MAX || is_question(sentence) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut start = 0;
    for (at, word) in words_with_offsets(sentence) {
        let conjunction = CONJUNCTIONS.iter().any(|c| c.eq_ignore_ascii_case(word));
        if conjunction && at > start {
            push_clause(&sentence[start..at], &mut out);
            start = at;
        }
        let end = at + word.len();
        if word.ends_with([',', ':', ')', '—', '–', '-']) {
            push_clause(&sentence[start..end], &mut out);
            start = end;
        }
    }
    push_clause(&sentence[start..], &mut out);
    out
}

fn words_with_offsets(sentence: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    sentence.split(char::is_whitespace).filter_map(move |word| {
        let at = next;
        next = at + word.len() + sentence[at + word.len()..].chars().next().map_or(0, char::len_utf8);
        (!word.is_empty()).then_some((at, word))
    })
}

pub(super) fn is_question(sentence: &str) -> bool {
    sentence.trim_end_matches(['"', '\'', ')', '*', '”', ' ']).ends_with(['?', '？'])
}

fn push_clause<'a>(text: &'a str, out: &mut Vec<Clause<'a>>) {
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    let fold = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'");
    let words: Vec<String> = text.split_whitespace().map(fold).filter(|word| !word.is_empty()).collect();
    let denial = words.iter().enumerate().find(|(at, word)| {
        let next = words.get(at + 1).map(String::as_str);
        let is_idiom = || next.is_none_or(|next| NON_DENIALS.split(' ').any(|w| w == next));
        DENIALS.binary_search(&word.as_str()).is_ok() && !(matches!(word.as_str(), "no" | "not") && is_idiom())
    });
    let denies = denial.map(|(at, _)| denied_terms(&words, at)).unwrap_or_default();
    let is_duty_at = |at: usize, duty: &str| {
        duty.starts_with(words[at].as_str())
            && duty.split(' ').enumerate().all(|(n, w)| words.get(at + n).is_some_and(|x| x == w))
    };
    let is_duty = (0..words.len()).any(|at| {
        DUTIES.iter().any(|duty| is_duty_at(at, duty))
            || (words[at] == "by" && words.get(at + 1).is_some_and(|next| is_due_word(next)))
    });
    out.push(Clause { text, denies, is_duty });
}

/// The terms around a negation: two before it and three after; none if none follows.
fn denied_terms(words: &[String], at: usize) -> Vec<String> {
    let after = terms(&words[at + 1..].join(" "));
    if after.is_empty() {
        return Vec::new();
    }
    let before = terms(&words[..at].join(" "));
    let mut out: Vec<String> = before[before.len().saturating_sub(2)..].to_vec();
    for term in after.into_iter().take(3) {
        if !out.contains(&term) {
            out.push(term);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_have_places() {
        let text = "One v1.2.  Two; three\n四。五";
        let found: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["One v1.2.", "Two;", "three", "四。", "五"]);
    }

    #[test]
    fn denials_are_known_by_their_words() {
        let denies = |text: &str| clauses(text).into_iter().map(|c| c.denies).find(|d| !d.is_empty());
        let words = |words: &[&str]| Some(words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            denies("We chose not to add a cache, because data must be fresh."),
            words(&["chose", "add", "cach"])
        );
        assert_eq!(denies("The server doesn’t log requests."), words(&["server", "log", "request"]));
        assert_eq!(denies("No problem."), None);
        assert_eq!(denies("Why not?"), None);
        assert_eq!(denies("It works, but never on Mondays"), words(&["monday"]));
    }

    #[test]
    fn words_that_deny_are_sorted() {
        assert!(DENIALS.is_sorted());
    }

    #[test]
    fn duties() {
        let duty = |text: &str| clauses(text).iter().any(|c| c.is_duty);
        for text in ["I'll fix it.", "Ship it by Friday", "Todo: tests", "You must sign it", "Remember to call"] {
            assert!(duty(text), "{text}");
        }
        for text in ["It works by hand.", "Mustard is nice", "Will must?"] {
            assert!(!duty(text), "{text}");
        }
    }
}
