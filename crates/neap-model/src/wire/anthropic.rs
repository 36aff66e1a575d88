//! Anthropic Messages (`/v1/messages`). A message is a list of blocks; the system prompt is separate.

use neap_core::base::message::{Message, ToolCall};
use neap_core::base::tokens::Tokens;
use neap_core::context::tools::ToolSpec;
use serde::Deserialize;

use super::json::{Array, Json, Object};
use super::openai::content_text;
use super::view;
use crate::usage::Usage;

view! {
    MessagesRequest
}

impl MessagesRequest {
    pub fn model(&self) -> Option<String> {
        self.0.text_of("model")
    }

    pub fn is_streaming(&self) -> bool {
        self.0.read("stream").unwrap_or(false)
    }

    pub fn system(&self) -> String {
        content_text(self.0.get("system"))
    }

    pub fn messages(&self) -> Vec<AnthropicMessage> {
        self.0.array("messages").iter().flat_map(Array::objects).map(AnthropicMessage).collect()
    }

    pub fn set_messages(&mut self, messages: &[AnthropicMessage]) {
        let messages: Array = messages.iter().map(AnthropicMessage::to_json).collect();
        self.0.set("messages", messages.to_json());
    }
}

view! {
    /// Any role: system messages may appear among the others.
    AnthropicMessage
}

impl AnthropicMessage {
    pub fn new(role: &str, blocks: &[Block]) -> Self {
        let blocks: Array = blocks.iter().map(Block::to_json).collect();
        Self(Object::new().with("role", role).with_json("content", blocks.to_json()))
    }

    pub fn role(&self) -> String {
        self.0.text_of("role").unwrap_or_default()
    }

    pub fn text(&self) -> String {
        content_text(self.0.get("content"))
    }

    /// A plain string is one text block.
    pub fn blocks(&self) -> Vec<Block> {
        match self.0.get("content") {
            Some(content) => match content.read::<String>() {
                Some(text) => vec![Block::text(&text)],
                None => Array::from_json(content).iter().flat_map(Array::objects).map(Block).collect(),
            },
            None => Vec::new(),
        }
    }
}

view! {
    Block
}

impl Block {
    pub fn text(text: &str) -> Self {
        Self(Object::new().with("type", "text").with("text", text))
    }

    /// Replaces arguments that are no JSON object by `{}`: the provider rejects others.
    pub fn tool_use(call: &ToolCall) -> Self {
        let input = Object::parse(&call.arguments).unwrap_or_default().to_json();
        let block = Object::new().with("type", "tool_use").with("id", &call.id).with("name", &call.name);
        Self(block.with_json("input", input))
    }

    pub fn tool_result(message: &Message) -> Self {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        Self(Object::new().with("type", "tool_result").with("tool_use_id", id).with("content", &*message.content))
    }

    pub fn kind(&self) -> String {
        self.0.text_of("type").unwrap_or_default()
    }

    /// Sets a cache breakpoint after this block.
    pub fn with_cache_mark(mut self) -> Self {
        self.0.set("cache_control", Object::new().with("type", "ephemeral").to_json());
        self
    }
}

pub fn tool_json(spec: &ToolSpec) -> Json {
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
