//! A request and its reply, on their way to the store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use neap_core::ids::TurnNo;
use neap_core::ingest::{Caller, Chain, Digest, Heard, Passed, Reply, SessionName, Tenant};

use crate::ingest::plan::Ticket;

/// What it takes to record a request later.
#[derive(Debug)]
pub(in crate::ingest) struct LateRequest {
    pub(in crate::ingest) heard: Heard,
    pub(in crate::ingest) chain: Chain,
    /// Whose it is: it is recorded for nobody else (I11).
    pub(in crate::ingest) caller: Caller,
    /// The session whose history it has in short.
    pub(in crate::ingest) opened: Option<String>,
}

/// What tells conversations apart without the store. Their callers are part of it, as of a name and of a chain.
pub(in crate::ingest) fn conversation_key(named: Option<&SessionName>, chain: &Chain) -> Digest {
    match named {
        Some(name) => Digest::of("named", &[name.mark().bytes()]),
        None => chain.upto(chain.unlinked() + 1),
    }
}

/// A request with its reply, or a reply alone, on its way to the store.
#[derive(Debug)]
pub(in crate::ingest) struct Entry {
    pub(in crate::ingest) key: Digest,
    /// Whose it is.
    pub(super) tenant: Tenant,
    pub(super) bytes: usize,
    content: Mutex<Content>,
}

#[derive(Debug)]
pub(super) struct Content {
    /// None once it is recorded.
    request: Option<Arc<LateRequest>>,
    /// Where it was recorded.
    ticket: Option<(Ticket, TurnNo)>,
    reply: Option<(Reply, Passed)>,
    /// Whether nobody looks at the entry any more.
    is_closed: bool,
    /// How often it failed though others were recorded, and how many were by the last time.
    pub(super) strikes: u32,
    pub(super) successes_seen: u64,
}

impl Content {
    /// Drops what it holds.
    pub(super) fn drop_all(&mut self) {
        (self.request, self.reply, self.is_closed) = (None, None, true);
    }
}

/// What is to be recorded next of an entry.
pub(in crate::ingest) enum Step {
    Request(Arc<LateRequest>),
    Reply(Box<(Ticket, TurnNo, Reply, Passed)>),
}

/// What becomes of a reply to a request that was not recorded in time.
pub(in crate::ingest) enum Later {
    /// It is recorded after its request.
    Waits,
    /// The request is there by now: the reply belongs here.
    Here(Ticket, TurnNo),
    /// The request was dropped.
    Dropped,
}

impl Entry {
    pub(in crate::ingest) fn of_request(key: Digest, bytes: usize, request: LateRequest) -> Self {
        Self::new((key, request.caller.tenant), bytes, Some(Arc::new(request)), None, None)
    }

    pub(in crate::ingest) fn of_reply(ticket: Ticket, turn: TurnNo, reply: Reply, passed: Passed) -> Self {
        let bytes = reply.text.len() + reply.calls.iter().map(|call| call.arguments.len()).sum::<usize>();
        Self::new((ticket.key, ticket.caller.tenant), bytes, None, Some((ticket, turn)), Some((reply, passed)))
    }

    fn new(
        (key, tenant): (Digest, Tenant),
        bytes: usize,
        request: Option<Arc<LateRequest>>,
        ticket: Option<(Ticket, TurnNo)>,
        reply: Option<(Reply, Passed)>,
    ) -> Self {
        let content = Content { request, ticket, reply, is_closed: false, strikes: 0, successes_seen: 0 };
        Self { key, tenant, bytes, content: Mutex::new(content) }
    }

    pub(super) fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to do next; closes the entry when nothing is left.
    pub(in crate::ingest) fn next(&self) -> Option<Step> {
        let mut content = self.content();
        if let Some(request) = &content.request {
            return Some(Step::Request(request.clone()));
        }
        match (&content.ticket, &content.reply) {
            (Some((ticket, turn)), Some((reply, passed))) => {
                Some(Step::Reply(Box::new((ticket.clone(), *turn, reply.clone(), *passed))))
            }
            (Some(_), None) | (None, _) => {
                content.is_closed = true;
                None
            }
        }
    }

    /// The request is recorded.
    pub(in crate::ingest) fn request_done(&self, ticket: Ticket, turn: TurnNo) {
        let mut content = self.content();
        (content.request, content.ticket) = (None, Some((ticket, turn)));
    }

    /// The reply is, or can never be.
    pub(in crate::ingest) fn reply_done(&self) {
        self.content().reply = None;
    }

    /// Takes the reply to the request.
    pub(in crate::ingest) fn add_reply(&self, reply: &Reply, passed: Passed) -> Later {
        let mut content = self.content();
        match (&content.ticket, content.is_closed) {
            (Some((ticket, turn)), true) => Later::Here(ticket.clone(), *turn),
            (None, true) => Later::Dropped,
            (_, false) => {
                content.reply = Some((reply.clone(), passed));
                Later::Waits
            }
        }
    }
}
