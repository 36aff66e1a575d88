//! Resources: where sessions stand, their efforts with the words behind them, and what the agent knows.

use neap_core::handle::Handle;
use neap_core::ids::{EffortId, SessionId, TurnNo};
use neap_core::log::LogRequest;
use neap_core::memory::MemoryId;
use neap_core::message::{Message, Scope};
use neap_core::tokens::Tokens;
use neap_core::tools::told;
use neap_engine::EngineError;
use neap_store::SessionInfo;
use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, ListResourcesResult, PaginatedRequestParams, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use rmcp::service::RequestContext;
use serde_json::json;

use super::Desk;
use super::uri::Uri;

/// Resources on one page of a list.
const PAGE: usize = 50;
/// What is read of a log at once, in tokens; what is longer goes on with the next page.
const RAW_TOKENS: Tokens = Tokens(16_000);
/// The most that is given of one exchange, in bytes; what is longer goes on by `fetch_original`.
const EXCHANGE_BYTES_MAX: usize = 256 << 10;
const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";

/// What can be read, as templates.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let of = |uri: &str, name: &str, title: &str, mime: &str, what: &str| {
        ResourceTemplate::new(uri, name).with_title(title).with_mime_type(mime).with_description(what)
    };
    vec![
        of(
            "neap://session/{session}/context",
            "context",
            "Session context",
            MARKDOWN,
            "Where a session stands, within its budget.",
        ),
        of(
            "neap://session/{session}/effort/{effort}",
            "effort",
            "Effort",
            JSON,
            "An effort: its state and its summary.",
        ),
        of(
            "neap://session/{session}/effort/{effort}/raw{?after}",
            "effort-log",
            "Effort log",
            "text/plain",
            "What was said in an effort, word for word, page by page: a last line names the next.",
        ),
        of("neap://memory/{id}", "memory", "Memory", MARKDOWN, "Something the agent knows, whole."),
    ]
}

/// Where a list goes on.
#[derive(Debug, PartialEq, Eq)]
enum Cursor {
    /// After so many of the sessions and the efforts of the client's own.
    Sessions(usize),
    /// With memories older than this one; none for the newest.
    Memories(Option<MemoryId>),
}

impl Cursor {
    fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("s", count) => count.parse().ok().map(Cursor::Sessions),
            ("m", "") => Some(Cursor::Memories(None)),
            ("m", id) => id.parse().ok().map(|id| Cursor::Memories(Some(id))),
            _ => None,
        }
    }

    fn write(&self) -> String {
        match self {
            Cursor::Sessions(count) => format!("s:{count}"),
            Cursor::Memories(None) => "m:".to_owned(),
            Cursor::Memories(Some(id)) => format!("m:{id}"),
        }
    }
}

/// A page of what there is: the client's own session and its efforts, other sessions, memories.
pub(super) async fn list(
    desk: &Desk,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    let cursor = match request.and_then(|request| request.cursor) {
        None => Cursor::Sessions(0),
        Some(text) => {
            Cursor::parse(&text).ok_or_else(|| ErrorData::invalid_params("there is no such cursor", None))?
        }
    };
    let (resources, next) = match cursor {
        Cursor::Sessions(first) => {
            let all = sessions(desk, context).await.map_err(fault)?;
            let page: Vec<Resource> = all.iter().skip(first).take(PAGE).cloned().collect();
            let is_more = first + page.len() < all.len();
            let next = if is_more { Cursor::Sessions(first + page.len()) } else { Cursor::Memories(None) };
            (page, Some(next))
        }
        Cursor::Memories(before) => memories(desk, before).await.map_err(fault)?,
    };
    let mut listed = ListResourcesResult::with_all_items(resources);
    listed.next_cursor = next.map(|cursor| cursor.write());
    Ok(listed)
}

async fn sessions(desk: &Desk, context: &RequestContext<RoleServer>) -> Result<Vec<Resource>, EngineError> {
    let own = desk.which(None, context).await.ok().map(|which| which.session);
    let mut all = Vec::new();
    if let Some(own) = &own
        && let Ok(session) = desk.engine.attach(own).await
    {
        all.push(of_session(own));
        all.extend(session.state().efforts().map(|effort| {
            let uri = Uri::Effort(own.clone(), effort.id.clone()).to_string();
            Resource::new(uri, effort.id.as_str())
                .with_title(effort.name.as_str())
                .with_description("An effort.")
                .with_mime_type(JSON)
        }));
    }
    let others = desk.engine.sessions().await?.into_iter().filter(|info| !info.scrubbed);
    all.extend(
        others
            .map(|SessionInfo { session, .. }| session)
            .filter(|id| own.as_ref() != Some(id))
            .map(|id| of_session(&id)),
    );
    Ok(all)
}

fn of_session(id: &SessionId) -> Resource {
    Resource::new(Uri::Context(id.clone()).to_string(), id.as_str())
        .with_title(format!("Session {id}"))
        .with_description("Where this session stands.")
        .with_mime_type(MARKDOWN)
}

async fn memories(desk: &Desk, before: Option<MemoryId>) -> Result<(Vec<Resource>, Option<Cursor>), EngineError> {
    let Some(agent) = desk.engine.memory().await? else { return Ok((Vec::new(), None)) };
    let page = agent.list(None, before, PAGE).await?;
    let next = page.last().filter(|_| page.len() == PAGE).map(|memory| Cursor::Memories(Some(memory.id)));
    let of = |memory: &neap_core::memory::Memory| {
        Resource::new(Uri::Memory(memory.id).to_string(), memory.id.to_string())
            .with_description("A memory.")
            .with_title(memory.lines.micro.trim().trim_start_matches("- "))
            .with_mime_type(MARKDOWN)
    };
    Ok((page.iter().map(of).collect(), next))
}

/// What a resource says now.
pub(super) async fn read(desk: &Desk, text: &str) -> Result<ReadResourceResult, ErrorData> {
    let missing = || ErrorData::resource_not_found("there is no such resource", Some(json!({"uri": text})));
    let uri = Uri::parse(text).ok_or_else(missing)?;
    let (mime, said) = match &uri {
        Uri::Context(session) => (MARKDOWN, context_of(desk, session).await),
        Uri::Effort(session, id) => (JSON, effort(desk, session, id).await),
        Uri::Raw(session, id, after) => ("text/plain", raw(desk, session, id, *after).await),
        Uri::Memory(id) => (MARKDOWN, memory(desk, *id).await),
    };
    let said = match said {
        Ok(said) => said.ok_or_else(missing)?,
        Err(EngineError::NoSession(_)) => return Err(missing()),
        Err(error) => return Err(fault(error)),
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(said, text).with_mime_type(mime)]))
}

async fn context_of(desk: &Desk, id: &SessionId) -> Result<Option<String>, EngineError> {
    let budget = desk.engine.attach(id).await?.state().policy().context_budget();
    Ok(Some(desk.engine.brief(id, None, budget).await?.text))
}

async fn effort(desk: &Desk, session: &SessionId, id: &EffortId) -> Result<Option<String>, EngineError> {
    let opened = desk.engine.attach(session).await?;
    let state = opened.state();
    let Some(effort) = state.effort(id) else { return Ok(None) };
    let said = json!({
        "session": session, "id": id, "name": effort.name, "status": effort.status.as_str(),
        "active": state.active().is_some_and(|active| active.id == *id),
        "summary": effort.summary.as_ref().map(|summary| summary.text.as_str()),
        "raw_tokens": effort.log.tokens, "exchanges": effort.log.exchanges,
        "raw": Uri::Raw(session.clone(), id.clone(), TurnNo(0)).to_string(),
    });
    Ok(Some(said.to_string()))
}

/// A page of a log: so much is read, however long the log is.
async fn raw(
    desk: &Desk,
    session: &SessionId,
    id: &EffortId,
    after: TurnNo,
) -> Result<Option<String>, EngineError> {
    if desk.engine.attach(session).await?.state().effort(id).is_none() {
        return Ok(None);
    }
    let (store, scope) = (desk.engine.store(), Scope::Effort(id.clone()));
    let page = store.log(session, &LogRequest::oldest(scope.clone(), after, RAW_TOKENS)).await?;
    let mut text = String::new();
    let mut last = after;
    for exchange in page.exchanges() {
        let handle = Handle::Turn(exchange.turn);
        let mut said =
            told(&handle, &exchange.messages.iter().map(|said| &said.message).collect::<Vec<&Message>>());
        if said.len() > EXCHANGE_BYTES_MAX {
            let end = said.floor_char_boundary(EXCHANGE_BYTES_MAX);
            said.truncate(end);
            said.push_str(&format!("\n§[It is longer: fetch_original with handle {handle} and offset {end}]\n"));
        }
        text.push_str(&said);
        last = exchange.turn;
    }
    let rest = LogRequest { exchanges_max: 1, ..LogRequest::oldest(scope, last, Tokens(1)) };
    if store.log(session, &rest).await?.exchanges().len() > 0 {
        let next = Uri::Raw(session.clone(), id.clone(), last);
        text.push_str(&format!("§[It goes on: read {next}]\n"));
    }
    Ok(Some(text))
}

async fn memory(desk: &Desk, id: MemoryId) -> Result<Option<String>, EngineError> {
    let Some(agent) = desk.engine.memory().await? else { return Ok(None) };
    Ok(agent.get(id).await?.map(|memory| memory.full()))
}

/// Something of ours failed; what exactly is in the log, not with the client.
pub(super) fn fault(error: EngineError) -> ErrorData {
    tracing::warn!(target: "neap::mcp", %error, "a request failed");
    ErrorData::internal_error("the store could not be read", None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_as_they_are_written() {
        let id = "f7".parse().expect("an id");
        for cursor in [Cursor::Sessions(50), Cursor::Memories(None), Cursor::Memories(Some(id))] {
            assert_eq!(Cursor::parse(&cursor.write()), Some(cursor));
        }
        for text in ["", "s", "s:-1", "s:x", "m:../f7", "x:1"] {
            assert_eq!(Cursor::parse(text), None, "{text}");
        }
    }
}
