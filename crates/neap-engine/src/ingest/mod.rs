//! Records client requests, and plans what a proxy forwards.
//!
//! A client resends its whole history with every request. [`Engine::ingest`] records what is new, durable before
//! it returns, and plans the body: unmodified while it fits the budget, else with a record in place of the middle
//! and with recalled text. [`Engine::complete_request`] records the reply; without that, the client's next request
//! has it. While the store fails, requests are cut from their own content ([`store_outage`]) and recorded later
//! ([`catching_up`]); [`RequestPlan::recorded`] tells which.

mod adoption;
mod anonymous;
mod backlog;
mod budgeting;
mod caller_memory;
mod catching_up;
mod compaction;
mod memory_files;
mod own_tools;
mod plan;
mod recording;
mod request_parsing;
mod session_cache;
mod session_lookup;
mod store_outage;

use std::sync::Arc;
use std::time::Duration;

use neap_core::client::{
    Bounds, Chain, Digest, ForwardDecision, HistoryVerdict, ProviderReply, RepeatedTokens, SessionName,
};
use neap_core::recall::Embedding;
use neap_model::caller::Caller;
use neap_model::wire::request::{WireRequest, place_of};
use tokio::time::Instant;

pub(crate) use backlog::Backlog;
pub use backlog::RecordingStatus;
pub use own_tools::ActualTurn;
pub use plan::{IncomingRequest, RecordingOutcome, RequestPlan};
pub(crate) use session_cache::SessionCache;

use crate::engine::Engine;
use crate::error::EngineError;
use backlog::{BacklogEntry, DeferredRequest, LateReply};
use budgeting::{RequestBudgeter, decide, newest_query};
use compaction::{covered_items, reset_cut_plan};
use plan::ReplyTicket;
use recording::NewItems;
use session_cache::{ProxySession, RequestPermit};
use store_outage::fit_without_store;

struct RequestOrigin {
    caller: Caller,
    /// The session of the request's compaction, if that is ours.
    compacted_session: Option<String>,
    session_name: Option<SessionName>,
    chain: Chain,
    conversation_key: Digest,
}

impl Engine {
    /// Records a request and plans what to forward. The same request again changes nothing.
    pub async fn ingest(&self, incoming: &IncomingRequest<'_>) -> RequestPlan {
        match Caller::from_request(self.parts.callers, incoming.path, incoming.headers) {
            Some(caller) => self.ingest_from(&caller, incoming).await,
            None => self.ingest_anonymous(incoming).await,
        }
    }

    async fn ingest_from(&self, caller: &Caller, incoming: &IncomingRequest<'_>) -> RequestPlan {
        let began = Instant::now();
        let permit = self.parts.session_cache.acquire_permit(incoming.timeout).await;
        let (mut request, origin) = match self.parse_request(caller, incoming).await {
            Ok(read) => read,
            Err(plan) => return *plan,
        };
        let mut plan = self.begin_plan(&mut request, incoming);
        let is_compacted = self.is_own_compaction(&request, incoming);
        if !is_compacted && !plan.class.is_conversation() && plan.tokens_planned <= plan.budget.ours() {
            plan.session = origin.session_name.map(|name| name.id());
            return plan.finalize(incoming);
        }
        let continues_reply = request.received().signals.previous_response.is_some();
        let from_reply = continues_reply.then_some(caller.tenant);
        let error = match self.parts.backlog.wait_reason(origin.conversation_key, from_reply, began) {
            Some(reason) => EngineError::NotRecorded(reason),
            None => {
                let planning = async {
                    match is_compacted {
                        true => {
                            drop(permit);
                            self.compact(&request, incoming, &origin, &mut plan).await
                        }
                        false => self.plan(&mut request, incoming, &origin, &mut plan, permit).await,
                    }
                };
                let limit = incoming.timeout.map(|limit| limit.saturating_sub(began.elapsed()));
                match with_timeout(planning, limit).await {
                    Ok(()) => return plan.finalize(incoming),
                    Err(error) => error,
                }
            }
        };
        self.plan_without_store(incoming, origin, plan, &error).await
    }

    /// Plans with the store. Releases its permit before waiting on anything but the store.
    async fn plan(
        &self,
        request: &mut Arc<WireRequest>,
        incoming: &IncomingRequest<'_>,
        origin: &RequestOrigin,
        plan: &mut RequestPlan,
        mut permit: RequestPermit<'_>,
    ) -> Result<(), EngineError> {
        let RequestOrigin { caller, compacted_session, chain, conversation_key, .. } = origin;
        // What was received is recorded, and identifies its history.
        let (parsed, received) = (request.parsed(), request.received());
        let (session, mut proxy_session) = self.proxy_session_for(caller, received, chain, &mut permit).await?;
        proxy_session.place = place_of(received);
        let ratios = &proxy_session.stream.state.head().token_ratios;
        plan.adjust_budget(request, incoming, ratios, self.parts.session_cache.model_ratios());
        // With our tools it is known only later whether the request stays unmodified.
        let may_be_unmodified = incoming.offer.is_none() || incoming.shadow_mode;
        let is_only_recorded =
            may_be_unmodified && is_unmodified(request, chain, plan, &proxy_session, incoming).await;
        let mut found =
            self.match_history(&mut proxy_session, &session, received, chain, is_only_recorded).await?;
        found.covered_items = covered_items(parsed, &session, compacted_session.as_deref());
        plan.session = Some(session.clone());
        plan.verdict = Some(found.verdict);
        plan.session_totals = proxy_session.stream.state.metrics().requests;
        plan.repeated = Some(RepeatedTokens::new(received, found.shared_items, found.verdict));
        drop(permit);
        let mut embedded_query = None;
        if plan.class.is_conversation() {
            let is_new = proxy_session.stream.state.head().stream.is_none();
            let new = NewItems::of(&proxy_session, received, chain, &found);
            reset_cut_plan(&mut proxy_session, found.verdict);
            let stays_unmodified = is_unmodified(request, chain, plan, &proxy_session, incoming).await;
            let query = if stays_unmodified {
                String::new()
            } else {
                newest_query(parsed, proxy_session.cut_plan.as_ref())
            };
            let has_new = new.is_some();
            // The query is embedded while the request is recorded.
            let (written, embedding) = tokio::join!(
                self.append_request(&mut proxy_session, new, (received, chain)),
                self.embed_query(&query)
            );
            written?;
            if has_new {
                self.parts.backlog.note_success();
            }
            let (caller, chain, conversation_key) = (*caller, chain.clone(), *conversation_key);
            plan.ticket = Some(ReplyTicket { session, api: parsed.api, caller, chain, conversation_key });
            plan.turn = Some(proxy_session.stream.state.turn());
            plan.recorded = RecordingOutcome::Durable;
            embedded_query = Some((query, embedding));
            self.offer_tools(&mut proxy_session, Arc::make_mut(request), incoming, (&origin.chain, is_new), plan)
                .await?;
        }
        self.fit_to_budget(&mut proxy_session, request, incoming, chain, embedded_query, plan).await?;
        log_plan(plan);
        Ok(())
    }

    async fn fit_to_budget(
        &self,
        proxy_session: &mut ProxySession,
        request: &mut Arc<WireRequest>,
        incoming: &IncomingRequest<'_>,
        chain: &Chain,
        mut embedded_query: Option<(String, Option<Embedding>)>,
        plan: &mut RequestPlan,
    ) -> Result<(), EngineError> {
        let (counts, bytes) = (self.parts.session_cache.counts(incoming.encoding), incoming.body.len());
        let (cuts_before, economy) = (proxy_session.epochs, incoming.economy);
        loop {
            let budgeter =
                RequestBudgeter { engine: self, request, bytes, chain, counts: &counts, embedded_query, economy };
            budgeter.fit(proxy_session, plan.budget.ours(), plan).await?;
            embedded_query = budgeter.embedded_query;
            // Turns with our tools may be left out: what the client has of them is enough.
            if plan.overflow.is_none() || !Arc::make_mut(request).remove_splices(&counts) {
                break;
            }
            plan.overflow = None;
        }
        if let Some(cut) = &proxy_session.cut_plan {
            self.parts.session_cache.cut_plans.insert(chain, cut);
            if let Some(repeated) = plan.repeated.as_mut().filter(|_| plan.epoch > cuts_before) {
                repeated.before_cut = Some(request.parsed().tokens_asked_before(cut.unchanged_len()));
            }
        }
        Ok(())
    }

    /// Plans without the store, within the same budget; the request is recorded later.
    async fn plan_without_store(
        &self,
        incoming: &IncomingRequest<'_>,
        origin: RequestOrigin,
        started: RequestPlan,
        error: &EngineError,
    ) -> RequestPlan {
        if error.is_outage() {
            self.note_store_failure(&error.short_text());
        }
        // Parsed again: planning may have changed it.
        let mut request = match self.parse_request(&origin.caller, incoming).await {
            Ok((request, _)) => request,
            Err(plan) => return *plan,
        };
        let begun = self.begin_plan(&mut request, incoming);
        let RequestPlan { session, turn, verdict, session_totals, recorded, ticket, budget, .. } = started;
        let fault = Some(error.to_string());
        let mut plan =
            RequestPlan { session, turn, verdict, session_totals, recorded, ticket, fault, budget, ..begun };
        let counts = self.parts.session_cache.counts(incoming.encoding);
        let RequestOrigin { caller, compacted_session, session_name, chain, conversation_key } = origin;
        fit_without_store(&request, &chain, &counts, incoming, &self.parts.session_cache.cut_plans, &mut plan)
            .await;
        let is_compacted = request.parsed().wants_compaction();
        let is_recordable = !self.parts.is_anonymous && (plan.class.is_conversation() || is_compacted);
        if plan.recorded != RecordingOutcome::Durable && is_recordable {
            plan.session = plan.session.or_else(|| session_name.map(|name| name.id()));
            plan.recorded = RecordingOutcome::Deferred(error.short_text());
            let parsed = request.received().without_trigger();
            let chain = if is_compacted { Chain::from_request(&caller.tenant, &parsed) } else { chain };
            let deferred = DeferredRequest { request: parsed, chain, caller, compacted_session };
            let entry = Arc::new(BacklogEntry::of_request(conversation_key, incoming.body.len(), deferred));
            plan.deferred = Some(entry.clone()).filter(|_| plan.class.is_conversation());
            self.record_later(entry);
        }
        log_plan(&plan);
        plan.finalize(incoming)
    }

    /// Records the reply to a request, and concludes the effort that it ends. The same reply again changes
    /// nothing.
    pub async fn complete_request(&self, plan: &RequestPlan, reply: &ProviderReply) -> Result<(), EngineError> {
        self.record_reply(plan, reply).await?;
        self.conclude_finished_effort(plan).await
    }

    /// Records a reply, if its request is recorded or waits to be; durable when this returns `Ok`. If the store
    /// fails or is catching up, the reply is kept in memory and recorded later, and this returns an error. A reply
    /// that was dropped or not accepted comes back with the client's next request. The same reply again changes
    /// nothing.
    pub async fn record_reply(&self, plan: &RequestPlan, reply: &ProviderReply) -> Result<(), EngineError> {
        let account = plan.account(reply);
        self.parts.session_cache.observe_usage(&account);
        let not_recorded = |reason: Option<String>| {
            Err(EngineError::NotRecorded(reason.unwrap_or_else(|| "the store is catching up".to_owned())))
        };
        let (ticket, turn) = match (&plan.deferred, &plan.ticket) {
            (Some(deferred), _) => match deferred.add_reply(reply, account.clone()) {
                LateReply::RequestRecorded(ticket, turn) => (ticket, turn),
                LateReply::Queued => return not_recorded(self.recording_status().failing),
                LateReply::RequestDropped => {
                    return not_recorded(Some("too many requests wait to be recorded".to_owned()));
                }
            },
            (None, Some(ticket)) => (ticket.clone(), plan.turn.unwrap_or_default()),
            (None, None) => return Ok(()),
        };
        let wait_reason = self.parts.backlog.wait_reason(ticket.conversation_key, None, Instant::now());
        let written = match &wait_reason {
            Some(reason) => not_recorded(Some(reason.clone())),
            None => self.write_reply(&ticket, turn, reply, account.clone()).await,
        };
        match &written {
            Ok(()) => self.parts.backlog.note_success(),
            Err(error) if wait_reason.is_some() || error.is_outage() => {
                if error.is_outage() {
                    self.note_store_failure(&error.short_text());
                }
                let entry = BacklogEntry::of_reply(ticket, turn, reply.clone(), account);
                self.record_later(Arc::new(entry));
            }
            // The client's next request has it.
            Err(_) => {}
        }
        written
    }

    /// Concludes the active effort if the request ends it and its reply is recorded. Nobody needs to wait for
    /// this.
    pub async fn conclude_finished_effort(&self, plan: &RequestPlan) -> Result<(), EngineError> {
        match &plan.ticket {
            Some(ticket) => self.follow_up(ticket).await,
            None => Ok(()),
        }
    }
}

async fn with_timeout(
    planning: impl Future<Output = Result<(), EngineError>>,
    limit: Option<Duration>,
) -> Result<(), EngineError> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, planning).await.unwrap_or(Err(EngineError::TimedOut)),
        None => planning.await,
    }
}

/// Whether a history is sent unmodified, whatever is recorded of it.
async fn is_unmodified(
    request: &Arc<WireRequest>,
    chain: &Chain,
    plan: &RequestPlan,
    session: &ProxySession,
    incoming: &IncomingRequest<'_>,
) -> bool {
    let bounds = Bounds::of(request.parsed(), plan.budget.ours(), incoming.economy);
    request.parsed().compaction_at.is_none()
        && decide(request, chain, plan.class, session, bounds, incoming.body.len()).await
            == ForwardDecision::Unchanged
}

fn log_plan(plan: &RequestPlan) {
    tracing::info!(
        target: "neap::ingest",
        session = plan.session.as_ref().map(tracing::field::display),
        class = plan.class.as_str(),
        verdict = plan.verdict.map(HistoryVerdict::as_str),
        tokens_in = plan.tokens_in.0,
        tokens_planned = plan.tokens_planned.0,
        epoch = plan.epoch,
        changes = plan.changes.total(),
        "planned"
    );
}
