//! What the store could not accept yet, in order. Requests are forwarded all the same, and recorded with their
//! replies once the store works again. Memory is bounded: what is dropped returns with the client's next request,
//! which has the whole history.

mod entry;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use neap_core::client::{Digest, Tenant};
use tokio::sync::Notify;
use tokio::time::Instant;

pub(super) use entry::{BacklogEntry, DeferredRequest, LateReply, RecordStep, conversation_key};

use crate::error::EngineError;

/// Limits on all entries, in bytes and in number.
const BYTES_MAX: usize = 64 << 20;
const ENTRIES_MAX: usize = 4_096;
/// Pauses between two attempts while the store fails.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// An entry that fails this often through its own fault is dropped (see `note_entry_failure`).
const STRIKES_MAX: u32 = 3;

/// The state of recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordingStatus {
    /// Why the store accepts nothing at the moment, if so.
    pub failing: Option<String>,
    /// Requests and replies that wait to be recorded.
    pub waiting: usize,
    /// Entries that were dropped: there was no room for more, or they alone could not be recorded.
    pub dropped: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Backlog {
    state: Mutex<BacklogState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct BacklogState {
    entries: VecDeque<Arc<BacklogEntry>>,
    conversations: BTreeMap<Digest, usize>,
    bytes: usize,
    outage: Option<Outage>,
    has_worker: bool,
    /// Entries and direct writes that were recorded.
    successes: u64,
    dropped: u64,
}

#[derive(Debug, Clone)]
struct Outage {
    reason: String,
    pause: Duration,
    retry_at: Instant,
}

impl Backlog {
    fn state(&self) -> MutexGuard<'_, BacklogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> RecordingStatus {
        let state = self.state();
        let failing = state.outage.as_ref().map(|outage| outage.reason.clone());
        RecordingStatus { failing, waiting: state.entries.len(), dropped: state.dropped }
    }

    /// Why a conversation cannot record now: earlier parts of it wait, or the store fails. During an outage, one
    /// request per pause tries. A request that names a provider's response may continue any waiting entry of its
    /// caller.
    pub(super) fn wait_reason(&self, key: Digest, from_reply_of: Option<Tenant>, now: Instant) -> Option<String> {
        let mut state = self.state();
        let waits_behind = state.conversations.contains_key(&key)
            || from_reply_of.is_some_and(|tenant| state.entries.iter().any(|entry| entry.tenant == tenant));
        match &mut state.outage {
            Some(outage) if now < outage.retry_at || waits_behind => Some(outage.reason.clone()),
            Some(outage) => {
                outage.retry_at = now + outage.pause;
                None
            }
            None => waits_behind.then(|| "the store is catching up".to_owned()),
        }
    }

    pub(super) fn note_success(&self) {
        let mut state = self.state();
        state.successes += 1;
        state.outage = None;
    }

    pub(super) fn note_failure(&self, reason: &str, now: Instant) {
        let mut state = self.state();
        let (pause, retry_at) = match &state.outage {
            Some(outage) => (outage.pause, outage.retry_at),
            None => (PAUSE_MIN, now + PAUSE_MIN),
        };
        state.outage = Some(Outage { reason: reason.to_owned(), pause, retry_at });
    }

    /// Adds an entry, and drops others if there is no room. Returns whether a worker must be started.
    pub(super) fn push(&self, entry: Arc<BacklogEntry>) -> bool {
        let mut state = self.state();
        entry.content().successes_seen = state.successes;
        state.bytes += entry.bytes;
        *state.conversations.entry(entry.key).or_default() += 1;
        state.entries.push_back(entry);
        while state.bytes > BYTES_MAX || state.entries.len() > ENTRIES_MAX {
            let at = state.eviction_index();
            state.drop_at(at);
        }
        !std::mem::replace(&mut state.has_worker, true)
    }

    /// Whether a worker must be started to end an outage.
    pub(super) fn needs_worker(&self) -> bool {
        let mut state = self.state();
        state.outage.is_some() && !std::mem::replace(&mut state.has_worker, true)
    }

    /// The oldest entry, and how long to wait before it is tried. `None` ends the worker: nothing is left.
    pub(super) fn next_entry(&self, now: Instant) -> Option<(Option<Arc<BacklogEntry>>, Duration)> {
        let mut state = self.state();
        let pause = state.outage.as_ref().map(|outage| outage.retry_at.saturating_duration_since(now));
        match (state.entries.front(), pause) {
            (Some(entry), pause) => Some((Some(entry.clone()), pause.unwrap_or_default())),
            (None, Some(pause)) if !pause.is_zero() => Some((None, pause)),
            (None, _) => {
                // Nothing is left to try the store with: the next request does.
                state.outage = None;
                state.has_worker = false;
                self.changed.notify_waiters();
                None
            }
        }
    }

    pub(super) fn remove_recorded(&self, entry: &Arc<BacklogEntry>) {
        self.note_success();
        let mut state = self.state();
        if let Some(at) = state.entries.iter().position(|other| Arc::ptr_eq(other, entry)) {
            state.remove(at);
        }
    }

    pub(super) fn note_entry_failure(&self, entry: &Arc<BacklogEntry>, error: &EngineError, now: Instant) {
        let mut state = self.state();
        if error.is_outage() {
            let pause = state.outage.as_ref().map_or(PAUSE_MIN, |outage| (outage.pause * 2).min(PAUSE_MAX));
            state.outage = Some(Outage { reason: error.short_text(), pause, retry_at: now + pause });
        }
        let mut content = entry.content();
        let others_succeeded = state.successes > content.successes_seen;
        let is_at_fault = !error.is_outage() || error.may_affect_one_session() && others_succeeded;
        content.successes_seen = state.successes;
        content.strikes += u32::from(is_at_fault);
        let is_given_up = content.strikes >= STRIKES_MAX;
        drop(content);
        if is_given_up && let Some(at) = state.entries.iter().position(|other| Arc::ptr_eq(other, entry)) {
            state.drop_at(at);
        }
    }

    pub(super) async fn wait_until_empty(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if !self.state().has_worker {
                return;
            }
            changed.await;
        }
    }
}

impl BacklogState {
    /// The entry to drop: always of the caller with most bytes, so that nobody takes others' room; of those, the
    /// first with a later entry of its conversation (a later request repeats it), else the oldest.
    fn eviction_index(&self) -> usize {
        let mut bytes_by_tenant: BTreeMap<Tenant, usize> = BTreeMap::new();
        for entry in &self.entries {
            *bytes_by_tenant.entry(entry.tenant).or_default() += entry.bytes.max(1);
        }
        let largest = bytes_by_tenant.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(tenant, _)| tenant);
        let is_of_largest = |entry: &&Arc<BacklogEntry>| Some(entry.tenant) == largest;
        let is_repeated =
            |entry: &Arc<BacklogEntry>| self.conversations.get(&entry.key).is_some_and(|all| *all > 1);
        let repeated = self.entries.iter().position(|entry| is_of_largest(&entry) && is_repeated(entry));
        repeated.or_else(|| self.entries.iter().position(|entry| is_of_largest(&entry))).unwrap_or(0)
    }

    fn remove(&mut self, at: usize) -> Option<Arc<BacklogEntry>> {
        let entry = self.entries.remove(at)?;
        self.bytes -= entry.bytes;
        if let Some(left) = self.conversations.get_mut(&entry.key) {
            *left -= 1;
            if *left == 0 {
                self.conversations.remove(&entry.key);
            }
        }
        Some(entry)
    }

    fn drop_at(&mut self, at: usize) {
        if let Some(entry) = self.remove(at) {
            self.dropped += 1;
            entry.content().clear();
        }
    }
}
