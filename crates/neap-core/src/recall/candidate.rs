//! Search candidates: what the store returns about a text without reading it.

use super::{TextId, TextKind};
use crate::base::ids::{Stamp, TurnNo};
use crate::base::tokens::Tokens;

#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub id: TextId,
    pub kind: TextKind,
    pub turn: TurnNo,
    /// Position among the messages of its stream, from 1; neighbours differ by one. 0 for a text that is not a
    /// message.
    pub position: u64,
    pub at: Stamp,
    pub speaker: Option<String>,
    pub tokens: Tokens,
    /// Terms in it, repetitions included.
    pub term_count: u32,
    /// Occurrences of each query term, in the query's order.
    pub hits: Vec<u32>,
    /// Cosine similarity to the query, -1 to 1; `None` if either has no embedding.
    pub similarity: Option<f64>,
}

/// Added to a floor for texts that are embedded with their speaker's name: the name alone makes them more similar to
/// every question that has it.
const NAMED_MARGIN: f64 = 0.1;

impl Candidate {
    /// Whether it is at least this similar to the question.
    pub fn is_similar(&self, floor: f64) -> bool {
        let margin = if self.speaker.is_some() { NAMED_MARGIN } else { 0.0 };
        self.similarity.is_some_and(|similarity| similarity >= floor + margin)
    }
}

/// Candidates of a query, and the corpus statistics that ranking needs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Candidates {
    /// Ordered by id.
    pub items: Vec<Candidate>,
    pub text_count: u64,
    /// Terms in all of them, repetitions included.
    pub total_terms: u64,
    /// Texts that contain each query term.
    pub document_frequencies: Vec<u64>,
    /// Mean similarity of all texts to the query; 0 without embeddings.
    pub mean_similarity: f64,
    pub unembedded: u64,
}
