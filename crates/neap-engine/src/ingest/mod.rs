//! Clients' requests: what a proxy asks before it passes one on, and tells when there is an answer.
//!
//! A client sends its whole history each time. [`Engine::ingest`] finds out whose it is, records what is new in it (durable
//! before this returns) and says what goes on to the model: the request as it came while it fits its budget, else with the middle
//! of the history left out, a record of it in its place, and what bears on the question recalled. [`Engine::answered`] records
//! the answer. If it is never told, nothing is lost: the client brings the answer along next time.
//!
//! While the store fails, a request is bounded from its own content ([`unrecorded`]) and says so ([`Plan::recorded`]); it is recorded
//! when the store works again ([`catching_up`]).

mod backlog;
mod bounding;
mod catching_up;
mod compacting;
mod files;
mod finding;
mod lines;
mod plan;
mod recording;
mod tools;
mod unrecorded;

use std::sync::Arc;
use std::time::{Duration, Instant};

use neap_core::ids::SessionId;
use neap_core::ingest::{Bounds, Chain, Decision, Digest, Heard, Reply, Tenant, Verdict, decide};
use neap_model::wire::heard::Request;
use neap_store::StoreError;

pub(crate) use backlog::Backlog;
pub use backlog::RecordingStatus;
pub(crate) use lines::Lines;
pub use plan::{Incoming, Plan, Recorded};
pub use tools::Said;

use crate::engine::Engine;
use crate::error::EngineError;
use backlog::{Entry, LateRequest, Later, conversation_key};
use bounding::{Bounding, newest};
use compacting::{forget_cut, told};
use lines::{HeardLine, Room, locked};
use plan::Ticket;
use recording::New;
use unrecorded::bound_without_store;

/// Why a request went on before it was recorded.
const LATE: &str = "nothing was decided in time";

/// Whose request it is, and what it goes on from.
struct Origin {
    tenant: Tenant,
    /// The session whose history was put in short here, if the client sends that.
    opened: Option<String>,
    /// The session that it names.
    named: Option<SessionId>,
    chain: Chain,
    key: Digest,
}

impl Engine {
    /// Takes in a request, and says what goes on to the model. Sending the same again changes nothing.
    pub async fn ingest(&self, incoming: &Incoming<'_>) -> Plan {
        let began = Instant::now();
        let room = self.parts.lines.enter(incoming.limit).await;
        let (mut request, origin) = match self.read(incoming) {
            Ok(read) => read,
            Err(plan) => return *plan,
        };
        let mut plan = Plan::of(&request);
        let is_compacted = self.is_ours_to_compact(&request, incoming);
        if !is_compacted && !plan.class.is_conversation() && plan.tokens_in <= incoming.budget {
            plan.session = origin.named;
            return plan.settled(incoming);
        }
        let goes_on_from_reply = request.heard().signals.response.is_some();
        let error = match self.parts.backlog.refuses(origin.key, goes_on_from_reply, began) {
            Some(reason) => EngineError::NotRecorded(reason),
            None => {
                let planning = async {
                    match is_compacted {
                        true => self.compact(&request, incoming, &origin, &mut plan).await,
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
        self.plan_without_store(incoming, origin, plan, &error)
    }

    /// Reads a request; fails with the plan for one that is not about a history, or cannot be read.
    fn read(&self, incoming: &Incoming<'_>) -> Result<(Request, Origin), Box<Plan>> {
        let counts = self.parts.lines.counts(incoming.encoding);
        let mut request = match Request::read(incoming.path, incoming.headers, incoming.body, &counts) {
            Ok(Some(request)) => request,
            // The provider says what is wrong with it; that it is not too long is seen to here.
            Ok(None) => return Err(Box::new(Plan::unread(None, &counts, incoming))),
            Err(error) => return Err(Box::new(Plan::unread(Some(error.to_string()), &counts, incoming))),
        };
        let tenant = Tenant::of_key(key(incoming.headers));
        let opened = match self.opened(&mut request, &tenant, &counts) {
            Ok(session) => session,
            Err(why) => return Err(Box::new(Plan { refusal: Some(why), ..Plan::of(&request) })),
        };
        let chain = Chain::of(&tenant, request.heard());
        let named = request.heard().signals.identity(&tenant).map(|identity| identity.session);
        let key = conversation_key(named.as_ref(), &chain);
        Ok((request, Origin { tenant, opened, named, chain, key }))
    }

    /// Puts into the plan what goes on, with all that the store knows. It leaves the room to others where it may have to wait for somebody
    /// else than the store.
    async fn plan(
        &self,
        request: &mut Request,
        incoming: &Incoming<'_>,
        origin: &Origin,
        plan: &mut Plan,
        mut room: Room<'_>,
    ) -> Result<(), EngineError> {
        let Origin { tenant, opened, named, chain, key } = origin;
        let heard = request.heard();
        let (session, line) = self.line_of(named.clone(), heard, chain, &mut room).await?;
        let mut line = locked(line, &mut room).await;
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
            let (tenant, chain, key) = (*tenant, chain.clone(), *key);
            plan.ticket = Some(Ticket { session, api: heard.api, tenant, chain, key });
            plan.turn = Some(line.live.state.turn());
            plan.recorded = Recorded::Yes;
            ahead = Some((asked, meant));
            self.offer(&mut line, request, incoming, (&origin.chain, is_new), plan).await?;
        }
        let counts = self.parts.lines.counts(incoming.encoding);
        let bounding = Bounding { parts: &self.parts, engine: self, request, chain, counts: &counts, ahead };
        bounding.bound(&mut line, incoming.budget, plan).await?;
        let ahead = bounding.ahead;
        if plan.overflow.is_some() && request.unweave(&counts) {
            // What was said with tools of ours need not be seen again; what the client has of it is enough.
            plan.overflow = None;
            let bounding = Bounding { parts: &self.parts, engine: self, request, chain, counts: &counts, ahead };
            bounding.bound(&mut line, incoming.budget, plan).await?;
        }
        if let Some(cut) = &line.frozen {
            self.parts.lines.cuts.keep(chain, cut);
        }
        told_of(plan);
        Ok(())
    }

    /// What goes on where the store did not do its part: bounded all the same. What could not be recorded is recorded later.
    fn plan_without_store(
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
        let request = match self.read(incoming) {
            Ok((request, _)) => request,
            Err(plan) => return *plan,
        };
        let Plan { session, turn, verdict, so_far, recorded, ticket, .. } = begun;
        let fault = Some(error.to_string());
        let mut plan = Plan { session, turn, verdict, so_far, recorded, ticket, fault, ..Plan::of(&request) };
        let counts = self.parts.lines.counts(incoming.encoding);
        let Origin { tenant, opened, named, chain, key } = origin;
        bound_without_store(&request, &chain, &counts, incoming.budget, &self.parts.lines.cuts, &mut plan);
        let is_compacted = request.heard().wants_compaction();
        if plan.recorded != Recorded::Yes && (plan.class.is_conversation() || is_compacted) {
            plan.session = plan.session.or_else(|| named.clone());
            plan.recorded = Recorded::No(error.brief());
            let heard = request.heard().without_trigger();
            let chain = if is_compacted { Chain::of(&tenant, &heard) } else { chain };
            let late = LateRequest { heard, chain, tenant, named, opened };
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
        let refused = self.parts.backlog.refuses(ticket.key, false, Instant::now());
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
                let entry = Entry::of_reply(ticket.key, ticket, turn, reply.clone(), passed);
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
    let late = || StoreError::Failed(LATE.to_owned()).into();
    match limit {
        Some(limit) => tokio::time::timeout(limit, planning).await.unwrap_or_else(|_| Err(late())),
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

/// The key that a caller shows.
fn key(headers: &[(String, String)]) -> Option<&str> {
    ["x-api-key", "authorization", "api-key", "x-goog-api-key"].iter().find_map(|name| {
        let value =
            headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())?;
        let value = value.strip_prefix("Bearer ").unwrap_or(value).trim();
        (!value.is_empty()).then_some(value)
    })
}
