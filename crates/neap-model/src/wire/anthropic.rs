//! Anthropic Messages (`/v1/messages`). A message is a list of blocks; the system prompt is separate.

use neap_core::base::message::{Message, ToolCall};
use neap_core::base::tokens::Tokens;
use neap_core::context::tools::ToolSpec;
use serde::Deserialize;

use super::json::{Array, Json, Object};
use crate::usage::Usage;

pub(crate) fn message_json(role: &str, blocks: &[Object]) -> Json {
    Object::new().with("role", role).with_json("content", array_json(blocks)).to_json()
}

pub(crate) fn array_json(blocks: &[Object]) -> Json {
    blocks.iter().map(Object::to_json).collect::<Array>().to_json()
}

pub(crate) fn text_block(text: &str) -> Object {
    Object::new().with("type", "text").with("text", text)
}

/// Replaces arguments that are no JSON object by `{}`: the provider rejects others.
pub(crate) fn tool_use_block(call: &ToolCall) -> Object {
    let input = Object::parse(&call.arguments).unwrap_or_default().to_json();
    let block = Object::new().with("type", "tool_use").with("id", &call.id).with("name", &call.name);
    block.with_json("input", input)
}

pub(crate) fn tool_result_block(message: &Message) -> Object {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    Object::new().with("type", "tool_result").with("tool_use_id", id).with("content", &*message.content)
}

pub(crate) fn tool_json(spec: &ToolSpec) -> Json {
    let ToolSpec { name, description, parameters } = spec;
    Object::new().with("name", name).with("description", description).with("input_schema", parameters).to_json()
}

/// The fields of all event types together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StreamEvent {
    pub(crate) index: u64,
    pub(crate) message: Option<MessageStart>,
    pub(crate) content_block: Option<Box<serde_json::value::RawValue>>,
    pub(crate) delta: Option<BlockDelta>,
    pub(crate) usage: Option<MessageUsage>,
    pub(crate) error: Option<Box<serde_json::value::RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MessageStart {
    pub(crate) usage: Option<MessageUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct BlockDelta {
    pub(crate) text: Option<String>,
    pub(crate) partial_json: Option<String>,
    pub(crate) thinking: Option<String>,
    pub(crate) signature: Option<String>,
    pub(crate) stop_reason: Option<String>,
}

/// Usage so far; later events repeat some of it.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MessageUsage {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl MessageUsage {
    pub(crate) fn update(&mut self, later: &MessageUsage) {
        let MessageUsage { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } =
            later;
        self.input_tokens = input_tokens.or(self.input_tokens);
        self.cache_read_input_tokens = cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens = cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.output_tokens = output_tokens.or(self.output_tokens);
    }

    /// Anthropic reports cached tokens separately from `input_tokens`.
    pub(crate) fn to_usage(self) -> Usage {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        Usage {
            calls: 1,
            input: Tokens(self.input_tokens.unwrap_or(0) + cached + written),
            cached: Tokens(cached),
            cache_written: Tokens(written),
            output: Tokens(self.output_tokens.unwrap_or(0)),
        }
    }
}
