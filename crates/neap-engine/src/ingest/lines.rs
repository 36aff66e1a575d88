//! The histories in play, each in memory for as long as it is used.
//!
//! A cache: what is not here is read from the store, and its next request that does not fit begins an epoch.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use neap_core::ids::SessionId;
use neap_core::ingest::{Frozen, Shadow, Topics};
use neap_model::bpe::counter_for;
use neap_model::wire::heard::Counts;
use neap_store::StoreError;

use crate::live::Live;
use crate::parts::Parts;

/// Histories that are kept in memory, at most.
const KEPT_MAX: usize = 512;

/// One history.
pub(crate) struct HeardLine {
    pub(super) live: Live,
    /// What it is about.
    pub(super) topics: Topics,
    /// Whether what was said last ends the work in play.
    pub(super) is_over: bool,
    /// How it is cut.
    pub(super) frozen: Option<Frozen>,
    /// How often it was.
    pub(super) epochs: u64,
    /// Whether tools of ours are offered in it, if that is known.
    pub(super) offers: Option<bool>,
    /// Whether its model has taken its efforts into its own hands.
    pub(super) steers: bool,
    /// What was really said where the client has only what it was given.
    pub(super) shadows: Vec<Shadow>,
}

/// A history that one request at a time works on.
pub(super) type Shared = Arc<tokio::sync::Mutex<HeardLine>>;

/// All of them.
#[derive(Default)]
pub(crate) struct Lines {
    kept: Mutex<Kept>,
    counts: Mutex<BTreeMap<String, Counts>>,
}

#[derive(Default)]
struct Kept {
    lines: BTreeMap<SessionId, (u64, Shared)>,
    /// Grows with each use.
    uses: u64,
}

impl Lines {
    /// How tokens are counted.
    pub(super) fn counts(&self, encoding: &str) -> Counts {
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = all.get(encoding) {
            return counts.clone();
        }
        let counts = Counts::new(counter_for(encoding));
        all.insert(encoding.to_owned(), counts.clone());
        counts
    }

    /// A session's history.
    pub(super) async fn get(&self, parts: &Parts, id: &SessionId) -> Result<Shared, StoreError> {
        if let Some(line) = self.known(id) {
            return Ok(line);
        }
        let live = Live::load(parts.store.as_ref(), id.clone()).await?;
        let topics = live.state.active().map_or_else(Topics::default, |effort| {
            let task = live.state.head().task.as_deref().unwrap_or_default();
            Topics::resumed(&format!("{} {task}", effort.name))
        });
        let line = HeardLine {
            live,
            topics,
            is_over: false,
            frozen: None,
            epochs: 0,
            offers: None,
            steers: false,
            shadows: Vec::new(),
        };
        let line = Arc::new(tokio::sync::Mutex::new(line));
        Ok(self.keep(id, line))
    }

    fn known(&self, id: &SessionId) -> Option<Shared> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { lines, uses } = &mut *kept;
        *uses += 1;
        let (used, line) = lines.get_mut(id)?;
        *used = *uses;
        Some(line.clone())
    }

    /// Keeps a history, or gives the one that another request has loaded meanwhile.
    fn keep(&self, id: &SessionId, line: Shared) -> Shared {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { lines, uses } = &mut *kept;
        *uses += 1;
        let line = lines.entry(id.clone()).or_insert((*uses, line)).1.clone();
        if lines.len() > KEPT_MAX {
            let idle = lines.iter().filter(|(_, (_, line))| Arc::strong_count(line) == 1);
            let longest = idle.min_by_key(|(_, (used, _))| *used).map(|(id, _)| id.clone());
            longest.and_then(|id| lines.remove(&id));
        }
        line
    }
}
