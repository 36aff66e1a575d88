//! Decides what a request or a reply adds to a session: each item once, however many processes record it.

use super::{
    Digest, HistoryHead, HistoryItem, HistoryLink, RequestAccount, Tenant, TopicChange, TopicTracker,
    append_routed_message, enter_effort, item_messages, mask_item,
};
use crate::base::ids::{SessionId, Stamp, StreamId, TurnNo};
use crate::base::message::{CountedMessage, Incomplete, Role};
use crate::base::tokens::TokenCounter;
use crate::memory::Author;
use crate::session::event::{ClientEvent, RecordedEvent};
use crate::session::state::SessionState;
use crate::text::secrets::Masking;

const COMMIT_ITEMS_MAX: usize = 256;

/// Author of a client's user messages. An agent program also puts its own instructions, tool results and files in
/// that role, so a client vouches for no person.
const CLIENT_AUTHOR: Author = Author::Model;

#[derive(Debug, Clone)]
pub struct TurnAccount {
    pub turn: TurnNo,
    pub request: RequestAccount,
}

/// An item, if it is recorded and not only linked, and its digest.
pub type LinkedItem = (Option<HistoryItem>, Option<Digest>);

#[derive(Debug, Clone)]
pub struct PreparedItem {
    item: Option<HistoryItem>,
    messages: Vec<CountedMessage>,
    digest: Option<Digest>,
}

impl PreparedItem {
    /// Masks and counts an item. Only what is recorded is masked: the provider gets what the client sent.
    pub fn new(masking: Masking, counter: &dyn TokenCounter, item: LinkedItem, is_truncated: bool) -> Self {
        let (item, digest) = item;
        let item = item.map(|item| mask_item(masking, item).0);
        let messages = item.as_ref().map(item_messages).unwrap_or_default().into_iter().map(|mut message| {
            if is_truncated && message.role == Role::Assistant && !message.content.is_empty() {
                message.incomplete = Some(Incomplete::BrokenOff { reason: String::new() });
            }
            CountedMessage::new(counter, message)
        });
        Self { messages: messages.collect(), item, digest }
    }
}

/// Follows the efforts of a client's conversation.
#[derive(Debug, Clone, Default)]
pub struct EffortTracker {
    pub topics: TopicTracker,
    /// Whether the latest message ends the active effort.
    pub is_effort_done: bool,
    /// Whether the model manages its efforts itself.
    pub is_model_steered: bool,
}

impl EffortTracker {
    /// Takes note of an item; returns the effort that it begins.
    fn observe(&mut self, item: &HistoryItem, now: Stamp) -> Option<String> {
        let change = self.topics.observe_item(item, now);
        let change = if self.is_model_steered { TopicChange::Continues } else { change };
        self.is_effort_done = change == TopicChange::Closes || (self.is_effort_done && !item.is_turn_start());
        if let TopicChange::Opens(name) = change { Some(name) } else { None }
    }
}

/// Items and links that continue a history, recorded in several commits if there are many.
#[derive(Debug)]
pub struct ItemRecording {
    /// The link that they continue.
    from: Option<Digest>,
    items: Vec<PreparedItem>,
    head: HistoryHead,
    account: Option<TurnAccount>,
    /// Items that are durable.
    done: usize,
}

/// What is left to do after another process committed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumed {
    Continue,
    /// The other process recorded the same.
    Done,
    /// The link that the items continue is gone; alone they would be half a history.
    Orphaned,
}

impl ItemRecording {
    pub fn new(
        from: Option<Digest>,
        items: Vec<PreparedItem>,
        head: HistoryHead,
        account: Option<TurnAccount>,
    ) -> Self {
        Self { from, items, head, account, done: 0 }
    }

    fn chunk_end(&self) -> usize {
        self.items.len().min(self.done + COMMIT_ITEMS_MAX)
    }

    /// Bytes of the messages in the next commit.
    pub fn bytes(&self) -> usize {
        let messages = self.items[self.done..self.chunk_end()].iter().flat_map(|prepared| &prepared.messages);
        messages.map(|counted| counted.message.content.len()).sum()
    }

    /// The events of the next commit, applied to the state of an existing session.
    pub fn decide(
        &self,
        state: &mut SessionState,
        efforts: &mut EffortTracker,
        owner: Tenant,
        now: Stamp,
    ) -> Vec<RecordedEvent> {
        let (mut decided, mut links) = (Vec::new(), Vec::new());
        for PreparedItem { item, messages, digest } in &self.items[self.done..self.chunk_end()] {
            for message in messages {
                for event in append_routed_message(state, message.clone(), CLIENT_AUTHOR) {
                    decided.push(state.record(now, event));
                }
            }
            let opened = item.as_ref().and_then(|item| efforts.observe(item, now));
            let entered = opened.and_then(|name| enter_effort(state, &name));
            decided.extend(entered.map(|event| state.record(now, event)));
            links.extend(digest.map(|digest| HistoryLink { digest, turn: state.turn() }));
        }
        let turn = state.turn();
        let tenant = state.head().tenant.is_none().then_some(owner);
        let history = self.head.clone();
        decided.push(state.record(now, ClientEvent::HistoryLinked { turn, links, history, tenant }));
        if let Some(TurnAccount { turn, request: account }) = self.account.clone()
            && self.chunk_end() == self.items.len()
        {
            decided.push(state.record(now, ClientEvent::RequestPassed { turn, account }));
        }
        decided
    }

    /// Notes that the last decision is durable; returns whether that was all.
    pub fn committed(&mut self) -> bool {
        self.done = self.chunk_end();
        self.done >= self.items.len()
    }

    /// Digests to look up in the store before [`resume`](Self::resume).
    pub fn digests(&self) -> Vec<Digest> {
        let rest = self.items[self.done..].iter().filter_map(|prepared| prepared.digest);
        self.from.into_iter().chain(rest).collect()
    }

    /// Skips what another process recorded meanwhile: `linked` are the sessions with each of the digests.
    pub fn resume(&mut self, id: &StreamId, state: &SessionState, linked: &[Vec<(SessionId, TurnNo)>]) -> Resumed {
        let is_here = |found: &Vec<(SessionId, TurnNo)>| found.iter().any(|(session, _)| session == id);
        let (from, linked) = linked.split_at(usize::from(self.from.is_some()));
        if !from.iter().all(is_here) {
            return Resumed::Orphaned;
        }
        let here = linked.iter().take_while(|found| is_here(found)).count();
        let known = self.items[self.done..].iter().scan(0, |links, prepared| {
            *links += usize::from(prepared.digest.is_some());
            Some(*links <= here && here > 0)
        });
        self.done += known.take_while(|known| *known).count();
        match state.head().history.clone() {
            // Keep the replies of both.
            Some(known) if known.asked == self.head.asked => {
                self.head = known.clone().with_replies(&self.head.answered);
                let is_same = self.head.answered == known.answered && self.account.is_none();
                if self.done >= self.items.len() && is_same {
                    return Resumed::Done;
                }
            }
            // A newer request came before this reply: its head stays.
            Some(known) if self.account.is_some() => self.head = known,
            Some(_) | None => {}
        }
        Resumed::Continue
    }
}
