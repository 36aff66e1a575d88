//! Recall of memories, the same on every backend (I9): which are searched, and in which order they are returned.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use neap_core::base::ids::{Seq, Stamp};
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, RecallResponse, Status};

use crate::backend::candidates::{candidates_of_kind, is_term};
use crate::backend::derived::Derived;
use crate::backend::rowids;
use neap_core::recall::TextKey;

/// Which searches find a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SearchTier {
    Current,
    /// Found only if the request includes superseded memories.
    Superseded,
    Hidden,
}

impl SearchTier {
    pub const ALL: [SearchTier; 3] = [SearchTier::Current, SearchTier::Superseded, SearchTier::Hidden];

    pub fn of(status: Status) -> Self {
        match (status.is_searchable(), status.is_current()) {
            (true, true) => SearchTier::Current,
            (true, false) => SearchTier::Superseded,
            (false, _) => SearchTier::Hidden,
        }
    }

    pub fn searched_by(request: &RecallRequest) -> &'static [SearchTier] {
        if request.superseded { &[SearchTier::Current, SearchTier::Superseded] } else { &[SearchTier::Current] }
    }
}

/// The limit of each kind that is searched; the highest wins if a kind is named twice.
pub fn kind_limits(request: &RecallRequest) -> BTreeMap<MemoryKind, usize> {
    let mut limits = BTreeMap::new();
    for (kind, max) in &request.limits {
        let limit = limits.entry(*kind).or_insert(0);
        *limit = (*limit).max(*max);
    }
    limits
}

pub type KindCounts = BTreeMap<MemoryKind, u64>;

/// For each kind and each term of a request, the sorted numbers of the memories that have it.
pub type TermHits = BTreeMap<MemoryKind, Vec<Vec<u64>>>;

/// Sorts the rowids that have each term (each list sorted) by kind; where `within` has a list for a shelf, only
/// those on it.
pub fn hits_by_kind(
    stream: i64,
    limits: &BTreeMap<MemoryKind, usize>,
    tiers: &[SearchTier],
    hits: &[Vec<u64>],
    within: &BTreeMap<i64, Vec<i64>>,
) -> TermHits {
    let mut by_kind: TermHits = limits.keys().map(|kind| (*kind, vec![Vec::new(); hits.len()])).collect();
    for (kind, of_kind) in &mut by_kind {
        for tier in tiers {
            let shelf = rowids::shelf(stream, *kind, *tier);
            let (first, last) = rowids::shelf_rowid_range(shelf);
            for (texts, numbers) in hits.iter().zip(&mut *of_kind) {
                let start = texts.partition_point(|text| (*text as i64) < first);
                let end = texts.partition_point(|text| (*text as i64) <= last);
                let is_within = |text: &&u64| {
                    within.get(&shelf).is_none_or(|within| within.binary_search(&(**text as i64)).is_ok())
                };
                numbers.extend(texts[start..end].iter().filter(is_within).map(|text| text - first as u64));
            }
        }
        of_kind.iter_mut().for_each(|numbers| numbers.sort_unstable());
    }
    by_kind
}

/// First and last time of what a request searches.
pub fn time_span(request: &RecallRequest) -> (i64, i64) {
    let first = request.from.map_or(i64::MIN, |from| from.0);
    (first, request.until.map_or(i64::MAX, |until| until.0.saturating_sub(1)))
}

/// Document frequency of each term over all kinds.
pub fn texts_with(hits: &TermHits, terms: usize) -> Vec<u64> {
    let frequency = |term: usize| hits.values().map(|of_kind| of_kind[term].len() as u64).sum();
    (0..terms).map(frequency).collect()
}

pub fn best_candidates(
    hits: &TermHits,
    searched: &KindCounts,
    limits: &BTreeMap<MemoryKind, usize>,
) -> Vec<MemoryId> {
    let texts = searched.values().sum();
    let mut ids = Vec::new();
    for (kind, of_kind) in hits {
        let max = limits.get(kind).copied().unwrap_or(0);
        let texts_of_kind = searched.get(kind).copied().unwrap_or(0);
        let numbers = candidates_of_kind(of_kind, texts, texts_of_kind, max).into_iter();
        ids.extend(numbers.filter_map(|number| MemoryId::new(*kind, u32::try_from(number).ok()?)));
    }
    ids
}

impl Derived {
    pub fn recall(&self, request: &RecallRequest) -> RecallResponse {
        let limits = kind_limits(request);
        let is_searched = |memory: &Memory| {
            limits.contains_key(&memory.kind())
                && SearchTier::searched_by(request).contains(&SearchTier::of(memory.status))
                && request.from.is_none_or(|from| memory.created >= from)
                && request.until.is_none_or(|until| memory.created < until)
        };
        let searched: Vec<&Memory> =
            self.memories.values().map(|stored| &stored.memory).filter(|memory| is_searched(memory)).collect();
        let text_count = searched.len() as u64;
        if request.terms.is_empty() {
            let mut memories = Vec::new();
            for (kind, max) in limits {
                let mut of_kind: Vec<_> = searched.iter().filter(|memory| memory.kind() == kind).collect();
                of_kind.sort_by_key(|memory| Reverse((memory.created, memory.id)));
                memories.extend(of_kind.into_iter().take(max).copied().cloned());
            }
            return RecallResponse { memories, text_count, ..RecallResponse::default() };
        }
        let mut kind_counts = KindCounts::new();
        for memory in &searched {
            *kind_counts.entry(memory.kind()).or_default() += 1;
        }
        let mut hits: TermHits =
            limits.keys().map(|kind| (*kind, vec![Vec::new(); request.terms.len()])).collect();
        for memory in searched {
            let Some(words) = self.texts.get(&TextKey::Memory(memory.id)) else { continue };
            for (at, term) in request.terms.iter().enumerate() {
                if is_term(term)
                    && words.split(' ').any(|word| word == term)
                    && let Some(of_kind) = hits.get_mut(&memory.kind())
                {
                    of_kind[at].push(u64::from(memory.id.number()));
                }
            }
        }
        let ids = best_candidates(&hits, &kind_counts, &limits);
        let memories = ids.iter().filter_map(|id| self.memories.get(id)).map(|stored| stored.memory.clone());
        let document_frequencies = texts_with(&hits, request.terms.len());
        RecallResponse {
            memories: memories.collect(),
            text_count,
            document_frequencies,
            ..RecallResponse::default()
        }
    }

    /// Memories of a kind or of all, newest first, before a creation time and id.
    pub fn list_memories(
        &self,
        kind: Option<MemoryKind>,
        before: Option<(Stamp, MemoryId)>,
        max: usize,
    ) -> Vec<Memory> {
        let mut listed: Vec<&Memory> = self
            .memories
            .values()
            .map(|stored| &stored.memory)
            .filter(|memory| kind.is_none_or(|kind| memory.kind() == kind))
            .filter(|memory| before.is_none_or(|before| (memory.created, memory.id) < before))
            .collect();
        listed.sort_by_key(|memory| Reverse((memory.created, memory.id)));
        listed.into_iter().take(max).cloned().collect()
    }

    /// The longest due first.
    pub fn due_memories(&self, now: Stamp, max: usize) -> Vec<Memory> {
        let mut due: Vec<_> =
            self.memories.values().filter(|stored| stored.due.is_some_and(|due| due <= now)).collect();
        due.sort_by_key(|stored| (stored.due, stored.memory.id));
        due.into_iter().take(max).map(|stored| stored.memory.clone()).collect()
    }

    pub fn memory_history(&self, id: MemoryId) -> &[Seq] {
        self.history.get(&id).map_or(&[], Vec::as_slice)
    }
}
