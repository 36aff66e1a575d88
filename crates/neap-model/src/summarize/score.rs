//! What a sentence is worth: what it names, what it tells, how central and where it is.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::message::{Message, Role};
use neap_core::receipt::{Probe, ProbeKind, probes};
use neap_core::reference::is_unspaced;
use neap_core::terms::terms;

use super::Sentence;
use super::cues::{Cues, is_filler, is_keeping};

/// What a question loses: its answer tells more.
const QUESTION: f64 = 2.2;
/// What a question in the last message loses: nobody has answered it yet.
const OPEN_QUESTION: f64 = 0.6;
/// Names, numbers and identifiers of a sentence that count, at most.
const FACTS_MAX: usize = 24;
/// Distinct terms of a sentence that count, at most.
const TERMS_MAX: usize = 48;

/// A sentence with what speaks for it.
#[derive(Debug, Clone)]
pub(super) struct Weighed {
    pub(super) text: String,
    /// Its place in what was said.
    pub(super) order: usize,
    /// What it is worth by itself.
    pub(super) base: f64,
    /// Names, numbers, identifiers, with what each is worth if nothing taken has it.
    pub(super) facts: BTreeMap<String, f64>,
    /// Distinct terms, sorted, for likeness.
    pub(super) terms: BTreeSet<String>,
    /// It says what everything is about.
    pub(super) is_opening: bool,
    /// It says how everything came out.
    pub(super) is_outcome: bool,
}

/// A sentence, looked at once.
struct Read {
    sentence: Sentence,
    lower: String,
    cues: Cues,
    facts: BTreeMap<String, f64>,
    terms: BTreeSet<String>,
}

impl Read {
    fn new(sentence: Sentence) -> Self {
        let lower = sentence.text.to_lowercase();
        let (cues, facts, terms) = (Cues::of(&lower), facts(&sentence.text), term_set(&sentence.text));
        Self { sentence, lower, cues, facts, terms }
    }
}

/// Weighs sentences and leaves out mere courtesy.
pub(super) fn weigh(sentences: Vec<Sentence>) -> Vec<Weighed> {
    let kept: Vec<Read> = sentences.into_iter().map(Read::new).filter(|read| !is_talk(read)).collect();
    let mut with: BTreeMap<&str, u32> = BTreeMap::new();
    for term in kept.iter().flat_map(|read| &read.terms) {
        *with.entry(term).or_default() += 1;
    }
    let central = kept.iter().map(|read| central(&read.terms, &with)).collect::<Vec<f64>>();
    let opening = opening(&kept);
    let outcome = outcome(&kept);
    let last_message = kept.last().map_or(0, |read| read.sentence.message);
    let count = kept.len().max(1) as f64;
    kept.into_iter()
        .zip(central)
        .enumerate()
        .map(|(order, (read, central))| {
            let Read { sentence, lower: _, cues, facts, terms } = read;
            let place = order as f64 / count;
            let mut base = 0.5 + cues.weight() + 0.8 * central.min(2.0) + 0.6 * place;
            base += if sentence.message + 2 > last_message { 0.5 } else { 0.0 };
            base += role_weight(sentence.role);
            let is_open = sentence.is_question && sentence.message == last_message;
            base -= if is_open {
                OPEN_QUESTION
            } else if sentence.is_question {
                QUESTION
            } else {
                0.0
            };
            base -= if sentence.is_code { 1.0 } else { 0.0 };
            base -= if terms.len() < 3 { 0.8 } else { 0.0 };
            base -= if sentence.text.ends_with([':', '：']) { 1.2 } else { 0.0 };
            let is_answered = sentence.is_question && !is_open;
            Weighed {
                order,
                base: base.max(0.05),
                facts: if is_answered { BTreeMap::new() } else { sought(facts, &sentence.text) },
                terms,
                is_opening: Some(order) == opening,
                is_outcome: Some(order) == outcome,
                text: sentence.text,
            }
        })
        .collect()
}

/// How much a sentence speaks of what others speak of.
fn central(terms: &BTreeSet<String>, with: &BTreeMap<&str, u32>) -> f64 {
    let sum: f64 = terms.iter().map(|t| f64::from(with[t.as_str()]).ln()).sum();
    sum / (terms.len() as f64 + 4.0)
}

fn role_weight(role: Role) -> f64 {
    match role {
        Role::User => 0.4,
        Role::Assistant => 0.2,
        Role::System => 0.0,
        Role::Tool => -0.8,
    }
}

/// Courtesy, exclamations, and code that names nothing worth finding again.
fn is_talk(read: &Read) -> bool {
    let Read { sentence, lower, cues, facts, terms } = read;
    if is_filler(lower) || (sentence.role == Role::Assistant && is_keeping(lower)) {
        return true;
    }
    let cue = cues.weight();
    if cue > 0.0 || !facts.is_empty() {
        return false;
    }
    let chimes_in = sentence.role == Role::Assistant || sentence.text.ends_with(['!', '！']);
    let terms_min = if chimes_in { 3 } else { 2 };
    cue < 0.0 || sentence.is_code || terms.len() < terms_min
}

/// The first thing the user wanted: what has substance, before what only has words.
fn opening(kept: &[Read]) -> Option<usize> {
    let by_user = |read: &Read| read.sentence.role == Role::User && !read.sentence.is_code;
    let mut users = kept.iter().enumerate().filter(|(_, read)| by_user(read)).map(|(at, _)| at);
    users.clone().take(3).find(|at| kept[*at].terms.len() >= 3).or_else(|| users.next())
}

/// The last thing said that tells how it came out, in the last third.
fn outcome(kept: &[Read]) -> Option<usize> {
    let from = kept.len() - kept.len().div_ceil(3);
    let tells = |read: &Read| !read.sentence.is_question && read.terms.len() >= 3 && read.cues.tell_an_outcome();
    kept[from..].iter().rposition(tells).map(|at| from + at)
}

/// What a text names, when, and what it denies, promises or asks: what a receipt will look for.
fn sought(facts: BTreeMap<String, f64>, text: &str) -> BTreeMap<String, f64> {
    let mut out = facts;
    for Probe { kind, value } in probes(&[Message::user(text)]) {
        let worth = match kind {
            ProbeKind::Negation | ProbeKind::Commitment => 0.5,
            ProbeKind::Date | ProbeKind::Question => 0.7,
            // Words that are counted already.
            ProbeKind::Identifier | ProbeKind::Path | ProbeKind::Number | ProbeKind::Url => continue,
        };
        out.insert(value.to_lowercase(), worth);
    }
    out
}

/// The distinct terms of a text; scripts without spaces by pairs of characters.
pub(crate) fn term_set(text: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for term in terms(text) {
        if term.chars().any(is_unspaced) {
            let chars: Vec<char> = term.chars().collect();
            out.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else {
            out.insert(term);
        }
        if out.len() >= TERMS_MAX {
            break;
        }
    }
    out
}

/// What a text names: numbers, identifiers, paths, addresses, names.
fn facts(text: &str) -> BTreeMap<String, f64> {
    let mut out = BTreeMap::new();
    for (at, raw) in text.split_whitespace().enumerate() {
        let word =
            raw.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '€' | '$' | '%' | '_' | '~'));
        let word = word.trim_end_matches('/');
        let worth = fact_weight(word, raw, at == 0);
        if worth > 0.0 && out.len() < FACTS_MAX {
            out.insert(word.to_lowercase(), worth);
        }
        if word.chars().any(is_unspaced) {
            // Numbers and names stand inside text without spaces.
            for part in word.split(|c: char| !c.is_ascii() || c == ',').filter(|part| !part.is_empty()) {
                let worth = fact_weight(part, part, false).max(0.4);
                out.insert(part.to_lowercase(), worth);
            }
        }
    }
    out
}

fn fact_weight(word: &str, raw: &str, is_first: bool) -> f64 {
    if word.chars().any(is_unspaced) {
        return 0.0;
    }
    let has = |what: fn(&char) -> bool| word.chars().any(|c| what(&c));
    let digits = has(char::is_ascii_digit);
    let letters = has(|c| c.is_alphabetic());
    let joined = word.contains("://")
        || word.contains('_')
        || word.contains("::")
        || word.contains('/')
        || inner_dot(word)
        || raw.starts_with('`');
    let inner_capital = word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let capitals = word.chars().count() >= 2 && letters && !has(|c| c.is_lowercase());
    if joined && letters {
        0.9
    } else if digits && letters {
        0.8
    } else if digits || inner_capital || capitals {
        0.7
    } else if !is_first && word.starts_with(char::is_uppercase) && word.chars().count() > 1 {
        0.4
    } else {
        0.0
    }
}

fn inner_dot(word: &str) -> bool {
    word.trim_matches('.').contains('.') && !word.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_names_numbers_and_identifiers() {
        let found = facts("We saw `ECONNRESET` in src/net.rs after 30 s on Postgres 15, calling getUser via x_y.");
        let want = ["15", "30", "econnreset", "getuser", "postgres", "src/net.rs", "x_y"];
        assert_eq!(found.into_keys().collect::<Vec<_>>(), want);
        assert_eq!(facts("超时设为30秒，使用Redis。").into_keys().collect::<Vec<_>>(), ["30", "redis"]);
    }

    #[test]
    fn what_a_receipt_looks_for_counts() {
        let sought = |text: &str| sought(facts(text), text);
        let found = sought("We must not delete it on 8 May 2026.");
        assert!(found.contains_key("8 may 2026") && found.contains_key("we must not delete it on 8 may 2026."));
        assert_eq!(found["8 may 2026"], 0.7);
        assert_eq!(sought("Which port is free?")["which port is free?"], 0.7);
    }

    #[test]
    fn text_without_spaces_is_alike_by_pairs() {
        assert_eq!(term_set("连接池").into_iter().collect::<Vec<_>>(), ["接池", "连接"]);
    }
}
