//! Scores a memory's relevance to a question (003, Step 4).
//!
//! Six terms, each from 0 to 1 in thousandths, with the seed's weights: similarity 0.50, the frame's priority for
//! the kind 0.15, recency 0.15, outcome 0.10, usage 0.05, confidence 0.05. The seed's boosts are mapped to that
//! range: outcome (0.8 to 1.2) by (x − 0.8) / 0.4, usage (1.0 to 1.5) by (x − 1.0) / 0.5.
//!
//! **Lexical similarity** is the square root of the IDF-weighted share of the question's terms that the record
//! has, which is the cosine of the question with a record of just these terms. A record with more than
//! [`LENGTH_TERMS`] distinct terms is damped by the fourth root of the excess ratio, because long texts share
//! words by accident. **Semantic similarity** is the cosine of the embeddings, if there is one; for a short question
//! it is raised so that [`COSINE_MIN`] is at the floor. The greater of the two counts. Of a long message each sentence
//! is compared by itself, and the best counts.
//!
//! Reliability adjusts the sum: a superseded fact, and one that calls itself past, counts half; a record that is contested or
//! rests on a superseded fact, a fact that says that something ended, and an ineffective procedure, four fifths; a core fact or effective procedure moves a tenth closer to 1.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::ids::Stamp;
use crate::memory::contradiction::{calls_itself_past, says_ended};
use crate::memory::frame::Frame;
use crate::memory::stated::own_sentences;
use crate::memory::{Body, Confidence, Memory, MemoryId, MemoryKind, Outcome, RecallResponse, Status};
use crate::text::background::{background_share, is_common};
use crate::text::terms::{query_terms, terms};

/// Percentages, in the order of [`ScoreBreakdown`].
const WEIGHTS: [u64; 6] = [50, 15, 15, 10, 5, 5];
/// Recency halves after this many days.
const HALF_LIFE_DAYS: f64 = 30.0;
/// Minimum collection size for IDF: in a smaller collection every word would seem common.
const TEXTS_MIN: u64 = 1_000;
/// Similarity of records with more distinct terms is damped.
const LENGTH_TERMS: usize = 64;
/// A longer message is also compared sentence by sentence.
const LONG_BYTES_MIN: usize = 300;
const SENTENCES_MAX: usize = 32;
/// A sentence with fewer terms asks nothing by itself.
const SENTENCE_TERMS_MIN: usize = 2;
/// A record below this percentage of the best similarity of its kind does not bear on the question; who decides weighs
/// what is less like it, too.
const OF_BEST_PERCENT: u64 = 85;
const OF_BEST_DECIDING_PERCENT: u64 = 65;
/// The cosine that says as much as a lexical similarity at the floor: questions about nothing in the records stay below.
const COSINE_MIN: f64 = 0.35;
const SIMILARITY_FLOOR: f64 = 0.45;
const DAY_MS: i64 = 86_400_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoreBreakdown {
    pub similarity: Confidence,
    /// Priority of its kind in the frame.
    pub priority: Confidence,
    /// Halves every 30 days.
    pub recency: Confidence,
    pub outcome: Confidence,
    pub usage: Confidence,
    /// The author's confidence in it.
    pub confidence: Confidence,
    pub reliability: Reliability,
    pub score: Confidence,
}

/// How a record's history affects its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reliability {
    Ordinary,
    /// A core fact or an effective procedure.
    Proven,
    /// Contested, resting on a superseded fact, saying that something ended, or an ineffective procedure.
    Doubtful,
    /// Superseded by a newer fact, or past by its own words: `used to`, `until last year`.
    OutOfDate,
}

/// Computes similarities to one question.
pub struct QuestionScorer<'a> {
    weights: BTreeMap<&'a str, f64>,
    /// The terms of the whole question, and of each sentence of a long message.
    parts: Vec<BTreeSet<&'a str>>,
    similarities: &'a BTreeMap<MemoryId, Confidence>,
}

impl<'a> QuestionScorer<'a> {
    /// Weights the terms by IDF. A term without a known frequency counts as the rarest. Where a small collection
    /// lacks texts, ordinary writing stands in for them ([`background_share`]).
    pub fn new(question: &str, terms: &'a [String], recalled: &'a RecallResponse) -> Self {
        let missing = TEXTS_MIN.saturating_sub(recalled.text_count) as f64;
        let text_count = recalled.text_count as f64 + missing;
        let idf = |at: usize, term: &str| {
            let known = recalled.document_frequencies.get(at).copied().unwrap_or(0) as f64;
            let frequency = known + missing * background_share(term);
            (1.0 + (text_count - frequency + 0.5).max(0.0) / (frequency + 0.5)).ln()
        };
        let weights: BTreeMap<&str, f64> =
            terms.iter().enumerate().map(|(at, term)| (term.as_str(), idf(at, term))).collect();
        let mut parts = vec![weights.keys().copied().collect()];
        if question.len() > LONG_BYTES_MIN {
            // In a long message, one sentence asks; the others would make any record look unlike it.
            let sentences = own_sentences(question).into_iter().take(SENTENCES_MAX);
            parts.extend(sentences.filter_map(|sentence| {
                let said: BTreeSet<String> = query_terms(sentence).into_iter().collect();
                let part: BTreeSet<&str> = weights.keys().copied().filter(|term| said.contains(*term)).collect();
                (part.len() >= SENTENCE_TERMS_MIN).then_some(part)
            }));
        }
        Self { weights, parts, similarities: &recalled.similarities }
    }

    /// Whether it shares a word with the question that tells something.
    pub fn shares_words(&self, memory: &Memory) -> bool {
        self.lexical_similarity(memory) > to_confidence(0.0)
    }

    /// The greater of lexical and semantic similarity.
    pub fn similarity(&self, memory: &Memory) -> Confidence {
        let lexical = self.lexical_similarity(memory);
        self.similarities.get(&memory.id).map_or(lexical, |semantic| lexical.max(*semantic))
    }

    fn lexical_similarity(&self, memory: &Memory) -> Confidence {
        let record_terms: BTreeSet<String> = terms(&memory.search_text()).into_iter().collect();
        let weight = |term: &str| self.weights.get(term).copied().unwrap_or(0.0);
        let share = |part: &BTreeSet<&str>| {
            let total: f64 = part.iter().map(|term| weight(term)).sum();
            let has = |term: &&&str| record_terms.contains(**term);
            let shared: f64 = part.iter().filter(has).map(|term| weight(term)).sum();
            // Who asks for a name is not answered by a common word.
            let has_names = part.iter().any(|term| !is_common(term));
            let shares_name = part.iter().filter(has).any(|term| !is_common(term));
            if total > 0.0 && (shares_name || !has_names) { shared / total } else { 0.0 }
        };
        let best = self.parts.iter().map(share).fold(0.0, f64::max);
        let damp = (LENGTH_TERMS as f64 / record_terms.len().max(1) as f64).min(1.0).sqrt().sqrt();
        to_confidence(best.sqrt() * damp)
    }
}

pub fn score(memory: &Memory, similarity: Confidence, frame: &Frame, now: Stamp) -> ScoreBreakdown {
    let mut breakdown = ScoreBreakdown {
        similarity,
        priority: frame.priorities.of(memory.kind()),
        recency: recency(memory.created, now),
        outcome: outcome(&memory.body),
        usage: usage(&memory.body),
        confidence: confidence(&memory.body),
        reliability: reliability(memory),
        score: to_confidence(0.0),
    };
    let ScoreBreakdown { similarity, priority, recency, outcome, usage, confidence, .. } = breakdown;
    let values = [similarity, priority, recency, outcome, usage, confidence].map(Confidence::thousandths);
    let percents: u64 = values.iter().zip(WEIGHTS).map(|(term, weight)| term * weight).sum();
    let sum = (percents + 50) / 100;
    let adjusted = match breakdown.reliability {
        Reliability::Ordinary => sum,
        Reliability::Proven => sum + (1_000 - sum.min(1_000)) / 10,
        Reliability::Doubtful => sum * 4 / 5,
        Reliability::OutOfDate => sum / 2,
    };
    breakdown.score = to_confidence(adjusted as f64 / 1_000.0);
    breakdown
}

/// The floor of a kind for one question: below it, a record is on no page that nobody asked for as a list.
pub fn relevance_floor(kind: MemoryKind, best: Confidence, frame: &Frame) -> Confidence {
    let percent = if frame.is_for_deciding() { OF_BEST_DECIDING_PERCENT } else { OF_BEST_PERCENT };
    similarity_floor(kind).max(to_confidence(best.value() * percent as f64 / 100.0))
}

/// A cosine to the question on the scale of lexical similarity.
pub(crate) fn similarity_from_cosine(cosine: f64, question: &str) -> Confidence {
    // The embedding of a long message is of many things, and near to much.
    if question.len() > LONG_BYTES_MIN || cosine <= 0.0 {
        return to_confidence(cosine.clamp(0.0, 1.0));
    }
    to_confidence(1.0 - (1.0 - cosine.min(1.0)) * (1.0 - SIMILARITY_FLOOR) / (1.0 - COSINE_MIN))
}

/// Records below this similarity are not loaded: the budget is a limit, not a quota. One floor for all kinds:
/// lower ones for decisions and procedures admit records that share one common word with an unrelated question.
pub fn similarity_floor(kind: MemoryKind) -> Confidence {
    to_confidence(match kind {
        MemoryKind::Decision | MemoryKind::Procedure | MemoryKind::Fact | MemoryKind::Episode => SIMILARITY_FLOOR,
        MemoryKind::Censor => 0.0,
    })
}

/// exp(−ln 2 / 30 · days), in whole days since it was written.
fn recency(created: Stamp, now: Stamp) -> Confidence {
    let days = now.0.saturating_sub(created.0).max(0) / DAY_MS;
    to_confidence((-std::f64::consts::LN_2 / HALF_LIFE_DAYS * days as f64).exp())
}

/// The seed's boosts: success 1.2, partial 1.0, failure 0.8, pending 0.9, no outcome 1.0.
fn outcome(body: &Body) -> Confidence {
    let boost = match body {
        Body::Decision(decision) => match decision.outcome {
            Outcome::Success => 1.2,
            Outcome::Partial => 1.0,
            Outcome::Failure => 0.8,
            Outcome::Pending => 0.9,
        },
        Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => 1.0,
    };
    to_confidence((boost - 0.8) / 0.4)
}

/// The seed's boost: min(1.0 + log10(activations) · 0.1, 1.5); 1.0 if never used.
fn usage(body: &Body) -> Confidence {
    let activations = match body {
        Body::Procedure(procedure) => procedure.activations,
        Body::Decision(_) | Body::Fact(_) | Body::Episode(_) | Body::Censor(_) => 0,
    };
    let boost = (1.0 + f64::from(activations.max(1)).log10() * 0.1).min(1.5);
    to_confidence((boost - 1.0) / 0.5)
}

fn confidence(body: &Body) -> Confidence {
    match body {
        Body::Decision(decision) => decision.confidence,
        Body::Fact(fact) => fact.confidence,
        Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => Confidence::FULL,
    }
}

fn reliability(memory: &Memory) -> Reliability {
    let text = if let Body::Fact(fact) = &memory.body { fact.content.as_str() } else { "" };
    if memory.status == Status::Superseded || calls_itself_past(text) {
        return Reliability::OutOfDate;
    }
    let in_doubt = !memory.contested_with.is_empty() || !memory.shaken_by.is_empty() || says_ended(text);
    if in_doubt || memory.status == Status::Ineffective {
        return Reliability::Doubtful;
    }
    if matches!(memory.status, Status::Core | Status::Effective) {
        Reliability::Proven
    } else {
        Reliability::Ordinary
    }
}

/// Clamps to 0..1 and rounds to thousandths.
pub(super) fn to_confidence(value: f64) -> Confidence {
    Confidence::try_from(value.clamp(0.0, 1.0)).unwrap_or(Confidence::FULL)
}
