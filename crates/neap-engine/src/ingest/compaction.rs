//! Compacts a history when its client asks for that, and opens earlier compactions. The item that a client keeps
//! is signed for its caller and needs no store. One that was altered, or made for another, never reaches a model
//! as ours.

use std::sync::Arc;

use neap_core::base::ids::SessionId;
use neap_core::base::tokens::Tokens;
use neap_core::client::{
    Chain, ClientRequest, Digest, HistoryVerdict, Tenant, compact_history, compaction_budget,
};
use neap_model::caller::Caller;
use neap_model::compute::run_in_place;
use neap_model::envelope::{CallBinding, Envelope, EnvelopeError, Keyring};
use neap_model::wire::request::{CachedCounter, CompactionInput, WireRequest};

use super::RequestOrigin;
use super::budgeting::RequestBudgeter;
use super::plan::{IncomingRequest, RecordingOutcome, RequestPlan};
use super::recording::NewItems;
use super::session_cache::ProxySession;
use crate::engine::Engine;
use crate::error::EngineError;

/// Prefix of our compaction items; those without it are a provider's, and are forwarded.
const MARK: &str = "neap1:";
/// Tool name in the signature, which makes it a compaction and nothing else.
const COMPACTION_TOOL: &str = "compaction";
/// Share of the budget, in per cent, for the person's own messages, which stay verbatim.
const KEPT_MESSAGES_PERCENT: u64 = 20;

impl Engine {
    /// Opens our compactions, and returns the session that they are of. Fails with the reason if one with our
    /// prefix does not verify.
    pub(super) fn open_compactions(
        &self,
        request: &mut WireRequest,
        caller: &Caller,
        counts: &CachedCounter,
    ) -> Result<Option<String>, String> {
        let mut session = None;
        for (at, content) in request.compaction_items() {
            let Some(text) = content.strip_prefix(MARK) else { continue };
            let refused = |why: String| format!("the encrypted content of a compaction cannot be verified: {why}");
            let envelope: Envelope =
                serde_json::from_str(text).map_err(|_| refused("it is not a compaction of Neap's".to_owned()))?;
            let keyring = self.parts.keyring().map_err(|error| refused(error.to_string()))?;
            verify_owner(keyring, &envelope, caller).map_err(|error| refused(error.to_string()))?;
            request.open_compaction(at, &envelope.payload, counts);
            session = Some(envelope.session);
        }
        Ok(session)
    }

    /// Whether we answer a compaction request. Only a provider can open its own compactions, and an unknown caller
    /// could not prove later that an item is theirs.
    pub(super) fn is_own_compaction(&self, request: &WireRequest, incoming: &IncomingRequest<'_>) -> bool {
        let has_foreign_items =
            || request.compaction_items().iter().any(|(_, content)| !content.starts_with(MARK));
        request.parsed().wants_compaction()
            && !incoming.shadow_mode
            && !self.parts.is_anonymous
            && !has_foreign_items()
    }

    /// Records the whole history, then answers with its compaction.
    pub(super) async fn compact(
        &self,
        request: &Arc<WireRequest>,
        incoming: &IncomingRequest<'_>,
        origin: &RequestOrigin,
        plan: &mut RequestPlan,
    ) -> Result<(), EngineError> {
        let caller = &origin.caller;
        let compacted_session = origin.compacted_session.as_deref();
        let parsed = &request.received().without_trigger();
        let chain = &Chain::from_request(&caller.tenant, parsed);
        let (session, mut proxy_session) = self.proxy_session_for(caller, parsed, chain, &mut None).await?;
        if compacted_session.is_some_and(|compacted_session| compacted_session != session.as_str()) {
            // Only the opened item has the record of that session: let the provider compact it.
            plan.body = Some(request.render_all());
            return Ok(());
        }
        let mut found = self.match_history(&mut proxy_session, &session, parsed, chain, false).await?;
        found.covered_items = covered_items(parsed, &session, compacted_session);
        let new = NewItems::of(&proxy_session, parsed, chain, &found);
        self.append_request(&mut proxy_session, new, (parsed, chain)).await?;
        plan.recorded = RecordingOutcome::Durable;
        plan.session = Some(session.clone());
        plan.verdict = Some(found.verdict);
        plan.turn = Some(proxy_session.stream.state.turn());
        let counts = self.parts.session_cache.counts(incoming.encoding);
        let bytes = incoming.body.len();
        let budgeter = RequestBudgeter {
            engine: self,
            request,
            bytes,
            chain,
            counts: &counts,
            embedded_query: None,
            economy: false,
        };
        let text = self.compaction_text(&budgeter, &mut proxy_session, parsed, plan.budget.ours()).await?;
        let turn = proxy_session.stream.state.turn().to_string();
        let owner = caller.tenant.digest().to_string();
        let binding =
            CallBinding { session: session.as_str(), call_id: &turn, tool: COMPACTION_TOOL, arguments: &owner };
        let now = self.parts.clock.now();
        let tokens_out = counts.count(&text);
        let envelope = self.parts.keyring()?.seal(&binding, text, now)?;
        let content = format!("{MARK}{}", serde_json::to_string(&envelope).unwrap_or_default());
        plan.own_answer = Some(request.compaction_answer(&CompactionInput {
            content: &content,
            id_seed: &Digest::of(COMPACTION_TOOL, &[content.as_bytes()]).to_string(),
            at: now.0.div_euclid(1_000),
            tokens_in: plan.tokens_in,
            tokens_out,
            user_tokens_max: plan.budget.ours().percent(KEPT_MESSAGES_PERCENT),
        }));
        Ok(())
    }

    async fn compaction_text(
        &self,
        budgeter: &RequestBudgeter<'_>,
        session: &mut ProxySession,
        request: &ClientRequest,
        budget: Tokens,
    ) -> Result<String, EngineError> {
        let budget = compaction_budget(budget);
        let next = session.stream.state.turn().next();
        budgeter.ensure_summaries(&mut session.stream, next, budget).await?;
        Ok(run_in_place(budgeter.bytes, || {
            compact_history(&session.stream.state, request, budget, budgeter.counts.counter())
        }))
    }
}

/// Whether an item was made for this caller, under the current identity or an earlier one. With one caller, every
/// item made here is theirs, also after their token was renewed.
fn verify_owner(keyring: &Keyring, envelope: &Envelope, caller: &Caller) -> Result<(), EnvelopeError> {
    let verify = |owner: &Tenant| {
        let owner = owner.digest().to_string();
        let (session, call_id) = (envelope.session.as_str(), envelope.call_id.as_str());
        keyring.verify(envelope, &CallBinding { session, call_id, tool: COMPACTION_TOOL, arguments: &owner })
    };
    for owner in [Some(caller.tenant), caller.legacy_tenant].into_iter().flatten() {
        match verify(&owner) {
            // The owner is checked last: all else is valid.
            Err(EnvelopeError::OtherArguments) => {}
            verified => return verified,
        }
    }
    if caller.needs_proof() { Err(EnvelopeError::OtherArguments) } else { Ok(()) }
}

/// How many items only repeat what is in the session: all up to the compaction.
pub(super) fn covered_items(
    request: &ClientRequest,
    session: &SessionId,
    compacted_session: Option<&str>,
) -> usize {
    request.compaction_at.filter(|_| compacted_session == Some(session.as_str())).map_or(0, |at| at + 1)
}

/// Drops the cut after a client's compaction: it is another history from then on.
pub(super) fn reset_cut_plan(session: &mut ProxySession, verdict: HistoryVerdict) {
    if verdict == HistoryVerdict::ClientCompaction {
        session.cut_plan = None;
    }
}
