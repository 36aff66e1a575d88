//! Where a caller's models keep what they remember: an agent, and files of the memory tool, each under the whole digest of its caller (I11).
//!
//! Before, they were named by 32 bits of a key's digest, which somebody else's key may have as well. On one's own machine the one that was used
//! last goes on. Where there are several callers, an agent goes on if all that it remembers from sessions is from sessions that are
//! known to be the caller's, and says from then on whose it is; files say nothing of where they come from, and are begun anew.

use std::collections::BTreeSet;

use neap_core::event::Event;
use neap_core::ids::{AgentId, Seq, SessionId, Stamp};
use neap_core::ingest::{Caller, Line};

use super::lines::check_owner;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::live::{Live, overtaken};

/// What an agent is called, and a session of files.
const AGENT: &str = "proxy";
const FILES: &str = "memories";
/// Hexadecimal digits of a digest in names of old.
const OLD_DIGITS: usize = 8;
/// Records of an older agent that are looked at for whose they are. Whoever has more begins anew: what was not looked at may be another's.
const RECORDS_MAX: usize = 65_536;

impl Engine {
    /// The agent that remembers for a caller.
    pub(super) async fn agent_of(&self, caller: &Caller) -> Result<AgentId, EngineError> {
        let own = AgentId::marked(AGENT, caller.tenant.digest());
        if self.parts.store.seq(&own.stream()).await? > Seq(0) {
            self.claim(&own, caller).await?;
            return Ok(own);
        }
        let older = match caller.must_prove() {
            false => self.parts.lines.older.agent.get_or_try_init(|| self.last_agent()).await?.clone(),
            true => self.proven_agent(caller).await?,
        };
        let Some(older) = older else { return Ok(own) };
        match self.claim(&older, caller).await {
            Ok(()) => Ok(older),
            Err(EngineError::NoSession(_)) => Ok(own),
            Err(error) => Err(error),
        }
    }

    /// Has an agent's stream say whose it is, where there are several callers; [`EngineError::NoSession`] if it says that it is another's.
    async fn claim(&self, agent: &AgentId, caller: &Caller) -> Result<(), EngineError> {
        let store = self.parts.store.as_ref();
        let mut live = Live::load(store, agent.stream()).await?;
        let mut conflicts = 0;
        loop {
            check_owner(&live, &caller.tenant)?;
            if live.state.head().tenant.is_some() || !caller.must_prove() {
                return Ok(());
            }
            // Nothing of a history: it ends where every history of this caller begins.
            let line = Line { asked: *caller.tenant.digest(), answered: Vec::new() };
            let (turn, links, tenant) = (live.state.turn(), Vec::new(), Some(caller.tenant));
            let claimed = Event::HistoryLinked { turn, links, line, tenant };
            let decided = vec![live.state.record(self.parts.clock.now(), claimed)];
            match live.commit(store, decided).await {
                Ok(()) => return Ok(()),
                Err(error) => overtaken(&mut live, store, error, &mut conflicts).await?,
            }
        }
    }

    /// The session that keeps a caller's files.
    pub(super) async fn files_of(&self, caller: &Caller) -> Result<SessionId, EngineError> {
        let own = SessionId::marked(FILES, caller.tenant.digest());
        if caller.must_prove() || self.parts.store.seq(&own).await? > Seq(0) {
            return Ok(own);
        }
        let older = self.parts.lines.older.files.get_or_try_init(|| self.last_files()).await?.clone();
        Ok(older.unwrap_or(own))
    }

    /// The agent of old that was used last.
    async fn last_agent(&self) -> Result<Option<AgentId>, EngineError> {
        let all = self.parts.store.agents().await?.into_iter();
        let old = all.filter(|info| !info.scrubbed && is_old(info.agent.as_str(), AGENT));
        Ok(last(old.map(|info| (info.updated, info.agent))))
    }

    /// The files of old that were used last.
    async fn last_files(&self) -> Result<Option<SessionId>, EngineError> {
        let all = self.parts.store.sessions().await?.into_iter();
        let old = all.filter(|info| !info.scrubbed && is_old(info.session.as_str(), FILES));
        Ok(last(old.map(|info| (info.updated, info.session))))
    }

    /// The agent of the caller's key, if all that it remembers from sessions was said in the caller's. Others may have shown the same key.
    async fn proven_agent(&self, caller: &Caller) -> Result<Option<AgentId>, EngineError> {
        let Some(earlier) = caller.earlier else { return Ok(None) };
        let Ok(agent) = AgentId::from_name(&format!("{AGENT} {}", earlier.digest().short())) else {
            return Ok(None);
        };
        let store = self.parts.store.as_ref();
        let owned = store.load(&agent.stream()).await?.and_then(|state| state.head().tenant);
        if owned.is_some() {
            return Ok(Some(agent).filter(|_| owned == Some(caller.tenant)));
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

fn is_old(name: &str, kind: &str) -> bool {
    let digits = name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
    digits.is_some_and(|digits| digits.len() == OLD_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn last<T: Ord>(all: impl Iterator<Item = (Stamp, T)>) -> Option<T> {
    all.max().map(|(_, last)| last)
}
