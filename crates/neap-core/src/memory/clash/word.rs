//! Words as they are compared: numbers in one form, units by one name, articles and fillers left out.

use crate::reference::is_stop_word;
use crate::terms::terms;

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// As it was written.
    pub(super) shown: String,
    /// As it is compared.
    pub(super) key: String,
    pub(super) sort: Sort,
}

/// Sorts of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// With digits in it, or spelled out.
    Number,
    /// `not`, `never`.
    Denial,
    /// With a capital letter.
    Name,
    /// Any other word of content.
    Plain,
    /// A word too common to tell anything.
    Small,
}

/// Left out: they change nothing about what is said.
const FILLERS: &[&str] = &[
    "a",
    "actually",
    "again",
    "also",
    "an",
    "anymore",
    "any",
    "already",
    "currently",
    "even",
    "indeed",
    "just",
    "now",
    "nowadays",
    "really",
    "still",
    "that",
    "the",
    "today",
];
const DENIALS: &[&str] =
    &["not", "never", "no", "cannot", "without", "neither", "nor", "nicht", "kein", "keine", "nie"];
/// Small words that go with a denial; `longer` as in `no longer`.
const AUXILIARIES: &[&str] = &["longer", "use", "used"];
const UNITS: &[(&str, &str)] = &[
    ("ms", "ms millisecond milliseconds msec"),
    ("s", "s sec secs second seconds"),
    ("min", "min mins minute minutes"),
    ("h", "h hr hrs hour hours"),
    ("d", "d day days"),
    ("week", "week weeks"),
    ("month", "month months"),
    ("year", "year years yr yrs"),
    ("kb", "kb kilobyte kilobytes"),
    ("mb", "mb megabyte megabytes"),
    ("gb", "gb gigabyte gigabytes"),
    ("tb", "tb terabyte terabytes"),
    ("%", "% percent pct"),
    ("km", "km kilometer kilometers kilometre kilometres"),
    ("m", "m meter meters metre metres"),
    ("kg", "kg kilo kilos kilogram kilograms"),
    ("°c", "°c"),
    ("°f", "°f"),
    ("€", "€ eur euro euros"),
    ("$", "$ usd dollar dollars"),
    ("token", "token tokens"),
    ("x", "x times"),
];
const SPELLED: &str = "zero one two three four five six seven eight nine ten eleven twelve";

impl Word {
    fn new(shown: &str, key: String, sort: Sort) -> Self {
        Self { shown: shown.to_owned(), key, sort }
    }

    /// Whether it can be a value: neither a small word nor a denial.
    pub(super) fn is_value(&self) -> bool {
        match self.sort {
            Sort::Number | Sort::Name | Sort::Plain => !AUXILIARIES.contains(&self.key.as_str()),
            Sort::Denial | Sort::Small => false,
        }
    }

    /// Whether it is a number or its unit.
    pub(super) fn is_quantity(&self) -> bool {
        self.sort == Sort::Number || self.is_unit()
    }

    pub(super) fn is_unit(&self) -> bool {
        UNITS.iter().any(|(unit, _)| *unit == self.key)
    }
}

/// The words of a text, in order.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut out = Vec::new();
    for run in text.split(|c: char| c.is_whitespace() || "=→\"“”„«»()[]{}<>|;!?—–".contains(c)) {
        let run = run.trim_matches(|c: char| !c.is_alphanumeric() && !"%€$°-".contains(c)).trim_end_matches('-');
        let run = run.replace('’', "'");
        let bare = run.strip_suffix("'s").unwrap_or(&run);
        let denial = run.len().checked_sub("n't".len()).and_then(|at| run.split_at_checked(at));
        if let Some((stem, _)) = denial.filter(|(_, end)| end.eq_ignore_ascii_case("n't")) {
            push(&mut out, stem);
            out.push(Word::new("not", "not".to_owned(), Sort::Denial));
            continue;
        }
        push(&mut out, bare);
        if bare.len() < run.len() {
            out.push(Word::new("'s", "'s".to_owned(), Sort::Small));
        }
    }
    out
}

fn push(out: &mut Vec<Word>, run: &str) {
    let lower = run.to_lowercase();
    if lower.is_empty() || !lower.chars().any(|c| c.is_alphanumeric() || "%€$".contains(c)) {
        return;
    }
    if FILLERS.contains(&lower.as_str()) {
        return;
    }
    if let Some(unit) = unit(&lower) {
        out.push(Word::new(run, unit.to_owned(), Sort::Plain));
        return;
    }
    if let Some(value) = SPELLED.split(' ').position(|name| name == lower) {
        out.push(Word::new(run, value.to_string(), Sort::Number));
        return;
    }
    if lower.starts_with(|c: char| c.is_ascii_digit() || "-€$".contains(c))
        && lower.chars().any(|c| c.is_ascii_digit())
    {
        return push_number(out, run);
    }
    if DENIALS.contains(&lower.as_str()) {
        out.push(Word::new(run, lower, Sort::Denial));
        return;
    }
    let sort = match () {
        () if lower.chars().any(|c| c.is_ascii_digit()) => Sort::Number,
        () if is_stop_word(&lower) => Sort::Small,
        () if run.chars().any(char::is_uppercase) => Sort::Name,
        () => Sort::Plain,
    };
    let key = if sort == Sort::Small { lower } else { terms(run).pop().unwrap_or(lower) };
    out.push(Word::new(run, key, sort));
}

/// `30s` as `30` and `s`, `1,000` as `1000`, `€5` as `5` and `€`.
fn push_number(out: &mut Vec<Word>, run: &str) {
    let body = run.trim_start_matches(['€', '$']);
    let end = body.find(|c: char| c.is_alphabetic() || "%°€$".contains(c)).unwrap_or(body.len());
    let (digits, rest) = body.split_at(end);
    let sign = &run[..run.len() - body.len()];
    match (unit(&rest.to_lowercase()), rest.is_empty()) {
        (Some(unit), _) => {
            out.push(Word::new(digits, value(digits), Sort::Number));
            out.push(Word::new(rest, unit.to_owned(), Sort::Plain));
        }
        (None, true) => {
            out.push(Word::new(body, value(digits), Sort::Number));
            out.extend(unit(sign).map(|unit| Word::new(sign, unit.to_owned(), Sort::Plain)));
        }
        (None, false) => out.push(Word::new(run, run.to_lowercase(), Sort::Number)),
    }
}

fn value(digits: &str) -> String {
    let thousands = digits.split(',').skip(1).all(|group| group.split('.').next().is_some_and(|g| g.len() == 3));
    let plain = if thousands { digits.replace(',', "") } else { digits.to_owned() };
    match plain.split_once('.') {
        Some((whole, part)) if !part.contains('.') && part.bytes().all(|b| b == b'0') => whole.to_owned(),
        Some(_) | None => plain,
    }
}

fn unit(lower: &str) -> Option<&'static str> {
    UNITS.iter().find(|(_, names)| names.split(' ').any(|name| name == lower)).map(|(unit, _)| *unit)
}
