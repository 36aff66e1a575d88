//! What becomes of a request: the one place where it may be changed. The engine says what goes on; here is what it needs to know
//! of the model, and how the client is told.

use std::sync::Arc;
use std::time::Duration;

use neap_core::ingest::{Reply, Used};
use neap_core::message::ToolCall;
use neap_core::tokens::Tokens;
use neap_engine::{Engine, Incoming, Indexer, Plan, Said};
use neap_model::bpe::counter_for;
use neap_model::client::Overheard;
use neap_model::profile::{Profile, Profiles};
use neap_model::usage::{Meter as Spent, Usage};
use neap_model::wire::heard::{Offer, OwnAnswer};
use neap_model::wire::json::member;

use super::fault::Fault;
use super::route::Family;

/// After this long a request goes on as it came.
const LIMIT: Duration = Duration::from_secs(10);
/// What may be sent to a model of which nothing is known, if nobody says.
const BUDGET_UNKNOWN: Tokens = Tokens(100_000);

/// A request about a history, unpacked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// Its path, with the name of a session before it if there is one, and all of its target that may show who asks.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) body: &'a str,
    /// Whose words it is in.
    pub(crate) family: Family,
    /// Whether it asks for an answer.
    pub(crate) wants_answer: bool,
}

/// What goes on.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    /// The body to send; none to send what came.
    pub(crate) body: Option<String>,
    /// What the client is told of it, in headers of our own.
    pub(crate) told: Vec<(&'static str, String)>,
    /// The answer, where we give it ourselves.
    pub(crate) answer: Option<OwnAnswer>,
    /// Why it cannot go on at all.
    pub(crate) refused: Option<Fault>,
    pub(crate) plan: Option<Arc<Plan>>,
    /// What was used on the way to the answer, where it took more than one request.
    pub(crate) spent: Arc<Spent>,
}

/// Decides.
pub(crate) struct Decider {
    pub(crate) engine: Engine,
    pub(crate) profiles: Profiles,
    /// What may be sent at most, if that was said.
    pub(crate) budget: Option<Tokens>,
    /// Whether everything goes on as it came, and only what would be done is told.
    pub(crate) shadow: bool,
    /// Tools of ours that models are offered.
    pub(crate) offer: Option<Offer>,
    /// What is said is embedded beside the requests; it ends with the proxy.
    pub(crate) _indexer: Indexer,
}

impl Decider {
    /// What goes on of a request. Whatever fails in here, it goes on as it came.
    pub(crate) async fn decide(&self, asked: &Asked<'_>) -> Decided {
        let Asked { path, headers, body, family, wants_answer } = *asked;
        let profile = self.profiles.of(&model_of(body));
        let (budget, encoding) = (self.budget(&profile), encoding(&profile));
        let (limit, shadow) = (Some(LIMIT), self.shadow);
        let offer = self.offer.as_ref();
        let incoming =
            Incoming { path, headers, body, budget, encoding: &encoding, shadow, offer, early: true, limit };
        let mut plan = self.engine.ingest(&incoming).await;
        if let Some(fault) = &plan.fault {
            tracing::warn!(target: "neap::proxy", fault, "a request goes on as it came");
        }
        let most = profile.context_tokens_max().filter(|most| wants_answer && !shadow && plan.tokens_sent > *most);
        let most = most.filter(|_| plan.answer.is_none());
        let too_long = most.map(|most| Fault::ContextFull(too_long(family, plan.tokens_sent, most)));
        let refused = plan.refusal.take().map(Fault::NotOurs).or(too_long);
        let (body, answer) = (plan.body.take(), plan.answer.take());
        Decided { body, told: told(&plan), answer, refused, plan: Some(Arc::new(plan)), spent: Arc::default() }
    }

    /// Takes in what was answered, or as much of it as came.
    pub(crate) async fn answered(&self, decided: &Decided, heard: Overheard) {
        let Some(plan) = decided.plan.as_deref() else { return };
        let Overheard { text, calls, id, usage, is_whole } = heard;
        let used = usage.map(|Usage { input, cached, output, .. }| Used { input, cached, output });
        if let Err(error) = self.engine.answered(plan, &Reply { text, calls, id, used, is_half: !is_whole }).await
        {
            tracing::warn!(target: "neap::proxy", %error, "an answer was not recorded; the client brings it along next time");
        }
    }

    /// Carries out a call of a tool of ours.
    pub(crate) async fn call_ours(&self, plan: &Plan, call: &ToolCall) -> String {
        tracing::debug!(target: "neap::proxy", tool = call.name, "called");
        self.engine.call_ours(plan, call).await
    }

    /// Keeps what was really said in the place of an answer.
    pub(crate) async fn keep_shadow(&self, plan: &Plan, said: Said) {
        if let Err(error) = self.engine.keep_shadow(plan, said).await {
            tracing::warn!(target: "neap::proxy", %error, "the model will not see its calls again");
        }
    }

    /// Whether a request that goes on from another may be sent.
    pub(crate) fn fits(&self, body: &str) -> bool {
        let profile = self.profiles.of(&model_of(body));
        self.engine.fits(body, &encoding(&profile), self.budget(&profile))
    }

    /// Waits until what people read is current.
    pub(crate) async fn flush(&self) {
        self.engine.flush().await;
    }

    fn budget(&self, profile: &Profile) -> Tokens {
        match (self.budget, profile.context_tokens_max()) {
            (Some(said), Some(most)) => said.min(most),
            (Some(budget), None) | (None, Some(budget)) => budget,
            (None, None) => BUDGET_UNKNOWN,
        }
    }
}

/// The model that is asked for; empty if that cannot be read.
fn model_of(body: &str) -> String {
    member(body, "model").and_then(|model| serde_json::from_str(model).ok()).unwrap_or_default()
}

fn encoding(profile: &Profile) -> String {
    counter_for(profile.encoding.as_deref().unwrap_or(&profile.name)).encoding().to_owned()
}

/// What the client is told, and whoever looks over its shoulder.
fn told(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut told = vec![("x-neap-changes", plan.changes.total().to_string())];
    if plan.api.is_some() {
        told.push(("x-neap-class", plan.class.as_str().to_owned()));
        told.push(("x-neap-tokens-in", plan.tokens_in.0.to_string()));
        told.push(("x-neap-tokens-sent", plan.tokens_sent.0.to_string()));
        told.push(("x-neap-epoch", plan.epoch.to_string()));
    }
    if plan.tokens_planned != plan.tokens_sent {
        told.push(("x-neap-tokens-planned", plan.tokens_planned.0.to_string()));
    }
    if let Some(share) = plan.so_far.cached_share() {
        told.push(("x-neap-cached-percent", format!("{:.0}", share * 100.0)));
    }
    told.extend(plan.session.as_ref().map(|session| ("x-neap-session", session.to_string())));
    told.extend(plan.verdict.map(|verdict| ("x-neap-verdict", verdict.as_str().to_owned())));
    told
}

/// As the provider says it, so that clients know what to do.
fn too_long(family: Family, tokens: Tokens, most: Tokens) -> String {
    match family {
        Family::OpenAi => format!(
            "This model's maximum context length is {most} tokens. However, your messages resulted in {tokens} tokens."
        ),
        Family::Anthropic => format!("prompt is too long: {tokens} tokens > {most} maximum"),
    }
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
            assert_eq!(model_of(body), want, "{body}");
        }
    }
}
