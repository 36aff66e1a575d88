//! Clients' requests: what a proxy asks before it passes one on, and tells when there is an answer.
//!
//! A client sends its whole history each time. [`Engine::ingest`] finds out whose it is, records what is new in it (durable
//! before this returns) and says what goes on to the model: the request as it came while it fits its budget, else with the middle
//! of the history left out, a record of it in its place, and what bears on the question recalled. [`Engine::answered`] records
//! the answer. If it is never told, nothing is lost: the client brings the answer along next time.
//!
//! While the store fails, a request is bounded from its own content ([`unrecorded`]) and says so ([`Plan::recorded`]); it is recorded
//! when the store works again ([`catching_up`]).

mod adopting;
mod backlog;
mod bounding;
mod catching_up;
mod compacting;
mod files;
mod finding;
mod keeping;
mod lines;
mod plan;
mod reading;
mod recording;
mod stranger;
mod tools;
mod unrecorded;

use std::sync::Arc;
use std::time::{Duration, Instant};

use neap_core::ingest::{Bounds, Caller, Chain, Decision, Digest, Heard, Reply, SessionName, Verdict, decide};
use neap_model::wire::heard::Request;

pub(crate) use backlog::Backlog;
pub use backlog::RecordingStatus;
pub(crate) use lines::Lines;
pub use plan::{Incoming, Plan, Recorded};
pub use tools::Said;

use crate::engine::Engine;
use crate::error::EngineError;
use backlog::{Entry, LateRequest, Later};
use bounding::{Bounding, newest};
use compacting::{forget_cut, told};
use lines::{HeardLine, Room};
use plan::Ticket;
use recording::New;
use unrecorded::bound_without_store;

/// Whose request it is, and what it goes on from.
struct Origin {
    caller: Caller,
    /// The session whose history was put in short here, if the client sends that.
    opened: Option<String>,
    /// The session that it names.
    named: Option<SessionName>,
    chain: Chain,
    key: Digest,
}

impl Engine {
    /// Takes in a request, and says what goes on to the model. Sending the same again changes nothing.
    pub async fn ingest(&self, incoming: &Incoming<'_>) -> Plan {
        match Caller::of(self.parts.callers, incoming.path, incoming.headers) {
            Some(caller) => self.ingest_of(&caller, incoming).await,
            None => self.ingest_alone(incoming).await,
        }
    }

    async fn ingest_of(&self, caller: &Caller, incoming: &Incoming<'_>) -> Plan {
        let began = Instant::now();
        let room = self.parts.lines.enter(incoming.limit).await;
        let (mut request, origin) = match self.read(caller, incoming).await {
            Ok(read) => read,
            Err(plan) => return *plan,
        };
        let mut plan = Plan::of(&request);
        let is_compacted = self.is_ours_to_compact(&request, incoming);
        if !is_compacted && !plan.class.is_conversation() && plan.tokens_in <= incoming.budget {
            plan.session = origin.named.map(|name| name.id());
            return plan.settled(incoming);
        }
        let goes_on_from_reply = request.heard().signals.response.is_some();
        let from_reply = goes_on_from_reply.then_some(caller.tenant);
        let error = match self.parts.backlog.refuses(origin.key, from_reply, began) {
            Some(reason) => EngineError::NotRecorded(reason),
            None => {
                let planning = async {
                    match is_compacted {
                        true => {
                            drop(room);
                            self.compact(&request, incoming, &origin, &mut plan).await
                        }
                        false => self.plan(&mut request, incoming, &origin, &mut plan, room).await,
                    }
                };
                let limit = incoming.limit.map(|limit| limit.saturating_sub(began.elapsed()));
                match in_time(planning, limit).await {
                    Ok(()) => return plan.settled(incoming),
                    Err(error) => error,
                }
            }
        };
        self.plan_without_store(incoming, origin, plan, &error).await
    }

    /// Puts into the plan what goes on, with all that the store knows. It leaves the room to others where it may have to wait for somebody
    /// else than the store.
    async fn plan(
        &self,
        request: &mut Arc<Request>,
        incoming: &Incoming<'_>,
        origin: &Origin,
        plan: &mut Plan,
        mut room: Room<'_>,
    ) -> Result<(), EngineError> {
        let Origin { caller, opened, chain, key, .. } = origin;
        let heard = request.heard();
        let (session, mut line) = self.line_of(caller, heard, chain, &mut room).await?;
        // With tools of ours it is known only later whether it goes on as it came.
        let may_be_as_it_was = incoming.offer.is_none() || incoming.shadow;
        let is_only_recorded = may_be_as_it_was && is_sent_as_it_is(heard, chain, incoming, plan, &line);
        let mut found = self.found(&mut line, &session, heard, chain, is_only_recorded).await?;
        found.told = told(heard, &session, opened.as_deref());
        plan.session = Some(session.clone());
        plan.verdict = Some(found.verdict);
        plan.so_far = line.live.state.metrics().passed;
        drop(room);
        let mut ahead = None;
        if plan.class.is_conversation() {
            let is_new = line.live.state.head().session.is_none();
            let new = New::of(&line, heard, chain, &found);
            forget_cut(&mut line, found.verdict);
            let is_as_it_was = is_sent_as_it_is(heard, chain, incoming, plan, &line);
            let asked = if is_as_it_was { String::new() } else { newest(heard, line.frozen.as_ref()) };
            let has_new = new.is_some();
            // What is asked is embedded while it is written down.
            let (written, meant) = tokio::join!(self.hear(&mut line, new, (heard, chain)), self.meaning(&asked));
            written?;
            if has_new {
                self.parts.backlog.succeeded();
            }
            let (caller, chain, key) = (*caller, chain.clone(), *key);
            plan.ticket = Some(Ticket { session, api: heard.api, caller, chain, key });
            plan.turn = Some(line.live.state.turn());
            plan.recorded = Recorded::Yes;
            ahead = Some((asked, meant));
            self.offer(&mut line, Arc::make_mut(request), incoming, (&origin.chain, is_new), plan).await?;
        }
        let (counts, bytes) = (self.parts.lines.counts(incoming.encoding), incoming.body.len());
        let bounding =
            Bounding { parts: &self.parts, engine: self, request, bytes, chain, counts: &counts, ahead };
        bounding.bound(&mut line, incoming.budget, plan).await?;
        let ahead = bounding.ahead;
        if plan.overflow.is_some() && Arc::make_mut(request).unweave(&counts) {
            // What was said with tools of ours need not be seen again; what the client has of it is enough.
            plan.overflow = None;
            let bounding =
                Bounding { parts: &self.parts, engine: self, request, bytes, chain, counts: &counts, ahead };
            bounding.bound(&mut line, incoming.budget, plan).await?;
        }
        if let Some(cut) = &line.frozen {
            self.parts.lines.cuts.keep(chain, cut);
        }
        told_of(plan);
        Ok(())
    }

    /// What goes on where the store did not do its part: bounded all the same. What could not be recorded is recorded later.
    async fn plan_without_store(
        &self,
        incoming: &Incoming<'_>,
        origin: Origin,
        begun: Plan,
        error: &EngineError,
    ) -> Plan {
        if error.is_outage() {
            self.store_failed(&error.brief());
        }
        // As it came: what was planned so far may have changed it.
        let request = match self.read(&origin.caller, incoming).await {
            Ok((request, _)) => request,
            Err(plan) => return *plan,
        };
        let Plan { session, turn, verdict, so_far, recorded, ticket, .. } = begun;
        let fault = Some(error.to_string());
        let mut plan = Plan { session, turn, verdict, so_far, recorded, ticket, fault, ..Plan::of(&request) };
        let counts = self.parts.lines.counts(incoming.encoding);
        let Origin { caller, opened, named, chain, key } = origin;
        bound_without_store(&request, &chain, &counts, incoming, &self.parts.lines.cuts, &mut plan).await;
        let is_compacted = request.heard().wants_compaction();
        let is_kept = !self.parts.is_alone && (plan.class.is_conversation() || is_compacted);
        if plan.recorded != Recorded::Yes && is_kept {
            plan.session = plan.session.or_else(|| named.map(|name| name.id()));
            plan.recorded = Recorded::No(error.brief());
            let heard = request.heard().without_trigger();
            let chain = if is_compacted { Chain::of(&caller.tenant, &heard) } else { chain };
            let late = LateRequest { heard, chain, caller, opened };
            let entry = Arc::new(Entry::of_request(key, incoming.body.len(), late));
            plan.late = Some(entry.clone()).filter(|_| plan.class.is_conversation());
            self.record_later(entry);
        }
        told_of(&plan);
        plan.settled(incoming)
    }

    /// Records what was answered to a request, and concludes the work that it ends. Told again, it changes nothing.
    pub async fn answered(&self, plan: &Plan, reply: &Reply) -> Result<(), EngineError> {
        self.record_reply(plan, reply).await?;
        self.conclude_work(plan).await
    }

    /// Records what was answered to a request: it is durable when this returns. Where the store fails, it is kept in memory and recorded
    /// later. Told again, it changes nothing.
    pub async fn record_reply(&self, plan: &Plan, reply: &Reply) -> Result<(), EngineError> {
        let passed = plan.account(reply);
        let waits = |reason: Option<String>| {
            Err(EngineError::NotRecorded(reason.unwrap_or_else(|| "the store is catching up".to_owned())))
        };
        let (ticket, turn) = match (&plan.late, &plan.ticket) {
            (Some(late), _) => match late.add_reply(reply, passed) {
                Later::Here(ticket, turn) => (ticket, turn),
                Later::Waits => return waits(self.recording_status().failing),
                Later::Dropped => return waits(Some("too much waits to be recorded".to_owned())),
            },
            (None, Some(ticket)) => (ticket.clone(), plan.turn.unwrap_or_default()),
            (None, None) => return Ok(()),
        };
        let refused = self.parts.backlog.refuses(ticket.key, None, Instant::now());
        let written = match &refused {
            Some(reason) => waits(Some(reason.clone())),
            None => self.write_reply(&ticket, turn, reply, passed).await,
        };
        match &written {
            Ok(()) => self.parts.backlog.succeeded(),
            Err(error) if refused.is_some() || error.is_outage() => {
                if error.is_outage() {
                    self.store_failed(&error.brief());
                }
                let entry = Entry::of_reply(ticket, turn, reply.clone(), passed);
                self.record_later(Arc::new(entry));
            }
            // It comes along with the client's next request.
            Err(_) => {}
        }
        written
    }

    /// Concludes the work in play, if what was said in a request ends it and its reply is recorded. Nobody need wait for that.
    pub async fn conclude_work(&self, plan: &Plan) -> Result<(), EngineError> {
        match &plan.ticket {
            Some(ticket) => self.conclude_work_of(ticket).await,
            None => Ok(()),
        }
    }
}

/// Waits for a plan, for as long as it may take.
async fn in_time(
    planning: impl Future<Output = Result<(), EngineError>>,
    limit: Option<Duration>,
) -> Result<(), EngineError> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, planning).await.unwrap_or(Err(EngineError::Late)),
        None => planning.await,
    }
}

/// Whether a history is to be sent as it came, whatever is recorded of it.
fn is_sent_as_it_is(heard: &Heard, chain: &Chain, incoming: &Incoming<'_>, plan: &Plan, line: &HeardLine) -> bool {
    let decision = || decide(heard, chain, plan.class, line.frozen.as_ref(), &Bounds::new(incoming.budget));
    heard.opened.is_none() && matches!(decision(), Decision::Unchanged)
}

fn told_of(plan: &Plan) {
    tracing::info!(
        target: "neap::ingest",
        session = plan.session.as_ref().map(tracing::field::display),
        class = plan.class.as_str(),
        verdict = plan.verdict.map(Verdict::as_str),
        tokens_in = plan.tokens_in.0,
        tokens_planned = plan.tokens_planned.0,
        epoch = plan.epoch,
        changes = plan.changes.total(),
        "heard"
    );
}
