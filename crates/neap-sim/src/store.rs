//! A store that crashes, by seed, before or after a commit is durable, and lets a rival come first.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::event::Event;
use neap_core::ids::{Seq, SessionId, Stamp, TurnNo};
use neap_core::ingest::Digest;
use neap_core::log::{Log, LogRequest};
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, Recalled};
use neap_core::message::Scope;
use neap_core::recall::{Around, Card, Consult, Consulted, Embedding, Proposed, Query, TextId};
use neap_core::secrets::Masking;
use neap_core::state::SessionState;
use neap_store::{AgentInfo, Commit, Finding, Footprint, SessionInfo, Store, StoreError, Stored};

use crate::rng::Rng;
use crate::tape::{Fault, Tape};

/// Another process that uses the same session.
#[async_trait]
pub trait Rival: Send + Sync {
    /// Does something to a session of the store.
    async fn act(&self, session: &SessionId);
}

/// Wraps a store; everything that it acknowledges goes on the tape.
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    tape: Tape,
    faults: Option<Faults>,
}

/// How often things go wrong, in a thousand commits or reads.
pub struct Faults {
    /// Chance.
    pub rng: Mutex<Rng>,
    /// Commits that fail.
    pub commits_per_mille: u64,
    /// Reads that fail.
    pub reads_per_mille: u64,
    /// Commits before which a rival acts.
    pub rivals_per_mille: u64,
    /// The rival.
    pub rival: Option<Arc<dyn Rival>>,
}

impl FaultyStore {
    /// A store without faults that only keeps the record.
    pub fn quiet(inner: Arc<dyn Store>, tape: Tape) -> Self {
        Self { inner, tape, faults: None }
    }

    /// A store with faults.
    pub fn faulty(inner: Arc<dyn Store>, tape: Tape, faults: Faults) -> Self {
        Self { inner, tape, faults: Some(faults) }
    }

    fn draw(&self) -> Option<Fault> {
        let faults = self.faults.as_ref()?;
        let mut rng = faults.rng.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = if rng.chance(faults.commits_per_mille) {
            rng.pick(&[Fault::CrashBefore, Fault::CrashAfter, Fault::Full]).copied()
        } else if faults.rival.is_some() && rng.chance(faults.rivals_per_mille) {
            Some(Fault::Rival)
        } else {
            None
        };
        if let Some(fault) = fault {
            self.tape.note(|step| step.faults.push(fault));
        }
        fault
    }

    fn read(&self) -> Result<(), StoreError> {
        let Some(faults) = &self.faults else { return Ok(()) };
        let mut rng = faults.rng.lock().unwrap_or_else(PoisonError::into_inner);
        if rng.chance(faults.reads_per_mille) {
            self.tape.note(|step| step.faults.push(Fault::BusyRead));
            return Err(StoreError::Busy { path: PathBuf::from("simulated") });
        }
        Ok(())
    }
}

#[async_trait]
impl Store for FaultyStore {
    fn masking(&self) -> Masking {
        self.inner.masking()
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        // The first event of a session is let through: there is no session to rival yet.
        let begins = commit.events.iter().any(|recorded| matches!(recorded.event, Event::SessionCreated { .. }));
        let fault = self.draw().filter(|fault| !begins || *fault != Fault::Rival);
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
        self.inner.commit(commit.clone()).await?;
        self.tape.acknowledge(&commit);
        if fault == Some(Fault::CrashAfter) {
            return Err(StoreError::Failed("crashed after durability".to_owned()));
        }
        Ok(())
    }

    async fn load(&self, session: &SessionId) -> Result<Option<SessionState>, StoreError> {
        self.read()?;
        self.inner.load(session).await
    }

    async fn seq(&self, session: &SessionId) -> Result<Seq, StoreError> {
        self.read()?;
        self.inner.seq(session).await
    }

    async fn events(&self, session: &SessionId, from: Seq, max: usize) -> Result<Vec<Stored>, StoreError> {
        self.inner.events(session, from, max).await
    }

    async fn events_of(
        &self,
        session: &SessionId,
        kinds: &[&str],
        before: Option<Seq>,
        max: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        self.inner.events_of(session, kinds, before, max).await
    }

    async fn log(&self, session: &SessionId, request: &LogRequest) -> Result<Log, StoreError> {
        self.read()?;
        self.inner.log(session, request).await
    }

    async fn propose(&self, query: &Query) -> Result<Proposed, StoreError> {
        self.read()?;
        self.inner.propose(query).await
    }

    async fn around(&self, around: &Around, query: &Query) -> Result<Vec<Card>, StoreError> {
        self.read()?;
        self.inner.around(around, query).await
    }

    async fn consult(&self, consult: &Consult) -> Result<Consulted, StoreError> {
        self.read()?;
        self.inner.consult(consult).await
    }

    async fn scopes(&self, ids: &[TextId]) -> Result<Vec<Option<Scope>>, StoreError> {
        self.read()?;
        self.inner.scopes(ids).await
    }

    async fn texts(&self, ids: &[TextId]) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        self.read()?;
        self.inner.texts(ids).await
    }

    async fn unembedded(&self, model: &str, max: usize) -> Result<Vec<(TextId, Arc<str>)>, StoreError> {
        self.read()?;
        self.inner.unembedded(model, max).await
    }

    async fn embed(&self, model: &str, batch: Vec<(TextId, Arc<str>, Embedding)>) -> Result<(), StoreError> {
        self.read()?;
        self.inner.embed(model, batch).await
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.inner.sessions().await
    }

    async fn agents(&self) -> Result<Vec<AgentInfo>, StoreError> {
        self.inner.agents().await
    }

    async fn recall(&self, agent: &SessionId, request: &RecallRequest) -> Result<Recalled, StoreError> {
        self.read()?;
        self.inner.recall(agent, request).await
    }

    async fn memories(&self, agent: &SessionId, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError> {
        self.read()?;
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

    async fn memory_history(&self, agent: &SessionId, id: MemoryId) -> Result<Vec<Stored>, StoreError> {
        self.inner.memory_history(agent, id).await
    }

    async fn linked(&self, digests: &[Digest]) -> Result<Vec<Vec<(SessionId, TurnNo)>>, StoreError> {
        self.inner.linked(digests).await
    }

    async fn turn_of(&self, session: &SessionId, turn_id: &str) -> Result<Option<TurnNo>, StoreError> {
        self.inner.turn_of(session, turn_id).await
    }

    async fn turn_span(&self, session: &SessionId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, StoreError> {
        self.inner.turn_span(session, turn).await
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
