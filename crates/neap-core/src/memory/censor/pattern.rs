//! Compiled censor patterns.
//!
//! *Words* match whole words in any order, with case and separators folded. A *regular expression* is used as
//! written; matching is linear in the text and its compiled size is capped. A text is *like* the pattern if it has
//! at least four fifths of its terms.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use regex::{Regex, RegexBuilder};

use crate::base::refusal::Refusal;
use crate::memory::CensorPattern;
use crate::text::reference::{folded_words, is_stop_word, is_unspaced, word_segments};
use crate::text::terms::{query_terms, terms};

pub const PATTERN_CHARS_MAX: usize = 512;
/// Memory limit of a compiled regular expression.
const REGEX_BYTES_MAX: usize = 1 << 18;
const REGEX_NESTING_MAX: u32 = 32;
/// Tenths of the pattern's terms that a similar text must have.
const LIKE_TENTHS: usize = 8;
/// Unrelated texts: a pattern that matches all of them matches everything.
const SAMPLE_TEXTS: &[&str] = &["A quiet morning.", "yes", "lorem ipsum dolor sit amet", "Thanks, bye!"];

#[derive(Debug, Clone)]
pub struct CompiledPattern(Matcher);

#[derive(Debug, Clone)]
enum Matcher {
    Words(BTreeSet<String>),
    Regex(Box<Regex>),
    Like(Vec<String>),
}

/// A text checked by many patterns; words and terms are computed once.
#[derive(Debug)]
pub struct AnalyzedText<'a> {
    text: &'a str,
    words: OnceCell<HashedWords>,
    terms: OnceCell<HashedWords>,
}

/// A set of words as sorted hashes: for a text of megabytes, a set of strings takes many times longer.
#[derive(Debug)]
struct HashedWords(Vec<u64>);

impl<W: AsRef<str>> FromIterator<W> for HashedWords {
    fn from_iter<T: IntoIterator<Item = W>>(words: T) -> Self {
        let mut hashes: Vec<u64> = words.into_iter().map(|word| hash_word(word.as_ref())).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }
}

impl HashedWords {
    fn contains(&self, word: &str) -> bool {
        self.0.binary_search(&hash_word(word)).is_ok()
    }
}

fn hash_word(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

impl<'a> AnalyzedText<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, words: OnceCell::new(), terms: OnceCell::new() }
    }

    fn words(&self) -> &HashedWords {
        self.words.get_or_init(|| {
            let singles = self.text.chars().filter(|c| is_unspaced(*c)).map(String::from);
            fold_words(self.text).into_iter().chain(singles).collect()
        })
    }

    fn terms(&self) -> &HashedWords {
        self.terms.get_or_init(|| terms(self.text).into_iter().collect())
    }
}

impl CompiledPattern {
    pub fn is_match(&self, text: &AnalyzedText<'_>) -> bool {
        match &self.0 {
            Matcher::Words(wanted) => wanted.iter().all(|word| text.words().contains(word)),
            Matcher::Regex(regex) => regex.is_match(text.text),
            Matcher::Like(wanted) => {
                let found = wanted.iter().filter(|term| text.terms().contains(term)).count();
                found * 10 >= wanted.len() * LIKE_TENTHS
            }
        }
    }
}

/// Compiles a pattern; refuses one that is empty, too large, or matches everything.
pub fn compile(pattern: &CensorPattern) -> Result<CompiledPattern, Refusal> {
    let (CensorPattern::Words(text) | CensorPattern::Regex(text) | CensorPattern::Like(text)) = pattern;
    let chars = text.chars().count();
    if chars > PATTERN_CHARS_MAX {
        let error = format!("The pattern has {chars} characters; {PATTERN_CHARS_MAX} are the most.");
        return Err(Refusal::new(error).hint("Name only what gives the matter away."));
    }
    if text.trim().is_empty() {
        return Err(Refusal::new("The pattern is empty.").hint("Say what the rule looks for."));
    }
    let matcher = match pattern {
        CensorPattern::Words(text) => Matcher::Words(pattern_words(text)?),
        CensorPattern::Regex(text) => Matcher::Regex(Box::new(compile_regex(text)?)),
        CensorPattern::Like(text) => Matcher::Like(pattern_terms(text)?),
    };
    Ok(CompiledPattern(matcher))
}

fn pattern_words(text: &str) -> Result<BTreeSet<String>, Refusal> {
    let wanted: BTreeSet<String> = fold_words(text).into_iter().collect();
    if wanted.is_empty() {
        let hint = "Give words, or a regular expression for signs.";
        return Err(Refusal::new("The pattern has no letters or digits in it.").hint(hint));
    }
    if wanted.iter().all(|word| is_stop_word(word)) {
        return Err(too_broad(text, "are in almost every text"));
    }
    Ok(wanted)
}

fn pattern_terms(text: &str) -> Result<Vec<String>, Refusal> {
    let wanted = query_terms(text);
    if wanted.len() < 2 {
        let error = "The pattern has fewer than two terms to compare a text with.";
        return Err(Refusal::new(error).hint("Give a sentence of what is meant, or look for words instead."));
    }
    Ok(wanted)
}

fn compile_regex(text: &str) -> Result<Regex, Refusal> {
    let built = RegexBuilder::new(text)
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_BYTES_MAX)
        .nest_limit(REGEX_NESTING_MAX)
        .build();
    let regex = built.map_err(|error| regex_refusal(&error))?;
    if SAMPLE_TEXTS.iter().all(|text| regex.is_match(text)) {
        return Err(too_broad(text, "matches any text"));
    }
    Ok(regex)
}

fn regex_refusal(error: &regex::Error) -> Refusal {
    if let regex::Error::CompiledTooBig(_) = error {
        let error = "The regular expression is too large when it is unfolded.";
        return Refusal::new(error).hint("Use smaller repetitions.");
    }
    // The last line of a syntax error says what is wrong; the lines before it show the pattern.
    let message = error.to_string();
    let why = message.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
    Refusal::new(format!("The regular expression cannot be read: {why}."))
        .hint("Mend it; to look for words as they are, use a pattern of words.")
}

fn too_broad(text: &str, why: &str) -> Refusal {
    let shown: String = text.chars().take(60).collect();
    Refusal::new(format!("The pattern '{shown}' {why}; such a rule would always speak."))
        .hint("Name what is peculiar to the matter.")
}

fn fold_words(text: &str) -> Vec<String> {
    folded_words(text).iter().flat_map(|word| word_segments(word)).map(str::to_owned).collect()
}
