//! Scores which earlier conversations a text continues.

use std::collections::BTreeMap;

use super::{Ranked, TextKind};
use crate::base::ids::{Stamp, StreamId};

/// After this many conversations the recency boost falls to a third.
const RECENCY_REACH: f64 = 5.0;
const RECENCY_BOOST: f64 = 3.0;
/// BM25's k1.
const SATURATION: f64 = 1.2;
/// Weights of the conversation's BM25, its best text's terms, its nearest text, and its opening. The first two are
/// shares of the maximum, so that where nothing matches, all conversations weigh nearly the same and the many
/// outweigh the few.
const WORDS_WEIGHT: f64 = 3.0;
const BEST_TEXT_WEIGHT: f64 = 1.5;
const NEAREST_WEIGHT: f64 = 3.5;
const OPENING_WEIGHT: f64 = 3.0;
/// A text's terms count this much if it does not open its conversation, and again if the assistant said it.
const SECONDARY_WEIGHT: f64 = 0.5;

#[derive(Default)]
struct ConversationStats<'a> {
    texts: Vec<&'a Ranked>,
    term_counts: Vec<u32>,
    length: u64,
    best_similarity: f64,
    opening_similarity: f64,
    last: Option<Stamp>,
}

/// The conversations that a text may continue, likeliest first, each with a weight: by shared terms, similarity
/// and recency. Weights of conversations about the same work may be added.
pub fn likely_conversations(ranked: &[Ranked]) -> Vec<(StreamId, f64)> {
    let conversations = group_by_conversation(ranked);
    let idf = idf(&conversations);
    let idf_sum = idf.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mean_length =
        conversations.values().map(|stats| stats.length).sum::<u64>() as f64 / conversations.len().max(1) as f64;
    let mut by_time: Vec<(&StreamId, &ConversationStats<'_>)> =
        conversations.iter().map(|(id, stats)| (*id, stats)).collect();
    by_time.sort_by(|(a, a_stats), (b, b_stats)| b_stats.last.cmp(&a_stats.last).then_with(|| a.cmp(b)));
    let mut all: Vec<(StreamId, f64)> = Vec::with_capacity(by_time.len());
    for (back, (id, stats)) in by_time.into_iter().enumerate() {
        let relevance = WORDS_WEIGHT * stats.bm25(&idf, mean_length) / idf_sum
            + BEST_TEXT_WEIGHT * stats.best_text(&idf) / idf_sum
            + NEAREST_WEIGHT * stats.best_similarity
            + OPENING_WEIGHT * stats.opening_similarity;
        let recency = 1.0 + RECENCY_BOOST * (-(back as f64) / RECENCY_REACH).exp();
        all.push((id.clone(), relevance.exp() * recency));
    }
    all.sort_by(|(a, a_weight), (b, b_weight)| b_weight.total_cmp(a_weight).then_with(|| a.cmp(b)));
    all
}

fn group_by_conversation(ranked: &[Ranked]) -> BTreeMap<&StreamId, ConversationStats<'_>> {
    let mut conversations: BTreeMap<&StreamId, ConversationStats<'_>> = BTreeMap::new();
    for text in ranked {
        let candidate = &text.candidate;
        let stats = conversations.entry(&candidate.id.stream).or_default();
        stats.term_counts.resize(candidate.hits.len().max(stats.term_counts.len()), 0);
        stats.term_counts.iter_mut().zip(&candidate.hits).for_each(|(sum, hits)| *sum += hits);
        stats.length += u64::from(candidate.term_count);
        let similarity = candidate.similarity.unwrap_or(0.0).max(0.0);
        stats.best_similarity = stats.best_similarity.max(similarity);
        stats.opening_similarity = if candidate.position == 1 { similarity } else { stats.opening_similarity };
        stats.last = stats.last.max(Some(candidate.at));
        stats.texts.push(text);
    }
    conversations
}

fn idf(conversations: &BTreeMap<&StreamId, ConversationStats<'_>>) -> Vec<f64> {
    let all = conversations.len() as f64;
    let terms = conversations.values().map(|stats| stats.term_counts.len()).max().unwrap_or(0);
    let contains =
        |stats: &ConversationStats<'_>, term: usize| stats.term_counts.get(term).is_some_and(|times| *times > 0);
    (0..terms)
        .map(|term| conversations.values().filter(|stats| contains(stats, term)).count() as f64)
        .map(|count| (1.0 + (all - count + 0.5) / (count + 0.5)).ln())
        .collect()
}

impl ConversationStats<'_> {
    /// BM25 of the whole conversation; `mean_length` is the mean number of terms.
    fn bm25(&self, idf: &[f64], mean_length: f64) -> f64 {
        let length_ratio = self.length as f64 / mean_length.max(1.0);
        let score = |(times, weight): (&u32, &f64)| {
            let times = f64::from(*times);
            weight * times * (SATURATION + 1.0) / (times + SATURATION * length_ratio).max(f64::MIN_POSITIVE)
        };
        self.term_counts.iter().zip(idf).map(score).sum()
    }

    /// The largest sum of matched terms' idf in one text.
    fn best_text(&self, idf: &[f64]) -> f64 {
        let score = |text: &&Ranked| {
            let candidate = &text.candidate;
            let matched = candidate.hits.iter().zip(idf).filter(|(hits, _)| **hits > 0).map(|(_, weight)| weight);
            let position_weight = if candidate.position == 1 { 1.0 } else { SECONDARY_WEIGHT };
            let role_weight = if candidate.kind == TextKind::Assistant { SECONDARY_WEIGHT } else { 1.0 };
            position_weight * role_weight * matched.sum::<f64>()
        };
        self.texts.iter().map(score).fold(0.0, f64::max)
    }
}
