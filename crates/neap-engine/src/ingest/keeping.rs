//! Where a caller's models keep what they remember: an agent, and files of the memory tool, each under the whole digest of its caller (I11).
//!
//! Before, they were named by 32 bits of a key's digest, which somebody else's key may have as well. On one's own machine the one that was used
//! last goes on. Where there are several callers, an agent goes on if it remembers something from a session that is known to be the
//! caller's; files say nothing of where they come from, and are begun anew.

use std::collections::BTreeSet;

use neap_core::ids::{AgentId, Seq, SessionId, Stamp};
use neap_core::ingest::Caller;

use crate::engine::Engine;
use crate::error::EngineError;

/// What an agent is called, and a session of files.
const AGENT: &str = "proxy";
const FILES: &str = "memories";
/// Hexadecimal digits of a digest in names of old.
const OLD_DIGITS: usize = 8;
/// Records of an older agent that are looked at for whose they are, newest first.
const RECORDS_MAX: usize = 256;

impl Engine {
    /// The agent that remembers for a caller.
    pub(super) async fn agent_of(&self, caller: &Caller) -> Result<AgentId, EngineError> {
        let own = AgentId::marked(AGENT, caller.tenant.digest());
        if self.parts.store.seq(&own.stream()).await? > Seq(0) {
            return Ok(own);
        }
        let older = match caller.must_prove() {
            false => self.parts.lines.older.agent.get_or_try_init(|| self.last_agent()).await?.clone(),
            true => self.proven_agent(caller).await?,
        };
        Ok(older.unwrap_or(own))
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

    /// The agent of the caller's key, if something that it remembers was said in a session that is the caller's.
    async fn proven_agent(&self, caller: &Caller) -> Result<Option<AgentId>, EngineError> {
        let Some(earlier) = caller.earlier else { return Ok(None) };
        let Ok(agent) = AgentId::from_name(&format!("{AGENT} {}", earlier.digest().short())) else { return Ok(None) };
        let store = self.parts.store.as_ref();
        let records = store.list_memories(&agent.stream(), None, None, RECORDS_MAX).await?;
        let sessions: BTreeSet<SessionId> =
            records.into_iter().filter_map(|record| record.provenance.session).collect();
        for session in sessions {
            let owner = store.load(&session).await?.and_then(|state| state.head().tenant);
            if owner == Some(caller.tenant) {
                return Ok(Some(agent));
            }
        }
        Ok(None)
    }
}

fn is_old(name: &str, kind: &str) -> bool {
    let digits = name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
    digits.is_some_and(|digits| digits.len() == OLD_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn last<T: Ord>(all: impl Iterator<Item = (Stamp, T)>) -> Option<T> {
    all.max().map(|(_, last)| last)
}
