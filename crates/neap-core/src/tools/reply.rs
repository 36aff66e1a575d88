//! What a tool answers.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::effort::Effort;
use crate::ids::EffortId;
use crate::state::SessionState;

/// `{"status": …, "effort_id": …, …}`.
pub fn success(status: &str, id: &EffortId, more: &[(&str, Value)]) -> String {
    let mut object = Map::new();
    object.insert("status".into(), status.into());
    object.insert("effort_id".into(), id.as_str().into());
    for (key, value) in more {
        object.insert((*key).into(), value.clone());
    }
    Value::Object(object).to_string()
}

/// One match of `search_efforts`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchMatch {
    /// The effort it is in; none for ambient chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<EffortId>,
    /// Open or concluded; absent for ambient chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// What stands for the effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Words as they were said, with their turn, where the match is in a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// How well it matches, for ordering only.
    pub score: f64,
}

/// The answer of `effort_status`: active, open, expanded and shown efforts, most recent first, capped.
pub fn status(state: &SessionState, only: Option<&EffortId>) -> String {
    let active = state.active().map(|effort| effort.id.as_str());
    if let Some(effort) = only.and_then(|id| state.effort(id)) {
        return json!({"status": "ok", "active": active, "effort": entry(effort, active)}).to_string();
    }
    let max = usize::try_from(state.policy().status_efforts_max).unwrap_or(usize::MAX);
    let mut listed: Vec<&Effort> = state.open().chain(state.shown()).collect();
    listed.sort_by(|a, b| (b.is_open(), b.last_referenced, &b.id).cmp(&(a.is_open(), a.last_referenced, &a.id)));
    let efforts: Vec<Value> = listed.iter().take(max).map(|effort| entry(effort, active)).collect();
    json!({
        "status": "ok",
        "turn": state.turn(),
        "active": active,
        "efforts": efforts,
        "not_listed": (state.efforts().len() - efforts.len()),
        "expanded": state.expanded().map(|e| e.id.as_str()).collect::<Vec<_>>(),
        "expansion_cost_tokens": state.expanded().filter_map(|e| e.expanded).map(|x| x.tokens_loaded.0).sum::<u64>(),
    })
    .to_string()
}

fn entry(effort: &Effort, active: Option<&str>) -> Value {
    let mut object = Map::new();
    object.insert("id".into(), effort.id.as_str().into());
    object.insert("status".into(), effort.status.as_str().into());
    object.insert("active".into(), (active == Some(effort.id.as_str())).into());
    object.insert("raw_tokens".into(), effort.log.tokens.0.into());
    if let Some(summary) = effort.summary.as_ref().filter(|_| effort.is_concluded()) {
        object.insert("summary_tokens".into(), summary.tokens.0.into());
    }
    match effort.expanded {
        Some(expansion) => {
            object.insert("expanded".into(), true.into());
            object.insert("expansion_cost_tokens".into(), expansion.tokens_loaded.0.into());
        }
        None => {
            object.insert("expanded".into(), false.into());
        }
    }
    Value::Object(object)
}
