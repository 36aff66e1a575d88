//! Turns: rows, the record of one, series for plots, and what is recorded through the API.

use std::sync::Arc;

use neap_core::base::ids::{Stamp, TurnNo};
use neap_core::base::message::{Message, Role, ToolCall};
use neap_core::memory::Author;
use neap_engine::{EngineError, SessionOptions, TurnRow};
use serde::Deserialize;
use serde_json::json;

use super::Api;
use super::page::{fit, page, to_value};
use super::problem::Problem;
use super::route::{Answer, Call, Outcome};
use super::sessions::now;

/// Messages of one request: they are stored in one commit.
const MESSAGES_MAX: usize = 256;
/// Of a row, what a plot does not need.
const NOT_PLOTTED: [&str; 3] = ["message", "scope", "happened"];

pub(super) async fn list(api: Arc<Api>, call: Call) -> Outcome {
    let (rows, limit) = rows(&api, &call).await?;
    Ok(Answer::Json(page(rows, limit, |row| row.turn.to_string())?))
}

pub(super) async fn series(api: Arc<Api>, call: Call) -> Outcome {
    let (rows, limit) = match call.integer("points") {
        Some(points) => (spaced_rows(&api, &call, points).await?, usize::MAX),
        None => rows(&api, &call).await?,
    };
    let mut plotted = Vec::new();
    for row in rows {
        let mut value = to_value(&row)?;
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|name, _| !NOT_PLOTTED.contains(&name.as_str()));
        }
        plotted.push(value);
    }
    Ok(Answer::Json(page(plotted, limit, |row| row["turn"].to_string())?))
}

async fn rows(api: &Api, call: &Call) -> Result<(Vec<TurnRow>, usize), Problem> {
    let limit = call.limit();
    let before = call.number_cursor()?.or_else(|| call.integer("before")).map(TurnNo);
    Ok((api.engine.turn_rows(&call.session()?, before, limit + 1).await?, limit))
}

/// Turns that are evenly spaced over a session, the newest among them.
async fn spaced_rows(api: &Api, call: &Call, points: u64) -> Result<Vec<TurnRow>, Problem> {
    let id = call.session()?;
    let last = api.engine.head(&id).await?.turn.0;
    let points = points.min(last);
    let mut rows = Vec::new();
    for point in 0..points {
        let turn = last - last * point / points;
        rows.extend(api.engine.turn_rows(&id, Some(TurnNo(turn + 1)), 1).await?);
    }
    Ok(rows)
}

pub(super) async fn explain(api: Arc<Api>, call: Call) -> Outcome {
    let (id, turn) = (call.session()?, call.turn()?);
    let head = api.engine.head(&id).await?;
    let explained = api.engine.explain(&id, Some(turn.unwrap_or(head.turn))).await?;
    Ok(Answer::Json(fit(to_value(&explained)?)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTurn {
    message: String,
    reply: String,
    #[serde(default)]
    author: Option<Author>,
    #[serde(default)]
    at: Option<i64>,
}

pub(super) async fn record(api: Arc<Api>, call: Call) -> Outcome {
    let NewTurn { message, reply, author, at } = call.body()?;
    let id = call.session()?;
    api.check_not_erased(&id).await?;
    let mut session = match api.engine.attach(&id).await {
        Ok(session) => session,
        Err(EngineError::NoSession(_)) => api.engine.resume(&id, &SessionOptions::default()).await?,
        Err(error) => return Err(error.into()),
    };
    let author = author.unwrap_or(Author::Model);
    let turn_id = Some(call.required("turn"));
    let recorded = session.record_at(author, &message, &reply, turn_id, at.map(Stamp)).await?;
    let banners: Vec<String> = recorded.banners.iter().map(ToString::to_string).collect();
    Ok(Answer::Json(fit(json!({
        "turn": recorded.turn, "scope": recorded.scope, "text": recorded.text, "banners": banners,
        "refusals": recorded.refusals, "ledger": recorded.ledger,
    }))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMessages {
    messages: Vec<NewMessage>,
    #[serde(default)]
    author: Option<Author>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMessage {
    role: Role,
    content: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    at: Option<i64>,
}

pub(super) async fn append(api: Arc<Api>, call: Call) -> Outcome {
    let NewMessages { messages, author } = call.body()?;
    if messages.is_empty() || messages.len() > MESSAGES_MAX {
        let count = messages.len();
        return Err(Problem::refused(format!("one request records 1 to {MESSAGES_MAX} messages, not {count}"))
            .hint("send the rest in further requests, each with a key of its own"));
    }
    let id = call.session()?;
    api.check_not_erased(&id).await?;
    let received = now();
    let messages: Vec<(Stamp, Message)> = messages
        .into_iter()
        .map(|given| {
            let NewMessage { role, content, name, tool_calls, tool_call_id, at } = given;
            // What has not been said yet was said now.
            let at = at.map_or(received, Stamp).clamp(Stamp(0), received);
            (at, Message { role, content: content.into(), name, tool_calls, tool_call_id, incomplete: None })
        })
        .collect();
    let key = call.required("Idempotency-Key");
    let appended = api.engine.record_once(&id, author.unwrap_or(Author::Model), &messages, key).await?;
    Ok(Answer::Json(to_value(&appended)?))
}
