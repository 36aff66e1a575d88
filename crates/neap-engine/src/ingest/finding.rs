//! Which session a history belongs to, and how much of it is known.

use neap_core::ids::{SessionId, TurnNo};
use neap_core::ingest::{Chain, Heard, Verdict, first_answered, first_spoken, judge, new_session};

use super::lines::{HeardLine, Room, Shared, locked};
use crate::engine::Engine;
use crate::error::EngineError;

/// Places that are looked up at once.
const AT_ONCE: usize = 16;

/// How much of a request was heard before.
pub(super) struct Found {
    pub(super) verdict: Verdict,
    /// Items that are in the session already.
    pub(super) own: usize,
    /// Items that say only what is in the session already, in other words.
    pub(super) told: usize,
}

impl Engine {
    /// The session that a request names; else the one whose history it goes on from, else a new one.
    pub(super) async fn line_of(
        &self,
        named: Option<SessionId>,
        heard: &Heard,
        chain: &Chain,
        room: &mut Room<'_>,
    ) -> Result<(SessionId, Shared), EngineError> {
        let session = match named {
            Some(session) => session,
            None => self.unnamed(heard, chain, room).await?,
        };
        let line = self.parts.lines.get(&self.parts, &session).await?;
        Ok((session, line))
    }

    async fn unnamed(&self, heard: &Heard, chain: &Chain, room: &mut Room<'_>) -> Result<SessionId, EngineError> {
        if heard.signals.response.is_some() {
            let known = self.parts.store.linked(&[chain.start()]).await?.pop().unwrap_or_default();
            return Ok(known.into_iter().next().map_or_else(|| new_session(chain), |(session, _)| session));
        }
        let (reach, sessions) = self.reach(chain, None).await?;
        if reach < first_spoken(heard) {
            return Ok(new_session(chain));
        }
        // Of sessions that share this history, the one where it ends here; else it is a branch, and a new one.
        for (session, _) in sessions.iter().rev() {
            let line = self.parts.lines.get(&self.parts, session).await?;
            let line = locked(line, room).await;
            let verdict = judge(line.live.state.head().line.as_ref(), reach, 0, chain, &heard.items);
            if verdict != Verdict::Edit {
                return Ok(session.clone());
            }
        }
        Ok(new_session(chain))
    }

    /// What is known of a request in its session. One that goes on from where we left off need not be held against what other processes
    /// wrote, if nothing is done with it but to record what is new: that is refused where they were first, and then looked at again. Until then
    /// the verdict is what it is without them.
    pub(super) async fn found(
        &self,
        line: &mut HeardLine,
        session: &SessionId,
        heard: &Heard,
        chain: &Chain,
        is_only_recorded: bool,
    ) -> Result<Found, EngineError> {
        let store = self.parts.store.as_ref();
        let mut at_end = at_end(line, chain);
        let is_refused_if_late = is_only_recorded && at_end.is_some_and(|own| own < heard.items.len());
        // A request that was dropped half-way, or another process.
        if line.live.is_ahead_of_store()
            || !is_refused_if_late && store.seq(session).await? != line.live.state.seq()
        {
            line.live.reload(store).await?;
            at_end = self::at_end(line, chain);
        }
        let counted = |reach: usize, least: usize| if reach < least { 0 } else { reach };
        let own = match at_end {
            Some(own) => own,
            None => self.reach(chain, Some(session)).await?.0,
        };
        let known = line.live.state.head().line.as_ref();
        let others = match known {
            Some(_) => 0,
            None => self.reach(chain, None).await?.0,
        };
        let (own_counted, others) = (counted(own, first_spoken(heard)), counted(others, first_answered(heard)));
        let verdict = judge(known, own_counted, others, chain, &heard.items);
        Ok(Found { verdict, own, told: 0 })
    }

    /// Where all of a history is recorded already, if it is.
    pub(super) async fn recorded_in(
        &self,
        named: Option<&SessionId>,
        heard: &Heard,
        chain: &Chain,
    ) -> Result<Option<(SessionId, TurnNo)>, EngineError> {
        let (reach, sessions) = self.reach(chain, named).await?;
        let is_whole = reach == chain.links().len() && reach >= first_spoken(heard);
        let is_it = |session: &SessionId| named.is_none_or(|named| named == session);
        Ok(sessions.into_iter().rev().find(|(session, _)| is_whole && is_it(session)))
    }

    /// The longest beginning that was heard before, in a session or in any, and where. Whoever was heard, all before it was.
    async fn reach(
        &self,
        chain: &Chain,
        session: Option<&SessionId>,
    ) -> Result<(usize, Vec<(SessionId, TurnNo)>), EngineError> {
        let (mut known, mut unknown) = (chain.unlinked(), chain.links().len() + 1);
        let mut found = Vec::new();
        while unknown - known > 1 {
            let step = ((unknown - known) / AT_ONCE).max(1);
            let mut probes: Vec<usize> = (known + 1..unknown).rev().step_by(step).take(AT_ONCE).collect();
            probes.reverse();
            let digests: Vec<_> = probes.iter().map(|items| chain.upto(*items)).collect();
            let linked = self.parts.store.linked(&digests).await?;
            let is_known = |sessions: &[(SessionId, TurnNo)]| match session {
                Some(wanted) => sessions.iter().any(|(id, _)| id == wanted),
                None => !sessions.is_empty(),
            };
            let last = linked.iter().rposition(|sessions| is_known(sessions));
            let before = known;
            if let Some(at) = last {
                known = probes[at];
                found.clone_from(&linked[at]);
            }
            unknown = match last {
                Some(at) => probes.get(at + 1).copied().unwrap_or(unknown),
                None => probes.first().copied().unwrap_or(before + 1),
            };
        }
        Ok((known, found))
    }
}

/// How many items there are up to the end of what was heard, if the request goes on from there.
fn at_end(line: &HeardLine, chain: &Chain) -> Option<usize> {
    let known = line.live.state.head().line.as_ref()?;
    let ends_with = |items: &usize| known.answered.contains(&chain.upto(*items));
    let answered = (1..=chain.links().len()).rev().find(ends_with);
    answered.or_else(|| (chain.asked() == known.asked).then(|| chain.stem()))
}
