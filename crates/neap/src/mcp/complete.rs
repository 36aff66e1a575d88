//! Completing ids as they are typed: sessions, efforts, memories.

use neap_core::memory::MemoryId;
use neap_engine::EngineError;
use rmcp::RoleServer;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, Reference};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::resources::{fault, templates};
use super::tools::SESSION;
use super::{Desk, prompts};

/// Memories that are looked through, newest first.
const MEMORIES_MAX: usize = 1_000;

/// What an argument may be that begins like this.
pub(super) async fn complete(
    desk: &Desk,
    request: CompleteRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CompleteResult, ErrorData> {
    let CompleteRequestParams { r#ref, argument, context: before, .. } = request;
    let is_known = match &r#ref {
        Reference::Prompt(prompt) => prompts::all().iter().any(|known| known.name == prompt.name),
        Reference::Resource(resource) => templates().iter().any(|known| known.uri_template == resource.uri),
        _ => false,
    };
    if !is_known {
        return Err(ErrorData::invalid_params("there is no such prompt or template", None));
    }
    let session =
        before.as_ref().and_then(|before| before.get_argument(SESSION)).map(|name| Value::from(name.as_str()));
    let all = match argument.name.as_str() {
        "session" => sessions(desk).await,
        "effort" => efforts(desk, session, context).await,
        "id" => memories(desk).await,
        _ => Ok(Vec::new()),
    };
    let typed = argument.value.to_lowercase();
    let mut found: Vec<String> = all.map_err(fault)?.into_iter().filter(|id| id.starts_with(&typed)).collect();
    let total = found.len();
    found.truncate(CompletionInfo::MAX_VALUES);
    let is_more = total > found.len();
    let info = CompletionInfo::with_pagination(found, u32::try_from(total).ok(), is_more);
    Ok(CompleteResult::new(info.map_err(|error| ErrorData::internal_error(error, None))?))
}

async fn sessions(desk: &Desk) -> Result<Vec<String>, EngineError> {
    let all = desk.engine.sessions().await?.into_iter();
    Ok(all.filter(|info| !info.scrubbed).map(|info| info.session.to_string()).collect())
}

async fn efforts(
    desk: &Desk,
    session: Option<Value>,
    context: &RequestContext<RoleServer>,
) -> Result<Vec<String>, EngineError> {
    let Ok(which) = desk.which(session.as_ref(), context).await else { return Ok(Vec::new()) };
    match desk.engine.attach(&which.session).await {
        Ok(session) => Ok(session.state().efforts().map(|effort| effort.id.to_string()).collect()),
        Err(EngineError::NoSession(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn memories(desk: &Desk) -> Result<Vec<String>, EngineError> {
    let Some(agent) = desk.engine.memory().await? else { return Ok(Vec::new()) };
    let all = agent.list(None, None::<MemoryId>, MEMORIES_MAX).await?;
    Ok(all.into_iter().map(|memory| memory.id.to_string()).collect())
}
