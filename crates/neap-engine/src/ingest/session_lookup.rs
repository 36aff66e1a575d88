//! Finds the session of a history, and how much of it is recorded.
//!
//! A session's id has the whole digest of what identifies it, caller included, and its stream names its owner;
//! both must agree (I11). Older streams have ids of 32 bits and no owner. On your own machine they are the one
//! caller's. With several callers, only the whole history under the key that recorded it continues one: its
//! digests begin with the caller, so nobody else can make them. From then on the stream names its owner
//! (`adoption`, `recording`).

use neap_core::base::ids::{SessionId, StreamId, TurnNo};
use neap_core::client::{
    Chain, ClientRequest, HistoryVerdict, SessionName, Tenant, items_to_first_message, items_to_first_reply,
    judge_history,
};
use neap_model::caller::Caller;
use neap_model::compute::run_in_place;
use tokio::sync::OwnedMutexGuard;

use super::adoption::EarlierIdentity;
use super::session_cache::{ProxySession, RequestPermit, check_owner, lock_session};
use crate::engine::Engine;
use crate::error::EngineError;

const PROBES_PER_LOOKUP: usize = 16;
/// Streams of one name that may belong to others; by chance there is never more than one.
const NAME_COLLISIONS_MAX: u32 = 8;

pub(super) struct HistoryMatch {
    pub(super) verdict: HistoryVerdict,
    pub(super) known_items: usize,
    /// Items that this session or, if it is new, any other has.
    pub(super) shared_items: usize,
    /// Items that only repeat, in other words, what is in the session already.
    pub(super) covered_items: usize,
}

struct SessionMatch {
    session: SessionId,
    proxy_session: OwnedMutexGuard<ProxySession>,
    /// How its history was identified, if not by the request's digests.
    earlier: Option<EarlierIdentity>,
}

impl Engine {
    /// Locks the session that a request names, else the one whose history it continues, else a new one.
    pub(super) async fn proxy_session_for(
        &self,
        caller: &Caller,
        request: &ClientRequest,
        chain: &Chain,
        permit: &mut RequestPermit<'_>,
    ) -> Result<(SessionId, OwnedMutexGuard<ProxySession>), EngineError> {
        let SessionMatch { session, mut proxy_session, earlier } =
            self.find_session(caller, request, chain, permit).await?;
        if let Some(earlier) = earlier {
            self.adopt_stream(&mut proxy_session, chain, &earlier).await?;
        }
        Ok((session, proxy_session))
    }

    async fn find_session(
        &self,
        caller: &Caller,
        request: &ClientRequest,
        chain: &Chain,
        permit: &mut RequestPermit<'_>,
    ) -> Result<SessionMatch, EngineError> {
        let found = match request.signals.identity(&caller.tenant) {
            Some(identity) => {
                let named = self.session_by_name(caller, &identity.name, chain, permit).await?;
                if named.proxy_session.stream.state.head().stream.is_some() {
                    return Ok(named);
                }
                let legacy = self.legacy_session_by_name(caller, &identity.name, request, chain, permit).await?;
                return Ok(legacy.unwrap_or(named));
            }
            None if request.signals.previous_response.is_some() => {
                self.session_by_response(caller, request, chain, permit).await?
            }
            None => self.session_by_history(caller, request, chain, permit).await?,
        };
        match found {
            Some(found) => Ok(found),
            None => self.session_by_name(caller, &SessionName::from_history(chain), chain, permit).await,
        }
    }

    async fn session_by_name(
        &self,
        caller: &Caller,
        name: &SessionName,
        chain: &Chain,
        permit: &mut RequestPermit<'_>,
    ) -> Result<SessionMatch, EngineError> {
        for others in 0..NAME_COLLISIONS_MAX {
            let session = name.id_after_collisions(others);
            let Some(proxy_session) = self.lock_for_caller(caller, &session, permit).await? else { continue };
            let is_new = proxy_session.stream.state.head().stream.is_none();
            if is_new || is_owned_by(caller, &proxy_session) || is_proven_by_history(caller, &proxy_session, chain)
            {
                return Ok(SessionMatch { session, proxy_session, earlier: None });
            }
        }
        Err(EngineError::NoSession(name.id().into()))
    }

    /// A session of this name under an older id.
    async fn legacy_session_by_name(
        &self,
        caller: &Caller,
        name: &SessionName,
        request: &ClientRequest,
        chain: &Chain,
        permit: &mut RequestPermit<'_>,
    ) -> Result<Option<SessionMatch>, EngineError> {
        let known = self.parts.store.sessions_by_digest(&[name.digest()]).await?.pop().unwrap_or_default();
        for (session, _) in known {
            if let Some(proxy_session) = self.lock_for_caller(caller, &session, permit).await?
                && is_owned_by(caller, &proxy_session)
            {
                return Ok(Some(SessionMatch { session, proxy_session, earlier: None }));
            }
        }
        for tenant in earlier_tenants(caller) {
            let Some(identity) = request.signals.identity(&tenant) else { continue };
            let session = identity.name.legacy_id();
            let Some(proxy_session) = self.lock_for_caller(caller, &session, permit).await? else { continue };
            let legacy_chain = chain_as(&tenant, request);
            let is_there = proxy_session.stream.state.head().stream.is_some();
            if is_there
                && (is_owned_by(caller, &proxy_session)
                    || is_proven_by_history(caller, &proxy_session, &legacy_chain))
            {
                let earlier = (legacy_chain != *chain)
                    .then_some(EarlierIdentity { chain: legacy_chain, mark: Some(name.digest()) });
                return Ok(Some(SessionMatch { session, proxy_session, earlier }));
            }
        }
        Ok(None)
    }

    /// The session with the response that a request names.
    async fn session_by_response(
        &self,
        caller: &Caller,
        request: &ClientRequest,
        chain: &Chain,
        permit: &mut RequestPermit<'_>,
    ) -> Result<Option<SessionMatch>, EngineError> {
        for tenant in all_tenants(caller) {
            let tenant_chain = chain_as(&tenant, request);
            let known =
                self.parts.store.sessions_by_digest(&[tenant_chain.start()]).await?.pop().unwrap_or_default();
            for (session, _) in known {
                let Some(proxy_session) = self.lock_for_caller(caller, &session, permit).await? else { continue };
                // Others may have used the earlier key, and a response's id is no history: with several callers, a
                // stream found under an earlier identity must name this caller as its owner.
                let is_ours =
                    tenant_chain == *chain || is_owned_by(caller, &proxy_session) || !caller.needs_proof();
                if is_ours {
                    let earlier =
                        (tenant_chain != *chain).then_some(EarlierIdentity { chain: tenant_chain, mark: None });
                    return Ok(Some(SessionMatch { session, proxy_session, earlier }));
                }
            }
        }
        Ok(None)
    }

    async fn session_by_history(
        &self,
        caller: &Caller,
        request: &ClientRequest,
        chain: &Chain,
        permit: &mut RequestPermit<'_>,
    ) -> Result<Option<SessionMatch>, EngineError> {
        for tenant in all_tenants(caller) {
            let tenant_chain = chain_as(&tenant, request);
            let (known_items, sessions) = self.known_prefix(&tenant_chain, None).await?;
            if known_items < items_to_first_message(request) {
                continue;
            }
            // Of the sessions with this history, the one that ends here; else the request is a branch.
            for (session, _) in sessions.into_iter().rev() {
                let Some(proxy_session) = self.lock_for_caller(caller, &session, permit).await? else { continue };
                let verdict = judge_history(
                    proxy_session.stream.state.head().history.as_ref(),
                    known_items,
                    0,
                    &tenant_chain,
                    &request.items,
                );
                let is_ours = tenant_chain == *chain
                    || is_owned_by(caller, &proxy_session)
                    || is_proven_by_history(caller, &proxy_session, &tenant_chain);
                if is_ours && verdict != HistoryVerdict::Edit {
                    let earlier =
                        (tenant_chain != *chain).then_some(EarlierIdentity { chain: tenant_chain, mark: None });
                    return Ok(Some(SessionMatch { session, proxy_session, earlier }));
                }
            }
            break;
        }
        Ok(None)
    }

    /// Locks a stream for a caller who may continue it; `None` if it is another's.
    async fn lock_for_caller(
        &self,
        caller: &Caller,
        session: &SessionId,
        permit: &mut RequestPermit<'_>,
    ) -> Result<Option<OwnedMutexGuard<ProxySession>>, EngineError> {
        let mut proxy_session = match self.parts.session_cache.get(&self.parts, session, &caller.tenant).await {
            Ok(proxy_session) => lock_session(proxy_session, permit).await,
            Err(EngineError::NoSession(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        // State that never became durable says neither who owns the stream nor where its history ends.
        if proxy_session.stream.is_ahead_of_store() {
            proxy_session.stream.reload(self.parts.store.as_ref()).await?;
        }
        Ok(check_owner(&proxy_session.stream, &caller.tenant).is_ok().then_some(proxy_session))
    }

    /// Matches a request with its session. Requests that are only recorded, and continue where the session ended,
    /// skip the concurrent-writer check: a late write fails and is matched again. Until then the verdict does not
    /// reflect other processes' writes.
    pub(super) async fn match_history(
        &self,
        proxy_session: &mut ProxySession,
        session: &StreamId,
        request: &ClientRequest,
        chain: &Chain,
        is_only_recorded: bool,
    ) -> Result<HistoryMatch, EngineError> {
        let store = self.parts.store.as_ref();
        let mut at_head = items_at_head(proxy_session, chain);
        let is_refused_if_late = is_only_recorded && at_head.is_some_and(|own| own < request.items.len());
        // A request was dropped midway, or another process wrote.
        if proxy_session.stream.is_ahead_of_store()
            || !is_refused_if_late && store.last_seq(session).await? != proxy_session.stream.state.seq()
        {
            proxy_session.stream.reload(store).await?;
            check_owner(&proxy_session.stream, &proxy_session.owner)?;
            at_head = self::items_at_head(proxy_session, chain);
        }
        let counted = |reach: usize, least: usize| if reach < least { 0 } else { reach };
        let own = match at_head {
            Some(own) => own,
            None => self.known_prefix(chain, Some(session)).await?.0,
        };
        let known = proxy_session.stream.state.head().history.as_ref();
        let others = match known {
            Some(_) => 0,
            None => self.known_prefix(chain, None).await?.0,
        };
        let shared_items = own.max(others);
        let (own_counted, others) =
            (counted(own, items_to_first_message(request)), counted(others, items_to_first_reply(request)));
        let verdict = judge_history(known, own_counted, others, chain, &request.items);
        Ok(HistoryMatch { verdict, known_items: own, shared_items, covered_items: 0 })
    }

    pub(super) async fn find_recorded(
        &self,
        wanted: Option<&StreamId>,
        request: &ClientRequest,
        chain: &Chain,
    ) -> Result<Option<(SessionId, TurnNo)>, EngineError> {
        let (known_items, sessions) = self.known_prefix(chain, wanted).await?;
        let is_whole = known_items == chain.links().len() && known_items >= items_to_first_message(request);
        let is_it = |session: &SessionId| wanted.is_none_or(|wanted| wanted == session);
        Ok(sessions.into_iter().rev().find(|(session, _)| is_whole && is_it(session)))
    }

    /// The longest recorded prefix, and where. Whatever is recorded, all before it is, too.
    async fn known_prefix(
        &self,
        chain: &Chain,
        session: Option<&StreamId>,
    ) -> Result<(usize, Vec<(SessionId, TurnNo)>), EngineError> {
        let (mut known, mut unknown) = (chain.unlinked_len(), chain.links().len() + 1);
        let mut found = Vec::new();
        while unknown - known > 1 {
            let step = ((unknown - known) / PROBES_PER_LOOKUP).max(1);
            let mut probes: Vec<usize> =
                (known + 1..unknown).rev().step_by(step).take(PROBES_PER_LOOKUP).collect();
            probes.reverse();
            let digests: Vec<_> = probes.iter().map(|items| chain.prefix_digest(*items)).collect();
            let linked = self.parts.store.sessions_by_digest(&digests).await?;
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

fn chain_as(tenant: &Tenant, request: &ClientRequest) -> Chain {
    // A token is a byte or more.
    run_in_place(request.tokens().0 as usize, || Chain::from_request(tenant, request))
}

/// Identities under which a caller's older streams may be recorded.
fn earlier_tenants(caller: &Caller) -> Vec<Tenant> {
    let own = Some(caller.tenant).filter(|_| !caller.needs_proof());
    own.into_iter().chain(caller.legacy_tenant).collect()
}

fn all_tenants(caller: &Caller) -> Vec<Tenant> {
    let mut all = vec![caller.tenant];
    all.extend(caller.legacy_tenant.filter(|earlier| *earlier != caller.tenant));
    all
}

fn is_owned_by(caller: &Caller, proxy_session: &ProxySession) -> bool {
    proxy_session.stream.state.head().tenant == Some(caller.tenant)
}

/// Whether a client's stream without an owner is this caller's: always with one caller; with several, only if the
/// history contains the stream's end.
fn is_proven_by_history(caller: &Caller, proxy_session: &ProxySession, chain: &Chain) -> bool {
    let head = proxy_session.stream.state.head();
    // Without a head, the stream is not a client's: an imported file may have the name of a history.
    let is_open = head.tenant.is_none() && head.history.is_some();
    is_open && (!caller.needs_proof() || has_last_answer(proxy_session, chain))
}

/// Whether a history contains one of the stream's latest replies or, only if there is none, its latest request. If
/// there is a reply, the request does not count: many ask alike (`hi`).
fn has_last_answer(proxy_session: &ProxySession, chain: &Chain) -> bool {
    let Some(known) = &proxy_session.stream.state.head().history else { return false };
    let ends = if known.answered.is_empty() { std::slice::from_ref(&known.asked) } else { &known.answered[..] };
    // Everybody knows the empty history.
    let mut said = chain.links().iter().filter(|link| **link != chain.start());
    said.any(|link| ends.contains(link))
}

/// Items up to the recorded end of the history, if the request continues from there.
fn items_at_head(proxy_session: &ProxySession, chain: &Chain) -> Option<usize> {
    let known = proxy_session.stream.state.head().history.as_ref()?;
    let ends_with = |items: &usize| known.answered.contains(&chain.prefix_digest(*items));
    let answered = (1..=chain.links().len()).rev().find(ends_with);
    answered.or_else(|| (chain.stable_digest() == known.asked).then(|| chain.stable_len()))
}
