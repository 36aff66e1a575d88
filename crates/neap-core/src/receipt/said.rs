//! A text, or many, indexed for the question whether it says something.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use super::clause;
use super::fold::{fold, holds};
use super::hard::{self, Key, Value};
use super::probe::{By, ProbeKind, texts, windows};
use crate::message::Message;

/// What was said.
pub(super) struct Said<'a> {
    texts: Vec<&'a str>,
    keys: BTreeSet<Key>,
    folded: OnceCell<String>,
}

impl<'a> Said<'a> {
    /// By messages: values are taken from the head and the tail of each, and looked up in all of it.
    pub(super) fn by(messages: &'a [Message]) -> Self {
        Self::new(messages.iter().flat_map(texts).collect())
    }

    /// In one text.
    pub(super) fn in_text(text: &'a str) -> Self {
        Self::new(vec![text])
    }

    fn new(texts: Vec<&'a str>) -> Self {
        let mut said = Self { texts: Vec::new(), keys: BTreeSet::new(), folded: OnceCell::new() };
        for text in texts {
            said.also(text);
        }
        said
    }

    /// One more text.
    pub(super) fn also(&mut self, text: &'a str) {
        for window in windows(text) {
            self.keys.extend(hard::values(window).into_iter().map(|value| value.key));
            self.keys.extend(hard::spelled_numbers(window));
        }
        self.texts.push(text);
        self.folded.take();
    }

    /// Whether a value of another text stands here, with no less than it tells there.
    pub(super) fn vouches_for(&self, text: &str, value: &Value) -> bool {
        let same = match &value.key {
            Key::Text(_) => self.keys.contains(&value.key),
            Key::Number(number, unit) => {
                let plain = Key::Number(number.clone(), None);
                self.keys.contains(&value.key)
                    || self.keys.contains(&plain)
                    || (unit.is_none() && self.has_number(number))
            }
            Key::Day(day) => self.days().any(|here| day.is_within(here)),
        };
        same || self.holds(&text[value.range.clone()])
    }

    /// Whether a value is told here again.
    pub(super) fn retains(&self, written: &str, key: &Key) -> bool {
        let same = match key {
            Key::Text(_) => self.keys.contains(key),
            Key::Number(number, unit) => self.keys.contains(key) || (unit.is_none() && self.has_number(number)),
            Key::Day(day) => self.days().any(|here| {
                let years = here.year.is_none() || day.year.is_none() || here.year == day.year;
                here.month == day.month && here.day == day.day && years
            }),
        };
        same || self.holds(written)
    }

    fn holds(&self, written: &str) -> bool {
        let folded = self.folded.get_or_init(|| fold(&self.texts.join("\n")));
        holds(folded, fold(written).trim())
    }

    fn has_number(&self, number: &str) -> bool {
        let from = Key::Number(number.to_owned(), None);
        self.keys.range(from..).next().is_some_and(|key| matches!(key, Key::Number(here, _) if here == number))
    }

    fn days(&self) -> impl Iterator<Item = &super::date::Day> {
        self.keys.iter().rev().map_while(|key| match key {
            Key::Day(day) => Some(day),
            Key::Text(_) | Key::Number(..) => None,
        })
    }
}

/// A summary's sentences and clauses, for what is known by its words.
pub(super) struct Told {
    sentences: Vec<BTreeSet<String>>,
    denials: Vec<BTreeSet<String>>,
    stated: Vec<(Range<usize>, BTreeSet<String>)>,
}

impl Told {
    pub(super) fn by(summary: &str) -> Self {
        let mut out = Self { sentences: Vec::new(), denials: Vec::new(), stated: Vec::new() };
        for range in clause::sentences(summary) {
            out.sentences.push(crate::terms::terms(&summary[range.clone()]).into_iter().collect());
            for clause in clause::clauses(&summary[range.clone()]) {
                if clause.denies.is_empty() {
                    out.stated.push((range.clone(), clause.terms()));
                } else {
                    out.denials.push(clause.terms());
                }
            }
        }
        out
    }

    /// The clauses that deny nothing, each with the place of its sentence.
    pub(super) fn stated(&self) -> &[(Range<usize>, BTreeSet<String>)] {
        &self.stated
    }

    /// Whether one sentence has at least two thirds of these words; a denial must still deny.
    pub(super) fn tells(&self, kind: ProbeKind, words: &[String]) -> bool {
        let places = if kind == ProbeKind::Negation { &self.denials } else { &self.sentences };
        let enough =
            |place: &BTreeSet<String>| words.iter().filter(|w| place.contains(*w)).count() * 3 >= words.len() * 2;
        places.iter().any(enough)
    }
}

/// Whether a summary retains what a probe looks for.
pub(super) fn is_retained(kind: ProbeKind, written: &str, by: &By, said: &Said<'_>, told: &Told) -> bool {
    match by {
        By::Value(key) => said.retains(written, key),
        By::Words(words) => told.tells(kind, words),
    }
}
