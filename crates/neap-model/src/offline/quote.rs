//! Finds lines that answer a question and measures how well a text covers its topic.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::base::message::{Message, Role};
use neap_core::text::completion::{Addressee, find_completion};
use neap_core::text::own_words;
use neap_core::text::phrases::normalize;

use super::phrases::NUMBER;
use super::prompt_view::LogView;
use crate::summarize::{sentences, tells_fix, term_set};

const LINES_MAX: usize = 3;
const REASON_WORDS_MIN: usize = 3;
/// A line after a question inherits this share of the question's score: it may be the answer.
const INHERITED_SHARE: f64 = 0.6;

/// Terms that ask rather than name a topic.
const ASKING_TERMS: &str = "remind|rememb|tell|detail|exact|precis|last|time|again|previous|earlier|discuss|talk|said|say|show|\
    log|quot|summar|summari|know|give|pleas|thing|stuff|find|regard|long|mani|much|often|number|use|end|work|effort|ago|leav|far|found|learn|ever|look";

/// A question's terms without those that only ask.
pub(super) fn topic_terms(question: &str) -> BTreeSet<String> {
    let all = term_set(&normalize(question).replace('\'', " "));
    let short = |t: &String| t.chars().count() < 2;
    all.into_iter().filter(|t| !ASKING_TERMS.split('|').any(|asks| asks == t) && !short(t)).collect()
}

/// The share of a topic's terms in a text, 0 to 1.
pub(super) fn coverage(topic: &BTreeSet<String>, text: &str) -> f64 {
    if topic.is_empty() {
        return 0.0;
    }
    let found = all_terms(text);
    topic.iter().filter(|term| found.contains(*term)).count() as f64 / topic.len() as f64
}

pub(super) fn log_coverage(topic: &BTreeSet<String>, log: &LogView) -> f64 {
    let text: String = spoken_messages(&log.messages).map(|m| format!("{}\n", m.content)).collect();
    coverage(topic, &text)
}

fn all_terms(text: &str) -> BTreeSet<String> {
    text.split_inclusive(['\n', '.', '。']).flat_map(term_set).collect()
}

fn spoken_messages(messages: &[Message]) -> impl Iterator<Item = &Message> {
    messages.iter().filter(|m| m.role != Role::System)
}

/// The lines that say most about the question, in their original order.
pub(super) fn answer_lines(question: &str, parts: &[&LogView]) -> Vec<String> {
    let topic = topic_terms(question);
    let wants_number = NUMBER.occurs_in(&normalize(question));
    let messages: Vec<Message> = parts.iter().flat_map(|part| spoken_messages(&part.messages)).cloned().collect();
    let all: Vec<(String, bool)> =
        sentences(&messages).into_iter().filter(|(text, _)| !is_own_sentence(text)).collect();
    let sets: Vec<BTreeSet<String>> = all.iter().map(|(text, _)| term_set(text)).collect();
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    for term in sets.iter().flatten().filter(|term| topic.contains(*term)) {
        *counts.entry(term).or_default() += 1.0;
    }
    // In an effort's own log its name carries little information.
    let names: BTreeSet<String> = parts.iter().filter_map(|part| part.id.as_deref()).flat_map(term_set).collect();
    let rarity = |term: &String| {
        let rare = (1.0 + all.len() as f64 / counts.get(term.as_str()).copied().unwrap_or(1.0)).ln();
        if names.contains(term) { rare * 0.2 } else { rare }
    };
    let own_scores: Vec<f64> =
        sets.iter().map(|set| topic.iter().filter(|term| set.contains(*term)).map(rarity).sum()).collect();
    let mut scored: Vec<(f64, usize)> = Vec::new();
    for (at, (text, is_question)) in all.iter().enumerate() {
        if *is_question {
            continue;
        }
        let inherited = if at > 0 && all[at - 1].1 { INHERITED_SHARE * own_scores[at - 1] } else { 0.0 };
        let numbers = if wants_number && text.contains(|c: char| c.is_ascii_digit()) { 1.4 } else { 1.0 };
        let score = (own_scores[at] + inherited) * numbers;
        if score > 0.0 {
            scored.push((score, at));
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let least = scored.first().map_or(0.0, |(best, _)| best * 0.6);
    let mut chosen: Vec<usize> = Vec::new();
    for (score, at) in scored {
        let is_duplicate = chosen.iter().any(|other| all[*other].0 == all[at].0);
        if score >= least && !is_duplicate && chosen.len() < LINES_MAX {
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|at| all[at].0.clone()).collect()
}

/// The latest statements, for a question without a topic.
pub(super) fn latest_lines(part: &LogView) -> Vec<String> {
    let messages: Vec<Message> = spoken_messages(&part.messages).cloned().collect();
    let mut out: Vec<String> = sentences(&messages)
        .into_iter()
        .filter(|(text, is_question)| !is_question && !is_own_sentence(text) && text.split(' ').count() > 2)
        .map(|(text, _)| text)
        .collect();
    out.split_off(out.len().saturating_sub(LINES_MAX))
}

/// The latest statements of the person, from whichever log.
pub(super) fn latest_said(logs: &[LogView]) -> Vec<String> {
    let messages = logs.iter().flat_map(|log| &log.messages).filter(|message| message.role == Role::User);
    let messages: Vec<Message> = messages.cloned().collect();
    let mut out: Vec<String> = sentences(&messages).into_iter().map(|(text, _)| text).collect();
    out.split_off(out.len().saturating_sub(LINES_MAX))
}

/// How the work of a log was solved: the sentences that say what was done or why, and the last statement before the
/// person said that it was over.
pub(super) fn fix_lines(log: &LogView) -> Vec<String> {
    let messages: Vec<Message> = spoken_messages(&log.messages).cloned().collect();
    let said =
        sentences(&messages).into_iter().filter(|(text, is_question)| !is_question && !is_own_sentence(text));
    let said: Vec<String> = said.map(|(text, _)| text).collect();
    let claims_end = |text: &String| find_completion(text, Addressee::EffortKeeper).is_some();
    let end = said.iter().rposition(claims_end).unwrap_or(said.len());
    let mut before: Vec<&String> = said[..end].iter().filter(|text| !claims_end(text)).collect();
    // "It is fixed: the clock was late." says both.
    before.extend(said.get(end).filter(|text| explains(text)));
    let Some((last, earlier)) = before.split_last() else { return Vec::new() };
    let mut lines: Vec<String> =
        earlier.iter().filter(|text| tells_fix(text)).map(|text| (*text).clone()).collect();
    lines.drain(..lines.len().saturating_sub(LINES_MAX - 1));
    lines.push((*last).clone());
    lines
}

/// Whether what stands behind a colon, or a `because`, is worth quoting.
fn explains(claim: &str) -> bool {
    let reason = claim.split_once(": ").or_else(|| claim.split_once(" because "));
    reason.is_some_and(|(_, reason)| reason.split_whitespace().count() >= REASON_WORDS_MIN)
}

/// The sentences of a summary that say what was done, and why.
pub(super) fn fixes_in(summary: &str) -> Vec<String> {
    let sentences = sentences(&[Message::user(summary)]).into_iter().map(|(text, _)| text);
    sentences.filter(|text| tells_fix(text)).take(LINES_MAX).collect()
}

/// The model's own sentences and quotes are no evidence.
fn is_own_sentence(text: &str) -> bool {
    text.starts_with("> ") || own_words::is_own_sentence(text)
}
