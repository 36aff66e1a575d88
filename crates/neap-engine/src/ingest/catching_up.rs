//! Records later what the store could not accept in time, in order and off the path of requests.

use std::sync::Arc;
use std::time::Duration;

use neap_core::base::ids::TurnNo;
use neap_core::client::{Digest, ProviderReply, RequestAccount, TurnAccount};
use neap_core::session::live_message::LiveMessage;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::backlog::{BacklogEntry, DeferredRequest, RecordStep, RecordingStatus};
use super::compaction::covered_items;
use super::plan::ReplyTicket;
use super::recording::NewItems;
use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// Whether the store accepts what clients send, and how much waits for it.
    pub fn recording_status(&self) -> RecordingStatus {
        self.parts.backlog.status()
    }

    /// Waits until everything is recorded, at most `limit`; returns how many entries are left.
    pub async fn wait_until_recorded(&self, limit: Duration) -> usize {
        let _ = tokio::time::timeout(limit, self.parts.backlog.wait_until_empty()).await;
        self.recording_status().waiting
    }

    pub(super) fn record_later(&self, entry: Arc<BacklogEntry>) {
        if self.parts.backlog.push(entry) {
            self.start_catching_up();
        }
    }

    pub(super) fn note_store_failure(&self, reason: &str) {
        self.parts.backlog.note_failure(reason, Instant::now());
        if self.parts.backlog.needs_worker() {
            self.start_catching_up();
        }
    }

    fn start_catching_up(&self) {
        let engine = self.clone();
        // Requests are only made inside a runtime.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { engine.catch_up().await });
        }
    }

    async fn catch_up(&self) {
        let backlog = &self.parts.backlog;
        while let Some((entry, pause)) = backlog.next_entry(Instant::now()) {
            tokio::time::sleep(pause).await;
            let Some(entry) = entry else { continue };
            // A task of its own: a panic must not block the other entries for ever.
            let (engine, own) = (self.clone(), entry.clone());
            let recorded = tokio::spawn(async move { engine.record_entry(&own).await }).await;
            match recorded.unwrap_or_else(|error| Err(EngineError::NotRecorded(error.to_string()))) {
                Ok(()) => backlog.remove_recorded(&entry),
                Err(error) => {
                    tracing::warn!(target: "neap::ingest", %error, "a request still waits to be recorded");
                    backlog.note_entry_failure(&entry, &error, Instant::now());
                }
            }
        }
    }

    async fn record_entry(&self, entry: &BacklogEntry) -> Result<(), EngineError> {
        while let Some(step) = entry.next_step() {
            match step {
                RecordStep::Request(request) => {
                    let (ticket, turn) = self.record_deferred(entry.key, &request).await?;
                    entry.mark_request_recorded(ticket, turn);
                }
                RecordStep::Reply(reply) => {
                    let (ticket, turn, reply, account) = *reply;
                    match self.write_reply(&ticket, turn, &reply, account).await {
                        // Its session was erased meanwhile.
                        Ok(()) | Err(EngineError::NoSession(_)) => entry.mark_reply_recorded(),
                        Err(error) => return Err(error),
                    }
                    // What is recorded stays, even if a summary fails.
                    if let Err(error) = self.follow_up(&ticket).await {
                        tracing::warn!(target: "neap::ingest", %error, "what follows a reply failed");
                    }
                }
            }
        }
        Ok(())
    }

    /// Records a request after it was forwarded, unless a later one recorded it as part of its history.
    async fn record_deferred(
        &self,
        key: Digest,
        deferred: &DeferredRequest,
    ) -> Result<(ReplyTicket, TurnNo), EngineError> {
        let DeferredRequest { request, chain, caller, compacted_session } = deferred;
        let ticket = |session| ReplyTicket {
            session,
            api: request.api,
            caller: *caller,
            chain: chain.clone(),
            conversation_key: key,
        };
        if request.signals.identity(&caller.tenant).is_none()
            && let Some((session, turn)) = self.find_recorded(None, request, chain).await?
        {
            return Ok((ticket(session), turn));
        }
        let (session, mut proxy_session) = self.proxy_session_for(caller, request, chain, &mut None).await?;
        if let Some((session, turn)) = self.find_recorded(Some(&session), request, chain).await? {
            return Ok((ticket(session), turn));
        }
        let mut found = self.match_history(&mut proxy_session, &session, request, chain, false).await?;
        found.covered_items = covered_items(request, &session, compacted_session.as_deref());
        let new = NewItems::of(&proxy_session, request, chain, &found);
        self.append_request(&mut proxy_session, new, (request, chain)).await?;
        let turn = proxy_session.stream.state.turn();
        Ok((ticket(session), turn))
    }

    pub(super) async fn write_reply(
        &self,
        ticket: &ReplyTicket,
        turn: TurnNo,
        reply: &ProviderReply,
        account: RequestAccount,
    ) -> Result<(), EngineError> {
        let ReplyTicket { session, api, caller, chain, conversation_key: _ } = ticket;
        let proxy_session = self.parts.session_cache.get(&self.parts, session, &caller.tenant).await?;
        let mut proxy_session = proxy_session.lock().await;
        self.append_reply(
            &mut proxy_session,
            (*api, caller.tenant),
            chain,
            reply,
            TurnAccount { turn, request: account },
        )
        .await
    }

    /// What follows a reply and nobody waits for: remembers what the person stated, and concludes the active effort if
    /// the latest message ends it, which may take as long as a summary.
    pub(super) async fn follow_up(&self, ticket: &ReplyTicket) -> Result<(), EngineError> {
        let shared = self.parts.session_cache.get(&self.parts, &ticket.session, &ticket.caller.tenant).await?;
        let live_message = shared.lock().await.live_message.take().filter(LiveMessage::states_something);
        if live_message.is_some() {
            // One caller's memories are not another's (I11).
            let agent = self.agent_for(&ticket.caller).await?;
            self.parts.remember_stated_for(&agent, live_message).await;
        }
        let ends_work = {
            let mut session = shared.lock().await;
            std::mem::take(&mut session.efforts.is_effort_done) && session.stream.state.active_effort().is_some()
        };
        if !ends_work {
            return Ok(());
        }
        let concluded = async {
            self.attach(&ticket.session).await?.call_tool("close_effort", "{}").await?;
            Ok(shared.lock().await.stream.reload(self.parts.store.as_ref()).await?)
        };
        let concluded = concluded.await;
        // The next reply tries again.
        shared.lock().await.efforts.is_effort_done |= concluded.is_err();
        concluded
    }
}
