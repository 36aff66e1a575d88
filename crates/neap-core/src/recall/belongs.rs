//! Which earlier conversations a text goes on with.

use std::collections::BTreeMap;

use super::{Ranked, TextKind};
use crate::ids::{SessionId, Stamp};

/// How many conversations back what is near in time still counts.
const LATELY: f64 = 5.0;
/// How much more the latest counts than one long ago.
const LATELY_TIMES: f64 = 3.0;
/// How soon a word that a conversation has again counts no more.
const SATURATION: f64 = 1.2;
/// What the words of a whole conversation count, those of its best text, the text that means most alike, and how it began. Each is
/// of 1 that it could be: where nothing is alike, every conversation counts nearly the same, and the many outweigh the few.
const WORDS: f64 = 3.0;
const BEST_TEXT: f64 = 1.5;
const NEAREST: f64 = 3.5;
const OPENING_NEAR: f64 = 3.0;
/// A text that does not open its conversation counts this much less by its words, and so does what the model said.
const LESS: f64 = 0.5;

/// What is known of one conversation.
#[derive(Default)]
struct Heard<'a> {
    texts: Vec<&'a Ranked>,
    /// How often each term was said in it.
    times: Vec<u32>,
    /// Terms said in it, as far as it is known.
    length: u64,
    nearest: f64,
    opening_near: f64,
    last: Option<Stamp>,
}

/// The conversations that a text may go on with, the likeliest first, each with a weight: by the words of all that is known of
/// them together, by the text in them that has most of them by itself, by what they mean, and the later the more. Weights of conversations
/// that are parts of one piece of work add up.
pub fn belongs_to(ranked: &[Ranked]) -> Vec<(SessionId, f64)> {
    let heard = hear(ranked);
    let telling = telling(&heard);
    let most = telling.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mean = heard.values().map(|of| of.length).sum::<u64>() as f64 / heard.len().max(1) as f64;
    let mut by_time: Vec<(&SessionId, &Heard<'_>)> = heard.iter().map(|(id, of)| (*id, of)).collect();
    by_time.sort_by(|(a, a_of), (b, b_of)| b_of.last.cmp(&a_of.last).then_with(|| a.cmp(b)));
    let mut all: Vec<(SessionId, f64)> = Vec::with_capacity(by_time.len());
    for (back, (id, of)) in by_time.into_iter().enumerate() {
        let alike = WORDS * of.words(&telling, mean) / most
            + BEST_TEXT * of.best_text(&telling) / most
            + NEAREST * of.nearest
            + OPENING_NEAR * of.opening_near;
        let lately = 1.0 + LATELY_TIMES * (-(back as f64) / LATELY).exp();
        all.push((id.clone(), alike.exp() * lately));
    }
    all.sort_by(|(a, a_weight), (b, b_weight)| b_weight.total_cmp(a_weight).then_with(|| a.cmp(b)));
    all
}

fn hear(ranked: &[Ranked]) -> BTreeMap<&SessionId, Heard<'_>> {
    let mut heard: BTreeMap<&SessionId, Heard<'_>> = BTreeMap::new();
    for text in ranked {
        let card = &text.card;
        let of = heard.entry(&card.id.stream).or_default();
        of.times.resize(card.hits.len().max(of.times.len()), 0);
        of.times.iter_mut().zip(&card.hits).for_each(|(sum, hits)| *sum += hits);
        of.length += u64::from(card.length);
        let near = card.near.unwrap_or(0.0).max(0.0);
        of.nearest = of.nearest.max(near);
        of.opening_near = if card.nth == 1 { near } else { of.opening_near };
        of.last = of.last.max(Some(card.at));
        of.texts.push(text);
    }
    heard
}

/// How telling each term is: the fewer conversations have it, the more.
fn telling(heard: &BTreeMap<&SessionId, Heard<'_>>) -> Vec<f64> {
    let all = heard.len() as f64;
    let terms = heard.values().map(|of| of.times.len()).max().unwrap_or(0);
    let has = |of: &Heard<'_>, term: usize| of.times.get(term).is_some_and(|times| *times > 0);
    (0..terms)
        .map(|term| heard.values().filter(|of| has(of, term)).count() as f64)
        .map(|with| (1.0 + (all - with + 0.5) / (with + 0.5)).ln())
        .collect()
}

impl Heard<'_> {
    /// BM25 of the whole conversation, `mean` terms being its usual length.
    fn words(&self, telling: &[f64], mean: f64) -> f64 {
        let long = self.length as f64 / mean.max(1.0);
        let term = |(times, telling): (&u32, &f64)| {
            let times = f64::from(*times);
            telling * times * (SATURATION + 1.0) / (times + SATURATION * long).max(f64::MIN_POSITIVE)
        };
        self.times.iter().zip(telling).map(term).sum()
    }

    /// How telling the terms are, together, that one of its texts has.
    fn best_text(&self, telling: &[f64]) -> f64 {
        let of_text = |text: &&Ranked| {
            let card = &text.card;
            let has = card.hits.iter().zip(telling).filter(|(hits, _)| **hits > 0).map(|(_, telling)| telling);
            let by_place = if card.nth == 1 { 1.0 } else { LESS };
            let by_role = if card.kind == TextKind::Assistant { LESS } else { 1.0 };
            by_place * by_role * has.sum::<f64>()
        };
        self.texts.iter().map(of_text).fold(0.0, f64::max)
    }
}
