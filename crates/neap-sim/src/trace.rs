//! Records what every simulated part saw and did; the checks read it after each step.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use neap_core::base::ids::StreamId;
use neap_core::session::event::RecordedEvent;
use neap_core::turn::ModelRequest;
use neap_engine::EngineError;
use neap_store::{Commit, StoreError};

#[derive(Debug, Clone)]
pub struct SeenRequest {
    pub session: StreamId,
    /// The user message of its turn.
    pub message: String,
    /// Events of the session that were acknowledged before it.
    pub acknowledged: usize,
    pub request: ModelRequest,
}

#[derive(Debug, Clone)]
pub struct SummaryAnswer {
    /// The effort's id.
    pub about: String,
    /// `None` if the summarizer failed.
    pub answer: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A commit failed before anything was durable; the process is dead.
    CrashBefore,
    /// A commit became durable, but its writer got an error.
    CrashAfter,
    /// The disk was full; the process lives on.
    Full,
    BusyRead,
    /// The caller went away in the middle of a turn.
    Dropped,
    Interrupted,
    /// Another process did something in between.
    Rival,
}

#[derive(Debug, Default)]
pub struct StepTrace {
    pub requests: Vec<SeenRequest>,
    pub summaries: Vec<SummaryAnswer>,
    pub host_calls: u64,
    pub faults: Vec<Fault>,
    /// Errors of rivals; there should be none.
    pub complaints: Vec<String>,
}

#[derive(Debug, Default)]
struct Inner {
    acknowledged: BTreeMap<StreamId, Vec<RecordedEvent>>,
    newest_commit: Option<Commit>,
    step: StepTrace,
}

/// Shared by all parts of one run.
#[derive(Debug, Clone, Default)]
pub struct Trace(Arc<Mutex<Inner>>);

impl Trace {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A store made this commit durable: from now on it must be there.
    pub fn acknowledge(&self, commit: &Commit) {
        let mut inner = self.lock();
        inner.acknowledged.entry(commit.stream.clone()).or_default().extend(commit.events.iter().cloned());
        inner.newest_commit = Some(commit.clone());
    }

    pub fn acknowledged_len(&self, session: &StreamId) -> usize {
        self.lock().acknowledged.get(session).map_or(0, Vec::len)
    }

    pub fn with_acknowledged<T>(&self, session: &StreamId, read: impl FnOnce(&[RecordedEvent]) -> T) -> T {
        read(self.lock().acknowledged.get(session).map_or(&[], Vec::as_slice))
    }

    /// Every stream that has an acknowledged event.
    pub fn streams(&self) -> Vec<StreamId> {
        self.lock().acknowledged.keys().cloned().collect()
    }

    pub fn newest_commit(&self) -> Option<Commit> {
        self.lock().newest_commit.clone()
    }

    pub fn note(&self, note: impl FnOnce(&mut StepTrace)) {
        note(&mut self.lock().step);
    }

    pub fn had_fault(&self, fault: Fault) -> bool {
        self.lock().step.faults.contains(&fault)
    }

    /// Whether a fault of this step explains an error.
    pub fn explains(&self, error: &EngineError) -> bool {
        let had = |fault| self.had_fault(fault);
        let crashed = had(Fault::CrashBefore) || had(Fault::CrashAfter);
        matches!(error, EngineError::Store(StoreError::Failed(_)) if crashed)
            || matches!(error, EngineError::Store(StoreError::Full { .. }) if had(Fault::Full))
            || matches!(error, EngineError::Store(StoreError::Busy { .. }) if had(Fault::BusyRead))
    }

    pub fn take_step(&self) -> StepTrace {
        std::mem::take(&mut self.lock().step)
    }
}
