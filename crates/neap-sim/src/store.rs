//! A store that crashes, by seed, before or after a commit is durable, and lets a rival commit first.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::base::ids::{Seq, SessionId, Stamp, TurnNo};
use neap_core::base::message::Scope;
use neap_core::client::Digest;
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, RecallResponse};
use neap_core::recall::{
    Candidate, Candidates, Embedding, NeighbourQuery, Query, RankedResults, RankedSearch, TextId,
};
use neap_core::session::event::{Event, SessionEvent};
use neap_core::session::log::{Log, LogRequest};
use neap_core::session::state::SessionState;
use neap_core::text::secrets::Masking;
use neap_store::{
    AgentInfo, Commit, EventStore, Finding, Footprint, Maintenance, MemoryStore, SearchStore, SessionInfo, Store,
    StoreError, StoredEvent,
};
use tokio::sync::Notify;

use crate::rng::Rng;
use crate::trace::{Fault, Trace};

#[async_trait]
pub trait Rival: Send + Sync {
    async fn act(&self, session: &SessionId);
}

/// Wraps a store; records every commit it acknowledges in the trace.
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    trace: Trace,
    faults: Option<Faults>,
}

/// Fault rates, in a thousand commits or reads.
pub struct Faults {
    pub rng: Mutex<Rng>,
    pub commits_per_mille: u64,
    pub reads_per_mille: u64,
    /// Commits before which a rival acts.
    pub rivals_per_mille: u64,
    pub rival: Option<Arc<dyn Rival>>,
    /// Whether the rival also acts before a session's first event.
    pub rivals_at_creation: bool,
    /// The process is dead: its tasks that go on in the runtime reach the store no more.
    pub is_dead: Arc<AtomicBool>,
    /// The caller, who may go away during a commit.
    pub caller: Arc<Caller>,
}

/// Whoever waits for a commit.
#[derive(Debug, Default)]
pub struct Caller {
    /// Whether somebody notices if it goes away; otherwise it does not.
    pub may_leave: AtomicBool,
    pub left: Notify,
}

impl FaultyStore {
    /// Only records commits.
    pub fn without_faults(inner: Arc<dyn Store>, trace: Trace) -> Self {
        Self { inner, trace, faults: None }
    }

    pub fn with_faults(inner: Arc<dyn Store>, trace: Trace, faults: Faults) -> Self {
        Self { inner, trace, faults: Some(faults) }
    }

    fn draw_fault(&self) -> Option<Fault> {
        let faults = self.faults.as_ref()?;
        let mut rng = faults.rng.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = if rng.chance(faults.commits_per_mille) {
            let kinds = [Fault::CrashBefore, Fault::CrashAfter, Fault::Full, Fault::Dropped, Fault::Dropped];
            let may_leave = faults.caller.may_leave.load(Ordering::Relaxed);
            rng.pick(if may_leave { &kinds } else { &kinds[..3] }).copied()
        } else if faults.rival.is_some() && rng.chance(faults.rivals_per_mille) {
            Some(Fault::Rival)
        } else {
            None
        };
        if let Some(fault) = fault {
            self.trace.note(|step| step.faults.push(fault));
        }
        fault
    }

    async fn wait_for_ever_if_dead(&self) {
        if self.faults.as_ref().is_some_and(|faults| faults.is_dead.load(Ordering::Relaxed)) {
            std::future::pending::<()>().await;
        }
    }

    async fn maybe_fail_read(&self) -> Result<(), StoreError> {
        self.wait_for_ever_if_dead().await;
        let Some(faults) = &self.faults else { return Ok(()) };
        let mut rng = faults.rng.lock().unwrap_or_else(PoisonError::into_inner);
        if rng.chance(faults.reads_per_mille) {
            self.trace.note(|step| step.faults.push(Fault::BusyRead));
            return Err(StoreError::Busy { path: PathBuf::from("simulated") });
        }
        Ok(())
    }
}

/// Waits for another thread without being idle: a paused clock goes on by itself once nobody has anything to do.
pub(crate) async fn hold_clock<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::task::yield_now() => {}
        }
    }
}

#[async_trait]
impl EventStore for FaultyStore {
    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        self.wait_for_ever_if_dead().await;
        // Most rivals need a session to use.
        let is_creation = commit
            .events
            .iter()
            .any(|recorded| matches!(recorded.event, Event::Session(SessionEvent::Created { .. })));
        let is_too_early = is_creation && !self.faults.as_ref().is_some_and(|faults| faults.rivals_at_creation);
        let fault = self.draw_fault().filter(|fault| !is_too_early || *fault != Fault::Rival);
        match fault {
            Some(Fault::CrashBefore) => return Err(StoreError::Failed("crashed before durability".to_owned())),
            Some(Fault::Full) => return Err(StoreError::Full { path: PathBuf::from("simulated") }),
            Some(Fault::Rival) => {
                if let Some(rival) = self.faults.as_ref().and_then(|faults| faults.rival.as_ref()) {
                    rival.act(&commit.session).await;
                }
            }
            Some(Fault::CrashAfter | Fault::BusyRead | Fault::Dropped | Fault::Interrupted) | None => {}
        }
        if fault == Some(Fault::Dropped)
            && let Some(faults) = &self.faults
        {
            // Its commit may have become durable all the same.
            let is_durable = faults.rng.lock().unwrap_or_else(PoisonError::into_inner).chance(500);
            if is_durable && hold_clock(self.inner.commit(commit.clone())).await.is_ok() {
                self.trace.acknowledge(&commit);
            }
            faults.caller.left.notify_one();
            std::future::pending::<()>().await;
        }
        hold_clock(self.inner.commit(commit.clone())).await?;
        self.trace.acknowledge(&commit);
        if fault == Some(Fault::CrashAfter) {
            return Err(StoreError::Failed("crashed after durability".to_owned()));
        }
        Ok(())
    }

    fn masking(&self) -> Masking {
        self.inner.masking()
    }

    async fn load(&self, session: &SessionId) -> Result<Option<SessionState>, StoreError> {
        self.maybe_fail_read().await?;
        self.inner.load(session).await
    }

    async fn last_seq(&self, session: &SessionId) -> Result<Seq, StoreError> {
        self.maybe_fail_read().await?;
        self.inner.last_seq(session).await
    }

    async fn events(&self, session: &SessionId, from: Seq, max: usize) -> Result<Vec<StoredEvent>, StoreError> {
        self.inner.events(session, from, max).await
    }

    async fn events_of_kinds(
        &self,
        session: &SessionId,
        kinds: &[&str],
        before: Option<Seq>,
        max: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.inner.events_of_kinds(session, kinds, before, max).await
    }

    async fn log(&self, session: &SessionId, request: &LogRequest) -> Result<Log, StoreError> {
        self.maybe_fail_read().await?;
        self.inner.log(session, request).await
    }

    async fn turn_by_id(&self, session: &SessionId, turn_id: &str) -> Result<Option<TurnNo>, StoreError> {
        self.inner.turn_by_id(session, turn_id).await
    }

    async fn turn_span(&self, session: &SessionId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, StoreError> {
        self.inner.turn_span(session, turn).await
    }

    async fn sessions_by_digest(&self, digests: &[Digest]) -> Result<Vec<Vec<(SessionId, TurnNo)>>, StoreError> {
        self.maybe_fail_read().await?;
        self.inner.sessions_by_digest(digests).await
    }
}

#[async_trait]
impl SearchStore for FaultyStore {
    async fn find_candidates(&self, query: &Query) -> Result<Candidates, StoreError> {
        self.maybe_fail_read().await?;
        self.inner.find_candidates(query).await
    }

    async fn neighbours(&self, around: &NeighbourQuery, query: &Query) -> Result<Vec<Candidate>, StoreError> {
        self.maybe_fail_read().await?;
        self.inner.neighbours(around, query).await
    }

    async fn texts(&self, ids: &[TextId]) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        self.maybe_fail_read().await?;
        self.inner.texts(ids).await
    }

    async fn search(&self, search: &RankedSearch) -> Result<RankedResults, StoreError> {
        self.maybe_fail_read().await?;
        self.inner.search(search).await
    }

    async fn scopes(&self, ids: &[TextId]) -> Result<Vec<Option<Scope>>, StoreError> {
        self.maybe_fail_read().await?;
        self.inner.scopes(ids).await
    }

    async fn unembedded(&self, model: &str, max: usize) -> Result<Vec<(TextId, Arc<str>)>, StoreError> {
        self.maybe_fail_read().await?;
        self.inner.unembedded(model, max).await
    }

    async fn put_embeddings(
        &self,
        model: &str,
        batch: Vec<(TextId, Arc<str>, Embedding)>,
    ) -> Result<(), StoreError> {
        self.maybe_fail_read().await?;
        self.inner.put_embeddings(model, batch).await
    }
}

#[async_trait]
impl MemoryStore for FaultyStore {
    async fn recall(&self, agent: &SessionId, request: &RecallRequest) -> Result<RecallResponse, StoreError> {
        self.maybe_fail_read().await?;
        self.inner.recall(agent, request).await
    }

    async fn memories(&self, agent: &SessionId, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError> {
        self.maybe_fail_read().await?;
        self.inner.memories(agent, ids).await
    }

    async fn list_memories(
        &self,
        agent: &SessionId,
        kind: Option<MemoryKind>,
        before: Option<MemoryId>,
        max: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        self.inner.list_memories(agent, kind, before, max).await
    }

    async fn memories_due(&self, agent: &SessionId, now: Stamp, max: usize) -> Result<Vec<Memory>, StoreError> {
        self.inner.memories_due(agent, now, max).await
    }

    async fn memory_history(&self, agent: &SessionId, id: MemoryId) -> Result<Vec<StoredEvent>, StoreError> {
        self.inner.memory_history(agent, id).await
    }
}

#[async_trait]
impl Maintenance for FaultyStore {
    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.inner.sessions().await
    }

    async fn agents(&self) -> Result<Vec<AgentInfo>, StoreError> {
        self.inner.agents().await
    }

    async fn footprint(&self, session: Option<&SessionId>) -> Result<Footprint, StoreError> {
        self.inner.footprint(session).await
    }

    async fn examine(&self, session: Option<&SessionId>) -> Result<Vec<Finding>, StoreError> {
        self.inner.examine(session).await
    }

    async fn rebuild(&self, session: &SessionId) -> Result<Vec<Finding>, StoreError> {
        self.inner.rebuild(session).await
    }

    async fn scrub(&self, session: &SessionId, now: Stamp) -> Result<u64, StoreError> {
        self.inner.scrub(session, now).await
    }

    async fn erase_memory(&self, agent: &SessionId, id: MemoryId, now: Stamp) -> Result<u64, StoreError> {
        self.inner.erase_memory(agent, id, now).await
    }
}
