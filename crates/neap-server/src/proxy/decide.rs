//! Decides what to forward of a request: the only place that may change it. The engine makes the plan; this module
//! supplies the model's limits and tells the client about the plan in `x-neap-*` headers.

use std::sync::Arc;
use std::time::Duration;

use neap_core::base::message::ToolCall;
use neap_core::base::tokens::Tokens;
use neap_core::client::{Overflow, ProviderReply, TokenUsage, WireApi};
use neap_engine::{ActualTurn, Engine, IncomingRequest, Indexer, RecordingOutcome, RecordingStatus, RequestPlan};
use neap_model::bpe::counter_for;
use neap_model::client::TappedResponse;
use neap_model::profile::{ModelProfile, ModelProfiles};
use neap_model::usage::{Usage, UsageMeter};
use neap_model::wire::json::find_member;
use neap_model::wire::request::{LocalAnswer, ToolOffer, model_in_path};

use super::error::ProxyError;
use super::other_prompts::{may_have_prompt, prompt_texts};
use super::throttled_log::ThrottledLog;

/// After this a request is forwarded without stored state.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long shutdown retries what could not be recorded earlier.
const FINAL_RETRY_TIMEOUT: Duration = Duration::from_secs(5);
/// Token budget for a model with an unknown context size, where none was set.
const DEFAULT_BUDGET: Tokens = Tokens(100_000);

/// A request with a message history, decompressed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HistoryRequest<'a> {
    /// Full request target: path with its session prefix, plus query and user info, which help to identify the
    /// caller.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) body: &'a str,
    pub(crate) api: WireApi,
}

#[derive(Debug, Default)]
pub(crate) struct RequestDecision {
    /// The body to send; `None` forwards the original.
    pub(crate) body: Option<String>,
    pub(crate) neap_headers: Vec<(&'static str, String)>,
    /// A response that Neap gives itself, without asking the provider.
    pub(crate) answer: Option<LocalAnswer>,
    pub(crate) rejection: Option<ProxyError>,
    /// Set where the request is forwarded although it exceeds its budget.
    pub(crate) over_budget: Option<Overflow>,
    pub(crate) plan: Option<Arc<RequestPlan>>,
    /// Usage of the earlier requests of this response, where own tool calls took more than one.
    pub(crate) usage: Arc<UsageMeter>,
}

pub struct Decider {
    pub engine: Engine,
    pub profiles: ModelProfiles,
    pub budget: Option<Tokens>,
    /// Forward a request that cannot be brought under its budget, instead of refusing it.
    pub passes_over_budget: bool,
    /// Forward everything unchanged and only report what would be done.
    pub shadow: bool,
    /// Show long tool results in short, whatever the budget.
    pub trims_tools: bool,
    /// Cut before the budget is full, as soon as that pays.
    pub economy: bool,
    pub offer: Option<ToolOffer>,
    pub warnings: ThrottledLog<u64>,
    /// Embeds new text in the background; stops when the proxy is dropped.
    pub _indexer: Indexer,
}

impl Decider {
    /// Plans a request. Where the store fails, the request is bounded without stored state.
    pub(crate) async fn decide(&self, request: &HistoryRequest<'_>) -> RequestDecision {
        let HistoryRequest { path, headers, body, api } = *request;
        let model = model_of(path, body);
        let profile = self.profiles.lookup(&model);
        let encoding = profile.encoding();
        let incoming = IncomingRequest {
            encoding: &encoding,
            model: &model,
            estimate: profile.token_estimate(),
            prices: profile.token_prices(),
            shadow_mode: self.shadow,
            trims_tools: self.trims_tools,
            economy: self.economy,
            offer: self.offer.as_ref(),
            timeout: Some(STORE_TIMEOUT),
            ..IncomingRequest::new(path, headers, body, self.budget(&profile))
        };
        let mut plan = self.engine.ingest(&incoming).await;
        if let Some(fault) = &plan.fault {
            tracing::warn!(target: "neap::proxy", fault, "a request is planned without stored state");
        }
        let is_window_known = profile.context_tokens_max().is_some();
        let budget_error =
            plan.overflow.and_then(|overflow| self.over_budget_error(api, &overflow, is_window_known));
        let rejection = plan.refusal.take().map(ProxyError::InvalidCompaction).or(budget_error);
        let (body, answer, neap_headers) = (plan.body.take(), plan.own_answer.take(), neap_headers(&plan));
        let over_budget = plan.overflow.filter(|_| rejection.is_none());
        RequestDecision {
            body,
            neap_headers,
            answer,
            rejection,
            over_budget,
            plan: Some(Arc::new(plan)),
            usage: Arc::default(),
        }
    }

    /// The overflow of a body that is not a history Neap reads, counted as it is. Applies only to a budget that
    /// the user set: a model's own limit is left to its provider.
    pub(crate) fn budget_overflow(&self, path: &str, content_type: &str, body: &[u8]) -> Option<Overflow> {
        let budget = self.other_budget()?;
        let text = String::from_utf8_lossy(body);
        let model = model_of(path, &text);
        let profile = self.profiles.lookup(&model);
        let counter = counter_for(&profile.encoding());
        let longest =
            prompt_texts(path, content_type, &text).into_iter().map(|prompt| counter.count(prompt)).max()?;
        let estimate = profile.token_estimate();
        let incoming =
            IncomingRequest { model: &model, estimate, ..IncomingRequest::new(path, &[], &text, budget) };
        self.engine.overflow_of_whole(&incoming, longest)
    }

    fn other_budget(&self) -> Option<Tokens> {
        self.budget.filter(|_| !self.shadow)
    }

    /// Whether a body that is not a history must be read, to be counted.
    pub(crate) fn counts_prompts(&self, path: &str, content_type: &str) -> bool {
        self.other_budget().is_some() && may_have_prompt(path, content_type)
    }

    /// The error for a request that does not fit; `None` where it is forwarded anyway, which is logged. A budget
    /// set by the user and a known context size are hard; a default budget is not.
    pub(crate) fn over_budget_error(
        &self,
        api: WireApi,
        overflow: &Overflow,
        is_window_known: bool,
    ) -> Option<ProxyError> {
        let is_hard = self.budget.is_some() || is_window_known;
        if !self.passes_over_budget && is_hard {
            return Some(ProxyError::ContextFull(context_full_message(api, overflow)));
        }
        self.warnings.warn(format!("{overflow}; forwarding it unchanged"));
        None
    }

    /// Records a response, complete or not; the error says why it is not recorded yet.
    pub(crate) async fn record(&self, decision: &RequestDecision, reply: &ProviderReply) -> Result<(), String> {
        let Some(plan) = decision.plan.as_deref() else { return Ok(()) };
        self.engine.record_reply(plan, reply).await.map_err(|error| error.to_string())
    }

    pub(crate) async fn conclude(&self, decision: &RequestDecision) {
        let Some(plan) = decision.plan.as_deref() else { return };
        if let Err(error) = self.engine.conclude_finished_effort(plan).await {
            tracing::warn!(target: "neap::proxy", %error, "could not conclude a finished effort");
        }
    }

    pub(crate) fn recording_status(&self) -> RecordingStatus {
        self.engine.recording_status()
    }

    pub(crate) async fn call_own_tool(&self, plan: &RequestPlan, call: &ToolCall) -> String {
        tracing::debug!(target: "neap::proxy", tool = call.name, "called");
        self.engine.call_own_tool(plan, call).await
    }

    /// Stores the actual turn behind the response that the client saw.
    pub(crate) async fn save_hidden_turns(&self, plan: &RequestPlan, turn: ActualTurn) {
        if let Err(error) = self.engine.store_hidden_turn(plan, turn).await {
            tracing::warn!(target: "neap::proxy", %error, "could not store hidden tool calls");
        }
    }

    /// Whether a follow-up request with tool results fits the budget.
    pub(crate) async fn is_within_budget(&self, plan: &RequestPlan, path: &str, body: &str) -> bool {
        let encoding = self.profiles.lookup(&model_of(path, body)).encoding();
        self.engine.is_within_budget(plan, body, &encoding).await
    }

    /// Waits until everything is recorded and the session folders are current. Returns how many requests and
    /// responses could not be recorded.
    pub(crate) async fn finish(&self) -> usize {
        let left = self.engine.wait_until_recorded(FINAL_RETRY_TIMEOUT).await;
        self.engine.flush().await;
        left
    }

    fn budget(&self, profile: &ModelProfile) -> Tokens {
        match (self.budget, profile.context_tokens_max()) {
            (Some(configured), Some(most)) => configured.min(most),
            (Some(budget), None) | (None, Some(budget)) => budget,
            (None, None) => DEFAULT_BUDGET,
        }
    }
}

pub(crate) fn provider_reply(response: TappedResponse) -> ProviderReply {
    let TappedResponse { text, calls, id, usage, is_complete } = response;
    let own_tool_rounds = usage.map_or(0, |usage| usage.calls.saturating_sub(1));
    let usage = usage.map(|Usage { calls: _, input, cached, cache_written, output }| TokenUsage {
        input,
        cached,
        cache_written,
        output,
    });
    ProviderReply { text, calls, id, usage, own_tool_rounds, is_truncated: !is_complete }
}

/// The requested model, by the body or else by the path; empty if neither names one.
fn model_of(path: &str, body: &str) -> String {
    let named: Option<String> = find_member(body, "model").and_then(|model| serde_json::from_str(model).ok());
    named.filter(|model| !model.is_empty()).or_else(|| model_in_path(path)).unwrap_or_default()
}

fn neap_headers(plan: &RequestPlan) -> Vec<(&'static str, String)> {
    let provider_tokens = |ours: Tokens| plan.budget.likely(ours).to_string();
    let mut headers = vec![("x-neap-changes", plan.changes.total().to_string())];
    if plan.api.is_some() {
        headers.push(("x-neap-class", plan.class.as_str().to_owned()));
        headers.push(("x-neap-tokens-in", provider_tokens(plan.tokens_in)));
        headers.push(("x-neap-tokens-sent", provider_tokens(plan.tokens_sent)));
        headers.push(("x-neap-epoch", plan.epoch.to_string()));
    }
    if plan.tokens_planned != plan.tokens_sent {
        headers.push(("x-neap-tokens-planned", provider_tokens(plan.tokens_planned)));
    }
    if let Some(share) = plan.session_totals.cached_share() {
        headers.push(("x-neap-cached-percent", format!("{:.0}", share * 100.0)));
    }
    match &plan.recorded {
        RecordingOutcome::Durable => headers.push(("x-neap-recorded", "yes".to_owned())),
        RecordingOutcome::Deferred(reason) => headers.push(("x-neap-recorded", format!("no; {reason}"))),
        RecordingOutcome::NotRetained => {
            headers.push(("x-neap-recorded", "no; it has no credential that identifies one caller".to_owned()))
        }
        RecordingOutcome::NotNeeded => {}
    }
    headers.extend(plan.session.as_ref().map(|session| ("x-neap-session", session.to_string())));
    headers.extend(plan.verdict.map(|verdict| ("x-neap-verdict", verdict.as_str().to_owned())));
    headers
}

/// The provider's own wording, so that clients recognise it, followed by a hint.
fn context_full_message(api: WireApi, overflow: &Overflow) -> String {
    let Overflow { needed, budget, .. } = overflow;
    let message = match api {
        WireApi::Chat | WireApi::Responses => format!(
            "This model's maximum context length is {budget} tokens. However, your messages resulted in {needed} tokens."
        ),
        WireApi::Messages => format!("prompt is too long: {needed} tokens > {budget} maximum"),
    };
    format!(
        "{message} [neap] {overflow}. hint: raise --budget above {needed}, or start neap with --over-budget pass"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_read_from_whatever_comes() {
        let table = [
            (r#"{"messages":[{"role":"user","model":"no"}],"model":"gpt-4o"}"#, "gpt-4o"),
            (r#"{"model":7}"#, ""),
            (r#" {"m\"odel" : [ {"a":"}"} ] , "model": "a\u0062c" }"#, "abc"),
            (r#"{"model":"first","model":"last"}"#, "last"),
            (r#"{"model":"first","messages":[],"mod\u0065l":"last"}"#, "last"),
            (r#"{"model":"a","model":"b","messages":[],"mod\u0065l":"c"}"#, "c"),
            (r#"{"model":"only","messages":[{"content":"the \"model\": 7"}]}"#, "only"),
            (r#"{"model":"only","messages":[{"content":"the \"model\": \u0065"}]}"#, "only"),
            (r#"{"model":"cut"#, ""),
            ("{", ""),
            ("[]", ""),
            ("not JSON", ""),
        ];
        for (body, want) in table {
            assert_eq!(model_of("/v1/messages", body), want, "{body}");
        }
        let azure = "/openai/deployments/gpt-4o/chat/completions?api-version=1";
        assert_eq!(model_of(azure, r#"{"messages":[]}"#), "gpt-4o");
        assert_eq!(model_of(azure, r#"{"model":"","messages":[]}"#), "gpt-4o");
        assert_eq!(model_of(azure, r#"{"model":"gpt-5","messages":[]}"#), "gpt-5");
    }
}
