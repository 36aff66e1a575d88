//! Finds statements that a later one restates with another value: the later one holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Candidate, Ranked, TextId};
use crate::text::reference::{is_same_word, written_words};

/// Most texts compared: those with the highest own scores.
const COMPARED_MAX: usize = 20;
/// The later text must match at least this share of the earlier one's idf.
const MATCHED_SHARE: f64 = 0.9;
/// Longer texts are stories, not statements.
const WORDS_MAX: usize = 60;

/// Maps each outdated text to the latest one that outdates it. Both match nearly the same question terms, and
/// share their first and last words for at least half of the shorter: only the middle, the value, differs.
pub(super) fn outdated(ranked: &[Ranked], texts: &BTreeMap<TextId, Arc<str>>) -> BTreeMap<TextId, TextId> {
    let own = |ranked: &Ranked| ranked.factors.words + ranked.factors.meaning;
    let mut compared: Vec<(&Ranked, Vec<&str>)> = Vec::new();
    let mut best: Vec<&Ranked> = ranked.iter().filter(|ranked| ranked.matched_idf > 0.0).collect();
    if best.len() > COMPARED_MAX {
        best.select_nth_unstable_by(COMPARED_MAX, |a, b| {
            own(b).total_cmp(&own(a)).then_with(|| a.candidate.id.cmp(&b.candidate.id))
        });
    }
    for ranked in best.into_iter().take(COMPARED_MAX) {
        let Some(text) = texts.get(&ranked.candidate.id) else { continue };
        let words: Vec<&str> = written_words(text).take(WORDS_MAX + 1).collect();
        if words.len() <= WORDS_MAX {
            compared.push((ranked, words));
        }
    }
    // Latest first, so the first match is the latest.
    compared.sort_by(|(a, _), (b, _)| time_key(&b.candidate).cmp(&time_key(&a.candidate)));
    let mut outdated = BTreeMap::new();
    for (at, (earlier, words)) in compared.iter().enumerate() {
        let is_later = |(later, other): &&(&Ranked, Vec<&str>)| {
            time_key(&later.candidate) > time_key(&earlier.candidate)
                && later.matched_idf >= MATCHED_SHARE * earlier.matched_idf
                && is_restated(words, other)
        };
        if let Some((later, _)) = compared[..at].iter().find(is_later) {
            outdated.insert(earlier.candidate.id.clone(), later.candidate.id.clone());
        }
    }
    // Where the successor is itself outdated, point to its successor.
    let ids: BTreeSet<TextId> = outdated.keys().cloned().collect();
    for later in outdated.clone().into_values().filter(|later| ids.contains(later)) {
        let newest = outdated[&later].clone();
        outdated.values_mut().filter(|by| **by == later).for_each(|by| by.clone_from(&newest));
    }
    outdated
}

fn time_key(candidate: &Candidate) -> (crate::base::ids::Stamp, u64, &TextId) {
    (candidate.at, candidate.position, &candidate.id)
}

/// Whether two statements share their first and last words, for half of the shorter or more, and are not equal.
fn is_restated(a: &[&str], b: &[&str]) -> bool {
    let shorter = a.len().min(b.len());
    let is_same = |(a, b): &(&&str, &&str)| is_same_word(a, b);
    let front = a.iter().zip(b).take_while(is_same).count();
    let back = a.iter().rev().zip(b.iter().rev()).take(shorter - front).take_while(is_same).count();
    (front + back) * 2 >= shorter && front + back >= 2 && front < a.len().max(b.len())
}
