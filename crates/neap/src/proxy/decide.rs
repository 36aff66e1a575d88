//! What becomes of a request: the one place where it may be changed. The engine says what goes on; here is what it needs to know
//! of the model, and how the client is told.

use std::sync::Arc;
use std::time::Duration;

use neap_core::ingest::{Overflow, Reply, Used};
use neap_core::message::ToolCall;
use neap_core::tokens::Tokens;
use neap_engine::{Engine, Incoming, Indexer, Plan, Recorded, RecordingStatus, Said};
use neap_model::bpe::counter_for;
use neap_model::client::Overheard;
use neap_model::profile::{Profile, Profiles};
use neap_model::usage::{Meter as Spent, Usage};
use neap_model::wire::heard::{Offer, OwnAnswer};
use neap_model::wire::json::member;

use super::complaints::Complaints;
use super::fault::Fault;
use super::other::prompts_in;
use super::route::Family;
use crate::cli::OverBudget;

/// After this long a request goes on without what the store knows.
const LIMIT: Duration = Duration::from_secs(10);
/// For so long the proxy tries at its end to record what it could not record before.
const LAST_TRIES: Duration = Duration::from_secs(5);
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
    /// By how much it is over its budget, where it goes on all the same.
    pub(crate) over: Option<Overflow>,
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
    /// What becomes of a request that cannot be brought under it.
    pub(crate) over_budget: OverBudget,
    /// Whether everything goes on as it came, and only what would be done is told.
    pub(crate) shadow: bool,
    /// Tools of ours that models are offered.
    pub(crate) offer: Option<Offer>,
    /// Says on standard error what somebody should know, but not for every request.
    pub(crate) complaints: Complaints<u64>,
    /// What is said is embedded beside the requests; it ends with the proxy.
    pub(crate) _indexer: Indexer,
}

impl Decider {
    /// What goes on of a request. Where the store fails, it is bounded without what the store knows.
    pub(crate) async fn decide(&self, asked: &Asked<'_>) -> Decided {
        let Asked { path, headers, body, family } = *asked;
        let profile = self.profiles.of(&model_of(body));
        let (budget, encoding) = (self.budget(&profile), encoding(&profile));
        let (limit, shadow) = (Some(LIMIT), self.shadow);
        let offer = self.offer.as_ref();
        let incoming = Incoming { path, headers, body, budget, encoding: &encoding, shadow, offer, limit };
        let mut plan = self.engine.ingest(&incoming).await;
        if let Some(fault) = &plan.fault {
            tracing::warn!(target: "neap::proxy", fault, "a request goes on without what is stored");
        }
        let is_window_known = profile.context_tokens_max().is_some();
        let over = plan.overflow.and_then(|overflow| self.refused(family, &overflow, is_window_known));
        let refused = plan.refusal.take().map(Fault::NotOurs).or(over);
        let (body, answer, told) = (plan.body.take(), plan.answer.take(), told(&plan));
        let over = plan.overflow.filter(|_| refused.is_none());
        Decided { body, told, answer, refused, over, plan: Some(Arc::new(plan)), spent: Arc::default() }
    }

    /// Why a body is over the budget that is no history that we read; it is counted as it is. Only a budget that somebody set
    /// counts: what a model takes is its provider's to say.
    pub(crate) fn measured(&self, path: &str, body: &[u8]) -> Option<Overflow> {
        let budget = self.budget.filter(|_| !self.shadow)?;
        let text = String::from_utf8_lossy(body);
        let counter = counter_for(&encoding(&self.profiles.of(&model_of(&text))));
        let longest = prompts_in(path, &text).into_iter().map(|prompt| counter.count(prompt)).max()?;
        (longest > budget).then(|| Overflow::of_whole(longest, budget))
    }

    /// Why a request that does not fit is refused; none where it goes on all the same, which is then said on standard error. A
    /// budget that somebody set is hard, and so is what a model takes; what we assume of a model that we do not know is not.
    pub(crate) fn refused(&self, family: Family, overflow: &Overflow, is_window_known: bool) -> Option<Fault> {
        let is_hard = self.budget.is_some() || is_window_known;
        if self.over_budget == OverBudget::Refuse && is_hard {
            return Some(Fault::ContextFull(too_long(family, overflow)));
        }
        self.complaints.warn(format!("{overflow}; it goes on as it came"));
        None
    }

    /// Records what was answered, or as much of it as came; fails with why it is not recorded yet.
    pub(crate) async fn record(&self, decided: &Decided, heard: Overheard) -> Result<(), String> {
        let Some(plan) = decided.plan.as_deref() else { return Ok(()) };
        let Overheard { text, calls, id, usage, is_whole } = heard;
        let used = usage.map(|Usage { input, cached, output, .. }| Used { input, cached, output });
        let reply = Reply { text, calls, id, used, is_half: !is_whole };
        self.engine.record_reply(plan, &reply).await.map_err(|error| error.to_string())
    }

    /// Concludes the work that an answer ends.
    pub(crate) async fn conclude(&self, decided: &Decided) {
        let Some(plan) = decided.plan.as_deref() else { return };
        if let Err(error) = self.engine.conclude_work(plan).await {
            tracing::warn!(target: "neap::proxy", %error, "work that is over was not concluded");
        }
    }

    /// How recording goes.
    pub(crate) fn recording_status(&self) -> RecordingStatus {
        self.engine.recording_status()
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
    pub(crate) async fn fits(&self, body: &str) -> bool {
        let profile = self.profiles.of(&model_of(body));
        self.engine.fits(body, &encoding(&profile), self.budget(&profile)).await
    }

    /// Waits until what was said is recorded, as far as the store takes it, and what people read is current. Gives how many requests and
    /// answers are lost to it.
    pub(crate) async fn finish(&self) -> usize {
        let left = self.engine.caught_up(LAST_TRIES).await;
        self.engine.flush().await;
        left
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
    match &plan.recorded {
        Recorded::Yes => told.push(("x-neap-recorded", "yes".to_owned())),
        Recorded::No(reason) => told.push(("x-neap-recorded", format!("no; {reason}"))),
        Recorded::NotKept => {
            told.push(("x-neap-recorded", "no; it shows no credential that is only one caller's".to_owned()))
        }
        Recorded::NotNeeded => {}
    }
    told.extend(plan.session.as_ref().map(|session| ("x-neap-session", session.to_string())));
    told.extend(plan.verdict.map(|verdict| ("x-neap-verdict", verdict.as_str().to_owned())));
    told
}

/// As the provider says it, so that clients know what to do, with what it would take.
fn too_long(family: Family, overflow: &Overflow) -> String {
    let Overflow { needed, budget, .. } = overflow;
    let theirs = match family {
        Family::OpenAi => format!(
            "This model's maximum context length is {budget} tokens. However, your messages resulted in {needed} tokens."
        ),
        Family::Anthropic => format!("prompt is too long: {needed} tokens > {budget} maximum"),
    };
    format!(
        "{theirs} [neap] {overflow}. hint: raise --budget above {needed}, or start neap with --over-budget pass"
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
            assert_eq!(model_of(body), want, "{body}");
        }
    }
}
