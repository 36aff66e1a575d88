//! Finding the lines that answer a question, and how well a text covers what is asked.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::message::{Message, Role};

use super::phrases::{self as p, any, plain};
use super::read::LogPart;
use crate::summarize::{sentences, term_set};

/// Lines quoted, at most.
const LINES_MAX: usize = 3;
/// An answer stands after its question: how much of the question's match it inherits.
const INHERITED: f64 = 0.6;

/// Terms that ask, rather than say what about.
const ASKING: &str = "remind|rememb|tell|detail|exact|precis|last|time|again|previous|earlier|discuss|talk|said|say|show|\
    log|quot|summar|summari|know|give|pleas|thing|stuff|find|regard|long|mani|much|often|number|use|end|work|effort|ago|leav|far|found|learn|ever|look";

/// What a question is about: its terms without those that only ask.
pub(super) fn topic(question: &str) -> BTreeSet<String> {
    let all = term_set(&plain(question).replace('\'', " "));
    let short = |t: &String| t.chars().count() < 2;
    all.into_iter().filter(|t| !ASKING.split('|').any(|asks| asks == t) && !short(t)).collect()
}

/// How much of a topic a text has, from 0 to 1.
pub(super) fn coverage(topic: &BTreeSet<String>, text: &str) -> f64 {
    if topic.is_empty() {
        return 0.0;
    }
    let found = term_set_whole(text);
    topic.iter().filter(|term| found.contains(*term)).count() as f64 / topic.len() as f64
}

/// How much of a topic a log has.
pub(super) fn log_coverage(topic: &BTreeSet<String>, log: &LogPart) -> f64 {
    let text: String = told(&log.messages).map(|m| format!("{}\n", m.content)).collect();
    coverage(topic, &text)
}

fn term_set_whole(text: &str) -> BTreeSet<String> {
    text.split_inclusive(['\n', '.', '。']).flat_map(term_set).collect()
}

/// All that was said but for our own notes.
fn told(messages: &[Message]) -> impl Iterator<Item = &Message> {
    messages.iter().filter(|m| m.role != Role::System)
}

/// The lines that say most about what is asked, in the order they were said.
pub(super) fn lines(question: &str, parts: &[&LogPart]) -> Vec<String> {
    let topic = topic(question);
    let wants_number = any(&plain(question), p::NUMBER);
    let messages: Vec<Message> = parts.iter().flat_map(|part| told(&part.messages)).cloned().collect();
    let all: Vec<(String, bool)> = sentences(&messages).into_iter().filter(|(text, _)| !is_own(text)).collect();
    let sets: Vec<BTreeSet<String>> = all.iter().map(|(text, _)| term_set(text)).collect();
    let mut with: BTreeMap<&str, f64> = BTreeMap::new();
    for term in sets.iter().flatten().filter(|term| topic.contains(*term)) {
        *with.entry(term).or_default() += 1.0;
    }
    // In the log of an effort its own name tells nothing.
    let names: BTreeSet<String> = parts.iter().filter_map(|part| part.id.as_deref()).flat_map(term_set).collect();
    let rarity = |term: &String| {
        let rare = (1.0 + all.len() as f64 / with.get(term.as_str()).copied().unwrap_or(1.0)).ln();
        if names.contains(term) { rare * 0.2 } else { rare }
    };
    let own: Vec<f64> =
        sets.iter().map(|set| topic.iter().filter(|term| set.contains(*term)).map(rarity).sum()).collect();
    let mut scored: Vec<(f64, usize)> = Vec::new();
    for (at, (text, is_question)) in all.iter().enumerate() {
        if *is_question {
            continue;
        }
        let asked = if at > 0 && all[at - 1].1 { INHERITED * own[at - 1] } else { 0.0 };
        let numbers = if wants_number && text.contains(|c: char| c.is_ascii_digit()) { 1.4 } else { 1.0 };
        let score = (own[at] + asked) * numbers;
        if score > 0.0 {
            scored.push((score, at));
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let least = scored.first().map_or(0.0, |(best, _)| best * 0.6);
    let mut chosen: Vec<usize> = Vec::new();
    for (score, at) in scored {
        let again = chosen.iter().any(|other| all[*other].0 == all[at].0);
        if score >= least && !again && chosen.len() < LINES_MAX {
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|at| all[at].0.clone()).collect()
}

/// The last things told, where no topic is asked about.
pub(super) fn latest(part: &LogPart) -> Vec<String> {
    let messages: Vec<Message> = told(&part.messages).cloned().collect();
    let mut out: Vec<String> = sentences(&messages)
        .into_iter()
        .filter(|(text, is_question)| !is_question && !is_own(text) && text.split(' ').count() > 2)
        .map(|(text, _)| text)
        .collect();
    out.split_off(out.len().saturating_sub(LINES_MAX))
}

/// What this model says of itself is no evidence.
fn is_own(text: &str) -> bool {
    super::answer::OWN_WORDS.iter().any(|own| text.starts_with(own))
}
