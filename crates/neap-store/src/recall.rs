//! Memories as every backend gives them (I9): which are searched, in which order they come.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use neap_core::ids::{Seq, Stamp};
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, Recalled, Status};

use crate::derived::Derived;
use crate::propose::{is_term, propose_of_kind};
use neap_core::recall::TextKey;

/// Where search finds a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Without being asked for what is out of date.
    Current,
    /// Only when that is asked for.
    Superseded,
    /// Nowhere.
    Aside,
}

impl Place {
    pub(crate) const ALL: [Place; 3] = [Place::Current, Place::Superseded, Place::Aside];

    /// Where a status is found.
    pub(crate) fn of(status: Status) -> Self {
        match (status.is_searched(), status.is_current()) {
            (true, true) => Place::Current,
            (true, false) => Place::Superseded,
            (false, _) => Place::Aside,
        }
    }

    /// The places that a request searches.
    pub(crate) fn searched(request: &RecallRequest) -> &'static [Place] {
        if request.superseded { &[Place::Current, Place::Superseded] } else { &[Place::Current] }
    }
}

/// How many are given of each kind that is searched.
pub(crate) fn limits(request: &RecallRequest) -> BTreeMap<MemoryKind, usize> {
    let mut limits = BTreeMap::new();
    for (kind, max) in &request.limits {
        let limit = limits.entry(*kind).or_insert(0);
        *limit = (*limit).max(*max);
    }
    limits
}

/// How many memories of each kind are searched.
pub(crate) type Searched = BTreeMap<MemoryKind, u64>;

/// For each kind, and for each term of a request, the numbers of the memories that have it, in order.
pub(crate) type Having = BTreeMap<MemoryKind, Vec<Vec<u64>>>;

/// How many memories have each term, of whichever kind.
pub(crate) fn texts_with(having: &Having, terms: usize) -> Vec<u64> {
    let with = |term: usize| having.values().map(|of_kind| of_kind[term].len() as u64).sum();
    (0..terms).map(with).collect()
}

/// The best candidates of each kind, kind by kind: the rarer the words they have, the sooner; then the newer.
pub(crate) fn proposed(
    having: &Having,
    searched: &Searched,
    limits: &BTreeMap<MemoryKind, usize>,
) -> Vec<MemoryId> {
    let texts = searched.values().sum();
    let mut ids = Vec::new();
    for (kind, of_kind) in having {
        let max = limits.get(kind).copied().unwrap_or(0);
        let texts_of_kind = searched.get(kind).copied().unwrap_or(0);
        let numbers = propose_of_kind(of_kind, texts, texts_of_kind, max).into_iter();
        ids.extend(numbers.filter_map(|number| MemoryId::new(*kind, u32::try_from(number).ok()?)));
    }
    ids
}

impl Derived {
    /// Candidates for a request.
    pub(crate) fn recall(&self, request: &RecallRequest) -> Recalled {
        let limits = limits(request);
        let is_searched = |memory: &Memory| {
            limits.contains_key(&memory.kind())
                && Place::searched(request).contains(&Place::of(memory.status))
                && request.from.is_none_or(|from| memory.created >= from)
                && request.until.is_none_or(|until| memory.created < until)
        };
        let searched: Vec<&Memory> =
            self.memories.values().map(|kept| &kept.memory).filter(|memory| is_searched(memory)).collect();
        let texts = searched.len() as u64;
        if request.terms.is_empty() {
            let mut memories = Vec::new();
            for (kind, max) in limits {
                let mut of_kind: Vec<_> = searched.iter().filter(|memory| memory.kind() == kind).collect();
                of_kind.sort_by_key(|memory| Reverse((memory.created, memory.id)));
                memories.extend(of_kind.into_iter().take(max).copied().cloned());
            }
            return Recalled { memories, texts, ..Recalled::default() };
        }
        let mut of_kinds = Searched::new();
        for memory in &searched {
            *of_kinds.entry(memory.kind()).or_default() += 1;
        }
        let mut having: Having =
            limits.keys().map(|kind| (*kind, vec![Vec::new(); request.terms.len()])).collect();
        for memory in searched {
            let Some(words) = self.texts.get(&TextKey::Memory(memory.id)) else { continue };
            for (at, term) in request.terms.iter().enumerate() {
                if is_term(term)
                    && words.split(' ').any(|word| word == term)
                    && let Some(of_kind) = having.get_mut(&memory.kind())
                {
                    of_kind[at].push(u64::from(memory.id.number()));
                }
            }
        }
        let ids = proposed(&having, &of_kinds, &limits);
        let memories = ids.iter().filter_map(|id| self.memories.get(id)).map(|kept| kept.memory.clone());
        let texts_with = texts_with(&having, request.terms.len());
        Recalled { memories: memories.collect(), texts, texts_with, ..Recalled::default() }
    }

    /// Memories of a kind or of all, newest first, before a moment and the id that was written then.
    pub(crate) fn listed(
        &self,
        kind: Option<MemoryKind>,
        before: Option<(Stamp, MemoryId)>,
        max: usize,
    ) -> Vec<Memory> {
        let mut listed: Vec<&Memory> = self
            .memories
            .values()
            .map(|kept| &kept.memory)
            .filter(|memory| kind.is_none_or(|kind| memory.kind() == kind))
            .filter(|memory| before.is_none_or(|before| (memory.created, memory.id) < before))
            .collect();
        listed.sort_by_key(|memory| Reverse((memory.created, memory.id)));
        listed.into_iter().take(max).cloned().collect()
    }

    /// Memories that time calls for, the longest due first.
    pub(crate) fn due(&self, now: Stamp, max: usize) -> Vec<Memory> {
        let mut due: Vec<_> =
            self.memories.values().filter(|kept| kept.due.is_some_and(|due| due <= now)).collect();
        due.sort_by_key(|kept| (kept.due, kept.memory.id));
        due.into_iter().take(max).map(|kept| kept.memory.clone()).collect()
    }

    /// The places of a memory's events.
    pub(crate) fn history(&self, id: MemoryId) -> &[Seq] {
        self.history.get(&id).map_or(&[], Vec::as_slice)
    }
}
