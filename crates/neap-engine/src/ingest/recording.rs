//! Appends requests and replies to their sessions: each item once, durable before anything is forwarded.

use neap_core::base::policy::Policy;
use neap_core::base::project_id::Place;
use neap_core::client::{
    Chain, ClientRequest, Digest, HistoryHead, HistoryItem, ItemRecording, LinkedItem, PreparedItem,
    ProviderReply, RequestClass, Resumed, Tenant, TurnAccount, WireApi, classify,
};
use neap_core::text::secrets::Masking;
use neap_model::bpe::counter_for;
use neap_model::compute::{run_blocking, run_in_place};

use super::session_cache::{ProxySession, check_owner};
use super::session_lookup::HistoryMatch;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::stream::Recorder;

/// What is new in a request, the digest that it continues, and the head afterwards.
pub(super) struct NewItems {
    from: Option<Digest>,
    items: Vec<LinkedItem>,
    head: HistoryHead,
}

impl NewItems {
    /// `None` if nothing is new.
    pub(super) fn of(
        session: &ProxySession,
        request: &ClientRequest,
        chain: &Chain,
        found: &HistoryMatch,
    ) -> Option<Self> {
        let known = session.stream.state.head().history.as_ref();
        let asked = chain.stable_digest();
        let is_asked = known.is_some_and(|known| known.asked == asked);
        if found.known_items >= request.items.len() && is_asked {
            return None;
        }
        // There may be several replies to one request.
        let answered = known.filter(|_| is_asked).map_or_else(Vec::new, |known| known.answered.clone());
        let head = HistoryHead { asked, answered };
        // Items behind the stable part may move: they are linked, not recorded.
        let stable_len = request.stable_len();
        let steps = request.items.iter().enumerate().zip(chain.links().iter().copied()).skip(found.known_items);
        let start = chain.start();
        let recorded = found.covered_items..stable_len;
        let step = |((at, item), digest): ((usize, &HistoryItem), Digest)| {
            (recorded.contains(&at).then(|| item.clone()), Some(digest).filter(|link| *link != start))
        };
        let from =
            (found.known_items > 0).then(|| chain.prefix_digest(found.known_items)).filter(|from| *from != start);
        Some(Self { from, items: steps.map(step).collect(), head })
    }
}

impl Engine {
    /// Records what is new in a request, or all of it if what it continues was erased meanwhile.
    pub(super) async fn append_request(
        &self,
        proxy_session: &mut ProxySession,
        new: Option<NewItems>,
        (request, chain): (&ClientRequest, &Chain),
    ) -> Result<(), EngineError> {
        let Some(NewItems { from, items, head }) = new else { return Ok(()) };
        let mut written = self.append_items(proxy_session, from, items, head, None).await;
        if let Err(EngineError::NoSession(session)) = &written {
            let found = self.match_history(proxy_session, session, request, chain, false).await?;
            written = match NewItems::of(proxy_session, request, chain, &found) {
                Some(NewItems { from, items, head }) => {
                    self.append_items(proxy_session, from, items, head, None).await
                }
                None => Ok(()),
            };
        }
        // A request that a program makes by itself is no person's message.
        if proxy_session.live_message.is_some() && classify(request) != RequestClass::MainTurn {
            proxy_session.live_message = None;
        }
        written
    }

    pub(super) async fn append_reply(
        &self,
        proxy_session: &mut ProxySession,
        (api, tenant): (WireApi, Tenant),
        chain: &Chain,
        reply: &ProviderReply,
        account: TurnAccount,
    ) -> Result<(), EngineError> {
        let stream = &mut proxy_session.stream;
        stream.drop_uncommitted(self.parts.store.as_ref()).await?;
        let items = reply.items(api);
        let (mut ends, mut links) = match reply.is_empty() && reply.is_truncated {
            // The client has nothing to send back.
            true => (Vec::new(), Vec::new()),
            false => chain.reply_digests(&items),
        };
        if let Some(id) = &reply.id {
            ends.push(tenant.response_digest(id));
            links.push(tenant.response_digest(id));
        }
        let known = self.parts.store.sessions_by_digest(&links).await?;
        let is_known = known.iter().any(|sessions| sessions.iter().any(|(session, _)| *session == stream.id));
        let current = stream.state.head().history.clone();
        // If another request came since, its head stays.
        let new_head = match current {
            Some(head) if head.asked != chain.stable_digest() => head,
            Some(head) => head.with_replies(&ends),
            None => HistoryHead { asked: chain.stable_digest(), answered: ends },
        };
        if is_known && stream.state.head().history.as_ref() == Some(&new_head) {
            return Ok(());
        }
        // Several digests may link one reply, which is recorded once.
        let new_items = items.clone().into_iter().filter(|_| !is_known).map(Some).chain(std::iter::repeat(None));
        let linked = new_items.zip(links.into_iter().map(Some)).collect();
        let from = chain.links().last().copied().filter(|asked| *asked != chain.start());
        self.append_items(proxy_session, from, linked, new_head, Some(account)).await
    }

    /// Appends items and links that continue `from`; [`EngineError::NoSession`] if that link is gone.
    pub(super) async fn append_items(
        &self,
        proxy_session: &mut ProxySession,
        from: Option<Digest>,
        items: Vec<LinkedItem>,
        head: HistoryHead,
        account: Option<TurnAccount>,
    ) -> Result<(), EngineError> {
        let ProxySession { stream, owner, efforts, live_message, place, .. } = proxy_session;
        let known = &stream.state.head().encoding;
        let encoding = if known.is_empty() { self.parts.encoding.clone() } else { known.clone() };
        let is_truncated = account.as_ref().is_some_and(|account| !account.request.is_whole);
        let items = prepare_items(stream.state.masking(), encoding, items, is_truncated).await;
        let mut recording = ItemRecording::new(from, items, head, account);
        let mut recorder = Recorder::new(&self.parts);
        let is_placed = stream.state.head().project.is_some();
        // A folder that another machine's program names is none of ours.
        let is_ours = *owner == Tenant::local() || !matches!(place, Place::Folder(_));
        let found = if is_placed || !is_ours { None } else { self.parts.project_at(place) };
        let project = found.or_else(|| self.parts.project.clone());
        loop {
            // Another process may have claimed a stream without an owner.
            check_owner(stream, owner)?;
            let now = self.parts.clock.now();
            let policy = Policy::for_recorded_conversations();
            let created = stream.create_if_new(&self.parts.encoding, policy, now);
            let placed = stream.state.assign_project(now, project.as_ref());
            let mut efforts_after = efforts.clone();
            // Every event is scanned for secrets as it is recorded.
            let decided = run_in_place(recording.bytes(), || {
                recording.decide(&mut stream.state, &mut efforts_after, *owner, now)
            });
            if !recorder
                .commit(stream, created.into_iter().chain(placed).chain(decided).collect())
                .await?
                .is_stale()
            {
                *efforts = efforts_after;
                *live_message = recorder.take_live_message().or(live_message.take());
                if recording.committed() {
                    return Ok(());
                }
                continue;
            }
            let linked = self.parts.store.sessions_by_digest(&recording.digests()).await?;
            match recording.resume(&stream.id, &stream.state, &linked) {
                Resumed::Continue => {}
                Resumed::Done => return Ok(()),
                Resumed::Orphaned => return Err(EngineError::NoSession(stream.id.clone())),
            }
        }
    }
}

/// Masks and counts items, off the async workers if they are long.
async fn prepare_items(
    masking: Masking,
    encoding: String,
    items: Vec<LinkedItem>,
    is_truncated: bool,
) -> Vec<PreparedItem> {
    let bytes = items.iter().filter_map(|(item, _)| item.as_ref()).map(HistoryItem::bytes).sum();
    let prepare = move || {
        let counter = counter_for(&encoding);
        let prepare = |item| PreparedItem::new(masking, counter.as_ref(), item, is_truncated);
        items.into_iter().map(prepare).collect()
    };
    run_blocking(bytes, prepare).await
}
