//! What the store is asked for memories, and what it gives.

use std::collections::BTreeMap;

use super::{Confidence, Memory, MemoryId, MemoryKind};
use crate::ids::{SessionId, Stamp};
use crate::recall::{Embedding, Filter, Limits, Proposed, Query, TextKey, TextKind, answers};

/// What is looked for in an agent's memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallRequest {
    /// Distinct terms; a candidate has at least one. Without any, the newest are given.
    pub terms: Vec<String>,
    /// Candidates of each kind, at most; a kind that is not named is not searched.
    pub limits: Vec<(MemoryKind, usize)>,
    /// Whether superseded facts are searched as well.
    pub superseded: bool,
    /// Only what was written at this moment or later.
    pub from: Option<Stamp>,
    /// Only what was written before this moment.
    pub until: Option<Stamp>,
}

impl RecallRequest {
    /// Searches kinds for terms.
    pub fn new(terms: Vec<String>, limits: Vec<(MemoryKind, usize)>) -> Self {
        Self { terms, limits, superseded: false, from: None, until: None }
    }

    /// What is looked for by meaning, in the stream of an agent: the same kinds, within the same times.
    pub fn by_meaning(&self, agent: &SessionId, model: String, embedding: Embedding) -> Query {
        let kinds = self.limits.iter().map(|(kind, _)| TextKind::Memory(*kind)).collect();
        let filter = Filter { kinds: Some(kinds), from: self.from, until: self.until, ..Filter::of_stream(agent) };
        let semantic_max = self.limits.iter().map(|(_, max)| max).sum();
        let limits = Limits { semantic_max, ..Limits::default() };
        Query { terms: self.terms.clone(), embedding: Some(embedding), model, filter, limits }
    }

    /// Whether a record is one of those that are searched, as far as its status goes.
    pub fn admits(&self, memory: &Memory) -> bool {
        memory.status.is_current() || self.superseded && memory.status.is_searched()
    }
}

/// What the store found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recalled {
    /// Candidates, in any order.
    pub memories: Vec<Memory>,
    /// How many memories are searched in all.
    pub texts: u64,
    /// How many of them have each term of the request.
    pub texts_with: Vec<u64>,
    /// How near to the question some of them are by what they mean, where that was asked for.
    pub near: BTreeMap<MemoryId, Confidence>,
}

impl Recalled {
    /// Notes how near records are by meaning; gives those that are near enough to answer without a word in common, and are not
    /// among the candidates yet.
    pub fn note_near(&mut self, proposed: &Proposed) -> Vec<MemoryId> {
        let mut more = Vec::new();
        for card in &proposed.cards {
            let (TextKey::Memory(id), Some(near)) = (&card.id.key, card.near) else { continue };
            let Ok(share) = Confidence::try_from(near.clamp(0.0, 1.0)) else { continue };
            self.near.insert(*id, share);
            if answers(near) && !self.memories.iter().any(|memory| memory.id == *id) {
                more.push(*id);
            }
        }
        more
    }
}
