//! What the store could not take yet, and whether it takes anything at the moment.
//!
//! Requests that cannot be recorded go on all the same. They wait here, in order, with their replies, until the store works again. The
//! memory for that is bounded: what is dropped comes back with the client's next request, which brings the whole history along.

mod entry;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use neap_core::ingest::{Digest, Tenant};
use tokio::sync::Notify;

pub(super) use entry::{Entry, LateRequest, Later, Step, conversation_key};

use crate::error::EngineError;

/// What the entries may hold, in bytes and in number.
const BYTES_MAX: usize = 64 << 20;
const ENTRIES_MAX: usize = 4_096;
/// Pauses between two tries while the store fails.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// An entry that fails so often while others are recorded is at fault itself, and is dropped.
const STRIKES_MAX: u32 = 3;

/// How recording goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordingStatus {
    /// Why the store takes nothing at the moment, if so.
    pub failing: Option<String>,
    /// Requests and replies that wait to be recorded.
    pub waiting: usize,
    /// Those that were dropped: there was no room for more, or they alone could not be recorded.
    pub dropped: u64,
}

/// All that waits.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Arc<Entry>>,
    /// How many entries each conversation has.
    conversations: BTreeMap<Digest, usize>,
    bytes: usize,
    outage: Option<Outage>,
    /// Whether somebody works on the entries.
    has_worker: bool,
    /// What was recorded, here or at once.
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
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> RecordingStatus {
        let state = self.state();
        let failing = state.outage.as_ref().map(|outage| outage.reason.clone());
        RecordingStatus { failing, waiting: state.entries.len(), dropped: state.dropped }
    }

    /// Why a conversation has to wait with what it records: earlier parts of it wait, or the store fails. While it does, somebody tries
    /// now and then. One that goes on from an answer that the provider keeps may go on from any that waits of the same caller.
    pub(super) fn refuses(&self, key: Digest, from_reply_of: Option<Tenant>, now: Instant) -> Option<String> {
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

    /// The store took something.
    pub(super) fn succeeded(&self) {
        let mut state = self.state();
        state.successes += 1;
        state.outage = None;
    }

    /// The store did not.
    pub(super) fn failed(&self, reason: &str, now: Instant) {
        let mut state = self.state();
        let (pause, retry_at) = match &state.outage {
            Some(outage) => (outage.pause, outage.retry_at),
            None => (PAUSE_MIN, now + PAUSE_MIN),
        };
        state.outage = Some(Outage { reason: reason.to_owned(), pause, retry_at });
    }

    /// Adds an entry; where there is no room for it, others go first. Says whether somebody has to be found who works on them.
    pub(super) fn push(&self, entry: Arc<Entry>) -> bool {
        let mut state = self.state();
        entry.content().successes_seen = state.successes;
        state.bytes += entry.bytes;
        *state.conversations.entry(entry.key).or_default() += 1;
        state.entries.push_back(entry);
        while state.bytes > BYTES_MAX || state.entries.len() > ENTRIES_MAX {
            let at = state.first_to_go();
            state.drop_at(at);
        }
        !std::mem::replace(&mut state.has_worker, true)
    }

    /// Says whether somebody has to be found who sees to it that an outage is not taken for one for ever.
    pub(super) fn wants_watching(&self) -> bool {
        let mut state = self.state();
        state.outage.is_some() && !std::mem::replace(&mut state.has_worker, true)
    }

    /// The oldest entry, and how long to wait before it is tried. None if none is left: then whoever works on them is done.
    pub(super) fn head(&self, now: Instant) -> Option<(Option<Arc<Entry>>, Duration)> {
        let mut state = self.state();
        let pause = state.outage.as_ref().map(|outage| outage.retry_at.saturating_duration_since(now));
        match (state.entries.front(), pause) {
            (Some(entry), pause) => Some((Some(entry.clone()), pause.unwrap_or_default())),
            (None, Some(pause)) if !pause.is_zero() => Some((None, pause)),
            (None, _) => {
                // Nothing is left to try it with: the next request does.
                state.outage = None;
                state.has_worker = false;
                self.changed.notify_waiters();
                None
            }
        }
    }

    /// An entry is recorded.
    pub(super) fn done(&self, entry: &Arc<Entry>) {
        self.succeeded();
        let mut state = self.state();
        if let Some(at) = state.entries.iter().position(|other| Arc::ptr_eq(other, entry)) {
            state.remove(at);
        }
    }

    /// An entry could not be recorded.
    pub(super) fn not_done(&self, entry: &Arc<Entry>, error: &EngineError, now: Instant) {
        let mut state = self.state();
        if error.is_outage() {
            let pause = state.outage.as_ref().map_or(PAUSE_MIN, |outage| (outage.pause * 2).min(PAUSE_MAX));
            state.outage = Some(Outage { reason: error.brief(), pause, retry_at: now + pause });
        }
        let mut content = entry.content();
        let others_succeeded = state.successes > content.successes_seen;
        let is_at_fault = !error.is_outage() || error.may_be_of_one_session() && others_succeeded;
        content.successes_seen = state.successes;
        content.strikes += u32::from(is_at_fault);
        let is_given_up = content.strikes >= STRIKES_MAX;
        drop(content);
        if is_given_up && let Some(at) = state.entries.iter().position(|other| Arc::ptr_eq(other, entry)) {
            state.drop_at(at);
        }
    }

    /// Waits until nothing waits any more.
    pub(super) async fn emptied(&self) {
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

impl State {
    /// Which entry makes room for others. It is one of the caller that has most here, so that nobody takes others' room: one that a later
    /// request of the same conversation has in its history, else the oldest.
    fn first_to_go(&self) -> usize {
        let mut held: BTreeMap<Tenant, usize> = BTreeMap::new();
        for entry in &self.entries {
            *held.entry(entry.tenant).or_default() += entry.bytes.max(1);
        }
        let most = held.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(tenant, _)| tenant);
        let is_theirs = |entry: &&Arc<Entry>| Some(entry.tenant) == most;
        let is_had_later = |entry: &Arc<Entry>| self.conversations.get(&entry.key).is_some_and(|all| *all > 1);
        let had_later = self.entries.iter().position(|entry| is_theirs(&entry) && is_had_later(entry));
        had_later.or_else(|| self.entries.iter().position(|entry| is_theirs(&entry))).unwrap_or(0)
    }

    fn remove(&mut self, at: usize) -> Option<Arc<Entry>> {
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
            entry.content().drop_all();
        }
    }
}
