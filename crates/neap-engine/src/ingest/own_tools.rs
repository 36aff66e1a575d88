//! Our tools in clients' conversations: offered from a session's first request on or never, and run here. The
//! client gets only the answers, so the turns as they really happened (hidden turns) are spliced back into its
//! history. They are in memory only; without them the client's version is sent. No call is orphaned in it, and
//! what the tools did is recorded all the same.

use std::time::{Duration, Instant};

use neap_core::base::ids::SessionId;
use neap_core::base::message::ToolCall;
use neap_core::base::token_ratio::RequestBudget;
use neap_core::base::tokens::Tokens;
use neap_core::client::{Chain, Digest, HiddenToolTurns, Overflow, is_steering_tool};
use neap_core::memory::knowledge::AgentProfile;
use neap_model::caller::Caller;
use neap_model::compute::run_in_place;
use neap_model::wire::request::{CachedCounter, WireRequest};
use neap_store::StoreError;
use serde_json::json;

use super::plan::{IncomingRequest, ReplyTicket, RequestPlan};
use super::request_parsing::count_tokens;
use super::session_cache::{ProxySession, check_owner};
use crate::agent_stream::AgentConfig;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::stream::OpenStream;

/// Most bytes of hidden turns per session.
const HIDDEN_TURN_BYTES_MAX: usize = 4 << 20;
/// How long a call waits for another process's lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const MEMORY_TOOL: &str = "memory";

impl Engine {
    /// Offers our tools, if the session began with them, and splices their turns back into the history.
    pub(super) async fn offer_tools(
        &self,
        proxy_session: &mut ProxySession,
        request: &mut WireRequest,
        incoming: &IncomingRequest<'_>,
        (chain, is_new): (&Chain, bool),
        plan: &mut RequestPlan,
    ) -> Result<(), EngineError> {
        let Some(offer) = incoming.offer.filter(|_| !incoming.shadow_mode) else { return Ok(()) };
        let mark = Digest::of("tools", &[proxy_session.stream.id.as_str().as_bytes()]);
        if is_new {
            proxy_session.offers_tools = Some(true);
            if let Some(end) = proxy_session.stream.state.head().history.clone() {
                self.append_items(proxy_session, None, vec![(None, Some(mark))], end, None).await?;
            }
        }
        let offers = match proxy_session.offers_tools {
            Some(offers) => offers,
            None => {
                let known = self.parts.store.sessions_by_digest(&[mark]).await?.pop().unwrap_or_default();
                known.iter().any(|(session, _)| *session == proxy_session.stream.id)
            }
        };
        proxy_session.offers_tools = Some(offers);
        if !offers {
            return Ok(());
        }
        let counts = self.parts.session_cache.counts(incoming.encoding);
        plan.own_tools = request.offer_tools(offer, &counts);
        let spliced = run_in_place(incoming.body.len(), || {
            splice_hidden_turns(request, &proxy_session.hidden_turns, chain, &counts)
        });
        plan.changes.added += plan.own_tools.len() + spliced;
        plan.expanded_body = request.is_changed().then(|| request.render_all());
        plan.body.clone_from(&plan.expanded_body);
        plan.tokens_planned = request.parsed().tokens();
        Ok(())
    }

    /// Runs a call of one of the plan's own tools. An error is text for the model to read.
    pub async fn call_own_tool(&self, plan: &RequestPlan, call: &ToolCall) -> String {
        let Some(ReplyTicket { session, caller, .. }) = &plan.ticket else {
            return error_json("there is no session");
        };
        let began = Instant::now();
        loop {
            let done = match call.name == MEMORY_TOOL {
                true => self.call_memory_tool(caller, call).await,
                false => self.call_session_tool(session, caller, call).await,
            };
            match done {
                // A request does not wait for a lock, but a tool call should be done.
                Err(EngineError::Store(StoreError::Busy { .. })) if began.elapsed() < LOCK_TIMEOUT => {
                    tokio::task::yield_now().await;
                }
                done => return done.unwrap_or_else(|error| error_json(&error.to_string())),
            }
        }
    }

    async fn call_session_tool(
        &self,
        id: &SessionId,
        caller: &Caller,
        call: &ToolCall,
    ) -> Result<String, EngineError> {
        if is_steering_tool(&call.name) {
            self.parts
                .session_cache
                .get(&self.parts, id, &caller.tenant)
                .await?
                .lock()
                .await
                .efforts
                .is_model_steered = true;
        }
        let stream = OpenStream::load(self.parts.store.as_ref(), id.clone()).await?;
        check_owner(&stream, &caller.tenant)?;
        // One caller's memories are not another's (I11).
        let agent = AgentConfig { id: self.agent_for(caller).await?, profile: AgentProfile::default().into() };
        let mut session = self.open_session_as(id, stream, Some(&agent)).await?;
        Ok(session.call_tool(&call.name, &call.arguments).await?.text)
    }

    /// Stores the turn that the model really took, for later requests.
    pub async fn store_hidden_turn(&self, plan: &RequestPlan, turn: ActualTurn) -> Result<(), EngineError> {
        let Some(ReplyTicket { session, caller, chain, .. }) = &plan.ticket else { return Ok(()) };
        let proxy_session = self.parts.session_cache.get(&self.parts, session, &caller.tenant).await?;
        let mut proxy_session = proxy_session.lock().await;
        let ActualTurn { text, call_ids: calls, items, own_results: held_results } = turn;
        proxy_session.hidden_turns.push(HiddenToolTurns {
            request_digest: chain.stable_digest(),
            text,
            calls,
            items,
            held_results,
        });
        let mut bytes: usize = proxy_session.hidden_turns.iter().map(HiddenToolTurns::bytes).sum();
        while bytes > HIDDEN_TURN_BYTES_MAX {
            bytes -= proxy_session.hidden_turns.remove(0).bytes();
        }
        Ok(())
    }

    /// Whether a body that adds to what a plan sends is within the plan's budget.
    pub async fn is_within_budget(&self, plan: &RequestPlan, body: &str, encoding: &str) -> bool {
        let tokens = count_tokens(&self.parts.session_cache.counts(encoding), body).await;
        let added = tokens.saturating_sub(plan.tokens_sent);
        tokens <= RequestBudget { new: plan.budget.new + added, ..plan.budget }.ours()
    }

    /// The overflow of a body that is no history, if it may exceed its budget.
    pub fn overflow_of_whole(&self, incoming: &IncomingRequest<'_>, tokens: Tokens) -> Option<Overflow> {
        let budget = self.parts.session_cache.model_ratios().budget(incoming, None, tokens);
        let overflow = Overflow::of_whole(tokens, budget.ours());
        (tokens > budget.ours()).then(|| overflow.in_provider_tokens(&budget))
    }
}

/// The turn that a model really took, where the client has only its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActualTurn {
    /// The text that the client got.
    pub text: String,
    /// The ids of the calls that the client got.
    pub call_ids: Vec<String>,
    /// The turn as it is sent to the model.
    pub items: Vec<String>,
    /// Results of our calls in the last item.
    pub own_results: Vec<String>,
}

fn splice_hidden_turns(
    request: &mut WireRequest,
    turns: &[HiddenToolTurns],
    chain: &Chain,
    counts: &CachedCounter,
) -> usize {
    let parsed = request.parsed();
    let places: Vec<_> = turns.iter().filter_map(|turn| Some((turn.find_range(parsed, chain)?, turn))).collect();
    for (items, turn) in &places {
        request.splice(items.clone(), turn, counts);
    }
    places.len()
}

fn error_json(why: &str) -> String {
    json!({"error": why}).to_string()
}
