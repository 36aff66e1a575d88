//! Appends requests and replies to their sessions: each item once, durable before anything is forwarded.

use neap_core::base::ids::{Stamp, TurnNo};
use neap_core::base::message::{CountedMessage, Incomplete, Role};
use neap_core::base::policy::Policy;
use neap_core::client::mask_item;
use neap_core::client::{
    Chain, ClientRequest, ContentBlock, Digest, HistoryHead, HistoryItem, HistoryLink, ProviderReply,
    RequestAccount, Tenant, TopicChange, TopicTracker, WireApi, append_routed_message, enter_effort,
    item_messages,
};
use neap_core::memory::Author;
use neap_core::session::event::Event;
use neap_core::text::secrets::Masking;
use neap_model::bpe::counter_for;
use neap_model::compute::{run_blocking, run_in_place};

use super::session_cache::{ProxySession, check_owner};
use super::session_lookup::HistoryMatch;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::stream::reload_on_conflict;

const COMMIT_ITEMS_MAX: usize = 256;
const MESSAGE_BYTES_MAX: u64 = 67_108_864;

/// Author of a client's user messages. An agent program also puts its own instructions, tool results and files in
/// that role, so a client vouches for no person.
const CLIENT_AUTHOR: Author = Author::Model;

#[derive(Debug, Clone, Copy)]
pub(super) struct TurnAccount {
    pub(super) turn: TurnNo,
    pub(super) request: RequestAccount,
}

/// An item, if it is recorded and not only linked, and its digest.
pub(super) type LinkedItem = (Option<HistoryItem>, Option<Digest>);

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
        let known = session.live.state.head().line.as_ref();
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
        let written = self.append_items(proxy_session, from, items, head, None).await;
        let Err(EngineError::NoSession(session)) = &written else { return written };
        let found = self.match_history(proxy_session, session, request, chain, false).await?;
        match NewItems::of(proxy_session, request, chain, &found) {
            Some(NewItems { from, items, head }) => {
                self.append_items(proxy_session, from, items, head, None).await
            }
            None => Ok(()),
        }
    }

    pub(super) async fn append_reply(
        &self,
        proxy_session: &mut ProxySession,
        (api, tenant): (WireApi, Tenant),
        chain: &Chain,
        reply: &ProviderReply,
        account: TurnAccount,
    ) -> Result<(), EngineError> {
        let live = &mut proxy_session.live;
        if live.is_ahead_of_store() {
            live.reload(self.parts.store.as_ref()).await?;
        }
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
        let is_known = known.iter().any(|sessions| sessions.iter().any(|(session, _)| *session == live.id));
        let current = live.state.head().line.clone();
        // If another request came since, its head stays.
        let new_head = match current {
            Some(head) if head.asked != chain.stable_digest() => head,
            Some(head) => head.with_replies(&ends),
            None => HistoryHead { asked: chain.stable_digest(), answered: ends },
        };
        if is_known && live.state.head().line.as_ref() == Some(&new_head) {
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
        mut head: HistoryHead,
        account: Option<TurnAccount>,
    ) -> Result<(), EngineError> {
        let ProxySession { live, owner, topics, is_effort_done, is_model_steered, .. } = proxy_session;
        let known = &live.state.head().encoding;
        let encoding = if known.is_empty() { self.parts.encoding.clone() } else { known.clone() };
        let is_truncated = account.is_some_and(|account| !account.request.is_whole);
        let items = prepare_items(live.state.masking(), encoding, items, is_truncated).await;
        let store = self.parts.store.as_ref();
        let mut conflicts = 0;
        let mut done = 0;
        loop {
            // Another process may have claimed a stream without an owner.
            check_owner(live, owner)?;
            let before = (topics.clone(), *is_effort_done);
            let chunk = &items[done..items.len().min(done + COMMIT_ITEMS_MAX)];
            let mut decided = Vec::new();
            let now = self.parts.clock.now();
            if live.state.head().session.is_none() {
                let policy = Policy { message_bytes_max: MESSAGE_BYTES_MAX, ..Policy::default() };
                let (session, encoding) = (live.id.clone(), self.parts.encoding.clone());
                let created = Event::SessionCreated { session, encoding, policy, imported_from: None };
                decided.push(live.state.record(now, created));
            }
            let bytes = chunk
                .iter()
                .flat_map(|prepared| &prepared.messages)
                .map(|counted| counted.message.content.len())
                .sum();
            let mut links = Vec::with_capacity(chunk.len());
            // Every event is scanned for secrets as it is recorded.
            run_in_place(bytes, || {
                for PreparedItem { item, messages, digest } in chunk {
                    for message in messages {
                        for event in append_routed_message(&live.state, message.clone(), CLIENT_AUTHOR) {
                            decided.push(live.state.record(now, event));
                        }
                    }
                    let change =
                        item.as_ref().map_or(TopicChange::Continues, |item| topic_change(topics, item, now));
                    let change = if *is_model_steered { TopicChange::Continues } else { change };
                    *is_effort_done = change == TopicChange::Closes
                        || (*is_effort_done && !item.as_ref().is_some_and(HistoryItem::is_turn_start));
                    if let TopicChange::Opens(name) = change
                        && let Some(event) = enter_effort(&live.state, &name)
                    {
                        decided.push(live.state.record(now, event));
                    }
                    links.extend(digest.map(|digest| HistoryLink { digest, turn: live.state.turn() }));
                }
            });
            let turn = live.state.turn();
            let tenant = live.state.head().tenant.is_none().then_some(*owner);
            decided.push(live.state.record(now, Event::HistoryLinked { turn, links, line: head.clone(), tenant }));
            if let Some(TurnAccount { turn, request: passed }) =
                account.filter(|_| done + chunk.len() == items.len())
            {
                decided.push(live.state.record(now, Event::RequestPassed { turn, passed }));
            }
            match live.commit(store, decided).await {
                Ok(()) => {
                    done += chunk.len();
                    if done >= items.len() {
                        self.parts.mark_changed(&live.id);
                        return Ok(());
                    }
                }
                Err(error) => {
                    (*topics, *is_effort_done) = before;
                    reload_on_conflict(live, store, error, &mut conflicts).await?;
                    // The other process may have recorded the same items.
                    let rest = items[done..].iter().filter_map(|prepared| prepared.digest);
                    let rest: Vec<Digest> = from.into_iter().chain(rest).collect();
                    let linked = store.sessions_by_digest(&rest).await?;
                    let is_here = |found: &Vec<(_, _)>| found.iter().any(|(id, _)| *id == live.id);
                    let (goes_on_from, linked) = linked.split_at(usize::from(from.is_some()));
                    if !goes_on_from.iter().all(is_here) {
                        // The new items alone would be half a history.
                        return Err(EngineError::NoSession(live.id.clone()));
                    }
                    let here = linked.iter().take_while(|found| is_here(found)).count();
                    let known = items[done..].iter().scan(0, |links, prepared| {
                        *links += usize::from(prepared.digest.is_some());
                        Some(*links <= here && here > 0)
                    });
                    done += known.take_while(|known| *known).count();
                    match live.state.head().line.clone() {
                        // Keep the replies of both.
                        Some(known) if known.asked == head.asked => {
                            let own_head = std::mem::replace(&mut head, known.clone());
                            head = head.with_replies(&own_head.answered);
                            if done >= items.len() && head.answered == known.answered && account.is_none() {
                                return Ok(());
                            }
                        }
                        // A newer request came before this reply: its head stays.
                        Some(known) if account.is_some() => head = known,
                        Some(_) | None => {}
                    }
                }
            }
        }
    }
}

struct PreparedItem {
    item: Option<HistoryItem>,
    messages: Vec<CountedMessage>,
    digest: Option<Digest>,
}

/// Masks and counts items for recording. Only here: the provider gets what the client sent.
async fn prepare_items(
    masking: Masking,
    encoding: String,
    items: Vec<LinkedItem>,
    is_truncated: bool,
) -> Vec<PreparedItem> {
    let bytes = items.iter().filter_map(|(item, _)| item.as_ref()).map(HistoryItem::bytes).sum();
    let prepare = move |(item, digest): LinkedItem| {
        let item = item.map(|item| mask_item(masking, item).0);
        let counter = counter_for(&encoding);
        let messages = item.as_ref().map(item_messages).unwrap_or_default().into_iter().map(|mut message| {
            if is_truncated && message.role == Role::Assistant && !message.content.is_empty() {
                message.incomplete = Some(Incomplete::BrokenOff { reason: String::new() });
            }
            CountedMessage::new(counter.as_ref(), message)
        });
        PreparedItem { messages: messages.collect(), item, digest }
    };
    run_blocking(bytes, move || items.into_iter().map(prepare).collect()).await
}

fn topic_change(topics: &mut TopicTracker, item: &HistoryItem, now: Stamp) -> TopicChange {
    if !item.is_turn_start() {
        topics.observe(&item.text());
        return TopicChange::Continues;
    }
    // Programs put their own text before the person's.
    let text = item.blocks.iter().rev().map(ContentBlock::text).find(|words| !words.trim().is_empty());
    text.map_or(TopicChange::Continues, |text| topics.observe_user(&text, now))
}
