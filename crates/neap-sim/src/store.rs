//! A store that crashes, by seed, before or after a commit is durable, and lets a rival commit first.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::base::ids::StreamId;
use neap_core::session::event::{Event, SessionEvent};
use neap_store::layer::{Operation, StoreLayer};
use neap_store::{Commit, Store, StoreError};
use tokio::sync::Notify;

use crate::rng::Rng;
use crate::trace::{Fault, Trace};

/// What a turn asks of a store besides commits. The rest is asked by checks, or by commands of a person.
const FAILING: [Operation; 12] = [
    Operation::Load,
    Operation::LastSeq,
    Operation::Log,
    Operation::SessionsByDigest,
    Operation::FindCandidates,
    Operation::Texts,
    Operation::Search,
    Operation::Scopes,
    Operation::Unembedded,
    Operation::PutEmbeddings,
    Operation::Recall,
    Operation::Memories,
];

#[async_trait]
pub trait Rival: Send + Sync {
    async fn act(&self, session: &StreamId);
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
impl StoreLayer for FaultyStore {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    async fn before(&self, operation: Operation) -> Result<(), StoreError> {
        if FAILING.contains(&operation) { self.maybe_fail_read().await } else { Ok(()) }
    }

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
                    rival.act(&commit.stream).await;
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
}
