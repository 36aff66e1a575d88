//! Patterns, checked and made ready to look for.
//!
//! *Words* are found on word boundaries, with case and every separator folded as in mentions of efforts, in any
//! order. A *regular expression* is taken as it is written; the engine takes time in proportion to the text, and
//! its size is capped. A text *like* the pattern has at least four fifths of its terms.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};

use crate::memory::Pattern;
use crate::reference::{is_stop_word, is_unspaced, pieces, words};
use crate::terms::{query_terms, terms};
use crate::tools::Refusal;

/// Longest pattern, in characters.
pub const PATTERN_CHARS_MAX: usize = 512;
/// A compiled regular expression takes at most this much memory.
const REGEX_BYTES_MAX: usize = 1 << 18;
/// Brackets within brackets, at most.
const REGEX_NESTING_MAX: u32 = 32;
/// Share of its terms that makes a text like a pattern, in tenths.
const LIKE_TENTHS: usize = 8;
/// Ordinary texts that have nothing in common: what matches all of them matches everything.
const ORDINARY: &[&str] = &["A quiet morning.", "yes", "lorem ipsum dolor sit amet", "Thanks, bye!"];

/// A pattern that can be looked for.
#[derive(Debug, Clone)]
pub struct Compiled(Made);

#[derive(Debug, Clone)]
enum Made {
    Words(BTreeSet<String>),
    Regex(Box<Regex>),
    Like(Vec<String>),
}

/// A text that is looked at by many patterns: what they need of it is made once.
#[derive(Debug)]
pub struct Text<'a> {
    text: &'a str,
    words: OnceCell<BTreeSet<String>>,
    terms: OnceCell<BTreeSet<String>>,
}

impl<'a> Text<'a> {
    /// Nothing is made yet.
    pub fn new(text: &'a str) -> Self {
        Self { text, words: OnceCell::new(), terms: OnceCell::new() }
    }

    fn words(&self) -> &BTreeSet<String> {
        self.words.get_or_init(|| {
            let singles = self.text.chars().filter(|c| is_unspaced(*c)).map(String::from);
            folded(self.text).into_iter().chain(singles).collect()
        })
    }

    fn terms(&self) -> &BTreeSet<String> {
        self.terms.get_or_init(|| terms(self.text).into_iter().collect())
    }
}

impl Compiled {
    /// Whether it is found in a text.
    pub fn is_match(&self, text: &Text<'_>) -> bool {
        match &self.0 {
            Made::Words(wanted) => wanted.is_subset(text.words()),
            Made::Regex(regex) => regex.is_match(text.text),
            Made::Like(wanted) => {
                let found = wanted.iter().filter(|term| text.terms().contains(*term)).count();
                found * 10 >= wanted.len() * LIKE_TENTHS
            }
        }
    }
}

/// Checks a pattern and makes it ready; refuses one that is empty, too large, or finds everything.
pub fn compile(pattern: &Pattern) -> Result<Compiled, Refusal> {
    let (Pattern::Words(of) | Pattern::Regex(of) | Pattern::Like(of)) = pattern;
    let chars = of.chars().count();
    if chars > PATTERN_CHARS_MAX {
        let error = format!("The pattern has {chars} characters; {PATTERN_CHARS_MAX} are the most.");
        return Err(Refusal::new(error).hint("Name only what gives the matter away."));
    }
    if of.trim().is_empty() {
        return Err(Refusal::new("The pattern is empty.").hint("Say what the rule looks for."));
    }
    let made = match pattern {
        Pattern::Words(of) => Made::Words(wanted_words(of)?),
        Pattern::Regex(of) => Made::Regex(Box::new(regex(of)?)),
        Pattern::Like(of) => Made::Like(wanted_terms(of)?),
    };
    Ok(Compiled(made))
}

fn wanted_words(of: &str) -> Result<BTreeSet<String>, Refusal> {
    let wanted: BTreeSet<String> = folded(of).into_iter().collect();
    if wanted.is_empty() {
        let hint = "Give words, or a regular expression for signs.";
        return Err(Refusal::new("The pattern has no letters or digits in it.").hint(hint));
    }
    if wanted.iter().all(|word| is_stop_word(word)) {
        return Err(everything(of, "are in almost every text"));
    }
    Ok(wanted)
}

fn wanted_terms(of: &str) -> Result<Vec<String>, Refusal> {
    let wanted = query_terms(of);
    if wanted.len() < 2 {
        let error = "The pattern has fewer than two terms to compare a text with.";
        return Err(Refusal::new(error).hint("Give a sentence of what is meant, or look for words instead."));
    }
    Ok(wanted)
}

fn regex(of: &str) -> Result<Regex, Refusal> {
    let built = RegexBuilder::new(of)
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_BYTES_MAX)
        .nest_limit(REGEX_NESTING_MAX)
        .build();
    let regex = built.map_err(|error| refused(&error))?;
    if ORDINARY.iter().all(|text| regex.is_match(text)) {
        return Err(everything(of, "matches any text"));
    }
    Ok(regex)
}

fn refused(error: &regex::Error) -> Refusal {
    if let regex::Error::CompiledTooBig(_) = error {
        let error = "The regular expression is too large when it is unfolded.";
        return Refusal::new(error).hint("Use smaller repetitions.");
    }
    // The last line of a syntax error says what is wrong; those before it draw the pattern.
    let said = error.to_string();
    let why = said.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
    Refusal::new(format!("The regular expression cannot be read: {why}."))
        .hint("Mend it; to look for words as they are, use a pattern of words.")
}

fn everything(of: &str, why: &str) -> Refusal {
    let shown: String = of.chars().take(60).collect();
    Refusal::new(format!("The pattern '{shown}' {why}; such a rule would always speak."))
        .hint("Name what is peculiar to the matter.")
}

fn folded(text: &str) -> Vec<String> {
    words(text).iter().flat_map(|word| pieces(word)).collect()
}
