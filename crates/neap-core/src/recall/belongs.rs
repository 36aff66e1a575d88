//! Which earlier conversations a text goes on with.

use std::collections::BTreeMap;

use super::Ranked;
use crate::ids::SessionId;

/// Conversations that are told, at most.
const CONVERSATIONS_MAX: usize = 5;
/// How many conversations back what is near in time still counts.
const LATELY: f64 = 5.0;
/// How much more the latest counts than one long ago.
const LATELY_TIMES: f64 = 3.0;

/// The conversations that a text most likely goes on with, the likeliest first, each with a weight: by the texts in them that answer
/// it best by themselves, twice as much where one opens the conversation, and the later the more.
pub fn belongs_to(ranked: &[Ranked]) -> Vec<(SessionId, f64)> {
    let mut best: BTreeMap<&SessionId, (f64, f64)> = BTreeMap::new();
    let mut latest: BTreeMap<&SessionId, crate::ids::Stamp> = BTreeMap::new();
    for Ranked { card, why, .. } in ranked {
        let own = (why.words + why.meaning) * if card.nth == 1 { 2.0 } else { 1.0 };
        let (first, sum) = best.entry(&card.id.stream).or_default();
        (*first, *sum) = (first.max(own), *sum + why.words + why.meaning);
        let at = latest.entry(&card.id.stream).or_insert(card.at);
        *at = (*at).max(card.at);
    }
    let largest =
        |pick: fn(&(f64, f64)) -> f64| best.values().map(pick).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let (most, sum) = (largest(|(first, _)| *first), largest(|(_, sum)| *sum));
    let mut by_time: Vec<(&SessionId, crate::ids::Stamp)> = latest.into_iter().collect();
    by_time.sort_by(|(a, a_at), (b, b_at)| b_at.cmp(a_at).then_with(|| a.cmp(b)));
    let mut all: Vec<(SessionId, f64)> = Vec::new();
    for (back, (id, _)) in by_time.into_iter().enumerate() {
        let (own, together) = best[id];
        let alike = (own / most + together / sum) / 2.0;
        let weight = alike.powi(4) * (1.0 + LATELY_TIMES * (-(back as f64) / LATELY).exp());
        all.push((id.clone(), weight));
    }
    all.sort_by(|(a, a_weight), (b, b_weight)| b_weight.total_cmp(a_weight).then_with(|| a.cmp(b)));
    all.truncate(CONVERSATIONS_MAX);
    all
}
