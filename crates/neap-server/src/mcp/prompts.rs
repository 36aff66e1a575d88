//! Prompts that a person can pick in a client.

use neap_core::base::prompt::fill;
use neap_core::base::refusal::Refusal;
use neap_core::context::brief::TOKENS_DEFAULT;
use neap_core::text::render::one_line;
use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::tools::SESSION;
use super::{McpState, ToolFailure};

const RECAP: &str = include_str!("prompts/recap.md");
const HANDOFF: &str = include_str!("prompts/handoff.md");
const OPEN_EFFORT: &str = include_str!("prompts/open-effort.md");
const REVIEW_DECISIONS: &str = include_str!("prompts/review-decisions.md");
const DECISIONS_MAX: usize = 20;
/// Longer arguments are truncated.
const ARGUMENT_CHARS_MAX: usize = 2_000;

pub(super) fn all_prompts() -> Vec<Prompt> {
    let prompt = |name: &str, title: &str, description: &str, arguments: Vec<PromptArgument>| {
        Prompt::new(name, Some(description), Some(arguments)).with_title(title)
    };
    let optional = |name: &str, description: &str| {
        PromptArgument::new(name).with_description(description).with_required(false)
    };
    let session = || optional(SESSION, "which session; the one of this client by default");
    vec![
        prompt("recap", "Recap", "Where we are in this work.", vec![session()]),
        prompt(
            "handoff",
            "Handoff",
            "A handoff for whoever takes over.",
            vec![session(), optional("to", "who takes over")],
        ),
        prompt(
            "open-effort",
            "Open an effort",
            "Begin a piece of work, with what is known of it.",
            vec![
                PromptArgument::new("name").with_description("a short topic, e.g. auth-bug").with_required(true),
                optional("goal", "what is to be reached"),
            ],
        ),
        prompt(
            "review-decisions",
            "Review decisions",
            "Go through decisions that wait for their outcome.",
            Vec::new(),
        ),
    ]
}

pub(super) async fn get(
    state: &McpState,
    request: GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResult, ErrorData> {
    let GetPromptRequestParams { name, arguments, .. } = request;
    let arguments = arguments.unwrap_or_default();
    let text_argument = |key: &str| argument(&arguments, key);
    let session = arguments.get(SESSION);
    let text = match name.as_str() {
        "recap" => fill(RECAP, &[("context", &session_brief(state, session, context).await?)]),
        "handoff" => {
            let to = text_argument("to")?.unwrap_or_else(|| "a colleague".to_owned());
            fill(HANDOFF, &[("to", &to), ("context", &session_brief(state, session, context).await?)])
        }
        "open-effort" => {
            let name = text_argument("name")?
                .ok_or_else(|| ErrorData::invalid_params("the prompt needs 'name'", None))?;
            let goal = text_argument("goal")?.map(|goal| format!("The goal: {goal}")).unwrap_or_default();
            fill(OPEN_EFFORT, &[("name", &name), ("goal", &goal)]).trim_end().to_owned()
        }
        "review-decisions" => fill(REVIEW_DECISIONS, &[("decisions", &pending_decisions(state).await?)]),
        _ => return Err(ErrorData::invalid_params("there is no such prompt", None)),
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

async fn session_brief(
    state: &McpState,
    session: Option<&Value>,
    context: &RequestContext<RoleServer>,
) -> Result<String, ErrorData> {
    let resolved = state.resolve_session(session, context).await.map_err(|refusal| refusal_error(&refusal))?;
    if let Err(ToolFailure(refusal)) = state.open_session(&resolved, true).await {
        return Err(refusal_error(&refusal));
    }
    let brief = state
        .engine
        .brief(&resolved.session, None, TOKENS_DEFAULT)
        .await
        .map_err(super::resources::internal_error)?;
    Ok(if brief.text.is_empty() { "(Nothing was recorded yet.)".to_owned() } else { brief.text })
}

async fn pending_decisions(state: &McpState) -> Result<String, ErrorData> {
    let Some(agent) = state.engine.agent().await.map_err(super::resources::internal_error)? else {
        return Ok("(none)".to_owned());
    };
    let head = agent.head();
    let pending = head.pending.iter().take(DECISIONS_MAX);
    let lines: Vec<String> =
        pending.map(|decision| format!("- {}: {}", decision.id, one_line(&decision.text))).collect();
    Ok(if lines.is_empty() { "(none)".to_owned() } else { lines.join("\n") })
}

fn argument(arguments: &rmcp::model::JsonObject, key: &str) -> Result<Option<String>, ErrorData> {
    match arguments.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => {
            let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            Ok(Some(one_line.chars().take(ARGUMENT_CHARS_MAX).collect()))
        }
        Some(_) => Err(ErrorData::invalid_params(format!("'{key}' must be text"), None)),
    }
}

fn refusal_error(refusal: &Refusal) -> ErrorData {
    ErrorData::invalid_params(refusal.error.clone(), None)
}
