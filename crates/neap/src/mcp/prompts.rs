//! Prompts: what a person can pick in a client instead of typing it.

use neap_core::brief::TOKENS;
use neap_core::prompt::fill;
use neap_core::render::one_line;
use neap_core::tools::Refusal;
use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::tools::SESSION;
use super::{Desk, Told};

/// Where we are.
const RECAP: &str = include_str!("prompts/recap.md");
/// For whoever goes on.
const HANDOFF: &str = include_str!("prompts/handoff.md");
/// A new piece of work.
const OPEN_EFFORT: &str = include_str!("prompts/open-effort.md");
/// Decisions without an outcome.
const REVIEW_DECISIONS: &str = include_str!("prompts/review-decisions.md");
/// Decisions that are gone through at once.
const DECISIONS_MAX: usize = 20;
/// Longest argument that is taken, in characters.
const ARGUMENT_CHARS_MAX: usize = 2_000;

/// All prompts, always in the same order.
pub(super) fn all() -> Vec<Prompt> {
    let of = |name: &str, title: &str, what: &str, arguments: Vec<PromptArgument>| {
        Prompt::new(name, Some(what), Some(arguments)).with_title(title)
    };
    let optional = |name: &str, what: &str| PromptArgument::new(name).with_description(what).with_required(false);
    let session = || optional(SESSION, "which session; the one of this client by default");
    vec![
        of("recap", "Recap", "Where we are in this work.", vec![session()]),
        of(
            "handoff",
            "Handoff",
            "A handoff for whoever takes over.",
            vec![session(), optional("to", "who takes over")],
        ),
        of(
            "open-effort",
            "Open an effort",
            "Begin a piece of work, with what is known of it.",
            vec![
                PromptArgument::new("name").with_description("a short topic, e.g. auth-bug").with_required(true),
                optional("goal", "what is to be reached"),
            ],
        ),
        of(
            "review-decisions",
            "Review decisions",
            "Go through decisions that wait for their outcome.",
            Vec::new(),
        ),
    ]
}

/// A prompt with its places filled.
pub(super) async fn get(
    desk: &Desk,
    request: GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResult, ErrorData> {
    let GetPromptRequestParams { name, arguments, .. } = request;
    let arguments = arguments.unwrap_or_default();
    let given = |key: &str| argument(&arguments, key);
    let about = arguments.get(SESSION);
    let text = match name.as_str() {
        "recap" => fill(RECAP, &[("context", &stands(desk, about, context).await?)]),
        "handoff" => {
            let to = given("to")?.unwrap_or_else(|| "a colleague".to_owned());
            fill(HANDOFF, &[("to", &to), ("context", &stands(desk, about, context).await?)])
        }
        "open-effort" => {
            let name = given("name")?.ok_or_else(|| ErrorData::invalid_params("the prompt needs 'name'", None))?;
            let goal = given("goal")?.map(|goal| format!("The goal: {goal}")).unwrap_or_default();
            fill(OPEN_EFFORT, &[("name", &name), ("goal", &goal)]).trim_end().to_owned()
        }
        "review-decisions" => fill(REVIEW_DECISIONS, &[("decisions", &decisions(desk).await?)]),
        _ => return Err(ErrorData::invalid_params("there is no such prompt", None)),
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

async fn stands(
    desk: &Desk,
    about: Option<&Value>,
    context: &RequestContext<RoleServer>,
) -> Result<String, ErrorData> {
    let which = desk.which(about, context).await.map_err(|refusal| refused(&refusal))?;
    if let Err(Told(refusal)) = desk.open(&which, true).await {
        return Err(refused(&refusal));
    }
    let brief = desk.engine.brief(&which.session, None, TOKENS).await.map_err(super::resources::fault)?;
    Ok(if brief.text.is_empty() { "(Nothing was recorded yet.)".to_owned() } else { brief.text })
}

async fn decisions(desk: &Desk) -> Result<String, ErrorData> {
    let Some(agent) = desk.engine.memory().await.map_err(super::resources::fault)? else {
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

fn refused(refusal: &Refusal) -> ErrorData {
    ErrorData::invalid_params(refusal.error.clone(), None)
}
