//! What a question would load of an agent's memories, and why.

use neap_core::base::ledger::{Layer, LayerTokens};
use neap_core::base::tokens::Tokens;
use neap_core::memory::knowledge::{LoadedItem, QuestionContext, ScoreBreakdown, ScoredMemory, SelectionOutcome};
use neap_core::memory::{Confidence, MemoryId};
use serde::Serialize;

/// A part of the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextSection {
    /// The layer that pays for it.
    pub layer: Layer,
    /// As it stands in a prompt, marks included.
    pub text: String,
}

/// A memory that was considered, with the parts of its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextCandidate {
    /// The memory.
    pub id: MemoryId,
    /// Its score's parts.
    #[serde(flatten)]
    pub score: ScoreParts,
    /// Whether it is on the page.
    pub loaded: bool,
    /// Why it is, or is not.
    pub why: String,
}

/// The parts of a score, and the score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ScoreParts {
    score: Confidence,
    similarity: Confidence,
    priority: Confidence,
    recency: Confidence,
    outcome: Confidence,
    usage: Confidence,
    confidence: Confidence,
}

/// The page for a question, and every candidate for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionForm {
    /// The stance that the question selects.
    pub frame: String,
    /// How clearly it does.
    pub frame_confidence: Confidence,
    /// Why, in words.
    pub frame_because: String,
    /// The page.
    pub text: String,
    /// One for each layer that has something to show.
    pub sections: Vec<ContextSection>,
    /// Tokens by layer.
    pub tokens: LayerTokens,
    /// All tokens.
    pub tokens_total: Tokens,
    /// The page's budget.
    pub budget: Tokens,
    /// The memories on it.
    pub items: Vec<LoadedItem>,
    /// All that were considered.
    pub candidates: Vec<ContextCandidate>,
    /// How long it took, in milliseconds.
    pub build_ms: f64,
}

impl QuestionForm {
    /// The form of a selection that took so long.
    pub fn new(context: &QuestionContext, build_ms: f64) -> Self {
        let page = &context.knowledge;
        let sections = page.sections.iter();
        Self {
            frame: page.frame.clone(),
            frame_confidence: page.frame_confidence,
            frame_because: context.frame_reason.clone(),
            text: page.text(),
            sections: sections.map(|(layer, text)| ContextSection { layer: *layer, text: text.clone() }).collect(),
            tokens: page.tokens,
            tokens_total: page.tokens.total(),
            budget: page.budget,
            items: page.items.clone(),
            candidates: page.candidates.iter().map(ContextCandidate::of).collect(),
            build_ms: (build_ms * 1_000.0).round() / 1_000.0,
        }
    }
}

impl ContextCandidate {
    fn of(memory: &ScoredMemory) -> Self {
        let ScoreBreakdown { score, similarity, priority, recency, outcome, usage, confidence, .. } =
            memory.breakdown;
        Self {
            id: memory.id,
            score: ScoreParts { score, similarity, priority, recency, outcome, usage, confidence },
            loaded: matches!(memory.outcome, SelectionOutcome::Loaded(_)),
            why: memory.outcome.explain(),
        }
    }
}
