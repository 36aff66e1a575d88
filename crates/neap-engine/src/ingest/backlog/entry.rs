//! A request and its reply, on their way to the store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use neap_core::base::ids::TurnNo;
use neap_core::client::{Chain, ClientRequest, Digest, ProviderReply, RequestAccount, SessionName, Tenant};
use neap_model::caller::Caller;

use crate::ingest::plan::ReplyTicket;

#[derive(Debug)]
pub(in crate::ingest) struct DeferredRequest {
    pub(in crate::ingest) request: ClientRequest,
    pub(in crate::ingest) chain: Chain,
    /// The request's owner; it is recorded for nobody else (I11).
    pub(in crate::ingest) caller: Caller,
    /// The session whose history the request has as one of our compactions.
    pub(in crate::ingest) compacted_session: Option<String>,
}

/// Identifies a conversation without the store. The caller is part of the name and of the chain.
pub(in crate::ingest) fn conversation_key(named: Option<&SessionName>, chain: &Chain) -> Digest {
    match named {
        Some(name) => Digest::of("named", &[name.digest().bytes()]),
        None => chain.prefix_digest(chain.unlinked_len() + 1),
    }
}

/// A request with its reply, or a reply alone.
#[derive(Debug)]
pub(in crate::ingest) struct BacklogEntry {
    pub(in crate::ingest) key: Digest,
    pub(super) tenant: Tenant,
    pub(super) bytes: usize,
    content: Mutex<EntryState>,
}

#[derive(Debug)]
pub(super) struct EntryState {
    /// `None` once it is recorded.
    request: Option<Arc<DeferredRequest>>,
    /// Where it was recorded.
    ticket: Option<(ReplyTicket, TurnNo)>,
    reply: Option<(ProviderReply, RequestAccount)>,
    /// Whether no worker will look at the entry again.
    is_closed: bool,
    /// Failures that are the entry's own fault: any error that is not an outage, or one that may hit a single
    /// session while others were recorded.
    pub(super) strikes: u32,
    /// The success count when it was queued or last failed.
    pub(super) successes_seen: u64,
}

impl EntryState {
    pub(super) fn clear(&mut self) {
        (self.request, self.reply, self.is_closed) = (None, None, true);
    }
}

pub(in crate::ingest) enum RecordStep {
    Request(Arc<DeferredRequest>),
    Reply(Box<(ReplyTicket, TurnNo, ProviderReply, RequestAccount)>),
}

pub(in crate::ingest) enum LateReply {
    /// It is recorded after its request.
    Queued,
    /// The request is recorded by now; the reply goes there.
    RequestRecorded(ReplyTicket, TurnNo),
    RequestDropped,
}

impl BacklogEntry {
    pub(in crate::ingest) fn of_request(key: Digest, bytes: usize, request: DeferredRequest) -> Self {
        Self::new((key, request.caller.tenant), bytes, Some(Arc::new(request)), None, None)
    }

    pub(in crate::ingest) fn of_reply(
        ticket: ReplyTicket,
        turn: TurnNo,
        reply: ProviderReply,
        account: RequestAccount,
    ) -> Self {
        let bytes = reply.text.len() + reply.calls.iter().map(|call| call.arguments.len()).sum::<usize>();
        Self::new(
            (ticket.conversation_key, ticket.caller.tenant),
            bytes,
            None,
            Some((ticket, turn)),
            Some((reply, account)),
        )
    }

    fn new(
        (key, tenant): (Digest, Tenant),
        bytes: usize,
        request: Option<Arc<DeferredRequest>>,
        ticket: Option<(ReplyTicket, TurnNo)>,
        reply: Option<(ProviderReply, RequestAccount)>,
    ) -> Self {
        let content = EntryState { request, ticket, reply, is_closed: false, strikes: 0, successes_seen: 0 };
        Self { key, tenant, bytes, content: Mutex::new(content) }
    }

    pub(super) fn content(&self) -> MutexGuard<'_, EntryState> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to do next; closes the entry when nothing is left.
    pub(in crate::ingest) fn next_step(&self) -> Option<RecordStep> {
        let mut content = self.content();
        if let Some(request) = &content.request {
            return Some(RecordStep::Request(request.clone()));
        }
        match (&content.ticket, &content.reply) {
            (Some((ticket, turn)), Some((reply, account))) => {
                Some(RecordStep::Reply(Box::new((ticket.clone(), *turn, reply.clone(), account.clone()))))
            }
            (Some(_), None) | (None, _) => {
                content.is_closed = true;
                None
            }
        }
    }

    pub(in crate::ingest) fn mark_request_recorded(&self, ticket: ReplyTicket, turn: TurnNo) {
        let mut content = self.content();
        (content.request, content.ticket) = (None, Some((ticket, turn)));
    }

    /// The reply is recorded, or can never be.
    pub(in crate::ingest) fn mark_reply_recorded(&self) {
        self.content().reply = None;
    }

    pub(in crate::ingest) fn add_reply(&self, reply: &ProviderReply, account: RequestAccount) -> LateReply {
        let mut content = self.content();
        match (&content.ticket, content.is_closed) {
            (Some((ticket, turn)), true) => LateReply::RequestRecorded(ticket.clone(), *turn),
            (None, true) => LateReply::RequestDropped,
            (_, false) => {
                content.reply = Some((reply.clone(), account));
                LateReply::Queued
            }
        }
    }
}
