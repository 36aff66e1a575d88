//! Carrying out a tool.

use neap_core::message::Scope;
use neap_core::tools::{Call, HostCall};
use neap_engine::{EngineError, ToolReply, TurnReply};
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Tool};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, model};
use serde_json::{Value, json};

use super::progress::{self, Steps};
use super::tools::{SESSION, looks};
use super::whose::Which;
use super::{Desk, Told, forget};

/// A turn is told again this often if others keep coming first; each time the engine tries a hundred times itself.
const TURN_TRIES: usize = 5;

/// Carries out a call. What makes no sense is told to the model; only a tool that is not there is a fault of the protocol.
pub(super) async fn call(
    desk: &Desk,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let Some(tool) = desk.tools.iter().find(|tool| tool.name == request.name) else {
        let name: String = request.name.chars().filter(|c| !c.is_control()).take(80).collect();
        return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None));
    };
    let (mut steps, told) = Steps::new();
    steps.step(tool.title.clone().unwrap_or_default());
    let done = async {
        let answer = carry_out(desk, tool, request, &context, &mut steps).await;
        drop(steps);
        answer
    };
    let both = async { tokio::join!(done, progress::tell(told, &context)).0 };
    let answer = tokio::select! {
        // What is dropped half-way either became durable or never was.
        () = context.ct.cancelled() => return Err(ErrorData::new(model::ErrorCode::INTERNAL_ERROR, "cancelled", None)),
        answer = both => answer,
    };
    Ok(match answer {
        Ok(response) => response,
        Err(Told(refusal)) => CallToolResult::error(vec![ContentBlock::text(refusal.to_json())]).into(),
    })
}

async fn carry_out(
    desk: &Desk,
    tool: &Tool,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    steps: &mut Steps,
) -> Result<CallToolResponse, Told> {
    let CallToolRequestParams { arguments, input_responses, .. } = request;
    let mut arguments = arguments.unwrap_or_default();
    let which = desk.which(arguments.remove(SESSION).as_ref(), context).await?;
    let arguments = Value::Object(arguments).to_string();
    let answer = match HostCall::parse(&tool.name, &arguments) {
        Some(host) => host_call(desk, &which, host?).await?,
        None if tool.name == forget::TOOL => {
            match forget::ask(desk, &arguments, input_responses.as_ref(), context).await? {
                forget::Asked::Nobody => session_call(desk, &which, tool, &arguments, steps).await?,
                forget::Asked::Answered(answer) => answer,
                forget::Asked::First(ask) => return Ok(CallToolResponse::InputRequired(ask)),
            }
        }
        None => session_call(desk, &which, tool, &arguments, steps).await?,
    };
    Ok(CallToolResult::structured(answer).into())
}

/// A tool of the core's, outside a turn.
async fn session_call(
    desk: &Desk,
    which: &Which,
    tool: &Tool,
    arguments: &str,
    steps: &mut Steps,
) -> Result<Value, Told> {
    let mut session = desk.open(which, looks(tool)).await?;
    let reply = session.call_tool_watched(&tool.name, arguments, steps).await?;
    let ToolReply { text, banner, refusal, envelope } = reply;
    let mut answer: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({"status": "ok", "text": text}));
    if refusal.is_some() || answer.get("error").is_some() {
        let told = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
        let refused =
            neap_core::tools::Refusal { error: told("error").or(refusal).unwrap_or_default(), hint: told("hint") };
        return Err(refused.into());
    }
    if banner.is_some() {
        desk.listed_anew();
    }
    if let (true, Some(object)) = (tool.name == Call::SUMMARIZE_TEXT, answer.as_object_mut()) {
        object.insert("envelope".to_owned(), serde_json::to_value(&envelope).unwrap_or_default());
    }
    Ok(answer)
}

async fn host_call(desk: &Desk, which: &Which, call: HostCall) -> Result<Value, Told> {
    match call {
        HostCall::Record { user, assistant, turn_id } => {
            let mut tries = 0;
            let (recorded, mut session) = loop {
                let mut session = desk.open(which, false).await?;
                match session.record(desk.user_words, &user, &assistant, turn_id.as_deref()).await {
                    // Nothing of it was written.
                    Err(EngineError::Contended(_)) if tries < TURN_TRIES => tries += 1,
                    recorded => break (recorded?, session),
                }
            };
            // The host's turn is kept; what older talk comes to in short is made ready beside it.
            tokio::spawn(async move {
                if let Err(error) = session.tend().await {
                    tracing::debug!(target: "neap::mcp", %error, "upkeep failed");
                }
            });
            Ok(recorded_turn(which, &recorded))
        }
        HostCall::Context { query, budget } => {
            drop(desk.open(which, true).await?);
            let brief = desk.engine.brief(&which.session, query.as_deref(), budget).await?;
            Ok(json!({
                "status": "ok", "session": which.session, "tokens": brief.tokens, "budget": brief.budget, "text": brief.text,
            }))
        }
    }
}

fn recorded_turn(which: &Which, reply: &TurnReply) -> Value {
    let TurnReply { turn, banners, scope, .. } = reply;
    let effort = match scope {
        Scope::Effort(id) => Some(id.as_str()),
        Scope::Ambient => None,
    };
    let banners: Vec<String> = banners.iter().map(ToString::to_string).collect();
    json!({"status": "recorded", "session": which.session, "turn": turn, "effort": effort, "banners": banners})
}
