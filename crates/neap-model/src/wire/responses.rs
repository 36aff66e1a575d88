//! OpenAI Responses (`/v1/responses`). A conversation is a list of items: messages, calls, call outputs, reasoning
//! and other kinds, known or not.

use neap_core::base::message::{Message, Role};
use neap_core::base::tokens::Tokens;
use neap_core::context::tools::ToolSpec;
use serde::Deserialize;

use super::json::{Json, Object};
use crate::usage::Usage;

/// One message as items: its text, then its calls.
pub(crate) fn message_items(message: &Message) -> Vec<Json> {
    let Message { role, content, name: _, tool_calls, tool_call_id, incomplete: _ } = message;
    let mut items = Vec::new();
    match tool_call_id {
        Some(id) if *role == Role::Tool => {
            let output = Object::new().with("type", "function_call_output").with("call_id", id);
            items.push(output.with("output", &**content).to_json());
        }
        Some(_) | None if content.is_empty() && !tool_calls.is_empty() => {}
        Some(_) | None => {
            items.push(Object::new().with("role", role.as_str()).with("content", &**content).to_json())
        }
    }
    for call in tool_calls {
        let item = Object::new().with("type", "function_call").with("call_id", &call.id);
        items.push(item.with("name", &call.name).with("arguments", &call.arguments).to_json());
    }
    items
}

pub(crate) fn tool_json(spec: &ToolSpec) -> Json {
    let ToolSpec { name, description, parameters } = spec;
    let tool = Object::new().with("type", "function").with("name", name).with("description", description);
    // Strict schemas must list every argument as required; ours do not.
    tool.with("parameters", parameters).with("strict", &false).to_json()
}

/// The fields of all event types together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResponseEvent {
    pub(crate) delta: Option<String>,
    pub(crate) output_index: Option<u64>,
    pub(crate) item: Option<Box<serde_json::value::RawValue>>,
    pub(crate) response: Option<Box<serde_json::value::RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Response {
    pub(crate) id: Option<String>,
    pub(crate) error: Option<Box<serde_json::value::RawValue>>,
    pub(crate) incomplete_details: Option<Incomplete>,
    pub(crate) usage: Option<ResponseUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Incomplete {
    pub(crate) reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResponseUsage {
    input_tokens: u64,
    output_tokens: u64,
    input_tokens_details: Option<InputDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: u64,
}

impl ResponseUsage {
    pub(crate) fn to_usage(&self) -> Usage {
        let cached = self.input_tokens_details.as_ref().map_or(0, |details| details.cached_tokens);
        Usage {
            calls: 1,
            input: Tokens(self.input_tokens),
            cached: Tokens(cached),
            cache_written: Tokens::ZERO,
            output: Tokens(self.output_tokens),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OutputItem {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) call_id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) content: Vec<OutputPart>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OutputPart {
    pub(crate) text: Option<String>,
}
