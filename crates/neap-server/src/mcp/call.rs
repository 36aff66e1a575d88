//! Executes tool calls.

use neap_core::base::message::Scope;
use neap_core::base::refusal::Refusal;
use neap_core::memory::learn::MemoryHit;
use neap_core::turn::tools::{HostCall, OwnToolCall};
use neap_engine::{EngineError, ToolReply, TurnReply};
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Tool};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, model};
use serde_json::{Value, json};

use super::progress::{self, ProgressReporter};
use super::session_resolver::ResolvedSession;
use super::tools::{SESSION, check_arguments, is_read_only, printable};
use super::{McpState, ToolFailure, forget};

/// Retries of a contended turn; the engine makes a hundred attempts in each.
const TURN_TRIES: usize = 5;

/// Runs a call. Bad arguments are reported to the model; only an unknown tool is a protocol error.
pub(super) async fn call(
    state: &McpState,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let Some(tool) = state.tools.iter().find(|tool| tool.name == request.name) else {
        return Err(ErrorData::invalid_params(format!("Unknown tool: {}", printable(&request.name)), None));
    };
    let (mut reporter, steps) = ProgressReporter::new();
    reporter.report(tool.title.clone().unwrap_or_default());
    let run = async {
        let outcome = run_tool(state, tool, request, &context, &mut reporter).await;
        drop(reporter);
        outcome
    };
    let both = async { tokio::join!(run, progress::forward_progress(steps, &context)).0 };
    let outcome = tokio::select! {
        // Cancelling is safe: a write is either durable or did not happen.
        () = context.ct.cancelled() => return Err(ErrorData::new(model::ErrorCode::INTERNAL_ERROR, "cancelled", None)),
        outcome = both => outcome,
    };
    Ok(match outcome {
        Ok(response) => response,
        Err(ToolFailure(refusal)) => CallToolResult::error(vec![ContentBlock::text(refusal.to_json())]).into(),
    })
}

async fn run_tool(
    state: &McpState,
    tool: &Tool,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    reporter: &mut ProgressReporter,
) -> Result<CallToolResponse, ToolFailure> {
    let CallToolRequestParams { arguments, input_responses, .. } = request;
    let mut arguments = arguments.unwrap_or_default();
    check_arguments(tool, &arguments)?;
    let resolved = state.resolve_session(arguments.remove(SESSION).as_ref(), context).await?;
    let arguments = Value::Object(arguments).to_string();
    let answer = match HostCall::parse(&tool.name, &arguments) {
        Some(host) => call_host_tool(state, &resolved, host?).await?.into(),
        None if tool.name == forget::TOOL => {
            match forget::confirm(state, &arguments, input_responses.as_ref(), context).await? {
                forget::Confirmation::Unavailable => {
                    call_session_tool(state, &resolved, tool, &arguments, reporter).await?
                }
                forget::Confirmation::Done(answer) => answer.into(),
                forget::Confirmation::Required(ask) => return Ok(CallToolResponse::InputRequired(ask)),
            }
        }
        None => call_session_tool(state, &resolved, tool, &arguments, reporter).await?,
    };
    Ok(answer.into_result().into())
}

async fn call_session_tool(
    state: &McpState,
    resolved: &ResolvedSession,
    tool: &Tool,
    arguments: &str,
    reporter: &mut ProgressReporter,
) -> Result<Answer, ToolFailure> {
    let mut session = state.open_session(resolved, is_read_only(tool)).await?;
    let reply = session.call_tool_observed(&tool.name, arguments, reporter).await?;
    let ToolReply { text, banner, refusal, hits, envelope } = reply;
    let mut answer: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({"status": "ok", "text": text}));
    if refusal.is_some() || answer.get("error").is_some() {
        let field = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
        let refused = Refusal::new(field("error").or(refusal).unwrap_or_default());
        return Err(Refusal { hint: field("hint"), ..refused }.into());
    }
    if banner.is_some() {
        state.notify_list_changed();
    }
    if let (true, Some(object)) = (tool.name == OwnToolCall::SUMMARIZE_TEXT, answer.as_object_mut()) {
        object.insert("envelope".to_owned(), serde_json::to_value(&envelope).unwrap_or_default());
    }
    let records = (tool.name == OwnToolCall::RECALL).then(|| hits.iter().map(MemoryHit::to_record).collect());
    Ok(Answer { told: answer, records })
}

/// What a tool answers: as text for a model, and as fields for a program.
struct Answer {
    told: Value,
    /// Fields that the text leaves out, since a model has read the same in words.
    records: Option<Vec<Value>>,
}

impl From<Value> for Answer {
    fn from(told: Value) -> Self {
        Self { told, records: None }
    }
}

impl Answer {
    fn into_result(self) -> CallToolResult {
        let Self { told, records } = self;
        let mut result = CallToolResult::structured(told);
        if let (Some(records), Some(Value::Object(fields))) = (records, &mut result.structured_content) {
            fields.insert("results".to_owned(), records.into());
        }
        result
    }
}

async fn call_host_tool(
    state: &McpState,
    resolved: &ResolvedSession,
    call: HostCall,
) -> Result<Value, ToolFailure> {
    match call {
        HostCall::Record { user, assistant, turn_id, at } => {
            let mut tries = 0;
            let (recorded, mut session) = loop {
                let mut session = state.open_session(resolved, false).await?;
                match session.record_at(state.user_words, &user, &assistant, turn_id.as_deref(), at).await {
                    // Nothing was written.
                    Err(EngineError::Contended(_)) if tries < TURN_TRIES => tries += 1,
                    recorded => break (recorded?, session),
                }
            };
            // The turn is stored; summaries are prepared in the background.
            tokio::spawn(async move {
                if let Err(error) = session.run_upkeep().await {
                    tracing::debug!(target: "neap::mcp", %error, "upkeep failed");
                }
            });
            Ok(recorded_turn_json(resolved, &recorded))
        }
        HostCall::Context { query, project, budget } => {
            drop(state.open_session(resolved, true).await?);
            let brief = state.engine.brief_in(&resolved.session, query.as_deref(), project, budget).await?;
            Ok(json!({
                "status": "ok", "session": resolved.session, "tokens": brief.tokens, "budget": brief.budget, "text": brief.text,
            }))
        }
    }
}

fn recorded_turn_json(resolved: &ResolvedSession, reply: &TurnReply) -> Value {
    let TurnReply { turn, banners, scope, .. } = reply;
    let effort = match scope {
        Scope::Effort(id) => Some(id.as_str()),
        Scope::Ambient => None,
    };
    let banners: Vec<String> = banners.iter().map(ToString::to_string).collect();
    json!({"status": "recorded", "session": resolved.session, "turn": turn, "effort": effort, "banners": banners})
}
