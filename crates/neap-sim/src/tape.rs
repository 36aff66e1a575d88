//! What every simulated part saw and did, for the checks to look at after each step.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use neap_core::event::Recorded;
use neap_core::ids::SessionId;
use neap_core::turn::ModelRequest;
use neap_store::Commit;

/// A request that reached a model.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Whose.
    pub session: SessionId,
    /// What was said in its turn.
    pub said: String,
    /// How many events of the session were acknowledged before it.
    pub acknowledged: usize,
    /// The request.
    pub request: ModelRequest,
}

/// What a summariser answered.
#[derive(Debug, Clone)]
pub struct Summed {
    /// About which effort.
    pub about: String,
    /// The summary, if it made one.
    pub answer: Option<String>,
}

/// A fault that was put in the way of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A commit failed before anything was durable; the process is dead.
    CrashBefore,
    /// A commit became durable, but its writer never heard of it.
    CrashAfter,
    /// There was no room; the process lives on.
    Full,
    /// Something could not be read for now.
    BusyRead,
    /// The caller went away in the middle of a turn.
    Dropped,
    /// The person stopped the reply.
    Interrupted,
    /// Another process did something in between.
    Rival,
}

/// What happened in one step.
#[derive(Debug, Default)]
pub struct StepTape {
    /// Requests, in order.
    pub requests: Vec<Seen>,
    /// Summaries, in order.
    pub summaries: Vec<Summed>,
    /// Calls of the host's tools.
    pub host_calls: u64,
    /// Faults.
    pub faults: Vec<Fault>,
    /// What a rival got back that it should not have.
    pub complaints: Vec<String>,
}

#[derive(Debug, Default)]
struct Inner {
    acknowledged: BTreeMap<SessionId, Vec<Recorded>>,
    newest_commit: Option<Commit>,
    step: StepTape,
}

/// Shared by all parts of one run.
#[derive(Debug, Clone, Default)]
pub struct Tape(Arc<Mutex<Inner>>);

impl Tape {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A store made these durable: from now on they must be there.
    pub fn acknowledge(&self, commit: &Commit) {
        let mut inner = self.lock();
        inner.acknowledged.entry(commit.session.clone()).or_default().extend(commit.events.iter().cloned());
        inner.newest_commit = Some(commit.clone());
    }

    /// How many events of a session are durable.
    pub fn acknowledged_len(&self, session: &SessionId) -> usize {
        self.lock().acknowledged.get(session).map_or(0, Vec::len)
    }

    /// Looks at the durable events of a session.
    pub fn with_acknowledged<T>(&self, session: &SessionId, look: impl FnOnce(&[Recorded]) -> T) -> T {
        look(self.lock().acknowledged.get(session).map_or(&[], Vec::as_slice))
    }

    /// The commit that came last.
    pub fn newest_commit(&self) -> Option<Commit> {
        self.lock().newest_commit.clone()
    }

    /// Adds to the record of this step.
    pub fn note(&self, note: impl FnOnce(&mut StepTape)) {
        note(&mut self.lock().step);
    }

    /// Whether a fault was put in the way of this step.
    pub fn had(&self, fault: Fault) -> bool {
        self.lock().step.faults.contains(&fault)
    }

    /// Ends a step and hands over its record.
    pub fn take_step(&self) -> StepTape {
        std::mem::take(&mut self.lock().step)
    }
}
