//! Scores sentences by facts, cues, centrality and position.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::base::message::{Message, Role};
use neap_core::text::completion::{Addressee, find_completion};
use neap_core::text::own_words::is_own_sentence;
use neap_core::text::receipt::{Probe, ProbeKind, probes};
use neap_core::text::reference::is_unspaced;
use neap_core::text::terms::terms;

use super::Sentence;
use super::cues::{Cues, is_filler};

/// The answer says more than the question.
const QUESTION_PENALTY: f64 = 2.2;
/// For questions in the last message, which are unanswered.
const OPEN_QUESTION_PENALTY: f64 = 0.6;
const FACTS_MAX: usize = 24;
const TERMS_MAX: usize = 48;

#[derive(Debug, Clone)]
pub(super) struct ScoredSentence {
    pub(super) text: String,
    pub(super) order: usize,
    /// The score apart from facts.
    pub(super) base_score: f64,
    /// Names, numbers and identifiers; each value counts only if no selected sentence has the fact.
    pub(super) facts: BTreeMap<String, f64>,
    pub(super) terms: BTreeSet<String>,
    /// States what the log is about.
    pub(super) is_opening: bool,
    /// States how it ended.
    pub(super) is_outcome: bool,
}

struct SentenceFeatures {
    sentence: Sentence,
    lower: String,
    cues: Cues,
    facts: BTreeMap<String, f64>,
    terms: BTreeSet<String>,
}

impl SentenceFeatures {
    fn new(sentence: Sentence) -> Self {
        let lower = sentence.text.to_lowercase();
        let (cues, facts, terms) = (Cues::of(&lower), extract_facts(&sentence.text), term_set(&sentence.text));
        Self { sentence, lower, cues, facts, terms }
    }
}

pub(super) fn score_sentences(sentences: Vec<Sentence>) -> Vec<ScoredSentence> {
    let candidates: Vec<SentenceFeatures> =
        sentences.into_iter().map(SentenceFeatures::new).filter(|features| !is_small_talk(features)).collect();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for term in candidates.iter().flat_map(|features| &features.terms) {
        *counts.entry(term).or_default() += 1;
    }
    let central = candidates.iter().map(|features| centrality(&features.terms, &counts)).collect::<Vec<f64>>();
    let opening = find_opening(&candidates);
    let outcome = find_outcome(&candidates);
    let last_message = candidates.last().map_or(0, |features| features.sentence.message);
    let count = candidates.len().max(1) as f64;
    candidates
        .into_iter()
        .zip(central)
        .enumerate()
        .map(|(order, (features, central))| {
            let SentenceFeatures { sentence, lower: _, cues, facts, terms } = features;
            let position = order as f64 / count;
            let mut base = 0.5 + cues.weight() + 0.8 * central.min(2.0) + 0.6 * position;
            base += if sentence.message + 2 > last_message { 0.5 } else { 0.0 };
            base += role_weight(sentence.role);
            let is_open = sentence.is_question && sentence.message == last_message;
            base -= if is_open {
                OPEN_QUESTION_PENALTY
            } else if sentence.is_question {
                QUESTION_PENALTY
            } else {
                0.0
            };
            base -= if sentence.is_code { 1.0 } else { 0.0 };
            base -= if terms.len() < 3 { 0.8 } else { 0.0 };
            base -= if sentence.text.ends_with([':', '：']) { 1.2 } else { 0.0 };
            let is_answered = sentence.is_question && !is_open;
            ScoredSentence {
                order,
                base_score: base.max(0.05),
                facts: if is_answered { BTreeMap::new() } else { add_probe_facts(facts, &sentence.text) },
                terms,
                is_opening: Some(order) == opening,
                is_outcome: Some(order) == outcome,
                text: sentence.text,
            }
        })
        .collect()
}

/// How much a sentence shares its terms with others.
fn centrality(terms: &BTreeSet<String>, counts: &BTreeMap<&str, u32>) -> f64 {
    let sum: f64 = terms.iter().map(|t| f64::from(counts[t.as_str()]).ln()).sum();
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

/// Courtesy, exclamations, and code without facts.
fn is_small_talk(features: &SentenceFeatures) -> bool {
    let SentenceFeatures { sentence, lower, cues, facts, terms } = features;
    let is_own = sentence.role == Role::Assistant && is_own_sentence(&sentence.text);
    if is_filler(lower) || is_own || is_mere_completion(features) {
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

/// "Great, that fixed it": it says that work is over, and nothing of the work.
fn is_mere_completion(features: &SentenceFeatures) -> bool {
    let claims = || find_completion(&features.sentence.text, Addressee::EffortKeeper);
    features.facts.is_empty() && features.terms.len() <= 3 && claims().is_some_and(|claim| claim.object.is_empty())
}

/// The user's first substantial sentence, or else the first one.
fn find_opening(candidates: &[SentenceFeatures]) -> Option<usize> {
    let by_user = |features: &SentenceFeatures| features.sentence.role == Role::User && !features.sentence.is_code;
    let mut users = candidates.iter().enumerate().filter(|(_, features)| by_user(features)).map(|(at, _)| at);
    users.clone().take(3).find(|at| candidates[*at].terms.len() >= 3).or_else(|| users.next())
}

/// The last sentence with an outcome, within the last third.
fn find_outcome(candidates: &[SentenceFeatures]) -> Option<usize> {
    let from = candidates.len() - candidates.len().div_ceil(3);
    let states_outcome = |features: &SentenceFeatures| {
        !features.sentence.is_question && features.terms.len() >= 3 && features.cues.has_outcome()
    };
    candidates[from..].iter().rposition(states_outcome).map(|at| from + at)
}

/// Adds what a receipt will check: dates, negations, commitments and questions.
fn add_probe_facts(facts: BTreeMap<String, f64>, text: &str) -> BTreeMap<String, f64> {
    let mut out = facts;
    for Probe { kind, value } in probes(&[Message::user(text)]) {
        let weight = match kind {
            ProbeKind::Negation | ProbeKind::Commitment => 0.5,
            ProbeKind::Date | ProbeKind::Question => 0.7,
            // Covered by `extract_facts`.
            ProbeKind::Identifier | ProbeKind::Path | ProbeKind::Number | ProbeKind::Url => continue,
        };
        out.insert(value.to_lowercase(), weight);
    }
    out
}

/// The distinct terms of a text; character pairs for scripts without spaces.
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

/// Numbers, identifiers, paths, addresses and names.
fn extract_facts(text: &str) -> BTreeMap<String, f64> {
    let mut out = BTreeMap::new();
    for (at, raw) in text.split_whitespace().enumerate() {
        let word =
            raw.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '€' | '$' | '%' | '_' | '~'));
        let word = word.trim_end_matches('/');
        let weight = fact_weight(word, raw, at == 0);
        if weight > 0.0 && out.len() < FACTS_MAX {
            out.insert(word.to_lowercase(), weight);
        }
        if word.chars().any(is_unspaced) {
            // Numbers and names inside text without spaces.
            for part in word.split(|c: char| !c.is_ascii() || c == ',').filter(|part| !part.is_empty()) {
                let weight = fact_weight(part, part, false).max(0.4);
                out.insert(part.to_lowercase(), weight);
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
        || has_inner_dot(word)
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

fn has_inner_dot(word: &str) -> bool {
    word.trim_matches('.').contains('.') && !word.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_names_numbers_and_identifiers() {
        let found =
            extract_facts("We saw `ECONNRESET` in src/net.rs after 30 s on Postgres 15, calling getUser via x_y.");
        let want = ["15", "30", "econnreset", "getuser", "postgres", "src/net.rs", "x_y"];
        assert_eq!(found.into_keys().collect::<Vec<_>>(), want);
        assert_eq!(extract_facts("超时设为30秒，使用Redis。").into_keys().collect::<Vec<_>>(), ["30", "redis"]);
    }

    #[test]
    fn what_a_receipt_looks_for_counts() {
        let facts_of = |text: &str| add_probe_facts(extract_facts(text), text);
        let found = facts_of("We must not delete it on 8 May 2026.");
        assert!(found.contains_key("8 may 2026") && found.contains_key("we must not delete it on 8 may 2026."));
        assert_eq!(found["8 may 2026"], 0.7);
        assert_eq!(facts_of("Which port is free?")["which port is free?"], 0.7);
    }

    #[test]
    fn text_without_spaces_is_alike_by_pairs() {
        assert_eq!(term_set("连接池").into_iter().collect::<Vec<_>>(), ["接池", "连接"]);
    }
}
