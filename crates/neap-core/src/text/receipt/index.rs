//! Indexes texts to look up whether they contain a value or a statement.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use super::clause;
use super::exact_values::{self, ExactValue, ValueKey};
use super::fold::{contains_value, fold};
use super::probe::{ProbeKey, ProbeKind, head_and_tail, texts};
use crate::base::message::Message;

pub(super) struct ValueIndex<'a> {
    texts: Vec<&'a str>,
    keys: BTreeSet<ValueKey>,
    folded: OnceCell<String>,
}

impl<'a> ValueIndex<'a> {
    /// Values are extracted from the head and the tail of each message, but looked up as text in all of it.
    pub(super) fn from_messages(messages: &'a [Message]) -> Self {
        Self::new(messages.iter().flat_map(texts).collect())
    }

    pub(super) fn from_text(text: &'a str) -> Self {
        Self::new(vec![text])
    }

    fn new(texts: Vec<&'a str>) -> Self {
        let mut index = Self { texts: Vec::new(), keys: BTreeSet::new(), folded: OnceCell::new() };
        for text in texts {
            index.add_text(text);
        }
        index
    }

    pub(super) fn add_text(&mut self, text: &'a str) {
        for window in head_and_tail(text) {
            self.keys.extend(exact_values::find_values(window).into_iter().map(|value| value.key));
            self.keys.extend(exact_values::spelled_numbers(window));
        }
        self.texts.push(text);
        self.folded.take();
    }

    /// Whether this text has a value at least as specific as one of another text.
    pub(super) fn supports(&self, text: &str, value: &ExactValue) -> bool {
        let same = match &value.key {
            ValueKey::Text(_) => self.keys.contains(&value.key),
            ValueKey::Number(number, unit) => {
                let plain = ValueKey::Number(number.clone(), None);
                self.keys.contains(&value.key)
                    || self.keys.contains(&plain)
                    || (unit.is_none() && self.has_number(number))
            }
            ValueKey::Day(day) => self.days().any(|here| day.is_within(here)),
        };
        same || self.contains(&text[value.range.clone()])
    }

    /// Whether a value of another text appears here, possibly written another way.
    pub(super) fn retains(&self, written: &str, key: &ValueKey) -> bool {
        let same = match key {
            ValueKey::Text(_) => self.keys.contains(key),
            ValueKey::Number(number, unit) => {
                self.keys.contains(key) || (unit.is_none() && self.has_number(number))
            }
            ValueKey::Day(day) => self.days().any(|here| {
                let years = here.year.is_none() || day.year.is_none() || here.year == day.year;
                here.month == day.month && here.day == day.day && years
            }),
        };
        same || self.contains(written)
    }

    fn contains(&self, written: &str) -> bool {
        let folded = self.folded.get_or_init(|| fold(&self.texts.join("\n")));
        contains_value(folded, fold(written).trim())
    }

    fn has_number(&self, number: &str) -> bool {
        let from = ValueKey::Number(number.to_owned(), None);
        self.keys
            .range(from..)
            .next()
            .is_some_and(|key| matches!(key, ValueKey::Number(here, _) if here == number))
    }

    fn days(&self) -> impl Iterator<Item = &super::date::PartialDate> {
        self.keys.iter().rev().map_while(|key| match key {
            ValueKey::Day(day) => Some(day),
            ValueKey::Text(_) | ValueKey::Number(..) => None,
        })
    }
}

pub(super) struct ClauseIndex {
    sentences: Vec<BTreeSet<String>>,
    denials: Vec<BTreeSet<String>>,
    affirmations: Vec<(Range<usize>, BTreeSet<String>)>,
}

impl ClauseIndex {
    pub(super) fn from_summary(summary: &str) -> Self {
        let mut out = Self { sentences: Vec::new(), denials: Vec::new(), affirmations: Vec::new() };
        for range in clause::sentences(summary) {
            out.sentences.push(crate::text::terms::terms(&summary[range.clone()]).into_iter().collect());
            for clause in clause::clauses(&summary[range.clone()]) {
                if clause.denies.is_empty() {
                    out.affirmations.push((range.clone(), clause.terms()));
                } else {
                    out.denials.push(clause.terms());
                }
            }
        }
        out
    }

    /// The clauses that negate nothing, each with the range of its sentence.
    pub(super) fn affirmations(&self) -> &[(Range<usize>, BTreeSet<String>)] {
        &self.affirmations
    }

    /// Whether one sentence has at least two thirds of these words; a negation needs a negated clause.
    pub(super) fn covers(&self, kind: ProbeKind, words: &[String]) -> bool {
        let clauses = if kind == ProbeKind::Negation { &self.denials } else { &self.sentences };
        let is_covered =
            |terms: &BTreeSet<String>| words.iter().filter(|w| terms.contains(*w)).count() * 3 >= words.len() * 2;
        clauses.iter().any(is_covered)
    }
}

pub(super) fn is_retained(
    kind: ProbeKind,
    written: &str,
    key: &ProbeKey,
    values: &ValueIndex<'_>,
    clauses: &ClauseIndex,
) -> bool {
    match key {
        ProbeKey::Value(value) => values.retains(written, value),
        ProbeKey::Words(words) => clauses.covers(kind, words),
    }
}
