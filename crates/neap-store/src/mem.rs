//! A backend that stores everything in memory, for tests and experiments.

mod maintenance;
mod search;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use neap_core::base::digest::Digest;
use neap_core::base::ids::{Seq, SessionId, Stamp, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, RecallResponse};
use neap_core::recall::{Candidates, Embedding, Query, RankedResults, RankedSearch, TextId, UnembeddedText};
use neap_core::session::event::RecordedEvent;
use neap_core::session::log::{Log, LogRequest, ReadFrom};
use neap_core::session::project::ExchangeRow;
use neap_core::session::state::SessionState;
use neap_core::text::secrets::Masking;

use crate::backend::derived::{Derived, Fold, turn_id};
use crate::backend::exchange::exchange;
use crate::{Commit, EventStore, MemoryStore, SearchStore, StoreError, StoredEvent};
use search::StoredVector;

#[derive(Default)]
pub struct MemStore {
    state: Mutex<MemState>,
    masking: Masking,
}

impl MemStore {
    /// Sets whether secrets are masked before they are recorded; they are by default.
    pub fn with_masking(self, masking: Masking) -> Self {
        Self { masking, ..self }
    }
}

#[derive(Default)]
struct MemState {
    sessions: BTreeMap<StreamId, MemStream>,
    vectors: BTreeMap<TextId, StoredVector>,
    /// Embeddings ever stored; numbers them.
    embedding_count: u64,
}

#[derive(Default)]
struct MemStream {
    /// Streams are numbered from 1 in the order in which they begin.
    number: i64,
    events: Vec<RecordedEvent>,
    derived: Derived,
}

impl MemStore {
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, MemState> {
        // Every change is completed before the lock is released, so a poisoned state is consistent.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl MemStream {
    fn seq(&self) -> Seq {
        self.events.last().map_or(Seq(0), |last| last.seq)
    }

    /// When a memory was created; if it was erased, the time of its first event.
    fn written_at(&self, id: MemoryId) -> Option<Stamp> {
        if let Some(stored) = self.derived.memories.get(&id) {
            return Some(stored.memory.created);
        }
        let first = *self.derived.memory_history(id).first()?;
        self.events.iter().find(|recorded| recorded.seq == first).map(|recorded| recorded.at)
    }

    fn events_between(&self, first: Seq, last: Seq) -> Vec<StoredEvent> {
        let from = self.events.partition_point(|e| e.seq < first);
        self.events[from..].iter().take_while(|e| e.seq <= last).cloned().map(StoredEvent::Whole).collect()
    }

    fn fold(&self) -> crate::backend::derived::Folded {
        let mut fold = Fold::default();
        for recorded in &self.events {
            fold.add(StoredEvent::Whole(recorded.clone()));
        }
        fold.finish()
    }
}

#[async_trait]
impl EventStore for MemStore {
    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        crate::check_commit(&commit);
        let mut all = self.state();
        let sessions = &mut all.sessions;
        let known = sessions.get(&commit.stream);
        let actual = known.map_or(Seq(0), MemStream::seq);
        for (id, _) in commit.events.iter().filter_map(|e| turn_id(&e.event)) {
            if let Some(turn) = known.and_then(|s| s.derived.turn_ids.get(id)) {
                return Err(StoreError::DuplicateTurn { turn: *turn });
            }
        }
        if actual != commit.expected {
            return Err(StoreError::Conflict { expected: commit.expected, actual });
        }
        let number = sessions.len() as i64 + 1;
        let stream = sessions.entry(commit.stream).or_insert_with(|| MemStream { number, ..MemStream::default() });
        stream.derived.add(&commit.events, commit.projection);
        stream.events.extend(commit.events);
        all.drop_stale_vectors();
        Ok(())
    }

    fn masking(&self) -> Masking {
        self.masking
    }

    async fn load(&self, session: &StreamId) -> Result<Option<SessionState>, StoreError> {
        Ok(self.state().sessions.get(session).map(|stream| stream.derived.state()))
    }

    async fn last_seq(&self, session: &StreamId) -> Result<Seq, StoreError> {
        Ok(self.state().sessions.get(session).map_or(Seq(0), MemStream::seq))
    }

    async fn events(&self, session: &StreamId, from: Seq, max: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let all = self.state();
        let sessions = &all.sessions;
        let Some(stream) = sessions.get(session) else { return Ok(Vec::new()) };
        let start = stream.events.partition_point(|e| e.seq < from);
        Ok(stream.events[start..].iter().take(max).cloned().map(StoredEvent::Whole).collect())
    }

    async fn events_of_kinds(
        &self,
        session: &StreamId,
        kinds: &[&str],
        before: Option<Seq>,
        max: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let all = self.state();
        let sessions = &all.sessions;
        let events = sessions.get(session).into_iter().flat_map(|stream| stream.events.iter().rev());
        let matching = events.filter(|e| before.is_none_or(|b| e.seq < b) && kinds.contains(&e.event.kind()));
        Ok(matching.take(max).cloned().map(StoredEvent::Whole).collect())
    }

    async fn log(&self, session: &StreamId, request: &LogRequest) -> Result<Log, StoreError> {
        let all = self.state();
        let sessions = &all.sessions;
        let Some(stream) = sessions.get(session) else { return Ok(Log::default()) };
        let LogRequest { scope, turns: (first, last), from, tokens_max, exchanges_max } = request;
        let mut rows: Vec<_> = stream.derived.exchanges.values().collect();
        match from {
            ReadFrom::Newest => rows.reverse(),
            ReadFrom::Oldest => rows.sort_by_key(|row| row.turn),
        }
        let mut tokens = Tokens::ZERO;
        let mut exchanges = Vec::new();
        let undone = &stream.derived.undone_turns;
        let is_requested = |row: &&ExchangeRow| {
            row.scope == *scope && (*first..=*last).contains(&row.turn) && !undone.contains(&row.turn)
        };
        for row in rows.into_iter().filter(is_requested) {
            if tokens >= *tokens_max || exchanges.len() >= *exchanges_max {
                break;
            }
            tokens += row.tokens;
            let stored = stream.events_between(row.first_seq, row.last_seq);
            exchanges.push(Arc::new(exchange(row.turn, row.at, stored)));
        }
        if *from == ReadFrom::Newest {
            exchanges.reverse();
        }
        Ok(Log::new(exchanges))
    }

    async fn turn_by_id(&self, session: &StreamId, turn_id: &str) -> Result<Option<TurnNo>, StoreError> {
        Ok(self.state().sessions.get(session).and_then(|stream| stream.derived.turn_ids.get(turn_id).copied()))
    }

    async fn turn_span(&self, session: &StreamId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, StoreError> {
        let all = self.state();
        let sessions = &all.sessions;
        let mut rows = sessions.get(session).into_iter().flat_map(|stream| stream.derived.exchanges.values());
        Ok(rows.find(|row| row.turn == turn).map(|row| (row.first_seq, row.last_seq)))
    }

    async fn sessions_by_digest(&self, digests: &[Digest]) -> Result<Vec<Vec<(SessionId, TurnNo)>>, StoreError> {
        let all = self.state();
        let sessions_with = |digest: &Digest| {
            let mut found: Vec<(i64, SessionId, TurnNo)> = Vec::new();
            for (id, stream) in &all.sessions {
                let linked = id.session().zip(stream.derived.links.get(digest));
                found.extend(linked.map(|(id, turn)| (stream.number, id, *turn)));
            }
            found.sort();
            found.into_iter().map(|(_, id, turn)| (id, turn)).collect()
        };
        Ok(digests.iter().map(sessions_with).collect())
    }
}

#[async_trait]
impl SearchStore for MemStore {
    async fn find_candidates(&self, query: &Query) -> Result<Candidates, StoreError> {
        Ok(self.state().find_candidates(query))
    }

    async fn texts(&self, ids: &[TextId]) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        let all = self.state();
        Ok(ids.iter().map(|id| all.text(id, false)).collect())
    }

    async fn search(&self, request: &RankedSearch) -> Result<RankedResults, StoreError> {
        let all = self.state();
        request.run(
            || Ok(all.find_candidates(&request.query)),
            |around| Ok(all.neighbours(around, &request.query)),
            |ids| Ok(ids.iter().map(|id| all.text(id, false)).collect()),
        )
    }

    async fn scopes(&self, ids: &[TextId]) -> Result<Vec<Option<Scope>>, StoreError> {
        let all = self.state();
        Ok(ids.iter().map(|id| all.scope(id)).collect())
    }

    async fn unembedded(&self, model: &str, max: usize) -> Result<Vec<UnembeddedText>, StoreError> {
        Ok(self.state().unembedded(model, max))
    }

    async fn put_embeddings(
        &self,
        model: &str,
        batch: Vec<(TextId, Arc<str>, Embedding)>,
    ) -> Result<(), StoreError> {
        self.state().embed(model, batch);
        Ok(())
    }
}

#[async_trait]
impl MemoryStore for MemStore {
    async fn recall(&self, stream: &StreamId, request: &RecallRequest) -> Result<RecallResponse, StoreError> {
        let all = self.state();
        let sessions = &all.sessions;
        let none =
            || RecallResponse { document_frequencies: vec![0; request.terms.len()], ..RecallResponse::default() };
        Ok(sessions.get(stream).map_or_else(none, |stream| stream.derived.recall(request)))
    }

    async fn memories(&self, stream: &StreamId, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError> {
        let all = self.state();
        let sessions = &all.sessions;
        let Some(stream) = sessions.get(stream) else { return Ok(Vec::new()) };
        let stored = ids.iter().filter_map(|id| stream.derived.memories.get(id));
        Ok(stored.map(|stored| stored.memory.clone()).collect())
    }

    async fn list_memories(
        &self,
        stream: &StreamId,
        kind: Option<MemoryKind>,
        before: Option<MemoryId>,
        max: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let all = self.state();
        let sessions = &all.sessions;
        let Some(stream) = sessions.get(stream) else { return Ok(Vec::new()) };
        let before = match before {
            Some(id) => match stream.written_at(id) {
                Some(at) => Some((at, id)),
                None => return Ok(Vec::new()),
            },
            None => None,
        };
        Ok(stream.derived.list_memories(kind, before, max))
    }

    async fn memories_due(&self, stream: &StreamId, now: Stamp, max: usize) -> Result<Vec<Memory>, StoreError> {
        Ok(self.state().sessions.get(stream).map_or_else(Vec::new, |stream| stream.derived.due_memories(now, max)))
    }

    async fn memory_history(&self, stream: &StreamId, id: MemoryId) -> Result<Vec<StoredEvent>, StoreError> {
        let all = self.state();
        let sessions = &all.sessions;
        let Some(stream) = sessions.get(stream) else { return Ok(Vec::new()) };
        let seqs = stream.derived.memory_history(id).iter();
        Ok(seqs.flat_map(|seq| stream.events_between(*seq, *seq)).collect())
    }
}
