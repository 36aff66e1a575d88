//! What is still known at the end: facts planted along the way, asked for once the chat is over.
//!
//! The judge is a rule: the value is in what was shown or returned. First the context as a model would get it with the
//! question; then one search; then the one expansion or original that its first result leads to.

use serde_json::{Value, json};

use super::progress;
use super::stage::Stage;
use super::talk::{FACT_EVERY, Fact, fact};
use crate::out::Failure;

/// Facts that are asked for, spread over the whole chat.
const ASKED_MAX: u64 = 200;

/// How the answers came.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    pub(super) questions: u64,
    pub(super) from_context: u64,
    pub(super) by_search: u64,
    pub(super) by_original: u64,
    /// The facts that were not found.
    pub(super) lost: Vec<Fact>,
}

impl Asked {
    pub(super) fn answered(&self) -> u64 {
        self.from_context + self.by_search + self.by_original
    }

    /// In per cent.
    pub(super) fn share(&self) -> f64 {
        if self.questions == 0 { 100.0 } else { self.answered() as f64 * 100.0 / self.questions as f64 }
    }
}

/// Asks.
pub(super) async fn ask(stage: &mut Stage, turns: u64) -> Result<Asked, Failure> {
    let planted = turns / FACT_EVERY;
    let every = planted.div_ceil(ASKED_MAX).max(1);
    let mut asked = Asked::default();
    for fact in (1..=planted).step_by(every as usize).filter_map(|n| fact(n * FACT_EVERY)) {
        asked.questions += 1;
        progress("question", asked.questions, planted / every, 100);
        if shown(stage, &fact).await? {
            asked.from_context += 1;
            continue;
        }
        let query = json!({"query": fact.question, "logs": true}).to_string();
        let found = stage.session.call_tool("search_efforts", &query).await?.text;
        if found.contains(&fact.value) {
            asked.by_search += 1;
        } else if led_to(stage, &found, &fact).await? {
            asked.by_original += 1;
        } else {
            asked.lost.push(fact);
        }
    }
    Ok(asked)
}

/// Whether the value is in the context that the question would be sent with.
async fn shown(stage: &mut Stage, fact: &Fact) -> Result<bool, Failure> {
    let context = stage.session.preview(Some(&fact.question)).await?;
    let system = context.system.iter().chain(&context.records).any(|(_, text)| text.contains(&fact.value));
    Ok(system || context.messages.iter().any(|placed| placed.said.message.content.contains(&fact.value)))
}

/// Whether the first result of a search leads to it: its turn's own words, or its effort expanded.
async fn led_to(stage: &mut Stage, found: &str, fact: &Fact) -> Result<bool, Failure> {
    let found: Value = serde_json::from_str(found).unwrap_or_default();
    let first = &found["results"][0];
    let turn = first["quote"].as_str().and_then(|quote| quote.strip_prefix("turn ")?.split(',').next());
    if let Some(turn) = turn {
        let handle = json!({"handle": format!("t{turn}")}).to_string();
        return Ok(stage.session.call_tool("fetch_original", &handle).await?.text.contains(&fact.value));
    }
    if let Some(id) = first["id"].as_str() {
        stage.session.call_tool("expand_effort", &json!({"id": id}).to_string()).await?;
        let is_shown = shown(stage, fact).await?;
        stage.session.call_tool("collapse_effort", &json!({"id": id}).to_string()).await?;
        return Ok(is_shown);
    }
    Ok(false)
}
