//! A memory search and its result.

use std::collections::BTreeMap;

use super::knowledge::{similarity_floor, similarity_from_cosine};
use super::{Confidence, Memory, MemoryId, MemoryKind};
use crate::base::ids::{Stamp, StreamId};
use crate::recall::{Candidates, Embedding, Filter, Query, SearchLimits, TextKey, TextKind};

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
    /// Records by embedding that are candidates whatever their similarity.
    pub nearest: usize,
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
        Self { terms, limits, superseded: false, from: None, until: None, nearest: 0, related: None }
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
    /// Stores similarities; returns new records that are similar enough to match without a shared word, and as many of the
    /// nearest as the request has.
    pub fn add_similarities(
        &mut self,
        request: &RecallRequest,
        question: &str,
        candidates: &Candidates,
    ) -> Vec<MemoryId> {
        let mut known = Vec::new();
        for card in &candidates.items {
            let (TextKey::Memory(id), Some(cosine)) = (&card.id.key, card.similarity) else { continue };
            let similarity = similarity_from_cosine(cosine, question);
            self.similarities.insert(*id, similarity);
            known.push((similarity, *id));
        }
        known.sort_by(|(a, _), (b, _)| b.cmp(a));
        let is_proposed = |at: usize, similarity: Confidence, id: MemoryId| {
            at < request.nearest || similarity >= similarity_floor(id.kind())
        };
        let proposed =
            known.into_iter().enumerate().filter(|(at, (similarity, id))| is_proposed(*at, *similarity, *id));
        let mut more: Vec<MemoryId> = proposed.map(|(_, (_, id))| id).collect();
        more.retain(|id| !self.memories.iter().any(|memory| memory.id == *id));
        more
    }
}
