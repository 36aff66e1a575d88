//! A memory search and its result.

use std::collections::BTreeMap;

use super::knowledge::COSINE_MIN;
use super::{Confidence, Memory, MemoryId, MemoryKind};
use crate::base::ids::{Stamp, StreamId};
use crate::recall::{Candidates, Embedding, Filter, Query, SearchLimits, TextKey, TextKind};

/// Nearest records that a search has, if none bears on the question.
pub(super) const NEAREST_MAX: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallRequest {
    /// Distinct terms; a candidate has at least one. If empty, the newest are returned.
    pub terms: Vec<String>,
    /// Candidates per kind; other kinds are not searched.
    pub limits: Vec<(MemoryKind, usize)>,
    /// Also search superseded facts.
    pub superseded: bool,
    /// Written at this time or later.
    pub from: Option<Stamp>,
    /// Written before this time.
    pub until: Option<Stamp>,
    /// Also search what is related to the matches.
    pub related: Option<RelatedSearch>,
}

/// A search for records that are related to the matches of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedSearch {
    /// Procedures that are named after this frame match.
    pub frame: String,
    /// Whether a choice is to be made: then past decisions about the same things match.
    pub decides: bool,
}

impl RecallRequest {
    pub fn new(terms: Vec<String>, limits: Vec<(MemoryKind, usize)>) -> Self {
        Self { terms, limits, superseded: false, from: None, until: None, related: None }
    }

    /// The same search by embedding: same kinds, same time range.
    pub fn to_semantic_query(&self, stream: &StreamId, model: String, embedding: Embedding) -> Query {
        let kinds = self.limits.iter().map(|(kind, _)| TextKind::Memory(*kind)).collect();
        let filter =
            Filter { kinds: Some(kinds), from: self.from, until: self.until, ..Filter::for_stream(stream) };
        let semantic_max = self.limits.iter().map(|(_, max)| max).sum();
        let limits = SearchLimits { semantic_max, ..SearchLimits::default() };
        Query { terms: self.terms.clone(), embedding: Some(embedding), model, filter, limits }
    }

    /// Whether the search covers the record's status.
    pub fn matches_status(&self, memory: &Memory) -> bool {
        memory.status.is_current() || self.superseded && memory.status.is_searchable()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecallResponse {
    /// In any order.
    pub memories: Vec<Memory>,
    /// Number of searchable memories.
    pub text_count: u64,
    /// Number of memories with each term of the request.
    pub document_frequencies: Vec<u64>,
    /// Similarity to the query embedding, if one was given.
    pub similarities: BTreeMap<MemoryId, Confidence>,
}

impl RecallResponse {
    /// Stores similarities; returns new records that are similar enough to match without a shared word, and the nearest
    /// few whatever they are: who asks in other words is shown these where nothing else bears on it.
    pub fn add_similarities(&mut self, candidates: &Candidates) -> Vec<MemoryId> {
        let mut known = Vec::new();
        for card in &candidates.items {
            let (TextKey::Memory(id), Some(similarity)) = (&card.id.key, card.similarity) else { continue };
            let Ok(share) = Confidence::try_from(similarity.clamp(0.0, 1.0)) else { continue };
            self.similarities.insert(*id, share);
            known.push((similarity, *id));
        }
        known.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let proposed = known
            .iter()
            .enumerate()
            .filter(|(at, (similarity, _))| *at < NEAREST_MAX || *similarity >= COSINE_MIN);
        let mut more: Vec<MemoryId> = proposed.map(|(_, (_, id))| *id).collect();
        more.retain(|id| !self.memories.iter().any(|memory| memory.id == *id));
        more
    }
}
