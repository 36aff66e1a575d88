//! The order of what the store proposed: what each text says for itself, and what the texts around it say for it.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Around, Card, Proposed, TextId, TextKind, Wanted, Weights};
use crate::ids::{SessionId, Stamp};
use crate::terms::terms;

/// Texts whose neighbours are looked at, at most, and how far from each.
const HUBS_MAX: usize = 24;
const BESIDE: u64 = 5;
/// Conversations whose opening is looked at, at most.
const OPENINGS_MAX: usize = 64;
/// As near as this, a text answers without a word in common.
const NEAR_MIN: f64 = 0.45;
/// Texts of the conversation that goes on which are looked at whatever they say.
const LATEST: usize = 64;

/// What a text's score is the sum of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Why {
    /// Words that it shares with the question.
    pub words: f64,
    /// That it means alike.
    pub meaning: f64,
    /// What is said around it.
    pub beside: f64,
    /// The best of its conversation.
    pub conversation: f64,
    /// That the question names who said it.
    pub speaker: f64,
    /// That it was said at a time which the question names.
    pub time: f64,
    /// That it begins its conversation.
    pub opening: f64,
    /// That it was said lately.
    pub lately: f64,
    /// That it was said lately in the conversation that goes on.
    pub here: f64,
    /// What it costs.
    pub cost: f64,
}

impl Why {
    fn sum(&self) -> f64 {
        let Why { words, meaning, beside, conversation, speaker, time, opening, lately, here, cost } = self;
        words + meaning + beside + conversation + speaker + time + opening + lately + here - cost
    }
}

/// A text with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// What is known of it.
    pub card: Card,
    /// How well it serves; only the order means anything.
    pub score: f64,
    /// Why.
    pub why: Why,
    /// How telling the terms are, together, that it shares with the question.
    pub matched: f64,
}

/// What was proposed, on its way to an order.
#[derive(Debug)]
pub struct Ranking<'a> {
    wanted: &'a Wanted,
    weights: &'a Weights,
    /// How telling each term is.
    telling: Vec<f64>,
    mean_length: f64,
    mean_near: f64,
    cards: Vec<Card>,
    /// The conversation that goes on, and how many of its texts are in sight.
    here: Option<(SessionId, u64)>,
}

impl<'a> Ranking<'a> {
    /// Takes up what the store proposed.
    pub fn new(wanted: &'a Wanted, weights: &'a Weights, proposed: Proposed) -> Self {
        let Proposed { cards, texts, length, texts_with, mean_near, .. } = proposed;
        let all = texts as f64;
        let telling = texts_with.iter().map(|with| {
            let with = *with as f64;
            (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln()
        });
        let mean_length = (length as f64 / all.max(1.0)).max(1.0);
        let mut ranking =
            Self { wanted, weights, telling: telling.collect(), mean_length, mean_near, cards, here: None };
        ranking.pass_over_names();
        ranking
    }

    /// Says which conversation goes on: work is local, so what was said in it lately counts by itself. So many of its latest texts
    /// are in sight, and are not recalled.
    pub fn goes_on(mut self, session: &SessionId, in_sight: u64) -> Self {
        self.here = Some((session.clone(), in_sight));
        self
    }

    /// How many texts of the conversation that goes on are out of sight.
    fn out_of_sight(&self) -> Option<(&SessionId, u64)> {
        let (session, in_sight) = self.here.as_ref()?;
        let of_it = self.cards.iter().filter(|card| card.id.stream == *session);
        Some((session, of_it.map(|card| card.nth).max().unwrap_or(0).saturating_sub(*in_sight)))
    }

    /// Takes up more cards; each text counts once.
    fn take(&mut self, more: Vec<Card>) {
        self.cards.extend(more);
        self.cards.sort_by(|a, b| place(a).cmp(&place(b)));
        self.cards.dedup_by(|b, a| a.id == b.id);
    }

    /// A speaker's name tells who speaks, which counts by itself; that others address them by it tells nothing.
    fn pass_over_names(&mut self) {
        let names: BTreeSet<String> = self.named().into_iter().flat_map(terms).collect();
        for (term, telling) in self.wanted.terms.iter().zip(&mut self.telling) {
            if names.contains(term) {
                *telling = 0.0;
            }
        }
    }

    /// Those that answer by themselves, best first: they share a word with the question, or mean nearly the same. Something is always
    /// nearest; that alone is no answer.
    pub fn matches(self) -> Vec<Ranked> {
        let mut ranked = self.order(Vec::new());
        let is_near = |card: &Card| card.near.is_some_and(answers);
        ranked.retain(|ranked| ranked.why.words > 0.0 || is_near(&ranked.card));
        ranked
    }

    /// What else should be known before they are put in order: what is said beside those that say most for themselves, how their
    /// conversations began, and what was said last in the one that goes on.
    pub fn around(&self) -> Around {
        let (of, streams) = self.hubs();
        let openings = streams.into_iter().cloned().collect();
        let latest = self.here.as_ref().map(|(session, _)| (session.clone(), LATEST));
        Around { of, distance: BESIDE, openings, latest }
    }

    /// The texts that say most for themselves, and the conversations of these and of the next best.
    fn hubs(&self) -> (Vec<TextId>, BTreeSet<&SessionId>) {
        let own = self.own();
        let mut best: Vec<(&Card, f64)> =
            self.cards.iter().zip(own.iter().map(Own::sum)).filter(|(card, _)| card.nth > 0).collect();
        best.sort_by(|(a, a_sum), (b, b_sum)| b_sum.total_cmp(a_sum).then_with(|| newer_first(a, b)));
        let hubs = best.iter().take(HUBS_MAX).map(|(card, _)| card.id.clone()).collect();
        let mut streams = BTreeSet::new();
        for (card, _) in best {
            if streams.len() == OPENINGS_MAX {
                break;
            }
            streams.insert(&card.id.stream);
        }
        (hubs, streams)
    }

    /// The order, best first, with what is around them.
    pub fn order(mut self, around: Vec<Card>) -> Vec<Ranked> {
        self.take(around);
        let own = self.own();
        let beside = self.beside(&own);
        let of = self.conversations();
        let best = best_of(&of, own.iter().map(Own::sum));
        let alike = best_of(&of, self.cards.iter().map(|card| self.alike(card)));
        let ago = self.conversations_ago(&of);
        let names = self.named();
        let weights = self.weights;
        let here = self.out_of_sight();
        let timely = self.cards.iter().filter(|card| self.wanted.names(card.at)).count();
        let in_time = weights.time * (1.0 - timely as f64 / self.cards.len().max(1) as f64);
        let mut scored = Vec::with_capacity(self.cards.len());
        for (((card, own), beside), of) in self.cards.iter().zip(&own).zip(beside).zip(of) {
            let is_named = card.who.as_ref().is_some_and(|who| names.contains(who.as_str()));
            let why = Why {
                words: own.words,
                meaning: own.meaning,
                beside: self.role(card) * beside,
                conversation: weights.conversation * best[of] + weights.conversation_meaning * alike[of],
                speaker: if is_named { weights.speaker } else { 0.0 },
                time: if self.wanted.names(card.at) { in_time } else { 0.0 },
                opening: if card.nth == 1 { weights.opening } else { 0.0 },
                lately: weights.lately * (-ago[of] / weights.lately_reach).exp(),
                here: self.is_here(here, card),
                cost: weights.cost * (card.tokens.0 as f64 / weights.short).max(1.0).ln(),
            };
            scored.push((why.sum(), why, self.matched(card)));
        }
        let is_in_sight = |card: &Card| here.is_some_and(|(id, last)| *id == card.id.stream && card.nth > last);
        let cards = &self.cards;
        let mut order: Vec<usize> = (0..cards.len()).filter(|at| !is_in_sight(&cards[*at])).collect();
        order.sort_by(|a, b| {
            let (one, other) = (scored[*a].0, scored[*b].0);
            other.total_cmp(&one).then_with(|| newer_first(&cards[*a], &cards[*b]))
        });
        // Cards are large: each is moved once.
        let mut cards: Vec<Option<Card>> = self.cards.into_iter().map(Some).collect();
        let ranked = order.into_iter().filter_map(|at| {
            let (score, why, matched) = scored[at];
            Some(Ranked { card: cards[at].take()?, score, why, matched })
        });
        ranked.collect()
    }

    /// What each text says for itself.
    fn own(&self) -> Vec<Own> {
        let raw: Vec<f64> = self.cards.iter().map(|card| self.words(card)).collect();
        let best = raw.iter().copied().fold(0.0, f64::max);
        let of_card = |(card, raw): (&Card, &f64)| {
            let share = if best > 0.0 { raw / best } else { 0.0 };
            let less = self.role(card) * if card.kind.is_said() { self.weights.said } else { 1.0 };
            Own {
                words: less * self.weights.words * share,
                meaning: less * self.weights.meaning * self.alike(card),
            }
        };
        self.cards.iter().zip(&raw).map(of_card).collect()
    }

    /// What counts of a text by who said it, for itself and for what is said around it.
    fn role(&self, card: &Card) -> f64 {
        if card.kind == TextKind::Assistant { 1.0 - self.weights.model_less } else { 1.0 }
    }

    fn matched(&self, card: &Card) -> f64 {
        card.hits.iter().zip(&self.telling).filter(|(hits, _)| **hits > 0).map(|(_, telling)| telling).sum()
    }

    fn is_here(&self, here: Option<(&SessionId, u64)>, card: &Card) -> f64 {
        match here {
            Some((session, last)) if *session == card.id.stream && card.nth > 0 => {
                let back = last.saturating_sub(card.nth) as f64;
                self.weights.here * (-back / self.weights.here_reach).exp()
            }
            Some(_) | None => 0.0,
        }
    }

    /// By how much it means more alike than texts do on the whole.
    fn alike(&self, card: &Card) -> f64 {
        card.near.map_or(0.0, |near| (near - self.mean_near).max(0.0))
    }

    /// BM25.
    fn words(&self, card: &Card) -> f64 {
        let Weights { saturation, length, .. } = self.weights;
        let long = 1.0 - length + length * f64::from(card.length) / self.mean_length;
        let of_term = |(hits, telling): (&u32, &f64)| {
            let hits = f64::from(*hits);
            telling * hits * (saturation + 1.0) / (hits + saturation * long)
        };
        card.hits.iter().zip(&self.telling).filter(|(hits, _)| **hits > 0).map(of_term).sum()
    }

    /// What the texts around each say for it. Texts of a conversation follow each other.
    fn beside(&self, own: &[Own]) -> Vec<f64> {
        let Weights { before, after, .. } = self.weights;
        let mut sums = vec![0.0; own.len()];
        let mut carried = 0.0;
        for at in 1..own.len() {
            carried = (carried + own[at - 1].sum()) * self.fading(at - 1, at);
            sums[at] += before * carried;
        }
        carried = 0.0;
        for at in (0..own.len().saturating_sub(1)).rev() {
            carried = (carried + own[at + 1].sum()) * self.fading(at, at + 1);
            sums[at] += after * carried;
        }
        sums
    }

    /// What is left of a text's word for its neighbour: the less, the more was said between their middles.
    fn fading(&self, first: usize, second: usize) -> f64 {
        let (a, b) = (&self.cards[first], &self.cards[second]);
        if a.id.stream != b.id.stream || a.nth == 0 || b.nth == 0 {
            return 0.0;
        }
        let halves = (a.tokens.0 + b.tokens.0) as f64 / 2.0;
        let between = b.nth.saturating_sub(a.nth + 1) as f64 * halves;
        (-(halves + between) / self.weights.reach).exp()
    }

    /// Which conversation each text is of, counted from 0 in the order of their ids. Texts of one stand together.
    fn conversations(&self) -> Vec<usize> {
        let mut last = 0;
        let of = |at: usize| {
            last += usize::from(at > 0 && self.cards[at].id.stream != self.cards[at - 1].id.stream);
            last
        };
        (0..self.cards.len()).map(of).collect()
    }

    /// How many of the conversations that were proposed took place after each.
    fn conversations_ago(&self, of: &[usize]) -> Vec<f64> {
        let mut last: Vec<(Stamp, usize)> = Vec::new();
        for (card, of) in self.cards.iter().zip(of) {
            match last.get_mut(*of) {
                Some((at, _)) => *at = (*at).max(card.at),
                None => last.push((card.at, *of)),
            }
        }
        let mut ago = vec![0.0; last.len()];
        last.sort_unstable_by(|a, b| b.cmp(a));
        for (after, (_, of)) in last.into_iter().enumerate() {
            ago[of] = after as f64;
        }
        ago
    }

    /// Those speakers whose whole name is in the question.
    fn named(&self) -> BTreeSet<&str> {
        let names: BTreeSet<&str> = self.cards.iter().filter_map(|card| card.who.as_deref()).collect();
        let is_asked = |name: &&str| {
            let words = terms(name);
            !words.is_empty() && words.iter().all(|word| self.wanted.terms.contains(word))
        };
        names.into_iter().filter(is_asked).collect()
    }
}

/// Whether what is so near, by meaning, answers without a word in common.
pub fn answers(near: f64) -> bool {
    near >= NEAR_MIN
}

/// What a text says for itself.
struct Own {
    words: f64,
    meaning: f64,
}

impl Own {
    fn sum(&self) -> f64 {
        self.words + self.meaning
    }
}

/// The best value of each conversation.
fn best_of(of: &[usize], values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut best: Vec<f64> = vec![0.0; of.last().map_or(0, |last| last + 1)];
    for (of, value) in of.iter().zip(values) {
        best[*of] = best[*of].max(value);
    }
    best
}

fn place(card: &Card) -> (&SessionId, u64, &TextId) {
    (&card.id.stream, card.nth, &card.id)
}

fn newer_first(a: &Card, b: &Card) -> std::cmp::Ordering {
    b.at.cmp(&a.at).then_with(|| b.nth.cmp(&a.nth)).then_with(|| a.id.cmp(&b.id))
}
