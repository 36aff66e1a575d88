//! Selects the best sentences that add something new, within a token budget.

use std::collections::BTreeSet;

use neap_core::base::tokens::{TokenCounter, Tokens};

use super::score::ScoredSentence;
use super::sentences::{truncate_to_fit, truncate_words};

/// Only the best sentences compete.
const CANDIDATES_MAX: usize = 400;
const OPENING_SHARE_PERCENT: u64 = 40;
/// The opening may take this much of any budget.
const OPENING_TOKENS_MIN: Tokens = Tokens(48);
/// Cap on the score of new facts in one sentence.
const NEW_FACTS_WORTH_MAX: f64 = 4.5;
/// A remaining budget of this size takes part of a sentence.
const PART_TOKENS_MIN: u64 = 12;

/// Returns the selected sentences in their original order.
pub(super) fn pick(counter: &dyn TokenCounter, scored: Vec<ScoredSentence>, room: Tokens) -> String {
    let mut picker = SentencePicker { counter, room, left: room, taken: Vec::new(), facts: BTreeSet::new() };
    let mut candidates = top_candidates(scored);
    if let Some(at) = candidates.iter().position(|c| c.scored.is_opening) {
        let opening = candidates.swap_remove(at);
        picker.try_take(opening, room.percent(OPENING_SHARE_PERCENT).max(OPENING_TOKENS_MIN), &mut candidates);
    }
    if let Some(at) = candidates.iter().position(|c| c.scored.is_outcome) {
        let outcome = candidates.swap_remove(at);
        let left = picker.left;
        picker.try_take(outcome, left, &mut candidates);
    }
    while picker.left > Tokens::ZERO
        && let Some(at) = picker.next(&candidates)
    {
        let next = candidates.swap_remove(at);
        let left = picker.left;
        picker.try_take(next, left, &mut candidates);
    }
    picker.join()
}

struct SentenceCandidate {
    scored: ScoredSentence,
    /// Share already covered by selected sentences, 0 to 1.
    redundancy: f64,
}

/// The highest-scored sentences, always including the opening and the outcome.
fn top_candidates(mut scored: Vec<ScoredSentence>) -> Vec<SentenceCandidate> {
    let worth = |w: &ScoredSentence| {
        let must = f64::from(u8::from(w.is_opening || w.is_outcome)) * 1e6;
        must + w.base_score + w.facts.values().sum::<f64>().min(3.0)
    };
    scored.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.order.cmp(&b.order)));
    scored.truncate(CANDIDATES_MAX);
    scored.into_iter().map(|scored| SentenceCandidate { scored, redundancy: 0.0 }).collect()
}

struct SentencePicker<'a> {
    counter: &'a dyn TokenCounter,
    room: Tokens,
    left: Tokens,
    /// In the order of selection.
    taken: Vec<(usize, String)>,
    facts: BTreeSet<String>,
}

impl SentencePicker<'_> {
    /// The candidate that adds most for its length.
    fn next(&self, candidates: &[SentenceCandidate]) -> Option<usize> {
        let value = |candidate: &SentenceCandidate| {
            let scored = &candidate.scored;
            let new: f64 = scored.facts.iter().filter(|(f, _)| !self.facts.contains(*f)).map(|(_, w)| w).sum();
            let value = scored.base_score * (1.0 - candidate.redundancy)
                + new.min(NEW_FACTS_WORTH_MAX) * (1.0 - 0.5 * candidate.redundancy);
            value / (scored.text.len() as f64 + 40.0).powf(0.45)
        };
        let best = candidates
            .iter()
            .enumerate()
            .filter(|(_, candidate)| candidate.redundancy < 0.8)
            .map(|(at, candidate)| (at, value(candidate), candidate.scored.order))
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.2.cmp(&a.2)))?;
        Some(best.0)
    }

    /// Takes a candidate, a part of it, or nothing.
    fn try_take(&mut self, candidate: SentenceCandidate, room: Tokens, others: &mut [SentenceCandidate]) {
        // One token for the separator.
        let joint = Tokens(u64::from(!self.taken.is_empty()));
        let room = room.min(self.left).saturating_sub(joint);
        let text = if self.counter.count(&candidate.scored.text) <= room {
            candidate.scored.text.clone()
        } else if room >= Tokens(PART_TOKENS_MIN) || self.taken.is_empty() {
            self.part(&candidate, room).to_owned()
        } else {
            return;
        };
        if text.is_empty() {
            return;
        }
        let used = self.counter.count(&text) + Tokens(1);
        self.left = self.left.saturating_sub(used);
        for other in others {
            let shared = other.scored.terms.intersection(&candidate.scored.terms).count() as f64;
            let overlap = shared / (other.scored.terms.len().max(1) as f64 + 1.0);
            other.redundancy = other.redundancy.max(overlap);
        }
        self.facts.extend(candidate.scored.facts.into_keys());
        self.taken.push((candidate.scored.order, text));
    }

    /// The whole clauses that fit. The sentence that says what the log is about gives its words if no clause fits.
    fn part<'c>(&self, candidate: &'c SentenceCandidate, room: Tokens) -> &'c str {
        let text = &candidate.scored.text;
        match truncate_to_fit(self.counter, text, room) {
            "" if self.taken.is_empty() && candidate.scored.is_opening => truncate_words(self.counter, text, room),
            clauses => clauses,
        }
    }

    /// Joins to one paragraph; drops the last selected sentences if that exceeds the budget.
    fn join(mut self) -> String {
        loop {
            let mut ordered: Vec<&(usize, String)> = self.taken.iter().collect();
            ordered.sort();
            let text = join_sentences(&ordered);
            if self.counter.count(&text) <= self.room || self.taken.is_empty() {
                return text;
            }
            self.taken.pop();
        }
    }
}

fn join_sentences(parts: &[&(usize, String)]) -> String {
    let mut out = String::new();
    for (_, part) in parts {
        if !out.is_empty() {
            let ended = out.ends_with(['.', '!', '?', '…', ':', ';', '。', '！', '？', '；', '：']);
            out.truncate(out.trim_end_matches([',', '，']).len());
            out.push_str(if ended { " " } else { "; " });
        }
        out.push_str(part);
    }
    out.truncate(out.trim_end_matches([',', '，']).len());
    out
}
