//! Clients' requests: what a proxy asks before it passes one on, and tells when there is an answer.
//!
//! A client sends its whole history each time. [`Engine::ingest`] finds out whose it is, records what is new in it (durable
//! before this returns) and says what goes on to the model: the request as it came while it fits its budget, else with the middle
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

use neap_core::ingest::{Chain, Reply, Tenant};
use neap_model::wire::heard::Request;

pub(crate) use lines::Lines;
pub use plan::{Incoming, Plan};
pub use tools::Said;

use crate::engine::Engine;
use crate::error::EngineError;
use bounding::Bounding;
use compacting::{forget_cut, told};
use plan::Ticket;
use recording::Account;

impl Engine {
    /// Takes in a request, and says what goes on to the model. Sending the same again changes nothing.
    pub async fn ingest(&self, incoming: &Incoming<'_>) -> Plan {
        let counts = self.parts.lines.counts(incoming.encoding);
        let mut request = match Request::read(incoming.path, incoming.headers, incoming.body, &counts) {
            Ok(Some(request)) => request,
            Ok(None) => return Plan::passed(None),
            Err(error) => return Plan::passed(Some(error.to_string())),
        };
        let tenant = Tenant::of_key(key(incoming.headers));
        let opened = match self.opened(&mut request, &tenant, &counts) {
            Ok(session) => session,
            Err(why) => return Plan { refusal: Some(why), ..Plan::of(&request) },
        };
        let as_it_came = Plan::of(&request);
        let planning = self.plan(&mut request, incoming, (&tenant, opened.as_deref()), as_it_came.clone());
        let planned = match incoming.limit {
            Some(limit) => tokio::time::timeout(limit, planning).await,
            None => Ok(planning.await),
        };
        let fault = match planned {
            Ok(Ok(plan)) => return plan.settled(incoming),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "nothing was decided in time".to_owned(),
        };
        Plan { fault: Some(fault), ..as_it_came }.settled(incoming)
    }

    /// `opened` is the session whose history was put in short here, if the client sends that.
    async fn plan(
        &self,
        request: &mut Request,
        incoming: &Incoming<'_>,
        (tenant, opened): (&Tenant, Option<&str>),
        mut plan: Plan,
    ) -> Result<Plan, EngineError> {
        let heard = request.heard();
        if heard.wants_compaction() && !incoming.shadow && !Self::is_closed_to_us(request) {
            self.compact(request, incoming, tenant, opened, &mut plan).await?;
            return Ok(plan);
        }
        let chain = Chain::of(tenant, heard);
        let named = heard.signals.identity(tenant).map(|identity| identity.session);
        if !plan.class.is_conversation() && plan.tokens_in <= incoming.budget {
            plan.session = named;
            return Ok(plan);
        }
        let (session, line) = self.line_of(named, heard, &chain).await?;
        let mut line = line.lock().await;
        let mut found = self.found(&mut line, &session, heard, &chain).await?;
        found.told = told(heard, &session, opened);
        plan.session = Some(session.clone());
        plan.verdict = Some(found.verdict);
        plan.so_far = line.live.state.metrics().passed;
        if plan.class.is_conversation() {
            let is_new = line.live.state.head().session.is_none();
            self.hear(&mut line, heard, &chain, &found).await?;
            plan.turn = Some(line.live.state.turn());
            plan.ticket = Some(Ticket { session, api: heard.api, tenant: *tenant, chain: chain.clone() });
            forget_cut(&mut line, found.verdict);
            self.offer(&mut line, request, incoming, (&chain, is_new), &mut plan).await?;
        }
        let counts = self.parts.lines.counts(incoming.encoding);
        let bounding = Bounding { parts: &self.parts, engine: self, request, chain: &chain, counts: &counts };
        bounding.bound(&mut line, incoming.budget, &mut plan).await?;
        tracing::info!(
            target: "neap::ingest",
            session = %line.live.id,
            class = plan.class.as_str(),
            verdict = found.verdict.as_str(),
            tokens_in = plan.tokens_in.0,
            tokens_planned = plan.tokens_planned.0,
            epoch = plan.epoch,
            changes = plan.changes.total(),
            "heard"
        );
        Ok(plan)
    }

    /// Records what was answered to a request. Told again, it changes nothing.
    pub async fn answered(&self, plan: &Plan, reply: &Reply) -> Result<(), EngineError> {
        let Some(Ticket { session, api, tenant, chain }) = &plan.ticket else { return Ok(()) };
        let shared = self.parts.lines.get(&self.parts, session).await?;
        let mut line = shared.lock().await;
        let account = Account { turn: plan.turn.unwrap_or_default(), passed: plan.account(reply) };
        self.hear_reply(&mut line, (*api, *tenant), chain, reply, account).await?;
        let ends_work = std::mem::take(&mut line.is_over) && line.live.state.active().is_some();
        // What follows may take as long as a summary does; the next request does not wait for it.
        drop(line);
        if ends_work {
            self.attach(session).await?.call_tool("close_effort", "{}").await?;
        }
        Ok(())
    }
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
