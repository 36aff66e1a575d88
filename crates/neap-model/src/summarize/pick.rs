//! Taking the best sentences that add something new, until the room is full.

use std::collections::BTreeSet;

use neap_core::tokens::{TokenCounter, Tokens};

use super::score::Weighed;
use super::sentences::fit;

/// Sentences that compete, at most: the best by their own worth.
const CANDIDATES_MAX: usize = 400;
/// What the opening may take of the room, in per cent.
const OPENING_SHARE_PERCENT: u64 = 40;
/// What the opening may take of any room, however small, in tokens.
const OPENING_TOKENS_MIN: Tokens = Tokens(48);
/// What new facts of one sentence are worth together, at most.
const NEW_MAX: f64 = 4.5;
/// A long rest of room is worth a part of a sentence, in tokens.
const PART_TOKENS_MIN: u64 = 12;

/// Picks, and joins what was picked in the order it was said.
pub(super) fn pick(counter: &dyn TokenCounter, weighed: Vec<Weighed>, room: Tokens) -> String {
    let mut picking = Picking { counter, room, left: room, taken: Vec::new(), facts: BTreeSet::new() };
    let mut candidates = best(weighed);
    if let Some(at) = candidates.iter().position(|c| c.weighed.is_opening) {
        let opening = candidates.swap_remove(at);
        picking.take(opening, room.percent(OPENING_SHARE_PERCENT).max(OPENING_TOKENS_MIN), &mut candidates);
    }
    if let Some(at) = candidates.iter().position(|c| c.weighed.is_outcome) {
        let outcome = candidates.swap_remove(at);
        let left = picking.left;
        picking.take(outcome, left, &mut candidates);
    }
    while picking.left > Tokens::ZERO
        && let Some(at) = picking.next(&candidates)
    {
        let next = candidates.swap_remove(at);
        let left = picking.left;
        picking.take(next, left, &mut candidates);
    }
    picking.join()
}

struct Candidate {
    weighed: Weighed,
    /// How much of it was already said by something taken, from 0 to 1.
    told: f64,
}

/// The sentences with the most worth, with the opening and the outcome among them whatever theirs.
fn best(mut weighed: Vec<Weighed>) -> Vec<Candidate> {
    let worth = |w: &Weighed| {
        let must = f64::from(u8::from(w.is_opening || w.is_outcome)) * 1e6;
        must + w.base + w.facts.values().sum::<f64>().min(3.0)
    };
    weighed.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.order.cmp(&b.order)));
    weighed.truncate(CANDIDATES_MAX);
    weighed.into_iter().map(|weighed| Candidate { weighed, told: 0.0 }).collect()
}

struct Picking<'a> {
    counter: &'a dyn TokenCounter,
    room: Tokens,
    left: Tokens,
    /// In the order of taking.
    taken: Vec<(usize, String)>,
    facts: BTreeSet<String>,
}

impl Picking<'_> {
    /// The candidate that adds most for its length.
    fn next(&self, candidates: &[Candidate]) -> Option<usize> {
        let value = |candidate: &Candidate| {
            let weighed = &candidate.weighed;
            let new: f64 = weighed.facts.iter().filter(|(f, _)| !self.facts.contains(*f)).map(|(_, w)| w).sum();
            let value = weighed.base * (1.0 - candidate.told) + new.min(NEW_MAX) * (1.0 - 0.5 * candidate.told);
            value / (weighed.text.len() as f64 + 40.0).powf(0.45)
        };
        let best = candidates
            .iter()
            .enumerate()
            .filter(|(_, candidate)| candidate.told < 0.8)
            .map(|(at, candidate)| (at, value(candidate), candidate.weighed.order))
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.2.cmp(&a.2)))?;
        Some(best.0)
    }

    /// Takes a candidate, or as much of it as fits, or leaves it.
    fn take(&mut self, candidate: Candidate, room: Tokens, others: &mut [Candidate]) {
        // A token for what joins it to the others.
        let joint = Tokens(u64::from(!self.taken.is_empty()));
        let room = room.min(self.left).saturating_sub(joint);
        let text = if self.counter.count(&candidate.weighed.text) <= room {
            candidate.weighed.text.clone()
        } else if room >= Tokens(PART_TOKENS_MIN) || self.taken.is_empty() {
            fit(self.counter, &candidate.weighed.text, room).to_owned()
        } else {
            return;
        };
        if text.is_empty() {
            return;
        }
        let used = self.counter.count(&text) + Tokens(1);
        self.left = self.left.saturating_sub(used);
        for other in others {
            let shared = other.weighed.terms.intersection(&candidate.weighed.terms).count() as f64;
            let told = shared / (other.weighed.terms.len().max(1) as f64 + 1.0);
            other.told = other.told.max(told);
        }
        self.facts.extend(candidate.weighed.facts.into_keys());
        self.taken.push((candidate.weighed.order, text));
    }

    /// One paragraph; what was taken last gives way if joining took more than was thought.
    fn join(mut self) -> String {
        loop {
            let mut ordered: Vec<&(usize, String)> = self.taken.iter().collect();
            ordered.sort();
            let text = joined(&ordered);
            if self.counter.count(&text) <= self.room || self.taken.is_empty() {
                return text;
            }
            self.taken.pop();
        }
    }
}

fn joined(parts: &[&(usize, String)]) -> String {
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
