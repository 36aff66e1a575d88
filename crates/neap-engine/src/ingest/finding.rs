//! Which session a history belongs to, and how much of it is known.
//!
//! A session's id has the whole digest of what it is known by, its caller included, and its stream says whose it is; both have to agree (I11).
//! Streams that are older than that have ids of 32 bits and say nothing. On one's own machine they are the one caller's. Where there are several,
//! only who brings along the whole history, under the key that it was recorded with, goes on with one: the digests of a history
//! begin with the caller, and nobody else can make them. From then on the stream says whose it is.

use neap_core::ids::{SessionId, TurnNo};
use neap_core::ingest::{Caller, Chain, Heard, SessionName, Tenant, Verdict, first_answered, first_spoken, judge};
use neap_model::compute::in_place;
use tokio::sync::OwnedMutexGuard;

use super::adopting::Older;
use super::lines::{HeardLine, Room, check_owner, locked};
use crate::engine::Engine;
use crate::error::EngineError;

/// Places that are looked up at once.
const AT_ONCE: usize = 16;
/// So many streams of one name may turn out to be somebody else's: more than one never does by chance.
const BESIDE_MAX: u32 = 8;

/// How much of a request was heard before.
pub(super) struct Found {
    pub(super) verdict: Verdict,
    /// Items that are in the session already.
    pub(super) own: usize,
    /// Items that say only what is in the session already, in other words.
    pub(super) told: usize,
}

/// The session that a request goes on with, or begins.
struct Stream {
    session: SessionId,
    line: OwnedMutexGuard<HeardLine>,
    /// How its history is known, where that is not how the request's is.
    older: Option<Older>,
}

impl Engine {
    /// The session that a request names; else the one whose history it goes on from, else a new one. Nobody else works on it until it is let go.
    pub(super) async fn line_of(
        &self,
        caller: &Caller,
        heard: &Heard,
        chain: &Chain,
        room: &mut Room<'_>,
    ) -> Result<(SessionId, OwnedMutexGuard<HeardLine>), EngineError> {
        let Stream { session, mut line, older } = self.stream_of(caller, heard, chain, room).await?;
        if let Some(older) = older {
            self.adopt(&mut line, chain, &older).await?;
        }
        Ok((session, line))
    }

    async fn stream_of(
        &self,
        caller: &Caller,
        heard: &Heard,
        chain: &Chain,
        room: &mut Room<'_>,
    ) -> Result<Stream, EngineError> {
        let found = match heard.signals.identity(&caller.tenant) {
            Some(identity) => {
                let begun = self.begun(caller, &identity.name, chain, room).await?;
                if begun.line.live.state.head().session.is_some() {
                    return Ok(begun);
                }
                let before = self.named_before(caller, &identity.name, heard, chain, room).await?;
                return Ok(before.unwrap_or(begun));
            }
            None if heard.signals.response.is_some() => self.answered_before(caller, heard, chain, room).await?,
            None => self.heard_before(caller, heard, chain, room).await?,
        };
        match found {
            Some(found) => Ok(found),
            None => self.begun(caller, &SessionName::of_history(chain), chain, room).await,
        }
    }

    /// The session of this name, whether it was begun or not.
    async fn begun(
        &self,
        caller: &Caller,
        name: &SessionName,
        chain: &Chain,
        room: &mut Room<'_>,
    ) -> Result<Stream, EngineError> {
        for others in 0..BESIDE_MAX {
            let session = name.id_beside(others);
            let Some(line) = self.line(caller, &session, room).await? else { continue };
            let is_new = line.live.state.head().session.is_none();
            if is_new || is_own(caller, &line) || is_shown(caller, &line, chain) {
                return Ok(Stream { session, line, older: None });
            }
        }
        Err(EngineError::NoSession(name.id()))
    }

    /// A session of this name that has another id, since it is older than ids are what they are now.
    async fn named_before(
        &self,
        caller: &Caller,
        name: &SessionName,
        heard: &Heard,
        chain: &Chain,
        room: &mut Room<'_>,
    ) -> Result<Option<Stream>, EngineError> {
        let known = self.parts.store.linked(&[name.mark()]).await?.pop().unwrap_or_default();
        for (session, _) in known {
            if let Some(line) = self.line(caller, &session, room).await?
                && is_own(caller, &line)
            {
                return Ok(Some(Stream { session, line, older: None }));
            }
        }
        for tenant in earlier(caller) {
            let Some(identity) = heard.signals.identity(&tenant) else { continue };
            let session = identity.name.old_id();
            let Some(line) = self.line(caller, &session, room).await? else { continue };
            let then = chain_of(&tenant, heard);
            let is_there = line.live.state.head().session.is_some();
            if is_there && (is_own(caller, &line) || is_shown(caller, &line, &then)) {
                let older = (then != *chain).then_some(Older { chain: then, mark: Some(name.mark()) });
                return Ok(Some(Stream { session, line, older }));
            }
        }
        Ok(None)
    }

    /// The session in which the answer was given that a request names.
    async fn answered_before(
        &self,
        caller: &Caller,
        heard: &Heard,
        chain: &Chain,
        room: &mut Room<'_>,
    ) -> Result<Option<Stream>, EngineError> {
        for tenant in every(caller) {
            let own = chain_of(&tenant, heard);
            let known = self.parts.store.linked(&[own.start()]).await?.pop().unwrap_or_default();
            for (session, _) in known {
                let Some(line) = self.line(caller, &session, room).await? else { continue };
                // Others may have shown the same key before, and the id of an answer is no history: where it has to be proven, a stream
                // without an owner is begun anew.
                let is_ours = own == *chain || is_own(caller, &line) || !caller.must_prove();
                if is_ours {
                    let older = (own != *chain).then_some(Older { chain: own, mark: None });
                    return Ok(Some(Stream { session, line, older }));
                }
            }
        }
        Ok(None)
    }

    /// The session whose history a request goes on from.
    async fn heard_before(
        &self,
        caller: &Caller,
        heard: &Heard,
        chain: &Chain,
        room: &mut Room<'_>,
    ) -> Result<Option<Stream>, EngineError> {
        for tenant in every(caller) {
            let own = chain_of(&tenant, heard);
            let (reach, sessions) = self.reach(&own, None).await?;
            if reach < first_spoken(heard) {
                continue;
            }
            // Of sessions that share this history, the one where it ends here; else it is a branch, and a new one.
            for (session, _) in sessions.into_iter().rev() {
                let Some(line) = self.line(caller, &session, room).await? else { continue };
                let verdict = judge(line.live.state.head().line.as_ref(), reach, 0, &own, &heard.items);
                let is_ours = own == *chain || is_own(caller, &line) || is_shown(caller, &line, &own);
                if is_ours && verdict != Verdict::Edit {
                    let older = (own != *chain).then_some(Older { chain: own, mark: None });
                    return Ok(Some(Stream { session, line, older }));
                }
            }
            break;
        }
        Ok(None)
    }

    /// A stream, for a caller who may go on with it; none if it is somebody else's.
    async fn line(
        &self,
        caller: &Caller,
        session: &SessionId,
        room: &mut Room<'_>,
    ) -> Result<Option<OwnedMutexGuard<HeardLine>>, EngineError> {
        let mut line = match self.parts.lines.get(&self.parts, session, &caller.tenant).await {
            Ok(line) => locked(line, room).await,
            Err(EngineError::NoSession(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        // What was decided and never became durable says neither whose it is nor where its history ends.
        if line.live.is_ahead_of_store() {
            line.live.reload(self.parts.store.as_ref()).await?;
        }
        Ok(check_owner(&line.live, &caller.tenant).is_ok().then_some(line))
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
            check_owner(&line.live, &line.owner)?;
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

    /// Where all of a history is recorded already, if it is: in a session, or in any.
    pub(super) async fn recorded_in(
        &self,
        wanted: Option<&SessionId>,
        heard: &Heard,
        chain: &Chain,
    ) -> Result<Option<(SessionId, TurnNo)>, EngineError> {
        let (reach, sessions) = self.reach(chain, wanted).await?;
        let is_whole = reach == chain.links().len() && reach >= first_spoken(heard);
        let is_it = |session: &SessionId| wanted.is_none_or(|wanted| wanted == session);
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

/// The digests of a history, as another than its caller would know it.
fn chain_of(tenant: &Tenant, heard: &Heard) -> Chain {
    // A token is a byte or more.
    in_place(heard.tokens().0 as usize, || Chain::of(tenant, heard))
}

/// Whom a caller was known as before.
fn earlier(caller: &Caller) -> Vec<Tenant> {
    let own = Some(caller.tenant).filter(|_| !caller.must_prove());
    own.into_iter().chain(caller.earlier).collect()
}

/// Whom a caller is and was known as.
fn every(caller: &Caller) -> Vec<Tenant> {
    let mut all = vec![caller.tenant];
    all.extend(caller.earlier.filter(|earlier| *earlier != caller.tenant));
    all
}

/// Whether a stream says that it is this caller's.
fn is_own(caller: &Caller, line: &HeardLine) -> bool {
    line.live.state.head().tenant == Some(caller.tenant)
}

/// Whether a stream that does not say whose it is is shown to be this caller's: by a history that ends where it ends.
fn is_shown(caller: &Caller, line: &HeardLine, chain: &Chain) -> bool {
    let head = line.live.state.head();
    // Where nothing was ever heard, somebody else made the stream: a file that was taken in names itself, and may be called as a history is.
    let is_open = head.tenant.is_none() && head.line.is_some();
    is_open && (!caller.must_prove() || reaches_end(line, chain))
}

/// Whether all that was last answered in a stream, or asked where there is no answer, is in a history word for word. What was asked alone
/// many ask alike (`hi`).
fn reaches_end(line: &HeardLine, chain: &Chain) -> bool {
    let Some(known) = &line.live.state.head().line else { return false };
    let ends = if known.answered.is_empty() { std::slice::from_ref(&known.asked) } else { &known.answered[..] };
    // A history in which nothing was said is known to everybody.
    let mut said = chain.links().iter().filter(|link| **link != chain.start());
    said.any(|link| ends.contains(link))
}

/// How many items there are up to the end of what was heard, if the request goes on from there.
fn at_end(line: &HeardLine, chain: &Chain) -> Option<usize> {
    let known = line.live.state.head().line.as_ref()?;
    let ends_with = |items: &usize| known.answered.contains(&chain.upto(*items));
    let answered = (1..=chain.links().len()).rev().find(ends_with);
    answered.or_else(|| (chain.asked() == known.asked).then(|| chain.stem()))
}
