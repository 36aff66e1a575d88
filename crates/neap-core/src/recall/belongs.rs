//! Which earlier conversations a text goes on with.

use std::collections::BTreeMap;

use super::Ranked;
use crate::ids::{SessionId, Stamp};

/// Conversations that are told, at most.
const CONVERSATIONS_MAX: usize = 5;
/// How many conversations back what is near in time still counts.
const LATELY: f64 = 5.0;
/// How much more the latest counts than one long ago.
const LATELY_TIMES: f64 = 3.0;
/// How soon a word that a conversation has again counts no more.
const SATURATION: f64 = 1.2;
/// What its best text counts beside the words of all, and what its meaning does.
const BEST_TEXT: f64 = 0.5;
const MEANING: f64 = 2.0;
/// That the best text opens the conversation counts so many times.
const OPENING_TIMES: f64 = 2.0;

/// What is known of one conversation.
#[derive(Default)]
struct Heard {
    /// How often each term was said in it.
    times: Vec<u32>,
    /// Terms said in it, as far as it is known.
    length: u64,
    best_text: f64,
    nearest: f64,
    opening_near: f64,
    last: Option<Stamp>,
}

/// The conversations that a text most likely goes on with, the likeliest first, each with a weight: by the words of all that is known of
/// them together, by the text in them that answers best by itself, by what they mean, and the later the more.
pub fn belongs_to(ranked: &[Ranked]) -> Vec<(SessionId, f64)> {
    let mut heard: BTreeMap<&SessionId, Heard> = BTreeMap::new();
    for Ranked { card, why, .. } in ranked {
        let of = heard.entry(&card.id.stream).or_default();
        of.times.resize(card.hits.len().max(of.times.len()), 0);
        of.times.iter_mut().zip(&card.hits).for_each(|(sum, hits)| *sum += hits);
        of.length += u64::from(card.length);
        let (is_opening, near) = (card.nth == 1, card.near.unwrap_or(0.0).max(0.0));
        of.best_text = of.best_text.max(why.words * if is_opening { OPENING_TIMES } else { 1.0 });
        of.nearest = of.nearest.max(near);
        of.opening_near = if is_opening { near } else { of.opening_near };
        of.last = of.last.max(Some(card.at));
    }
    let words = words(&heard);
    let share = |of: &dyn Fn(&SessionId, &Heard) -> f64| -> BTreeMap<SessionId, f64> {
        let most = heard.iter().map(|(id, heard)| of(id, heard)).fold(f64::MIN_POSITIVE, f64::max);
        heard.iter().map(|(id, heard)| ((*id).clone(), of(id, heard) / most)).collect()
    };
    let by_words = share(&|id, _| words[id]);
    let by_text = share(&|_, heard| heard.best_text);
    let by_meaning = share(&|_, heard| heard.nearest + heard.opening_near);
    let mut by_time: Vec<(Option<Stamp>, &SessionId)> =
        heard.iter().map(|(id, heard)| (heard.last, *id)).collect();
    by_time.sort_by(|(a_at, a), (b_at, b)| b_at.cmp(a_at).then_with(|| a.cmp(b)));
    let mut all: Vec<(SessionId, f64)> = Vec::new();
    for (back, (_, id)) in by_time.into_iter().enumerate() {
        let alike = by_words[id] + BEST_TEXT * by_text[id] + MEANING * by_meaning[id];
        let lately = 1.0 + LATELY_TIMES * (-(back as f64) / LATELY).exp();
        all.push((id.clone(), alike.powi(4) * lately));
    }
    all.sort_by(|(a, a_weight), (b, b_weight)| b_weight.total_cmp(a_weight).then_with(|| a.cmp(b)));
    all.truncate(CONVERSATIONS_MAX);
    all
}

/// BM25 of whole conversations: a term is the more telling, the fewer of them have it.
fn words<'a>(heard: &BTreeMap<&'a SessionId, Heard>) -> BTreeMap<&'a SessionId, f64> {
    let all = heard.len() as f64;
    let terms = heard.values().map(|of| of.times.len()).max().unwrap_or(0);
    let has = |of: &Heard, term: usize| of.times.get(term).is_some_and(|times| *times > 0);
    let telling: Vec<f64> = (0..terms)
        .map(|term| heard.values().filter(|of| has(of, term)).count() as f64)
        .map(|with| (1.0 + (all - with + 0.5) / (with + 0.5)).ln())
        .collect();
    let mean = heard.values().map(|of| of.length).sum::<u64>() as f64 / all.max(1.0);
    let of_conversation = |of: &Heard| -> f64 {
        let long = of.length as f64 / mean.max(1.0);
        let term = |(times, telling): (&u32, &f64)| {
            let times = f64::from(*times);
            telling * times * (SATURATION + 1.0) / (times + SATURATION * long).max(f64::MIN_POSITIVE)
        };
        of.times.iter().zip(&telling).map(term).sum()
    };
    heard.iter().map(|(id, of)| (*id, of_conversation(of))).collect()
}
