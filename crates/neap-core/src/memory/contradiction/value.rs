//! Values of statements: whether two can take each other's place.

use super::word::{SentenceWord, WordClass};

/// Sizes of the units that measure the same, smallest as 1.
const DIMENSIONS: [&[(&str, f64)]; 4] = [
    &[("ms", 0.001), ("s", 1.0), ("min", 60.0), ("h", 3_600.0), ("d", 86_400.0), ("week", 604_800.0)],
    &[("kb", 1.0), ("mb", 1_000.0), ("gb", 1_000_000.0), ("tb", 1_000_000_000.0)],
    &[("m", 1.0), ("km", 1_000.0)],
    &[("month", 1.0), ("year", 12.0)],
];
const DATE_WORDS: &str = "monday tuesday wednesday thursday friday saturday sunday januari februari march april may june juli \
    august septemb octob novemb decemb am pm noon midnight morn afternoon even oclock tomorrow week-end weekend";
/// Words around a number that change nothing.
const HEDGES: &str = "about around roughly nearly only at to up";
/// Words that begin a condition under which a value holds.
const QUALIFIERS: &str = "for on during when while whenever if unless except until per under within without near outside inside \
    after before in at with because between above below over only every each from via against if";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value<'a> {
    pub(super) words: &'a [SentenceWord],
    /// What the value is bound to, e.g. `for students`.
    pub(super) condition: &'a [SentenceWord],
}

impl<'a> Value<'a> {
    /// Splits at the first word that begins a condition. A place may be described further: `Bergen by the sea`.
    pub(super) fn of(words: &'a [SentenceWord]) -> Self {
        let first = words.iter().position(SentenceWord::is_value).unwrap_or(0);
        let at = (first + 1..words.len()).find(|at| words[*at].is_listed(QUALIFIERS) && !is_joint(words, *at));
        let (words, condition) = words.split_at(at.unwrap_or(words.len()));
        Self { words, condition }
    }

    pub(super) fn condition_keys(&self) -> Vec<&str> {
        self.condition.iter().filter(|word| !word.is_empty()).map(|word| word.key.as_str()).collect()
    }

    pub(super) fn keys(&self) -> Vec<&str> {
        let told = self.words.iter().filter(|word| !word.is_empty() && !word.is_listed(HEDGES));
        told.map(|word| word.key.as_str()).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys().is_empty()
    }

    fn number(&self) -> Option<Quantity<'_>> {
        let words: Vec<&SentenceWord> =
            self.words.iter().filter(|word| word.is_value() && !word.is_listed(HEDGES)).collect();
        let at = words.iter().position(|word| word.class == WordClass::Number)?;
        let unit = [at.checked_sub(1), Some(at + 1)]
            .into_iter()
            .flatten()
            .find(|at| words.get(*at).is_some_and(|word| word.is_unit()));
        let counted = words[at + 1..].iter().find(|word| !word.is_unit()).map(|word| word.key.as_str());
        // `12 Mill Road` is no quantity.
        if words.get(at + 1).is_some_and(|word| word.class == WordClass::Name) {
            return None;
        }
        let (number, unit) = (words[at].key.as_str(), unit.map(|at| words[at].key.as_str()));
        Some(Quantity { number, unit, counted })
    }

    pub(super) fn is_number(&self) -> bool {
        !self.is_date() && self.number().is_some()
    }

    /// Whether it is a day, a month or a time of day.
    pub(super) fn is_date(&self) -> bool {
        let is_date = |word: &&SentenceWord| word.is_listed(DATE_WORDS) || word.key.contains(':');
        self.words.iter().filter(|word| !word.is_empty() || is_date(word)).take(2).any(|word| is_date(&word))
    }

    /// Whether one could stand where the other stands and both are of one kind: two dates, or two numbers that measure
    /// the same, or neither.
    pub(super) fn is_of_one_kind(&self, other: &Self) -> bool {
        if self.is_date() || other.is_date() {
            return self.is_date() && other.is_date();
        }
        match (self.number(), other.number()) {
            (Some(own), Some(other)) => own.measures_the_same(&other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// The same in other words: `60 s`, `1 min`.
    pub(super) fn is_equal(&self, other: &Self) -> bool {
        if self.keys() == other.keys() {
            return true;
        }
        match (self.number(), other.number()) {
            (Some(own), Some(other)) if !self.is_date() => own.is_equal(&other),
            (Some(_) | None, Some(_) | None) => false,
        }
    }
}

/// A number, and what it counts.
struct Quantity<'a> {
    number: &'a str,
    unit: Option<&'a str>,
    counted: Option<&'a str>,
}

impl Quantity<'_> {
    fn measures_the_same(&self, other: &Self) -> bool {
        let same_unit = match (self.unit, other.unit) {
            (Some(own), Some(other)) => {
                own == other || dimension(own).is_some_and(|it| dimension(other) == Some(it))
            }
            (None, None) => true,
            // `The limit is 30`, `the limit is 45 MB`.
            (Some(_), None) => other.counted.is_none(),
            (None, Some(_)) => self.counted.is_none(),
        };
        let same_count = match (self.counted, other.counted) {
            (Some(own), Some(other)) => own == other,
            (None, _) | (_, None) => true,
        };
        same_unit && same_count
    }

    fn is_equal(&self, other: &Self) -> bool {
        let size = |quantity: &Self| {
            let number: f64 = quantity.number.parse().ok()?;
            let unit = quantity.unit?;
            Some(number * DIMENSIONS.iter().flat_map(|units| units.iter()).find(|(name, _)| *name == unit)?.1)
        };
        match (size(self), size(other)) {
            (Some(own), Some(theirs)) => {
                dimension(self.unit.unwrap_or_default()) == dimension(other.unit.unwrap_or_default())
                    && (own - theirs).abs() < 1e-9
            }
            (Some(_) | None, Some(_) | None) => self.number == other.number && self.unit == other.unit,
        }
    }
}

fn dimension(unit: &str) -> Option<usize> {
    DIMENSIONS.iter().position(|units| units.iter().any(|(name, _)| *name == unit))
}

/// Whether a word stands inside a date or a name: `3 March at 9`, `Alice in Wonderland`.
fn is_joint(words: &[SentenceWord], at: usize) -> bool {
    let (before, after) = (at.checked_sub(1).and_then(|before| words.get(before)), words.get(at + 1));
    let is_date = |word: &SentenceWord| word.class == WordClass::Number || word.is_listed(DATE_WORDS);
    let is_name = |word: &SentenceWord| word.class == WordClass::Name && !word.is_listed(DATE_WORDS);
    let both = |test: &dyn Fn(&SentenceWord) -> bool| before.is_some_and(test) && after.is_some_and(test);
    both(&is_date) && words[at].is_listed("at in of on") || both(&is_name)
}
