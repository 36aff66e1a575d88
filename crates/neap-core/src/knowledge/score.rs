//! How much a memory bears on a question (003, Step 4; DESIGN, decision 11).
//!
//! Six terms, each from 0 to 1, in thousandths, with the seed's weights: similarity 0.50, the frame's priority for
//! its kind 0.15, recency 0.15, outcome 0.10, usage 0.05, confidence 0.05. The boosts of the seed are brought to
//! that range: outcomes (0.8 to 1.2) by (x − 0.8) / 0.4, usage (1.0 to 1.5) by (x − 1.0) / 0.5.
//!
//! **Similarity**, by words: the share of the question's terms that the record has, rare terms counting more, and of
//! that the square root, which is the cosine of the question with a record of just these terms. A record of more
//! than [`LENGTH_TERMS`] distinct terms is damped by the fourth root of how much longer it is, since long texts share
//! words by accident. **By meaning**, where an embedder tells it: the cosine. Of both the greater counts.
//!
//! Then what became of the record: a superseded fact counts half; what is contested or rests on a fact that
//! holds no longer, and a procedure that does not work, four fifths; a core fact and a procedure that works come
//! a tenth nearer to 1.

use std::collections::{BTreeMap, BTreeSet};

use crate::frame::Frame;
use crate::ids::Stamp;
use crate::memory::{Body, Confidence, Memory, MemoryId, MemoryKind, Outcome, Recalled, Status};
use crate::terms::terms;

/// Weights in per cent, in the order of [`Terms`].
const WEIGHTS: [u64; 6] = [50, 15, 15, 10, 5, 5];
/// Days after which recency is a half.
const HALF_LIFE_DAYS: f64 = 30.0;
/// Fewer texts than this tell little about how rare a word is; they count as so many. Else the first record of an
/// agent would have but common words.
const TEXTS_MIN: u64 = 1_000;
/// Distinct terms above which a record's likeness is damped.
const LENGTH_TERMS: usize = 64;
const DAY_MS: i64 = 86_400_000;

/// What a score is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How like the question it is.
    pub similarity: Confidence,
    /// How much its kind matters in the frame.
    pub priority: Confidence,
    /// How new it is: a half after 30 days.
    pub recency: Confidence,
    /// How it came out.
    pub outcome: Confidence,
    /// How often it was used.
    pub usage: Confidence,
    /// How sure one is of it.
    pub confidence: Confidence,
    /// What became of it, as a reason to rank it higher or lower.
    pub standing: Regard,
    /// All of it together.
    pub score: Confidence,
}

/// What became of a record, as far as its rank goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Regard {
    /// Nothing that matters.
    Ordinary,
    /// It has proved itself: a core fact, a procedure that works.
    Proven,
    /// It is in doubt: contested, resting on what holds no longer, or a procedure that does not work.
    Doubtful,
    /// A newer fact took its place.
    OutOfDate,
}

/// The question that memories are held against.
pub struct Question<'a> {
    weights: Vec<(&'a str, f64)>,
    whole: f64,
    near: &'a BTreeMap<MemoryId, Confidence>,
}

impl<'a> Question<'a> {
    /// The terms of a request, weighed by how rare they are among what was searched. A term without a figure, or
    /// one that no record has, counts as the rarest.
    pub fn new(terms: &'a [String], recalled: &'a Recalled) -> Self {
        let all = recalled.texts.max(TEXTS_MIN) as f64;
        let rarity = |at: usize| {
            let with = recalled.texts_with.get(at).copied().unwrap_or(0) as f64;
            (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln()
        };
        let weights: Vec<(&str, f64)> =
            terms.iter().enumerate().map(|(at, term)| (term.as_str(), rarity(at))).collect();
        let whole = weights.iter().map(|(_, weight)| weight).sum();
        Self { weights, whole, near: &recalled.near }
    }

    /// How like the question a record is: by its words or, where that is known, by what it means, whichever is more.
    pub fn similarity(&self, memory: &Memory) -> Confidence {
        let by_words = self.by_words(memory);
        self.near.get(&memory.id).map_or(by_words, |near| by_words.max(*near))
    }

    fn by_words(&self, memory: &Memory) -> Confidence {
        let has: BTreeSet<String> = terms(&memory.text()).into_iter().collect();
        let shared: f64 =
            self.weights.iter().filter(|(term, _)| has.contains(*term)).map(|(_, weight)| weight).sum();
        if self.whole <= 0.0 {
            return share(0.0);
        }
        let damp = (LENGTH_TERMS as f64 / has.len().max(1) as f64).min(1.0).sqrt().sqrt();
        share((shared / self.whole).sqrt() * damp)
    }
}

/// Scores a record whose similarity is known.
pub fn score(memory: &Memory, similarity: Confidence, frame: &Frame, now: Stamp) -> Terms {
    let mut terms = Terms {
        similarity,
        priority: frame.priorities.of(memory.kind()),
        recency: recency(memory.created, now),
        outcome: outcome(&memory.body),
        usage: usage(&memory.body),
        confidence: confidence(&memory.body),
        standing: regard(memory),
        score: share(0.0),
    };
    let Terms { similarity, priority, recency, outcome, usage, confidence, .. } = terms;
    let each = [similarity, priority, recency, outcome, usage, confidence].map(Confidence::thousandths);
    let percents: u64 = each.iter().zip(WEIGHTS).map(|(term, weight)| term * weight).sum();
    let sum = (percents + 50) / 100;
    let regarded = match terms.standing {
        Regard::Ordinary => sum,
        Regard::Proven => sum + (1_000 - sum.min(1_000)) / 10,
        Regard::Doubtful => sum * 4 / 5,
        Regard::OutOfDate => sum / 2,
    };
    terms.score = share(regarded as f64 / 1_000.0);
    terms
}

/// Likeness below which a record of a kind is not loaded: the budget is a ceiling, not a quota. One for all kinds:
/// lower ones for decisions and procedures let in what has one common word with a question about something else.
pub fn floor(kind: MemoryKind) -> Confidence {
    share(match kind {
        MemoryKind::Decision | MemoryKind::Procedure | MemoryKind::Fact | MemoryKind::Episode => 0.45,
        MemoryKind::Censor => 0.0,
    })
}

/// exp(−ln 2 / 30 · days), in whole days since it was written.
fn recency(created: Stamp, now: Stamp) -> Confidence {
    let days = now.0.saturating_sub(created.0).max(0) / DAY_MS;
    share((-std::f64::consts::LN_2 / HALF_LIFE_DAYS * days as f64).exp())
}

/// The seed's boosts: success 1.2, partial 1.0, failure 0.8, pending 0.9; what has no outcome 1.0.
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
    share((boost - 0.8) / 0.4)
}

/// The seed's boost: min(1.0 + log10(activations) · 0.1, 1.5); what was never used 1.0.
fn usage(body: &Body) -> Confidence {
    let activations = match body {
        Body::Procedure(procedure) => procedure.activations,
        Body::Decision(_) | Body::Fact(_) | Body::Episode(_) | Body::Censor(_) => 0,
    };
    let boost = (1.0 + f64::from(activations.max(1)).log10() * 0.1).min(1.5);
    share((boost - 1.0) / 0.5)
}

fn confidence(body: &Body) -> Confidence {
    match body {
        Body::Decision(decision) => decision.confidence,
        Body::Fact(fact) => fact.confidence,
        Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => Confidence::FULL,
    }
}

fn regard(memory: &Memory) -> Regard {
    if memory.status == Status::Superseded {
        return Regard::OutOfDate;
    }
    let in_doubt = !memory.contested_with.is_empty() || !memory.shaken_by.is_empty();
    if in_doubt || memory.status == Status::Ineffective {
        return Regard::Doubtful;
    }
    if matches!(memory.status, Status::Core | Status::Effective) { Regard::Proven } else { Regard::Ordinary }
}

/// A number as a share, to the nearest thousandth.
pub(super) fn share(value: f64) -> Confidence {
    Confidence::try_from(value.clamp(0.0, 1.0)).unwrap_or(Confidence::FULL)
}
