//! Completes ids of sessions, efforts and memories.

use neap_core::memory::MemoryId;
use neap_engine::EngineError;
use rmcp::RoleServer;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, Reference};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::resources::{internal_error, templates};
use super::tools::SESSION;
use super::{McpState, prompts};

const MEMORIES_MAX: usize = 1_000;

pub(super) async fn complete(
    state: &McpState,
    request: CompleteRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CompleteResult, ErrorData> {
    let CompleteRequestParams { r#ref, argument, context: previous, .. } = request;
    let is_known = match &r#ref {
        Reference::Prompt(prompt) => prompts::all_prompts().iter().any(|known| known.name == prompt.name),
        Reference::Resource(resource) => templates().iter().any(|known| known.uri_template == resource.uri),
        _ => false,
    };
    if !is_known {
        return Err(ErrorData::invalid_params("there is no such prompt or template", None));
    }
    let session = previous
        .as_ref()
        .and_then(|previous| previous.get_argument(SESSION))
        .map(|name| Value::from(name.as_str()));
    let all = match argument.name.as_str() {
        "session" => sessions(state).await,
        "effort" => efforts(state, session, context).await,
        "id" => memories(state).await,
        _ => Ok(Vec::new()),
    };
    let typed = argument.value.to_lowercase();
    let mut found: Vec<String> =
        all.map_err(internal_error)?.into_iter().filter(|id| id.starts_with(&typed)).collect();
    let total = found.len();
    found.truncate(CompletionInfo::MAX_VALUES);
    let has_more = total > found.len();
    let info = CompletionInfo::with_pagination(found, u32::try_from(total).ok(), has_more);
    Ok(CompleteResult::new(info.map_err(|error| ErrorData::internal_error(error, None))?))
}

async fn sessions(state: &McpState) -> Result<Vec<String>, EngineError> {
    let all = state.engine.sessions().await?.into_iter();
    Ok(all.filter(|info| !info.scrubbed).map(|info| info.session.to_string()).collect())
}

async fn efforts(
    state: &McpState,
    session: Option<Value>,
    context: &RequestContext<RoleServer>,
) -> Result<Vec<String>, EngineError> {
    let Ok(resolved) = state.resolve_session(session.as_ref(), context).await else { return Ok(Vec::new()) };
    match state.engine.attach(&resolved.session).await {
        Ok(session) => Ok(session.state().efforts().map(|effort| effort.id.to_string()).collect()),
        Err(EngineError::NoSession(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn memories(state: &McpState) -> Result<Vec<String>, EngineError> {
    let Some(agent) = state.engine.agent().await? else { return Ok(Vec::new()) };
    let all = agent.list(None, None::<MemoryId>, MEMORIES_MAX).await?;
    Ok(all.into_iter().map(|memory| memory.id.to_string()).collect())
}
