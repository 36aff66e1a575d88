//! Clients' requests: what a proxy asks before it passes one on, and tells when there is an answer.
//!
//! A client sends its whole history each time. [`Engine::ingest`] finds out whose it is, records what is new in it (durable
//! before this returns, or before [`Plan::recorded`] does where the plan is wanted early) and says what goes on to the model: the request as it came while it fits its budget, else with the middle
//! of the history left out, a record of it in its place, and what bears on the question recalled. [`Engine::answered`] records
//! the answer. If it is never told, nothing is lost: the client brings the answer along next time.
//!
//! Whatever fails in here, the request goes on as it came: see [`Plan::fault`].

mod bounding;
mod compacting;
mod files;
mod finding;
mod lines;
mod plan;
mod recording;
mod tools;

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use neap_core::ingest::{Bounds, Chain, Decision, Heard, Reply, Tenant, Verdict, decide};
use neap_model::compute::{SMALL_BYTES, off_worker};
use neap_model::wire::heard::{Counts, Request};
use neap_model::wire::json::NotJson;
use tokio::sync::{OwnedMutexGuard, watch};

pub(crate) use lines::Lines;
pub use plan::{Incoming, Plan};
pub use tools::Said;

use crate::engine::Engine;
use crate::error::EngineError;
use bounding::{Bounding, newest};
use compacting::{forget_cut, told};
use lines::{HeardLine, Room, locked};
use plan::{Recording, Ticket};
use recording::{Account, New};

impl Engine {
    /// Takes in a request, and says what goes on to the model. Sending the same again changes nothing.
    pub async fn ingest(&self, incoming: &Incoming<'_>) -> Plan {
        let began = Instant::now();
        let room = self.parts.lines.enter(incoming.limit).await;
        let counts = self.parts.lines.counts(incoming.encoding);
        let tenant = Tenant::of_key(key(incoming.headers));
        let mut request = match read(incoming, &counts, tenant).await {
            Ok(Some(request)) => request,
            Ok(None) => return Plan::passed(None),
            Err(error) => return Plan::passed(Some(error.to_string())),
        };
        let opened = match self.opened(&mut request, &tenant, &counts) {
            Ok(session) => session,
            Err(why) => return Plan { refusal: Some(why), ..Plan::of(&request) },
        };
        let as_it_came = Plan::of(&request);
        let whose = (&tenant, opened.as_deref());
        let planning = self.plan(&mut request, incoming, whose, as_it_came.clone(), room);
        let planned = match incoming.limit {
            Some(limit) => tokio::time::timeout(limit.saturating_sub(began.elapsed()), planning).await,
            None => Ok(planning.await),
        };
        let fault = match planned {
            Ok(Ok(plan)) => return plan.settled(incoming),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "nothing was decided in time".to_owned(),
        };
        Plan { fault: Some(fault), ..as_it_came }.settled(incoming)
    }

    /// `opened` is the session whose history was put in short here, if the client sends that. It leaves the room to others where it may have
    /// to wait for somebody else than the store.
    async fn plan(
        &self,
        request: &mut Request,
        incoming: &Incoming<'_>,
        (tenant, opened): (&Tenant, Option<&str>),
        mut plan: Plan,
        mut room: Room<'_>,
    ) -> Result<Plan, EngineError> {
        let heard = request.heard();
        if heard.wants_compaction() && !incoming.shadow && !Self::is_closed_to_us(request) {
            drop(room);
            self.compact(request, incoming, tenant, opened, &mut plan).await?;
            return Ok(plan);
        }
        let chain = Chain::of(tenant, heard);
        let named = heard.signals.identity(tenant).map(|identity| identity.session);
        if !plan.class.is_conversation() && plan.tokens_in <= incoming.budget {
            plan.session = named;
            return Ok(plan);
        }
        let (session, line) = self.line_of(named, heard, &chain, &mut room).await?;
        let mut line = locked(line, &mut room).await;
        let may_be_early = incoming.early && (incoming.offer.is_none() || incoming.shadow);
        let is_only_recorded = may_be_early && is_sent_as_it_is(heard, &chain, incoming, &plan, &line);
        let mut found = self.found(&mut line, &session, heard, &chain, is_only_recorded).await?;
        found.told = told(heard, &session, opened);
        plan.session = Some(session.clone());
        plan.verdict = Some(found.verdict);
        plan.so_far = line.live.state.metrics().passed;
        drop(room);
        let mut ahead = None;
        if plan.class.is_conversation() {
            let is_new = line.live.state.head().session.is_none();
            let new = New::of(&line, heard, &chain, &found);
            plan.ticket = Some(Ticket { session, api: heard.api, tenant: *tenant, chain: chain.clone() });
            forget_cut(&mut line, found.verdict);
            let is_as_it_was = is_sent_as_it_is(heard, &chain, incoming, &plan, &line);
            if may_be_early && is_as_it_was {
                told_of(&plan);
                let request = new.as_ref().is_some_and(New::goes_on).then(|| (request.let_go(), chain));
                plan.recording = Some(self.hear_aside(line, new, request, incoming.limit).await);
                return Ok(plan);
            }
            let asked = if is_as_it_was { String::new() } else { newest(heard, line.frozen.as_ref()) };
            // What is asked is embedded while it is written down.
            let (written, meant) =
                tokio::join!(self.hear(&mut line, new, Some((heard, &chain))), self.meaning(&asked));
            written?;
            ahead = Some((asked, meant));
            plan.turn = Some(line.live.state.turn());
            self.offer(&mut line, request, incoming, (&chain, is_new), &mut plan).await?;
        }
        let counts = self.parts.lines.counts(incoming.encoding);
        let bounding =
            Bounding { parts: &self.parts, engine: self, request, chain: &chain, counts: &counts, ahead };
        bounding.bound(&mut line, incoming.budget, &mut plan).await?;
        told_of(&plan);
        Ok(plan)
    }

    /// Records what is new in a request while it is on its way; nobody else works on the history meanwhile.
    async fn hear_aside(
        &self,
        mut line: OwnedMutexGuard<HeardLine>,
        new: Option<New>,
        request: Option<(Heard, Chain)>,
        limit: Option<Duration>,
    ) -> Recording {
        let (tell, told) = watch::channel(None);
        let engine = self.clone();
        let hearing = async move {
            let request = request.as_ref().map(|(heard, chain)| (heard, chain));
            if let Err(error) = engine.hear(&mut line, new, request).await {
                tracing::warn!(target: "neap::ingest", %error, "a request goes on that was not recorded; the client brings it along next time");
                return;
            }
            tell.send_replace(Some(line.live.state.turn()));
        };
        let mut hearing = Box::pin(async move {
            match limit {
                Some(limit) => {
                    if tokio::time::timeout(limit, hearing).await.is_err() {
                        tracing::warn!(target: "neap::ingest", "a request goes on that was not recorded in time; the client brings it along next time");
                    }
                }
                None => hearing.await,
            }
        });
        // At once as far as it goes without waiting: what is spawned may begin only when this task waits.
        if poll_fn(|cx| Poll::Ready(hearing.as_mut().poll(cx))).await.is_pending() {
            tokio::spawn(hearing);
        }
        Recording(told)
    }

    /// Records what was answered to a request. Told again, it changes nothing.
    pub async fn answered(&self, plan: &Plan, reply: &Reply) -> Result<(), EngineError> {
        let Some(Ticket { session, api, tenant, chain }) = &plan.ticket else { return Ok(()) };
        plan.recorded().await;
        if plan.is_recording() {
            // What was asked could not be written down; both come along next time.
            return Ok(());
        }
        let shared = self.parts.lines.get(&self.parts, session).await?;
        let mut line = shared.lock().await;
        let account = Account { turn: plan.turn_now().unwrap_or_default(), passed: plan.account(reply) };
        self.hear_reply(&mut line, (*api, *tenant), chain, reply, account).await?;
        let ends_work = std::mem::take(&mut line.is_over) && line.live.state.active().is_some();
        // What follows may take as long as a summary does; the next request does not wait for it.
        drop(line);
        if ends_work {
            self.attach(session).await?.call_tool("close_effort", "{}").await?;
            shared.lock().await.live.reload(self.parts.store.as_ref()).await?;
        }
        Ok(())
    }
}

/// Reads a request: a long one off the async workers, with what its items are known by, which is worked out once.
async fn read(incoming: &Incoming<'_>, counts: &Counts, tenant: Tenant) -> Result<Option<Request>, NotJson> {
    let Incoming { path, headers, body, .. } = incoming;
    if body.len() < SMALL_BYTES {
        return Request::read(path, headers, body, counts);
    }
    let (path, headers, body, counts) = ((*path).to_owned(), headers.to_vec(), (*body).to_owned(), counts.clone());
    off_worker(body.len(), move || {
        let request = Request::read(&path, &headers, &body, &counts)?;
        if let Some(request) = &request {
            Chain::of(&tenant, request.heard());
        }
        Ok(request)
    })
    .await
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
