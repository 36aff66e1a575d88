//! A store that stops working after so many operations, in a way that is told it, until it is mended.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use neap_core::base::ids::{Seq, SessionId, Stamp, TurnNo};
use neap_core::base::message::Scope;
use neap_core::client::Digest;
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, RecallResponse};
use neap_core::recall::{
    Candidate, Candidates, Embedding, NeighbourQuery, Query, RankedResults, RankedSearch, TextId,
};
use neap_core::session::log::{Log, LogRequest};
use neap_core::session::state::SessionState;
use neap_core::text::secrets::Masking;
use neap_store::{
    AgentInfo, Commit, EventStore, Finding, Footprint, Maintenance, MemoryStore, SearchStore, SessionInfo, Store,
    StoreError, StoredEvent,
};
use tokio::sync::Notify;

/// How it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Full,
    ReadOnly,
    Busy,
    Failed,
    Unreadable,
    /// What it says failed is durable all the same.
    FailedAfter,
    /// It says nothing until it is mended; then it works on.
    Hangs,
}

pub(crate) const FAULTS: [Fault; 6] =
    [Fault::Full, Fault::ReadOnly, Fault::Busy, Fault::Failed, Fault::Unreadable, Fault::FailedAfter];

impl Fault {
    fn error(self) -> StoreError {
        let path = PathBuf::from("/secret/place");
        match self {
            Fault::Full => StoreError::Full { path },
            Fault::ReadOnly => StoreError::ReadOnly { path },
            Fault::Busy => StoreError::Busy { path },
            Fault::Failed | Fault::FailedAfter | Fault::Hangs => {
                StoreError::Failed("input/output error".to_owned())
            }
            Fault::Unreadable => StoreError::Unreadable { path, why: "malformed".to_owned() },
        }
    }
}

pub(crate) struct FaultyStore {
    inner: Arc<dyn Store>,
    fault: Mutex<Option<Fault>>,
    /// Whether reading fails as well.
    fails_reads: AtomicBool,
    /// Operations until then.
    works_for: AtomicI64,
    mended: Notify,
}

impl FaultyStore {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            fault: Mutex::default(),
            fails_reads: AtomicBool::new(false),
            works_for: AtomicI64::new(0),
            mended: Notify::new(),
        }
    }

    pub(crate) fn breaks(&self, fault: Fault, fails_reads: bool, works_for: i64) {
        self.fails_reads.store(fails_reads, Ordering::SeqCst);
        self.works_for.store(works_for, Ordering::SeqCst);
        *self.fault.lock().unwrap() = Some(fault);
    }

    pub(crate) fn is_mended(&self) {
        *self.fault.lock().unwrap() = None;
        self.mended.notify_waiters();
    }

    fn fault(&self) -> Option<Fault> {
        let fault = *self.fault.lock().unwrap();
        fault.filter(|_| self.works_for.fetch_sub(1, Ordering::SeqCst) <= 0)
    }

    fn read(&self) -> Result<&dyn Store, StoreError> {
        match self.fault() {
            Some(fault) if self.fails_reads.load(Ordering::SeqCst) => Err(fault.error()),
            Some(_) | None => Ok(self.inner.as_ref()),
        }
    }

    fn write(&self) -> Result<&dyn Store, StoreError> {
        self.fault().map_or(Ok(self.inner.as_ref()), |fault| Err(fault.error()))
    }
}

#[async_trait]
impl EventStore for FaultyStore {
    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        match self.fault() {
            Some(Fault::FailedAfter) => {
                self.inner.commit(commit).await?;
                Err(Fault::FailedAfter.error())
            }
            Some(Fault::Hangs) => {
                self.mended.notified().await;
                self.inner.commit(commit).await
            }
            Some(fault) => Err(fault.error()),
            None => self.inner.commit(commit).await,
        }
    }

    fn masking(&self) -> Masking {
        self.inner.masking()
    }

    async fn load(&self, session: &SessionId) -> Result<Option<SessionState>, StoreError> {
        self.read()?.load(session).await
    }

    async fn last_seq(&self, session: &SessionId) -> Result<Seq, StoreError> {
        self.read()?.last_seq(session).await
    }

    async fn events(&self, session: &SessionId, from: Seq, max: usize) -> Result<Vec<StoredEvent>, StoreError> {
        self.read()?.events(session, from, max).await
    }

    async fn events_of_kinds(
        &self,
        session: &SessionId,
        kinds: &[&str],
        before: Option<Seq>,
        max: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.read()?.events_of_kinds(session, kinds, before, max).await
    }

    async fn log(&self, session: &SessionId, request: &LogRequest) -> Result<Log, StoreError> {
        self.read()?.log(session, request).await
    }

    async fn turn_by_id(&self, session: &SessionId, turn_id: &str) -> Result<Option<TurnNo>, StoreError> {
        self.read()?.turn_by_id(session, turn_id).await
    }

    async fn turn_span(&self, session: &SessionId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, StoreError> {
        self.read()?.turn_span(session, turn).await
    }

    async fn sessions_by_digest(&self, digests: &[Digest]) -> Result<Vec<Vec<(SessionId, TurnNo)>>, StoreError> {
        self.read()?.sessions_by_digest(digests).await
    }
}

#[async_trait]
impl SearchStore for FaultyStore {
    async fn find_candidates(&self, query: &Query) -> Result<Candidates, StoreError> {
        self.read()?.find_candidates(query).await
    }

    async fn neighbours(&self, around: &NeighbourQuery, query: &Query) -> Result<Vec<Candidate>, StoreError> {
        self.read()?.neighbours(around, query).await
    }

    async fn texts(&self, ids: &[TextId]) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        self.read()?.texts(ids).await
    }

    async fn search(&self, consult: &RankedSearch) -> Result<RankedResults, StoreError> {
        self.read()?.search(consult).await
    }

    async fn scopes(&self, ids: &[TextId]) -> Result<Vec<Option<Scope>>, StoreError> {
        self.read()?.scopes(ids).await
    }

    async fn unembedded(&self, model: &str, max: usize) -> Result<Vec<(TextId, Arc<str>)>, StoreError> {
        self.read()?.unembedded(model, max).await
    }

    async fn put_embeddings(
        &self,
        model: &str,
        batch: Vec<(TextId, Arc<str>, Embedding)>,
    ) -> Result<(), StoreError> {
        self.write()?.put_embeddings(model, batch).await
    }
}

#[async_trait]
impl MemoryStore for FaultyStore {
    async fn recall(&self, agent: &SessionId, request: &RecallRequest) -> Result<RecallResponse, StoreError> {
        self.read()?.recall(agent, request).await
    }

    async fn memories(&self, agent: &SessionId, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError> {
        self.read()?.memories(agent, ids).await
    }

    async fn list_memories(
        &self,
        agent: &SessionId,
        kind: Option<MemoryKind>,
        before: Option<MemoryId>,
        max: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        self.read()?.list_memories(agent, kind, before, max).await
    }

    async fn memories_due(&self, agent: &SessionId, now: Stamp, max: usize) -> Result<Vec<Memory>, StoreError> {
        self.read()?.memories_due(agent, now, max).await
    }

    async fn memory_history(&self, agent: &SessionId, id: MemoryId) -> Result<Vec<StoredEvent>, StoreError> {
        self.read()?.memory_history(agent, id).await
    }
}

#[async_trait]
impl Maintenance for FaultyStore {
    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.read()?.sessions().await
    }

    async fn agents(&self) -> Result<Vec<AgentInfo>, StoreError> {
        self.read()?.agents().await
    }

    async fn footprint(&self, session: Option<&SessionId>) -> Result<Footprint, StoreError> {
        self.read()?.footprint(session).await
    }

    async fn examine(&self, session: Option<&SessionId>) -> Result<Vec<Finding>, StoreError> {
        self.read()?.examine(session).await
    }

    async fn rebuild(&self, session: &SessionId) -> Result<Vec<Finding>, StoreError> {
        self.write()?.rebuild(session).await
    }

    async fn scrub(&self, session: &SessionId, now: Stamp) -> Result<u64, StoreError> {
        self.write()?.scrub(session, now).await
    }

    async fn erase_memory(&self, agent: &SessionId, id: MemoryId, now: Stamp) -> Result<u64, StoreError> {
        self.write()?.erase_memory(agent, id, now).await
    }
}
