//! Words as search sees them: lower case, stemmed, identifiers split and kept whole, stop words out.

use rust_stemmers::{Algorithm, Stemmer};

use crate::reference::{is_stop_word, is_unspaced, pieces};

/// Longest word that is indexed, in characters; longer ones are data, not words.
const TERM_CHARS_MAX: usize = 64;

/// The search terms of a text, in order, repetitions included.
///
/// `auth_bug` gives `auth` and `bug`; `NetError` gives `net`, `error` and `neterror`; `401` stays.
pub fn terms(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut out = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        if run.chars().any(is_unspaced) {
            for piece in pieces(run) {
                push(&stemmer, &mut out, &piece);
            }
            continue;
        }
        let word = run;
        let parts = camel_parts(word);
        if parts.len() > 1 {
            for part in parts {
                push(&stemmer, &mut out, part);
            }
        }
        push(&stemmer, &mut out, word);
    }
    out
}

/// The distinct terms of a query, in order.
pub fn query_terms(query: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for term in terms(query) {
        if !out.contains(&term) {
            out.push(term);
        }
    }
    out
}

fn push(stemmer: &Stemmer, out: &mut Vec<String>, word: &str) {
    let lower = word.to_lowercase();
    if is_stop_word(&lower) || lower.chars().count() > TERM_CHARS_MAX {
        return;
    }
    let plain = lower.bytes().all(|b| b.is_ascii_lowercase());
    out.push(if plain { stemmer.stem(&lower).into_owned() } else { lower });
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
}
