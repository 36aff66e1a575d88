//! Reads a record as statements, each as the words that are compared.

use super::past::is_past;
use super::word::{SentenceWord, WordClass, tokenize};

/// Words that end with a full stop inside a sentence.
const ABBREVIATIONS: &str = "dr mr mrs ms prof st no nr vs approx inc ltd jr sr dept est e.g i.e etc ca fig vol";
/// Openings that say nothing of the matter.
const OPENINGS: [&str; 16] = [
    "update", "correction", "note", "fyi", "heads up", "btw", "by the way", "actually", "from now on",
    "as of now", "turns out", "good news", "bad news", "reminder", "ok", "so",
];
/// Words for a statement that changes what was so.
const CHANGE_MARKERS: [&str; 14] = [
    " now ", " instead ", " anymore ", " any more ", " any longer ", " no longer ", " these days ", " nowadays ",
    " from now on ", " as of ", " since ", " starting ", " again ", " effective ",
];
/// Words that may follow `from`, `since`, `as of`: a time.
const TIMES: &str = "now today tomorrow yesterday next this last januari februari march april may june juli august septemb \
    octob novemb decemb monday tuesday wednesday thursday friday saturday sunday week month year refit move spring summer \
    autumn winter";
const PERIODS: &str = "week month year quarter night spring summer autumn winter sprint season time";
const WORDS_OF_TIME_MAX: usize = 5;
const KEY_WORDS_MAX: usize = 6;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement<'a> {
    pub(super) text: &'a str,
    pub(super) words: Vec<SentenceWord>,
    /// Since when it holds, or in which period; not among the words.
    pub(super) time: Vec<SentenceWord>,
    /// Whether it says itself that it no longer holds.
    pub(super) is_past: bool,
    /// Whether it says that something changed, e.g. `now`.
    pub(super) is_marked: bool,
    /// Without its own subject, it speaks of what was said before it.
    pub(super) refers_back: bool,
}

/// The statements of a text, in order.
pub(super) fn statements(text: &str) -> Vec<Statement<'_>> {
    let mut out: Vec<Statement<'_>> = split(text).into_iter().map(Statement::read).collect();
    out.retain(|statement| !statement.words.is_empty());
    out
}

impl<'a> Statement<'a> {
    fn read(text: &'a str) -> Self {
        let text = strip_opening(text);
        let plain = format!(" {} ", text.to_lowercase().replace([',', '.', ';', '!'], " "));
        let is_marked = CHANGE_MARKERS.iter().any(|marker| plain.contains(marker));
        let mut words = match key_and_value(text) {
            Some((key, value)) => {
                let mut words = tokenize(key);
                words.push(SentenceWord::copula());
                words.extend(tokenize(value));
                words
            }
            None => tokenize(text),
        };
        fold_phrases(&mut words);
        let time = split_time(&mut words);
        let first = words.iter().find(|word| word.class != WordClass::StopWord);
        let refers_back = first
            .is_some_and(|word| word.is_listed("it they he she this these those there its their his her them"));
        Self { text, words, time, is_past: is_past(text), is_marked, refers_back }
    }

    /// With its pronoun as a subject like any other.
    pub(super) fn with_known_subject(&self) -> Self {
        let mut known = self.clone();
        if let Some(pronoun) = known.words.iter_mut().find(|word| word.class == WordClass::Particle) {
            pronoun.class = WordClass::Plain;
        }
        known
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        let words = |statement: &Self| {
            statement.words.iter().filter(|w| !w.is_empty()).map(|w| w.key.clone()).collect::<Vec<_>>()
        };
        words(self) == words(other) && self.has_same_time(other)
    }

    pub(super) fn has_same_time(&self, other: &Self) -> bool {
        self.time.iter().map(|word| &word.key).eq(other.time.iter().map(|word| &word.key))
    }

    /// Whether they speak of different periods: `this week`, `next week`.
    pub(super) fn is_of_other_period(&self, other: &Self) -> bool {
        let is_period = |time: &[SentenceWord]| time.first().is_some_and(|word| word.is_listed("last this next"));
        is_period(&self.time) && is_period(&other.time) && !self.has_same_time(other)
    }
}

/// `default language: French`.
fn key_and_value(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(": ")?;
    (key.split_whitespace().count() <= KEY_WORDS_MAX && !value.contains(':')).then_some((key, value))
}

/// Sentences, and clauses set off by a semicolon.
pub(super) fn split(text: &str) -> Vec<&str> {
    let (mut out, mut start) = (Vec::new(), 0);
    for (at, mark) in text.char_indices().filter(|(_, c)| matches!(c, '.' | '!' | '?' | ';' | '\n' | '。')) {
        let end = at + mark.len_utf8();
        let is_last = text[end..].chars().next().is_none_or(char::is_whitespace);
        let word = text[start..at].rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
        let is_initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
        let is_abbreviation = mark == '.'
            && (is_initial || ABBREVIATIONS.split(' ').any(|known| known == word.trim_start_matches('(')));
        if (is_last || matches!(mark, '\n' | '。')) && !is_abbreviation {
            out.push(&text[start..end]);
            start = end;
        }
    }
    out.push(&text[start..]);
    out.retain(|part| part.chars().any(char::is_alphanumeric));
    out.into_iter().map(str::trim).collect()
}

fn strip_opening(text: &str) -> &str {
    let Some((head, rest)) = text.split_once([':', ',']) else { return text };
    let head = head.trim().to_lowercase();
    let is_time =
        ["from ", "since ", "starting ", "as of ", "effective "].iter().any(|word| head.starts_with(word));
    let is_opening = OPENINGS.contains(&head.as_str()) || is_time && head.split(' ').count() <= WORDS_OF_TIME_MAX;
    if is_opening { rest.trim_start() } else { text }
}

/// Puts phrases into the words that they stand for.
fn fold_phrases(words: &mut Vec<SentenceWord>) {
    let mut at = 0;
    while at < words.len() {
        let key = |n: usize| words.get(at + n).map_or("", |word| word.key.as_str());
        let ends_in_ing =
            |n: usize| words.get(at + n).is_some_and(|word: &SentenceWord| word.text.ends_with("ing"));
        let folded: Option<(usize, Vec<SentenceWord>)> = match (key(0), key(1), key(2)) {
            ("time" | "x", "out", _) => Some((2, vec![SentenceWord::plain("timeout")])),
            ("can", "not", "stand" | "bear") => Some((3, vec![SentenceWord::plain("hate")])),
            ("go" | "went", "up" | "down", "to") => Some((2, vec![SentenceWord::plain("chang")])),
            ("stop" | "quit", _, _) if ends_in_ing(1) => Some((1, vec![SentenceWord::negation()])),
            ("gave" | "given" | "give", "up", _) if ends_in_ing(2) => Some((2, vec![SentenceWord::negation()])),
            ("drop" | "ditch" | "abandon", _, _) if at > 0 && words[at].text.ends_with("ed") => {
                Some((1, vec![SentenceWord::negation(), SentenceWord::plain("use")]))
            }
            ("got" | "get", "rid", "of") => Some((3, vec![SentenceWord::negation(), SentenceWord::plain("use")])),
            // Changes nothing in what is said: `any more`, `from now on`, `instead`.
            ("more" | "instead", "", "") if at > 0 => Some((1, Vec::new())),
            ("from", "on", _) => Some((2, Vec::new())),
            ("out", "of", "order") => Some((3, vec![SentenceWord::plain("broken")])),
            _ => None,
        };
        let mut step = 1;
        if let Some((taken, put)) = folded {
            step = put.len();
            words.splice(at..at + taken, put);
        }
        at += step;
    }
}

/// Takes off since when it holds: `since May`, `from Monday on`, `last month`.
fn split_time(words: &mut Vec<SentenceWord>) -> Vec<SentenceWord> {
    let is_time = |word: &SentenceWord| word.is_listed(TIMES);
    let start = (1..words.len()).find(|at| {
        let rest = &words[at + 1..];
        let is_short = rest.len() <= WORDS_OF_TIME_MAX && !rest.iter().any(|word| word.is("to"));
        let begins = words[*at].is_listed("from start effect")
            || words[*at].is("as") && rest.first().is_some_and(|w| w.is("of"));
        let begins_time = words[*at].is("sinc") || begins && rest.iter().take(2).any(is_time);
        let begins_period =
            words[*at].is_listed("last this next") && rest.len() == 1 && rest[0].is_listed(PERIODS);
        is_short && (begins_time || begins_period)
    });
    start.map_or_else(Vec::new, |start| words.split_off(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_sentence_by_sentence() {
        for (text, want) in [
            ("Her doctor is Dr. Okafor. He is kind.", vec!["Her doctor is Dr. Okafor.", "He is kind."]),
            ("Version 2.1 works; it is fast", vec!["Version 2.1 works;", "it is fast"]),
            ("The author is Ursula K. Le Guin.", vec!["The author is Ursula K. Le Guin."]),
            ("Use main.rs", vec!["Use main.rs"]),
            ("...", vec![]),
        ] {
            assert_eq!(split(text), want, "{text}");
        }
    }

    #[test]
    fn since_when_it_holds_is_left_out() {
        let keys = |text: &str| {
            let read = statements(text);
            read[0].words.iter().map(|word| word.key.clone()).collect::<Vec<_>>().join(" ")
        };
        for (text, want) in [
            ("Update: standup is at 10 from Monday on", "standup is at 10"),
            ("Tim lives in Bergen since May", "tim live in bergen"),
            ("From now on, standup is at 10", "standup is at 10"),
            ("I quit smoking", "i not smoke"),
            ("The train runs from Oslo to Bergen", "train run from oslo to bergen"),
        ] {
            assert_eq!(keys(text), want, "{text}");
        }
    }
}
