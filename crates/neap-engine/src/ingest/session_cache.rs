//! Client histories in memory. What is not here is read from the store, and its next request that does not fit
//! begins an epoch.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use neap_core::base::ids::{AgentId, SessionId};
use neap_core::base::project_id::Place;
use neap_core::base::token_ratio::TokenRatios;
use neap_core::client::{CutPlan, EffortTracker, HiddenToolTurns, RequestAccount, Tenant, TopicTracker};
use neap_core::session::live_message::LiveMessage;
use neap_model::bpe::counter_for;
use neap_model::wire::request::CachedCounter;
use tokio::sync::{OnceCell, OwnedMutexGuard, Semaphore, SemaphorePermit};

use super::plan::ModelRatios;
use super::store_outage::CutPlanCache;
use crate::error::EngineError;
use crate::parts::Parts;
use crate::stream::OpenStream;

const SESSIONS_MAX: usize = 256;
/// More would only wait for each other, each with its parsed body in memory.
const CONCURRENT_REQUESTS_MAX: usize = 8;

pub(crate) struct ProxySession {
    pub(crate) stream: OpenStream,
    pub(super) owner: Tenant,
    pub(super) efforts: EffortTracker,
    pub(crate) cut_plan: Option<CutPlan>,
    pub(super) epochs: u64,
    /// `None` if not known yet.
    pub(super) offers_tools: Option<bool>,
    /// Turns with our tools, of which the client has only the answers.
    pub(crate) hidden_turns: Vec<HiddenToolTurns>,
    /// What the caller's person said last, until it is remembered behind the reply.
    pub(super) live_message: Option<LiveMessage>,
    /// Where its latest request came from.
    pub(super) place: Place,
}

pub(super) type SharedSession = Arc<tokio::sync::Mutex<ProxySession>>;

/// A permit to plan a request; `None` if it was released, or not granted in time.
pub(super) type RequestPermit<'a> = Option<SemaphorePermit<'a>>;

/// Locks a history. Releases the permit before waiting for another request.
pub(super) async fn lock_session(
    session: SharedSession,
    permit: &mut RequestPermit<'_>,
) -> OwnedMutexGuard<ProxySession> {
    if let Ok(session) = session.clone().try_lock_owned() {
        return session;
    }
    *permit = None;
    session.lock_owned().await
}

/// Treats another owner's stream as absent (I11). One without an owner passes: the caller's right to it must be
/// proven otherwise.
pub(super) fn check_owner(stream: &OpenStream, owner: &Tenant) -> Result<(), EngineError> {
    match stream.state.head().tenant {
        Some(known) if known != *owner => Err(EngineError::NoSession(stream.id.clone())),
        Some(_) | None => Ok(()),
    }
}

pub(crate) struct SessionCache {
    sessions: Mutex<CachedSessions>,
    counts: Mutex<BTreeMap<String, CachedCounter>>,
    pub(super) cut_plans: CutPlanCache,
    /// How models count, by what was reported to this process; a session's own ratios are in its stream.
    ratios: Arc<Mutex<TokenRatios>>,
    permits: Semaphore,
    /// This machine's memories from when names had 32 bits of a key's digest.
    pub(super) legacy: LegacyStreams,
}

#[derive(Default)]
pub(super) struct LegacyStreams {
    pub(super) agent: OnceCell<Option<AgentId>>,
    pub(super) files: OnceCell<Option<SessionId>>,
}

impl Default for SessionCache {
    fn default() -> Self {
        Self {
            sessions: Mutex::default(),
            counts: Mutex::default(),
            cut_plans: CutPlanCache::default(),
            ratios: Arc::default(),
            permits: Semaphore::new(CONCURRENT_REQUESTS_MAX),
            legacy: LegacyStreams::default(),
        }
    }
}

#[derive(Default)]
struct CachedSessions {
    /// Keyed by owner: no caller gets another's history, whatever the session's name.
    entries: BTreeMap<(Tenant, SessionId), (u64, SharedSession)>,
    /// Counts uses, for eviction.
    uses: u64,
}

impl SessionCache {
    /// An empty cache that shares what is no caller's: token counts, so that nothing is counted twice, and how models
    /// count.
    pub(super) fn sharing_counts(&self, encoding: &str) -> Self {
        let counts = Mutex::new([(encoding.to_owned(), self.counts(encoding))].into());
        Self { counts, ratios: self.ratios.clone(), ..Self::default() }
    }

    pub(super) fn model_ratios(&self) -> ModelRatios<'_> {
        ModelRatios(&self.ratios)
    }

    pub(super) fn observe_usage(&self, account: &RequestAccount) {
        if let (Some(model), Some(used)) = (account.counted_by, account.used) {
            let mut ratios = self.ratios.lock().unwrap_or_else(PoisonError::into_inner);
            ratios.observe(model, account.tokens_sent, used.input);
        }
    }

    /// Waits for a permit; after `limit`, the request continues without one.
    pub(super) async fn acquire_permit(&self, limit: Option<Duration>) -> RequestPermit<'_> {
        let entering = self.permits.acquire();
        let entered = match limit {
            Some(limit) => tokio::time::timeout(limit, entering).await.ok()?,
            None => entering.await,
        };
        entered.ok()
    }

    pub(super) fn counts(&self, encoding: &str) -> CachedCounter {
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = all.get(encoding) {
            return counts.clone();
        }
        let counts = CachedCounter::new(counter_for(encoding));
        all.insert(encoding.to_owned(), counts.clone());
        counts
    }

    pub(super) async fn get(
        &self,
        parts: &Parts,
        id: &SessionId,
        owner: &Tenant,
    ) -> Result<SharedSession, EngineError> {
        let key = (*owner, id.clone());
        if let Some(session) = self.lookup(&key) {
            return Ok(session);
        }
        let stream = OpenStream::load(parts.store.as_ref(), id.clone()).await?;
        check_owner(&stream, owner)?;
        let topics = stream.state.active_effort().map_or_else(TopicTracker::default, |effort| {
            let task = stream.state.head().task.as_deref().unwrap_or_default();
            TopicTracker::resumed(&format!("{} {task}", effort.name))
        });
        let session = ProxySession {
            stream,
            owner: *owner,
            efforts: EffortTracker { topics, ..EffortTracker::default() },
            cut_plan: None,
            epochs: 0,
            offers_tools: None,
            hidden_turns: Vec::new(),
            live_message: None,
            place: Place::Unknown,
        };
        let session = Arc::new(tokio::sync::Mutex::new(session));
        Ok(self.insert(key, session))
    }

    pub(crate) fn all_sessions(&self) -> Vec<Arc<tokio::sync::Mutex<ProxySession>>> {
        let cached = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        cached.entries.values().map(|(_, session)| session.clone()).collect()
    }

    pub(crate) fn all_counts(&self) -> Vec<CachedCounter> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn lookup(&self, key: &(Tenant, SessionId)) -> Option<SharedSession> {
        let mut cached = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let CachedSessions { entries, uses } = &mut *cached;
        *uses += 1;
        let (used, session) = entries.get_mut(key)?;
        *used = *uses;
        Some(session.clone())
    }

    /// Inserts a history, or returns the one that another request loaded meanwhile.
    fn insert(&self, key: (Tenant, SessionId), session: SharedSession) -> SharedSession {
        let mut cached = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let CachedSessions { entries, uses } = &mut *cached;
        *uses += 1;
        let session = entries.entry(key).or_insert((*uses, session)).1.clone();
        // Many at once may all have been in use.
        while entries.len() > SESSIONS_MAX {
            let idle = entries.iter().filter(|(_, (_, session))| Arc::strong_count(session) == 1);
            let Some(longest) = idle.min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone()) else {
                break;
            };
            entries.remove(&longest);
        }
        session
    }
}

#[cfg(test)]
mod tests {
    use neap_store::MemStore;

    use super::*;
    use crate::engine::Engine;

    /// All may be in use at once; afterwards only [`SESSIONS_MAX`] stay.
    #[tokio::test]
    async fn those_that_were_in_use_together_do_not_all_stay() {
        let engine = Engine::builder(Arc::new(MemStore::default())).build();
        let cache = &engine.parts.session_cache;
        let mut used = Vec::new();
        for n in 0..SESSIONS_MAX + 50 {
            let id = SessionId::from_name(&format!("s{n}")).unwrap();
            used.push(cache.get(&engine.parts, &id, &Tenant::local()).await.unwrap());
        }
        let cached = || cache.sessions.lock().unwrap().entries.len();
        assert_eq!(cached(), SESSIONS_MAX + 50);
        used.clear();
        cache.get(&engine.parts, &SessionId::from_name("one more").unwrap(), &Tenant::local()).await.unwrap();
        assert_eq!(cached(), SESSIONS_MAX);
    }

    /// A request that has waited long enough continues, however many are before it.
    #[tokio::test]
    async fn nobody_waits_for_ever_to_enter() {
        let cache = SessionCache::default();
        let mut inside = Vec::new();
        for _ in 0..CONCURRENT_REQUESTS_MAX {
            inside.push(cache.acquire_permit(None).await.expect("there is room"));
        }
        assert!(cache.acquire_permit(Some(Duration::from_millis(20))).await.is_none());
        inside.pop();
        assert!(cache.acquire_permit(Some(Duration::from_secs(1))).await.is_some());
    }
    /// A busy history delays its own requests, not those of others.
    #[tokio::test]
    async fn whoever_waits_for_a_history_leaves_the_room() {
        let engine = Engine::builder(Arc::new(MemStore::default())).build();
        let cache = &engine.parts.session_cache;
        let session =
            cache.get(&engine.parts, &SessionId::from_name("busy").unwrap(), &Tenant::local()).await.unwrap();
        let mut permit = cache.acquire_permit(None).await;
        let worked_on = lock_session(session.clone(), &mut permit).await;
        assert!(permit.is_some(), "nobody had to be waited for");
        let waiting = tokio::time::timeout(Duration::from_millis(20), lock_session(session, &mut permit)).await;
        assert!(waiting.is_err() && permit.is_none());
        drop(worked_on);
    }
}
