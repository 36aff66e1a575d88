//! Before something is forgotten, a person is asked, where the client can ask one.
//!
//! Before 2026-07-28 the server asks the client in the middle of the call; since then the call is answered with what must be asked,
//! and comes again with the answer. Who cannot ask leaves it to `neap memory forget`: the wish is kept.

use std::collections::BTreeMap;
use std::time::Duration;

use neap_core::memory::{Memory, MemoryId};
use neap_core::tools::Refusal;
use neap_engine::Agent;
use rmcp::RoleServer;
use rmcp::model::{
    BooleanSchema, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequiredResult, InputResponses, PrimitiveSchemaDefinition, ProtocolVersion,
};
use rmcp::service::{ElicitationMode, RequestContext};
use serde_json::{Value, json};

use super::{Desk, Told};

/// The tool before which somebody is asked.
pub(super) const TOOL: &str = "forget";
/// What is asked for.
const CONFIRM: &str = "confirm";
/// How long a person may think about it.
const PATIENCE: Duration = Duration::from_secs(300);

/// What came of asking.
pub(super) enum Asked {
    /// Nobody can be asked.
    Nobody,
    /// Somebody said yes or no, and that was done.
    Answered(Value),
    /// The client must ask first.
    First(InputRequiredResult),
}

/// Asks, and does what is said.
pub(super) async fn ask(
    desk: &Desk,
    arguments: &str,
    responses: Option<&InputResponses>,
    context: &RequestContext<RoleServer>,
) -> Result<Asked, Told> {
    let Some(mut agent) = desk.engine.memory().await? else { return Ok(Asked::Nobody) };
    // What is not well-formed is told by the tool itself.
    let id =
        serde_json::from_str::<Value>(arguments).ok().and_then(|given| given.get("id")?.as_str()?.parse().ok());
    let Some(id): Option<MemoryId> = id else { return Ok(Asked::Nobody) };
    let Some(memory) = agent.get(id).await? else { return Ok(Asked::Nobody) };
    let is_stateless = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let can_ask = match is_stateless {
        // One that names no way can show a form.
        true => context
            .client_capabilities()
            .and_then(|can| can.elicitation)
            .is_some_and(|can| can.form.is_some() || can.url.is_none()),
        false => context.peer.supported_elicitation_modes().contains(&ElicitationMode::Form),
    };
    if !can_ask {
        return Ok(Asked::Nobody);
    }
    let params = question(&memory)?;
    // An answer is to the record as it was shown: if that changed since, the person is asked again.
    let asked = format!("{CONFIRM}-{id}-{}", memory.updated.0);
    let said: ElicitResult = if is_stateless {
        let Some(answer) = responses.and_then(|responses| responses.get(&asked)) else {
            let ask = InputRequest::Elicitation(ElicitRequest::new(params));
            let asks = BTreeMap::from([(asked, ask)]);
            return Ok(Asked::First(InputRequiredResult::from_input_requests(asks)));
        };
        serde_json::from_value(answer.clone())
            .map_err(|error| Refusal::new(format!("The person's answer cannot be read: {error}.")))?
    } else {
        let asking = context.peer.create_elicitation_with_timeout(params, Some(PATIENCE));
        asking.await.map_err(|error| {
            Refusal::new(format!("Nobody could be asked: {error}."))
                .hint(format!("a person can type: neap memory forget {id}"))
        })?
    };
    let is_yes =
        said.action == ElicitationAction::Accept && said.content.is_some_and(|content| content[CONFIRM] == true);
    if is_yes && agent.get(id).await?.is_none_or(|now| now.updated != memory.updated) {
        let refusal = Refusal::new(format!("{id} changed while the person was asked."));
        return Err(refusal.hint("ask again: nothing was erased").into());
    }
    Ok(Asked::Answered(decided(&mut agent, id, is_yes).await?))
}

async fn decided(agent: &mut Agent, id: MemoryId, is_yes: bool) -> Result<Value, Told> {
    if !is_yes {
        return Ok(json!({"status": "kept", "id": id, "note": "the person was asked and did not agree"}));
    }
    let events = agent.erase(id).await?;
    Ok(
        json!({"status": "forgotten", "id": id, "note": format!("erased for good, as the person agreed: {events} events")}),
    )
}

fn question(memory: &Memory) -> Result<ElicitRequestParams, Refusal> {
    let yes = BooleanSchema::new().title("Erase it for good").with_default(false);
    let schema = ElicitationSchema::builder()
        .required_property(CONFIRM, PrimitiveSchemaDefinition::Boolean(yes))
        .build()
        .map_err(|error| Refusal::new(error.to_string()))?;
    let said = memory.lines.summary.trim_end();
    let message = format!("Forget this memory? It is erased for good, with all its earlier versions.\n{said}");
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema })
}
