//! The histories in play, each in memory for as long as it is used.
//!
//! A cache: what is not here is read from the store, and its next request that does not fit begins an epoch.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use neap_core::ids::{AgentId, SessionId};
use neap_core::ingest::{Frozen, Shadow, Tenant, Topics};
use neap_model::bpe::counter_for;
use neap_model::wire::heard::Counts;
use tokio::sync::{OnceCell, OwnedMutexGuard, Semaphore, SemaphorePermit};

use super::unrecorded::Cuts;
use crate::error::EngineError;
use crate::live::Live;
use crate::parts::Parts;

/// Histories that are kept in memory, at most.
const KEPT_MAX: usize = 256;
/// Requests that are looked at at once: more would only wait for each other, each with all that was read of it.
const AT_ONCE: usize = 8;

/// One history.
pub(crate) struct HeardLine {
    pub(crate) live: Live,
    /// Whose requests go on with it.
    pub(super) owner: Tenant,
    /// What it is about.
    pub(super) topics: Topics,
    /// Whether what was said last ends the work in play.
    pub(super) is_over: bool,
    /// How it is cut.
    pub(crate) frozen: Option<Frozen>,
    /// How often it was.
    pub(super) epochs: u64,
    /// Whether tools of ours are offered in it, if that is known.
    pub(super) offers: Option<bool>,
    /// Whether its model has taken its efforts into its own hands.
    pub(super) steers: bool,
    /// What was really said where the client has only what it was given.
    pub(crate) shadows: Vec<Shadow>,
}

/// A history that one request at a time works on.
pub(super) type Shared = Arc<tokio::sync::Mutex<HeardLine>>;

/// A place among those that are looked at; none of whoever has left it, or waited too long for one.
pub(super) type Room<'a> = Option<SemaphorePermit<'a>>;

/// Locks a history. Whoever would have to wait for it leaves the room to others.
pub(super) async fn locked(line: Shared, room: &mut Room<'_>) -> OwnedMutexGuard<HeardLine> {
    if let Ok(line) = line.clone().try_lock_owned() {
        return line;
    }
    *room = None;
    line.lock_owned().await
}

/// Fails where a stream is somebody else's, as if it were not there (I11). One without an owner may be anybody's: who goes on with it has to
/// be found out otherwise.
pub(super) fn check_owner(live: &Live, owner: &Tenant) -> Result<(), EngineError> {
    match live.state.head().tenant {
        Some(known) if known != *owner => Err(EngineError::NoSession(live.id.clone())),
        Some(_) | None => Ok(()),
    }
}

/// All of them.
pub(crate) struct Lines {
    kept: Mutex<Kept>,
    counts: Mutex<BTreeMap<String, Counts>>,
    pub(super) cuts: Cuts,
    room: Semaphore,
    /// Where one's own machine kept memories while their places had 32 bits of a key's digest.
    pub(super) older: Older,
}

/// What is older than it is named now, once it was looked for.
#[derive(Default)]
pub(super) struct Older {
    pub(super) agent: OnceCell<Option<AgentId>>,
    pub(super) files: OnceCell<Option<SessionId>>,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            counts: Mutex::default(),
            cuts: Cuts::default(),
            room: Semaphore::new(AT_ONCE),
            older: Older::default(),
        }
    }
}

#[derive(Default)]
struct Kept {
    /// What one caller has is never given to another, whatever the session is called.
    lines: BTreeMap<(Tenant, SessionId), (u64, Shared)>,
    /// Grows with each use.
    uses: u64,
}

impl Lines {
    /// None yet, with tokens counted as others count them: what was counted before need not be counted again.
    pub(super) fn counting(encoding: &str, counts: Counts) -> Self {
        Self { counts: Mutex::new([(encoding.to_owned(), counts)].into()), ..Self::default() }
    }

    /// Waits until there is room for one more request. Whoever has waited for as long as it may goes on without.
    pub(super) async fn enter(&self, limit: Option<Duration>) -> Room<'_> {
        let entering = self.room.acquire();
        let entered = match limit {
            Some(limit) => tokio::time::timeout(limit, entering).await.ok()?,
            None => entering.await,
        };
        entered.ok()
    }

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

    /// A session's history, for the caller whose it is.
    pub(super) async fn get(&self, parts: &Parts, id: &SessionId, owner: &Tenant) -> Result<Shared, EngineError> {
        let place = (*owner, id.clone());
        if let Some(line) = self.known(&place) {
            return Ok(line);
        }
        let live = Live::load(parts.store.as_ref(), id.clone()).await?;
        check_owner(&live, owner)?;
        let topics = live.state.active().map_or_else(Topics::default, |effort| {
            let task = live.state.head().task.as_deref().unwrap_or_default();
            Topics::resumed(&format!("{} {task}", effort.name))
        });
        let line = HeardLine {
            live,
            owner: *owner,
            topics,
            is_over: false,
            frozen: None,
            epochs: 0,
            offers: None,
            steers: false,
            shadows: Vec::new(),
        };
        let line = Arc::new(tokio::sync::Mutex::new(line));
        Ok(self.keep(place, line))
    }

    /// All that are kept.
    pub(crate) fn shared(&self) -> Vec<Arc<tokio::sync::Mutex<HeardLine>>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.lines.values().map(|(_, line)| line.clone()).collect()
    }

    /// Those that count tokens, by encoding.
    pub(crate) fn counts_kept(&self) -> &Mutex<BTreeMap<String, Counts>> {
        &self.counts
    }

    fn known(&self, place: &(Tenant, SessionId)) -> Option<Shared> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { lines, uses } = &mut *kept;
        *uses += 1;
        let (used, line) = lines.get_mut(place)?;
        *used = *uses;
        Some(line.clone())
    }

    /// Keeps a history, or gives the one that another request has loaded meanwhile.
    fn keep(&self, place: (Tenant, SessionId), line: Shared) -> Shared {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { lines, uses } = &mut *kept;
        *uses += 1;
        let line = lines.entry(place).or_insert((*uses, line)).1.clone();
        // Many at once may all have been in use.
        while lines.len() > KEPT_MAX {
            let idle = lines.iter().filter(|(_, (_, line))| Arc::strong_count(line) == 1);
            let Some(longest) = idle.min_by_key(|(_, (used, _))| *used).map(|(place, _)| place.clone()) else {
                break;
            };
            lines.remove(&longest);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use neap_store::MemStore;

    use super::*;
    use crate::engine::Engine;

    /// All may be in use at once; when they no longer are, only so many are kept.
    #[tokio::test]
    async fn those_that_were_in_use_together_do_not_all_stay() {
        let engine = Engine::builder(Arc::new(MemStore::default())).build();
        let lines = &engine.parts.lines;
        let mut used = Vec::new();
        for n in 0..KEPT_MAX + 50 {
            let id = SessionId::from_name(&format!("s{n}")).unwrap();
            used.push(lines.get(&engine.parts, &id, &Tenant::local()).await.unwrap());
        }
        let kept = || lines.kept.lock().unwrap().lines.len();
        assert_eq!(kept(), KEPT_MAX + 50);
        used.clear();
        lines.get(&engine.parts, &SessionId::from_name("one more").unwrap(), &Tenant::local()).await.unwrap();
        assert_eq!(kept(), KEPT_MAX);
    }

    /// Whoever has waited long enough goes on, however many are before it.
    #[tokio::test]
    async fn nobody_waits_for_ever_to_enter() {
        let lines = Lines::default();
        let mut inside = Vec::new();
        for _ in 0..AT_ONCE {
            inside.push(lines.enter(None).await.expect("there is room"));
        }
        assert!(lines.enter(Some(Duration::from_millis(20))).await.is_none());
        inside.pop();
        assert!(lines.enter(Some(Duration::from_secs(1))).await.is_some());
    }
    /// A history that another works on keeps its own requests waiting, not those of others.
    #[tokio::test]
    async fn whoever_waits_for_a_history_leaves_the_room() {
        let engine = Engine::builder(Arc::new(MemStore::default())).build();
        let lines = &engine.parts.lines;
        let line =
            lines.get(&engine.parts, &SessionId::from_name("busy").unwrap(), &Tenant::local()).await.unwrap();
        let mut room = lines.enter(None).await;
        let worked_on = locked(line.clone(), &mut room).await;
        assert!(room.is_some(), "nobody had to be waited for");
        let waiting = tokio::time::timeout(Duration::from_millis(20), locked(line, &mut room)).await;
        assert!(waiting.is_err() && room.is_none());
        drop(worked_on);
    }
}
