//! What came in, and what goes on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use neap_core::ids::{SessionId, TurnNo};
use neap_core::ingest::{
    Api, Caller, Chain, Changes, Class, Digest, Overflow, Passed, PassedSum, Reply, Verdict, classify,
};
use neap_core::tokens::Tokens;
use neap_model::wire::heard::{Offer, OwnAnswer, Request};

use super::backlog::Entry;

/// A request as it came in.
#[derive(Debug, Clone, Copy)]
pub struct Incoming<'a> {
    /// Its path, or all of its target: its query, and user information in an address, may show who asks. `/s/<name>/v1/…` names a session.
    pub path: &'a str,
    /// Its headers.
    pub headers: &'a [(String, String)],
    /// Its body.
    pub body: &'a str,
    /// What may be sent on, all included: the model's window less what is kept for the reply, or less than that.
    pub budget: Tokens,
    /// The encoding in which that is counted.
    pub encoding: &'a str,
    /// Whether it goes on as it came, whatever is decided.
    pub shadow: bool,
    /// Tools of ours that its model is offered; none offers nothing.
    pub offer: Option<&'a Offer>,
    /// After this long it goes on without what the store knows; none waits for as long as it takes. A limit needs a runtime with time
    /// enabled.
    pub limit: Option<Duration>,
}

impl<'a> Incoming<'a> {
    /// A request to be bounded, counted in the encoding of most models of today, without tools of ours and without a time limit.
    pub fn new(path: &'a str, headers: &'a [(String, String)], body: &'a str, budget: Tokens) -> Self {
        Self { path, headers, body, budget, encoding: "o200k_base", shadow: false, offer: None, limit: None }
    }
}

/// What goes on.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The session it belongs to; none if it belongs to none.
    pub session: Option<SessionId>,
    /// The turn it is in, if it was recorded by now.
    pub turn: Option<TurnNo>,
    /// Its wire format; none if its path is not about a history.
    pub api: Option<Api>,
    /// What kind of request it is.
    pub class: Class,
    /// What it is to what was heard before; none of what is not part of a conversation.
    pub verdict: Option<Verdict>,
    /// The body to send; none to send what came, byte for byte.
    pub body: Option<String>,
    /// How what is sent differs from what came; none where nothing was changed.
    pub changes: Changes,
    /// What came costs.
    pub tokens_in: Tokens,
    /// What is sent costs.
    pub tokens_sent: Tokens,
    /// What would be sent costs, where it goes on as it came whatever is decided.
    pub tokens_planned: Tokens,
    /// How often this history was cut; 0 while it goes on as it came.
    pub epoch: u64,
    /// Why what is sent is over the budget, if it is.
    pub overflow: Option<Overflow>,
    /// The tools whose calls are ours to answer ([`Engine::call_ours`](crate::Engine::call_ours)).
    pub ours: BTreeSet<String>,
    /// What was passed on of this session before.
    pub so_far: PassedSum,
    /// Whether what is new in it is recorded.
    pub recorded: Recorded,
    /// What went wrong, if that is why it goes on as it came, or with nothing that the store knows.
    pub fault: Option<String>,
    /// The answer, where we give it ourselves: then nothing is sent.
    pub answer: Option<OwnAnswer>,
    /// Why it can go nowhere: it holds what only we could open, and it is not what we gave.
    pub refusal: Option<String>,
    /// The body with what only we can open opened, if there is such a thing in it.
    pub(super) opened: Option<String>,
    pub(super) ticket: Option<Ticket>,
    /// What waits to be recorded, if it could not be in time.
    pub(super) late: Option<Arc<Entry>>,
}

/// Whether what is new in a request is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// It is durable.
    Yes,
    /// It is not: why. It waits in memory and is recorded when the store works again.
    No(String),
    /// It never is: nothing that it shows tells whose it is.
    NotKept,
    /// There is nothing to record: it is no part of a conversation.
    NotNeeded,
}

/// What it takes to record an answer.
#[derive(Debug, Clone)]
pub(super) struct Ticket {
    pub(super) session: SessionId,
    pub(super) api: Api,
    pub(super) caller: Caller,
    pub(super) chain: Chain,
    /// What tells its conversation from others without the store.
    pub(super) key: Digest,
}

impl Plan {
    /// Of a request of which nothing is known.
    fn passed(fault: Option<String>) -> Self {
        Self {
            session: None,
            turn: None,
            api: None,
            class: Class::Unsure,
            verdict: None,
            body: None,
            changes: Changes::default(),
            tokens_in: Tokens::ZERO,
            tokens_sent: Tokens::ZERO,
            tokens_planned: Tokens::ZERO,
            epoch: 0,
            overflow: None,
            ours: BTreeSet::new(),
            so_far: PassedSum::default(),
            recorded: Recorded::NotNeeded,
            fault,
            answer: None,
            refusal: None,
            opened: None,
            ticket: None,
            late: None,
        }
    }

    /// Of a request that is not about a history, or that cannot be read: it is only counted.
    pub(super) fn unread(fault: Option<String>, tokens: Tokens, incoming: &Incoming<'_>) -> Self {
        let counted =
            Self { tokens_in: tokens, tokens_sent: tokens, tokens_planned: tokens, ..Self::passed(fault) };
        counted.settled(incoming)
    }

    /// As it came.
    pub(super) fn of(request: &Request) -> Self {
        let heard = request.heard();
        let tokens = heard.tokens();
        let opened = request.is_changed().then(|| request.whole());
        let added = usize::from(heard.opened.is_some());
        Self {
            api: Some(heard.api),
            class: classify(heard),
            body: opened.clone(),
            changes: Changes { added, ..Changes::default() },
            opened,
            tokens_in: tokens,
            tokens_sent: tokens,
            tokens_planned: tokens,
            ..Self::passed(None)
        }
    }

    /// The account of it, once there is an answer.
    pub(super) fn account(&self, reply: &Reply) -> Passed {
        Passed {
            class: self.class,
            verdict: self.verdict,
            tokens_in: self.tokens_in,
            tokens_sent: self.tokens_sent,
            changes: self.changes.total() as u64,
            epoch: self.epoch,
            used: reply.used,
            is_whole: !reply.is_half,
        }
    }

    /// With what is sent in the end.
    pub(super) fn settled(mut self, incoming: &Incoming<'_>) -> Self {
        if incoming.shadow || self.body.is_none() {
            self.body = self.opened.take();
            self.tokens_sent = self.tokens_in;
        } else {
            self.tokens_sent = self.tokens_planned;
        }
        if incoming.shadow || self.answer.is_some() {
            self.overflow = None;
        } else if self.tokens_sent > incoming.budget && self.overflow.is_none() {
            self.overflow = Some(Overflow::of_whole(self.tokens_sent, incoming.budget));
        }
        self
    }
}
