//! Results of Neap's tools.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::base::ids::{EffortId, StreamId};
use crate::session::effort::Effort;
use crate::session::state::SessionState;

/// `{"status": …, "effort_id": …, …}`.
pub fn effort_result(status: &str, id: &EffortId, more: &[(&str, Value)]) -> String {
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
    /// `None` for ambient chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<EffortId>,
    /// Another session of the project, where the match is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<StreamId>,
    /// `None` for ambient chat, and in other sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// A verbatim quote with its turn, where the match is in a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// For ordering only.
    pub score: f64,
}

/// The result of `effort_status`: open and shown efforts, most recent first, capped.
pub fn effort_status(state: &SessionState, only: Option<&EffortId>) -> String {
    let active = state.active_effort().map(|effort| effort.id.as_str());
    if let Some(effort) = only.and_then(|id| state.effort(id)) {
        return json!({"status": "ok", "active": active, "effort": effort_json(effort, active)}).to_string();
    }
    let max = usize::try_from(state.policy().status_efforts_max).unwrap_or(usize::MAX);
    let mut listed: Vec<&Effort> = state.open_efforts().chain(state.shown_efforts()).collect();
    listed.sort_by(|a, b| (b.is_open(), b.last_referenced, &b.id).cmp(&(a.is_open(), a.last_referenced, &a.id)));
    let efforts: Vec<Value> = listed.iter().take(max).map(|effort| effort_json(effort, active)).collect();
    json!({
        "status": "ok",
        "turn": state.turn(),
        "active": active,
        "efforts": efforts,
        "not_listed": (state.efforts().len() - efforts.len()),
        "expanded": state.expanded_efforts().map(|e| e.id.as_str()).collect::<Vec<_>>(),
        "expansion_cost_tokens": state.expanded_efforts().filter_map(|e| e.expanded).map(|x| x.tokens_loaded.0).sum::<u64>(),
    })
    .to_string()
}

fn effort_json(effort: &Effort, active: Option<&str>) -> Value {
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
