//! Resources: session contexts, efforts with their logs, and memories.

use neap_core::base::handle::Handle;
use neap_core::base::ids::{EffortId, SessionId, TurnNo};
use neap_core::base::message::{Message, Scope};
use neap_core::base::tokens::Tokens;
use neap_core::memory::MemoryId;
use neap_core::session::log::LogRequest;
use neap_core::turn::tools::quoted_original;
use neap_engine::EngineError;
use neap_store::SessionInfo;
use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, ListResourcesResult, PaginatedRequestParams, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use rmcp::service::RequestContext;
use serde_json::json;

use super::McpState;
use super::uri::Uri;

const PAGE_RESOURCES: usize = 50;
/// Size of a page of a log; a longer log continues on the next page.
const LOG_PAGE_TOKENS: Tokens = Tokens(16_000);
/// Bytes returned per exchange; `fetch_original` returns the rest.
const EXCHANGE_BYTES_MAX: usize = 256 << 10;
const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, title: &str, mime: &str, description: &str| {
        ResourceTemplate::new(uri, name).with_title(title).with_mime_type(mime).with_description(description)
    };
    vec![
        template(
            "neap://session/{session}/context",
            "context",
            "Session context",
            MARKDOWN,
            "Where a session stands, within its budget.",
        ),
        template(
            "neap://session/{session}/effort/{effort}",
            "effort",
            "Effort",
            JSON,
            "An effort: its state and its summary.",
        ),
        template(
            "neap://session/{session}/effort/{effort}/raw{?after}",
            "effort-log",
            "Effort log",
            "text/plain",
            "What was said in an effort, word for word, page by page: a last line names the next.",
        ),
        template("neap://memory/{id}", "memory", "Memory", MARKDOWN, "Something the agent knows, whole."),
    ]
}

#[derive(Debug, PartialEq, Eq)]
enum ListCursor {
    /// After this many sessions and own efforts.
    Sessions(usize),
    /// At memories older than this one; `None` starts with the newest.
    Memories(Option<MemoryId>),
}

impl ListCursor {
    fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("s", count) => count.parse().ok().map(ListCursor::Sessions),
            ("m", "") => Some(ListCursor::Memories(None)),
            ("m", id) => id.parse().ok().map(|id| ListCursor::Memories(Some(id))),
            _ => None,
        }
    }

    fn to_text(&self) -> String {
        match self {
            ListCursor::Sessions(count) => format!("s:{count}"),
            ListCursor::Memories(None) => "m:".to_owned(),
            ListCursor::Memories(Some(id)) => format!("m:{id}"),
        }
    }
}

/// Lists the client's session and its efforts, then other sessions, then memories.
pub(super) async fn list(
    state: &McpState,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    let cursor = match request.and_then(|request| request.cursor) {
        None => ListCursor::Sessions(0),
        Some(text) => {
            ListCursor::parse(&text).ok_or_else(|| ErrorData::invalid_params("there is no such cursor", None))?
        }
    };
    let (resources, next) = match cursor {
        ListCursor::Sessions(first) => {
            let all = sessions(state, context).await.map_err(internal_error)?;
            let page: Vec<Resource> = all.iter().skip(first).take(PAGE_RESOURCES).cloned().collect();
            let has_more = first + page.len() < all.len();
            let next =
                if has_more { ListCursor::Sessions(first + page.len()) } else { ListCursor::Memories(None) };
            (page, Some(next))
        }
        ListCursor::Memories(before) => memories(state, before).await.map_err(internal_error)?,
    };
    let mut listed = ListResourcesResult::with_all_items(resources);
    listed.next_cursor = next.map(|cursor| cursor.to_text());
    Ok(listed)
}

async fn sessions(state: &McpState, context: &RequestContext<RoleServer>) -> Result<Vec<Resource>, EngineError> {
    let own = state.resolve_session(None, context).await.ok().map(|resolved| resolved.session);
    let mut all = Vec::new();
    if let Some(own) = &own
        && let Ok(session) = state.engine.attach(own).await
    {
        all.push(session_resource(own));
        all.extend(session.state().efforts().map(|effort| {
            let uri = Uri::Effort(own.clone(), effort.id.clone()).to_string();
            Resource::new(uri, effort.id.as_str())
                .with_title(effort.name.as_str())
                .with_description("An effort.")
                .with_mime_type(JSON)
        }));
    }
    let others = state.engine.sessions().await?.into_iter().filter(|info| !info.scrubbed);
    all.extend(
        others
            .map(|SessionInfo { session, .. }| session)
            .filter(|id| own.as_ref() != Some(id))
            .map(|id| session_resource(&id)),
    );
    Ok(all)
}

fn session_resource(id: &SessionId) -> Resource {
    Resource::new(Uri::Context(id.clone()).to_string(), id.as_str())
        .with_title(format!("Session {id}"))
        .with_description("Where this session stands.")
        .with_mime_type(MARKDOWN)
}

async fn memories(
    state: &McpState,
    before: Option<MemoryId>,
) -> Result<(Vec<Resource>, Option<ListCursor>), EngineError> {
    let Some(agent) = state.engine.agent().await? else { return Ok((Vec::new(), None)) };
    let page = agent.list(None, before, PAGE_RESOURCES).await?;
    let next =
        page.last().filter(|_| page.len() == PAGE_RESOURCES).map(|memory| ListCursor::Memories(Some(memory.id)));
    let resource = |memory: &neap_core::memory::Memory| {
        Resource::new(Uri::Memory(memory.id).to_string(), memory.id.to_string())
            .with_description("A memory.")
            .with_title(memory.lines.micro.trim().trim_start_matches("- "))
            .with_mime_type(MARKDOWN)
    };
    Ok((page.iter().map(resource).collect(), next))
}

pub(super) async fn read(state: &McpState, uri_text: &str) -> Result<ReadResourceResult, ErrorData> {
    let missing = || ErrorData::resource_not_found("there is no such resource", Some(json!({"uri": uri_text})));
    let uri = Uri::parse(uri_text).ok_or_else(missing)?;
    let (mime, content) = match &uri {
        Uri::Context(session) => (MARKDOWN, session_context(state, session).await),
        Uri::Effort(session, id) => (JSON, effort_json(state, session, id).await),
        Uri::Raw(session, id, after) => ("text/plain", log_page(state, session, id, *after).await),
        Uri::Memory(id) => (MARKDOWN, memory_text(state, *id).await),
    };
    let content = match content {
        Ok(content) => content.ok_or_else(missing)?,
        Err(EngineError::NoSession(_)) => return Err(missing()),
        Err(error) => return Err(internal_error(error)),
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(content, uri_text).with_mime_type(mime)]))
}

async fn session_context(state: &McpState, id: &SessionId) -> Result<Option<String>, EngineError> {
    let budget = state.engine.attach(id).await?.state().policy().context_budget();
    Ok(Some(state.engine.brief(id, None, budget).await?.text))
}

async fn effort_json(state: &McpState, session: &SessionId, id: &EffortId) -> Result<Option<String>, EngineError> {
    let attached = state.engine.attach(session).await?;
    let session_state = attached.state();
    let Some(effort) = session_state.effort(id) else { return Ok(None) };
    let value = json!({
        "session": session, "id": id, "name": effort.name, "status": effort.status.as_str(),
        "active": session_state.active_effort().is_some_and(|active| active.id == *id),
        "summary": effort.summary.as_ref().map(|summary| summary.text.as_str()),
        "raw_tokens": effort.log.tokens, "exchanges": effort.log.exchanges,
        "raw": Uri::Raw(session.clone(), id.clone(), TurnNo(0)).to_string(),
    });
    Ok(Some(value.to_string()))
}

/// One page of a log, read without loading the rest.
async fn log_page(
    state: &McpState,
    session: &SessionId,
    id: &EffortId,
    after: TurnNo,
) -> Result<Option<String>, EngineError> {
    if state.engine.attach(session).await?.state().effort(id).is_none() {
        return Ok(None);
    }
    let (store, scope) = (state.engine.store(), Scope::Effort(id.clone()));
    let page = store.log(session, &LogRequest::oldest(scope.clone(), after, LOG_PAGE_TOKENS)).await?;
    let mut text = String::new();
    let mut last = after;
    for exchange in page.exchanges() {
        let handle = Handle::Turn(exchange.turn);
        let mut quoted = quoted_original(
            &handle,
            &exchange.messages.iter().map(|entry| &entry.message).collect::<Vec<&Message>>(),
        );
        if quoted.len() > EXCHANGE_BYTES_MAX {
            let end = quoted.floor_char_boundary(EXCHANGE_BYTES_MAX);
            quoted.truncate(end);
            quoted.push_str(&format!("\n§[It is longer: fetch_original with handle {handle} and offset {end}]\n"));
        }
        text.push_str(&quoted);
        last = exchange.turn;
    }
    let rest = LogRequest { exchanges_max: 1, ..LogRequest::oldest(scope, last, Tokens(1)) };
    if store.log(session, &rest).await?.exchanges().len() > 0 {
        let next = Uri::Raw(session.clone(), id.clone(), last);
        text.push_str(&format!("§[It goes on: read {next}]\n"));
    }
    Ok(Some(text))
}

async fn memory_text(state: &McpState, id: MemoryId) -> Result<Option<String>, EngineError> {
    let Some(agent) = state.engine.agent().await? else { return Ok(None) };
    Ok(agent.get(id).await?.map(|memory| memory.full_text()))
}

/// Logs the error; the client only learns that something failed.
pub(super) fn internal_error(error: EngineError) -> ErrorData {
    tracing::warn!(target: "neap::mcp", %error, "a request failed");
    ErrorData::internal_error("the store could not be read", None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_as_they_are_written() {
        let id = "f7".parse().expect("an id");
        for cursor in [ListCursor::Sessions(50), ListCursor::Memories(None), ListCursor::Memories(Some(id))] {
            assert_eq!(ListCursor::parse(&cursor.to_text()), Some(cursor));
        }
        for text in ["", "s", "s:-1", "s:x", "m:../f7", "x:1"] {
            assert_eq!(ListCursor::parse(text), None, "{text}");
        }
    }
}
