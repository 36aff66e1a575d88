//! Splits sentences into normalized words: numbers and units in one form, articles and fillers dropped.

use crate::text::reference::is_stop_word;
use crate::text::terms::terms;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentenceWord {
    /// As written.
    pub(super) text: String,
    /// As compared.
    pub(super) key: String,
    pub(super) class: WordClass,
    /// The article before it.
    pub(super) article: Article,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Article {
    None,
    Definite,
    Indefinite,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordClass {
    /// Contains digits, or is spelled out.
    Number,
    /// e.g. `not`, `never`.
    Negation,
    /// Contains a capital letter.
    Name,
    Plain,
    StopWord,
    /// A stop word that changes what is said: who, when, on or off.
    Particle,
}

/// Dropped: they do not change the statement.
const FILLERS: &[&str] = &[
    "actually", "again", "also", "anymore", "any", "already", "currently", "even", "indeed", "just", "now",
    "nowadays", "really", "still", "that", "today",
];
const NEGATIONS: &[&str] =
    &["not", "never", "no", "cannot", "without", "neither", "nor", "nicht", "kein", "keine", "nie"];
/// Small words that accompany a negation; `longer` as in `no longer`.
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
/// Stop words that are compared: without them `on` is `off`, and `my` is `your`.
const PARTICLES: &str = "i me my we us our you your he him his she her they them their it its on off up down out before after \
    above below over under during until was were had did can may must should once each every all some few most other only \
    this these those there who which how why what yet both more";
/// Endings of contracted words, and what they stand for; `'s` may be a possessive.
const CONTRACTIONS: [(&str, &str); 5] =
    [("'m", "am"), ("'re", "are"), ("'ve", "have"), ("'ll", "will"), ("'d", "would")];
const NUMBER_WORDS: &str = "zero one two three four five six seven eight nine ten eleven twelve";

impl SentenceWord {
    fn new(text: &str, key: String, class: WordClass) -> Self {
        Self { text: text.to_owned(), key, class, article: Article::None }
    }

    pub(super) fn negation() -> Self {
        Self::new("not", "not".to_owned(), WordClass::Negation)
    }

    pub(super) fn copula() -> Self {
        Self::new("is", "is".to_owned(), WordClass::StopWord)
    }

    pub(super) fn plain(key: &str) -> Self {
        Self::new(key, key.to_owned(), WordClass::Plain)
    }

    pub(super) fn is(&self, key: &str) -> bool {
        self.key == key
    }

    pub(super) fn is_listed(&self, list: &str) -> bool {
        list.split_whitespace().any(|entry| entry == self.key)
    }

    /// Whether it can be left out without changing what is said.
    pub(super) fn is_empty(&self) -> bool {
        self.class == WordClass::StopWord || AUXILIARIES.contains(&self.key.as_str())
    }

    /// Whether it can be a value.
    pub(super) fn is_value(&self) -> bool {
        match self.class {
            WordClass::Number | WordClass::Name | WordClass::Plain => !AUXILIARIES.contains(&self.key.as_str()),
            WordClass::Negation | WordClass::StopWord | WordClass::Particle => false,
        }
    }

    pub(super) fn is_quantity(&self) -> bool {
        self.class == WordClass::Number || self.is_unit()
    }

    pub(super) fn is_unit(&self) -> bool {
        UNITS.iter().any(|(unit, _)| *unit == self.key)
    }
}

pub(super) fn tokenize(text: &str) -> Vec<SentenceWord> {
    let (mut out, mut article) = (Vec::new(), Article::None);
    for run in text.split(|c: char| c.is_whitespace() || "=→\"“”„«»()[]{}<>|;!?—–".contains(c)) {
        let run = run.trim_matches(|c: char| !c.is_alphanumeric() && !"%€$°-".contains(c)).trim_end_matches('-');
        let run = run.replace('’', "'");
        let at = out.len();
        let lower = run.to_lowercase();
        if matches!(lower.as_str(), "a" | "an" | "the") {
            article = if lower == "the" { Article::Definite } else { Article::Indefinite };
            continue;
        }
        let given = std::mem::replace(&mut article, Article::None);
        let bare = run.strip_suffix("'s").unwrap_or(&run);
        let negated = run.len().checked_sub("n't".len()).and_then(|at| run.split_at_checked(at));
        if let Some((stem, _)) = negated.filter(|(_, end)| end.eq_ignore_ascii_case("n't")) {
            // `can't` has but one n.
            push_word(&mut out, if lower == "can't" { "can" } else { stem });
            out.push(SentenceWord::negation());
        } else if let Some((stem, full)) =
            CONTRACTIONS.iter().find_map(|(end, full)| Some((lower.strip_suffix(end)?, full)))
        {
            push_word(&mut out, stem);
            push_word(&mut out, full);
        } else {
            push_word(&mut out, bare);
            if bare.len() < run.len() {
                out.push(SentenceWord::new("'s", "'s".to_owned(), WordClass::StopWord));
            }
        }
        if let Some(word) = out.get_mut(at) {
            word.article = given;
        }
    }
    out
}

fn push_word(out: &mut Vec<SentenceWord>, run: &str) {
    let lower = run.to_lowercase();
    if lower.is_empty() || !lower.chars().any(|c| c.is_alphanumeric() || "%€$".contains(c)) {
        return;
    }
    if FILLERS.contains(&lower.as_str()) {
        return;
    }
    // The month, and the verb.
    if run == "May" || lower == "like" {
        let class = if lower == "like" { WordClass::Plain } else { WordClass::Name };
        out.push(SentenceWord::new(run, lower, class));
        return;
    }
    if let Some(unit) = canonical_unit(&lower) {
        out.push(SentenceWord::new(run, unit.to_owned(), WordClass::Plain));
        return;
    }
    if let Some(value) = NUMBER_WORDS.split(' ').position(|name| name == lower) {
        out.push(SentenceWord::new(run, value.to_string(), WordClass::Number));
        return;
    }
    if lower.starts_with(|c: char| c.is_ascii_digit() || "-€$".contains(c))
        && lower.chars().any(|c| c.is_ascii_digit())
    {
        return push_number(out, run);
    }
    if NEGATIONS.contains(&lower.as_str()) {
        out.push(SentenceWord::new(run, lower, WordClass::Negation));
        return;
    }
    let class = match () {
        () if lower.chars().any(|c| c.is_ascii_digit()) => WordClass::Number,
        () if PARTICLES.split(' ').any(|particle| particle == lower) => WordClass::Particle,
        () if is_stop_word(&lower) => WordClass::StopWord,
        () if run.chars().any(char::is_uppercase) => WordClass::Name,
        () => WordClass::Plain,
    };
    // An address, a path, a branch: one word, all of which counts.
    let is_compound = lower.chars().any(|c| !c.is_alphanumeric());
    let is_whole = is_compound || matches!(class, WordClass::StopWord | WordClass::Particle);
    let key = if is_whole { lower } else { terms(run).pop().unwrap_or(lower) };
    out.push(SentenceWord::new(run, key, class));
}

/// Splits `30s` into `30` and `s`, `€5` into `5` and `€`; `1,000` becomes `1000`.
fn push_number(out: &mut Vec<SentenceWord>, run: &str) {
    let body = run.trim_start_matches(['€', '$']);
    let end = body.find(|c: char| c.is_alphabetic() || "%°€$".contains(c)).unwrap_or(body.len());
    let (digits, rest) = body.split_at(end);
    let sign = &run[..run.len() - body.len()];
    match (canonical_unit(&rest.to_lowercase()), rest.is_empty()) {
        (Some(unit), _) => {
            out.push(SentenceWord::new(digits, normalize_number(digits), WordClass::Number));
            out.push(SentenceWord::new(rest, unit.to_owned(), WordClass::Plain));
        }
        (None, true) => {
            out.push(SentenceWord::new(body, normalize_number(digits), WordClass::Number));
            out.extend(
                canonical_unit(sign).map(|unit| SentenceWord::new(sign, unit.to_owned(), WordClass::Plain)),
            );
        }
        (None, false) => out.push(SentenceWord::new(run, run.to_lowercase(), WordClass::Number)),
    }
}

fn normalize_number(digits: &str) -> String {
    let thousands = digits.split(',').skip(1).all(|group| group.split('.').next().is_some_and(|g| g.len() == 3));
    let plain = if thousands { digits.replace(',', "") } else { digits.to_owned() };
    match plain.split_once('.') {
        Some((whole, part)) if !part.contains('.') && part.bytes().all(|b| b == b'0') => whole.to_owned(),
        Some(_) | None => plain,
    }
}

fn canonical_unit(lower: &str) -> Option<&'static str> {
    UNITS.iter().find(|(_, names)| names.split(' ').any(|name| name == lower)).map(|(unit, _)| *unit)
}
