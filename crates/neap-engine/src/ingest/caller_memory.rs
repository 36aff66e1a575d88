//! Finds the agent and the files session of a caller's models, both named by the caller's whole digest (I11).
//!
//! Older names have 32 bits of a key's digest, which another key may share. On your own machine the one used last
//! continues. With several callers, an agent continues only if every session named by its records is the caller's
//! (and at least one is named); its stream then records its owner. Files do not say where they come from, and
//! start over.

use std::collections::BTreeSet;

use neap_core::base::ids::{AgentId, Seq, SessionId, Stamp};
use neap_core::client::HistoryHead;
use neap_core::session::event::ClientEvent;
use neap_model::caller::Caller;

use super::session_cache::check_owner;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::stream::{OpenStream, Recorder};

const AGENT: &str = "proxy";
const FILES_NAME: &str = "memories";
const LEGACY_DIGEST_DIGITS: usize = 8;
/// Most records that are checked for their owner. A larger agent starts over: the rest may be another's.
const RECORDS_MAX: usize = 65_536;

impl Engine {
    pub(super) async fn agent_for(&self, caller: &Caller) -> Result<AgentId, EngineError> {
        let own = AgentId::with_digest(AGENT, caller.tenant.digest());
        if self.parts.store.last_seq(&own.stream()).await? > Seq(0) {
            self.claim_agent(&own, caller).await?;
            return Ok(own);
        }
        let legacy = match caller.needs_proof() {
            false => {
                self.parts.session_cache.legacy.agent.get_or_try_init(|| self.latest_legacy_agent()).await?.clone()
            }
            true => self.proven_agent(caller).await?,
        };
        let Some(legacy) = legacy else { return Ok(own) };
        match self.claim_agent(&legacy, caller).await {
            Ok(()) => Ok(legacy),
            Err(EngineError::NoSession(_)) => Ok(own),
            Err(error) => Err(error),
        }
    }

    /// Records an agent's owner, with several callers; [`EngineError::NoSession`] if it has another.
    async fn claim_agent(&self, agent: &AgentId, caller: &Caller) -> Result<(), EngineError> {
        let mut stream = OpenStream::load(self.parts.store.as_ref(), agent.stream()).await?;
        let mut recorder = Recorder::new(&self.parts);
        loop {
            check_owner(&stream, &caller.tenant)?;
            if stream.state.head().tenant.is_some() || !caller.needs_proof() {
                return Ok(());
            }
            // No history: the head is where every history of this caller begins.
            let history = HistoryHead { asked: *caller.tenant.digest(), answered: Vec::new() };
            let (turn, links, tenant) = (stream.state.turn(), Vec::new(), Some(caller.tenant));
            let claimed = ClientEvent::HistoryLinked { turn, links, history, tenant };
            let decided = vec![stream.state.record(self.parts.clock.now(), claimed)];
            if !recorder.commit(&mut stream, decided).await?.is_stale() {
                return Ok(());
            }
        }
    }

    pub(super) async fn files_session_for(&self, caller: &Caller) -> Result<SessionId, EngineError> {
        let own = SessionId::with_digest(FILES_NAME, caller.tenant.digest());
        if caller.needs_proof() || self.parts.store.last_seq(&own).await? > Seq(0) {
            return Ok(own);
        }
        let legacy =
            self.parts.session_cache.legacy.files.get_or_try_init(|| self.latest_legacy_files()).await?.clone();
        Ok(legacy.unwrap_or(own))
    }

    async fn latest_legacy_agent(&self) -> Result<Option<AgentId>, EngineError> {
        let all = self.parts.store.agents().await?.into_iter();
        let old = all.filter(|info| !info.scrubbed && is_legacy_name(info.agent.as_str(), AGENT));
        Ok(latest(old.map(|info| (info.updated, info.agent))))
    }

    async fn latest_legacy_files(&self) -> Result<Option<SessionId>, EngineError> {
        let all = self.parts.store.sessions().await?.into_iter();
        let old = all.filter(|info| !info.scrubbed && is_legacy_name(info.session.as_str(), FILES_NAME));
        Ok(latest(old.map(|info| (info.updated, info.session))))
    }

    /// The older agent of the caller's key, if it is the caller's already, or if all sessions that its records
    /// name are the caller's: others may have used the same key.
    async fn proven_agent(&self, caller: &Caller) -> Result<Option<AgentId>, EngineError> {
        let Some(earlier) = caller.legacy_tenant else { return Ok(None) };
        let Ok(agent) = AgentId::from_name(&format!("{AGENT} {}", earlier.digest().short_hex())) else {
            return Ok(None);
        };
        let store = self.parts.store.as_ref();
        let agent_owner = store.load(&agent.stream()).await?.and_then(|state| state.head().tenant);
        if agent_owner.is_some() {
            return Ok(Some(agent).filter(|_| agent_owner == Some(caller.tenant)));
        }
        let records = store.list_memories(&agent.stream(), None, None, RECORDS_MAX).await?;
        let is_all = records.len() < RECORDS_MAX;
        let sessions: BTreeSet<SessionId> =
            records.into_iter().filter_map(|record| record.provenance.session).collect();
        let mut is_own = is_all && !sessions.is_empty();
        for session in sessions {
            let owner = store.load(&session).await?.and_then(|state| state.head().tenant);
            is_own &= owner == Some(caller.tenant);
        }
        Ok(Some(agent).filter(|_| is_own))
    }
}

fn is_legacy_name(name: &str, kind: &str) -> bool {
    let digits = name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
    digits.is_some_and(|digits| {
        digits.len() == LEGACY_DIGEST_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn latest<T: Ord>(all: impl Iterator<Item = (Stamp, T)>) -> Option<T> {
    all.max().map(|(_, last)| last)
}
