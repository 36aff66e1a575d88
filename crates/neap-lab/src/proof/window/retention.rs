//! Asks for facts planted along the way once the chat is over.
//!
//! A fact counts as retained if its value is in the context built for the question, in the result of one search,
//! or in the one expansion or original that the first result leads to.

use neap_core::base::message::Scope;
use neap_core::session::state::SessionState;
use serde_json::{Value, json};

use super::effort_chat::{FACT_EVERY, Fact, fact};
use super::session::MeasuredSession;
use crate::{LabError, OnProgress};

/// Facts asked for, spread over the whole chat.
const QUESTIONS_MAX: u64 = 200;

#[derive(Debug, Clone, Default)]
pub(super) struct RetentionScore {
    pub(super) questions: u64,
    pub(super) from_context: u64,
    /// Of those asked for, facts that are not verbatim in the context any more.
    pub(super) summarized: u64,
    /// Of these, facts that a stored summary has, none of which is longer than its cap.
    pub(super) kept_by_summary: u64,
    pub(super) by_search: u64,
    pub(super) by_original: u64,
    pub(super) lost: Vec<Fact>,
}

impl RetentionScore {
    pub(super) fn percent_answered(&self) -> f64 {
        let answered = self.from_context + self.by_search + self.by_original;
        if self.questions == 0 { 100.0 } else { answered as f64 * 100.0 / self.questions as f64 }
    }
}

pub(super) async fn measure_retention(
    stage: &mut MeasuredSession,
    turns: u64,
    progress: OnProgress<'_>,
) -> Result<RetentionScore, LabError> {
    let planted = turns / FACT_EVERY;
    let every = planted.div_ceil(QUESTIONS_MAX).max(1);
    let mut score = RetentionScore::default();
    for fact in (1..=planted).step_by(every as usize).filter_map(|n| fact(n * FACT_EVERY)) {
        score.questions += 1;
        progress("questions", score.questions, planted / every);
        if !is_verbatim(stage, &fact).await? {
            score.summarized += 1;
            score.kept_by_summary += u64::from(is_in_summary(stage.session.state(), &fact.value));
        }
        if is_in_context(stage, &fact).await? {
            score.from_context += 1;
            continue;
        }
        let query = json!({"query": fact.question, "logs": true}).to_string();
        let found = stage.session.call_tool("search_efforts", &query).await?.text;
        if found.contains(&fact.value) {
            score.by_search += 1;
        } else if is_reachable(stage, &found, &fact).await? {
            score.by_original += 1;
        } else {
            score.lost.push(fact);
        }
    }
    Ok(score)
}

async fn is_in_context(stage: &mut MeasuredSession, fact: &Fact) -> Result<bool, LabError> {
    let context = stage.session.preview(Some(&fact.question)).await?;
    let system = context.system.iter().chain(&context.records).any(|(_, text)| text.contains(&fact.value));
    Ok(system || context.messages.iter().any(|placed| placed.counted.message.content.contains(&fact.value)))
}

/// Whether the person's own words are in the context.
async fn is_verbatim(stage: &mut MeasuredSession, fact: &Fact) -> Result<bool, LabError> {
    let context = stage.session.preview(Some(&fact.question)).await?;
    Ok(context.messages.iter().any(|placed| placed.counted.message.content.contains(&fact.statement)))
}

/// Whether a summary of an effort, or of a span of a log, has the value.
fn is_in_summary(state: &SessionState, value: &str) -> bool {
    let of_efforts = state.efforts().filter_map(|effort| effort.summary.as_ref());
    let scopes = state.efforts().map(|effort| Scope::Effort(effort.id.clone())).chain([Scope::Ambient]);
    let mut spans = scopes.flat_map(|scope| state.window(&scope).spans().to_vec());
    of_efforts.into_iter().any(|summary| summary.text.contains(value))
        || spans.any(|span| span.text.contains(value))
}

/// Whether the first search result leads to the value: its turn's original, or its effort expanded.
async fn is_reachable(stage: &mut MeasuredSession, found: &str, fact: &Fact) -> Result<bool, LabError> {
    let found: Value = serde_json::from_str(found).unwrap_or_default();
    let first = &found["results"][0];
    let turn = first["quote"].as_str().and_then(|quote| quote.strip_prefix("turn ")?.split(',').next());
    if let Some(turn) = turn {
        let handle = json!({"handle": format!("t{turn}")}).to_string();
        return Ok(stage.session.call_tool("fetch_original", &handle).await?.text.contains(&fact.value));
    }
    if let Some(id) = first["id"].as_str() {
        stage.session.call_tool("expand_effort", &json!({"id": id}).to_string()).await?;
        let is_shown = is_in_context(stage, fact).await?;
        stage.session.call_tool("collapse_effort", &json!({"id": id}).to_string()).await?;
        return Ok(is_shown);
    }
    Ok(false)
}
