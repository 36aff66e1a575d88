//! Asks a person to confirm before a memory is erased, where the client supports it.
//!
//! Before revision 2026-07-28 the server asks during the call; since then the call returns the question and the
//! client repeats it with the answer. Where the client cannot ask, the request waits for `neap memory forget`.

use std::collections::BTreeMap;
use std::time::Duration;

use neap_core::base::refusal::Refusal;
use neap_core::memory::{Memory, MemoryId};
use neap_engine::Agent;
use rmcp::RoleServer;
use rmcp::model::{
    BooleanSchema, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequiredResult, InputResponses, PrimitiveSchemaDefinition, ProtocolVersion,
};
use rmcp::service::{ElicitationMode, RequestContext};
use serde_json::{Value, json};

use super::{McpState, ToolFailure};

pub(super) const TOOL: &str = "forget";
const CONFIRM: &str = "confirm";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

pub(super) enum Confirmation {
    Unavailable,
    /// The person answered, and the answer was applied.
    Done(Value),
    Required(InputRequiredResult),
}

pub(super) async fn confirm(
    state: &McpState,
    arguments: &str,
    responses: Option<&InputResponses>,
    context: &RequestContext<RoleServer>,
) -> Result<Confirmation, ToolFailure> {
    let Some(mut agent) = state.engine.agent().await? else { return Ok(Confirmation::Unavailable) };
    // The tool itself reports malformed arguments.
    let id =
        serde_json::from_str::<Value>(arguments).ok().and_then(|given| given.get("id")?.as_str()?.parse().ok());
    let Some(id): Option<MemoryId> = id else { return Ok(Confirmation::Unavailable) };
    let Some(memory) = agent.get(id).await? else { return Ok(Confirmation::Unavailable) };
    let is_stateless = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let can_ask = match is_stateless {
        // Clients that name no mode support forms.
        true => context
            .client_capabilities()
            .and_then(|can| can.elicitation)
            .is_some_and(|can| can.form.is_some() || can.url.is_none()),
        false => context.peer.supported_elicitation_modes().contains(&ElicitationMode::Form),
    };
    if !can_ask {
        return Ok(Confirmation::Unavailable);
    }
    let params = confirmation_form(&memory)?;
    // The answer applies to this version of the memory; if it changes, the person is asked again.
    let key = format!("{CONFIRM}-{id}-{}", memory.updated.0);
    let answer: ElicitResult = if is_stateless {
        let Some(response) = responses.and_then(|responses| responses.get(&key)) else {
            let ask = InputRequest::Elicitation(ElicitRequest::new(params));
            let asks = BTreeMap::from([(key, ask)]);
            return Ok(Confirmation::Required(InputRequiredResult::from_input_requests(asks)));
        };
        serde_json::from_value(response.clone())
            .map_err(|error| Refusal::new(format!("The person's answer cannot be read: {error}.")))?
    } else {
        let elicitation = context.peer.create_elicitation_with_timeout(params, Some(ANSWER_TIMEOUT));
        elicitation.await.map_err(|error| {
            Refusal::new(format!("Nobody could be asked: {error}."))
                .hint(format!("a person can type: neap memory forget {id}"))
        })?
    };
    let is_yes = answer.action == ElicitationAction::Accept
        && answer.content.is_some_and(|content| content[CONFIRM] == true);
    if is_yes && agent.get(id).await?.is_none_or(|now| now.updated != memory.updated) {
        let refusal = Refusal::new(format!("{id} changed while the person was asked."));
        return Err(refusal.hint("ask again: nothing was erased").into());
    }
    Ok(Confirmation::Done(apply_answer(&mut agent, id, is_yes).await?))
}

async fn apply_answer(agent: &mut Agent, id: MemoryId, is_yes: bool) -> Result<Value, ToolFailure> {
    if !is_yes {
        return Ok(json!({"status": "kept", "id": id, "note": "the person was asked and did not agree"}));
    }
    let events = agent.erase(id).await?;
    Ok(
        json!({"status": "forgotten", "id": id, "note": format!("erased for good, as the person agreed: {events} events")}),
    )
}

fn confirmation_form(memory: &Memory) -> Result<ElicitRequestParams, Refusal> {
    let yes = BooleanSchema::new().title("Erase it for good").with_default(false);
    let schema = ElicitationSchema::builder()
        .required_property(CONFIRM, PrimitiveSchemaDefinition::Boolean(yes))
        .build()
        .map_err(|error| Refusal::new(error.to_string()))?;
    let summary = memory.lines.summary.trim_end();
    let message = format!("Forget this memory? It is erased for good, with all its earlier versions.\n{summary}");
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema })
}
