//! Anthropic Messages: `/v1/messages`. Messages are lists of blocks; the system prompt stands beside them.

use neap_core::message::{Message, ToolCall};
use neap_core::tokens::Tokens;
use neap_core::tools::ToolSpec;
use serde::Deserialize;

use super::json::{Array, Json, Object};
use super::openai::texts;
use super::view;
use crate::usage::Usage;

view! {
    /// A request.
    MessagesRequest
}

impl MessagesRequest {
    /// The model asked for.
    pub fn model(&self) -> Option<String> {
        self.0.text_of("model")
    }

    /// Whether the answer is to come piece by piece; not if it is not said.
    pub fn streams(&self) -> bool {
        self.0.read("stream").unwrap_or(false)
    }

    /// The system prompt's words.
    pub fn system(&self) -> String {
        texts(self.0.get("system"))
    }

    /// The conversation.
    pub fn messages(&self) -> Vec<AnthropicMessage> {
        self.0.array("messages").iter().flat_map(Array::objects).map(AnthropicMessage).collect()
    }

    /// Puts another conversation in.
    pub fn set_messages(&mut self, messages: &[AnthropicMessage]) {
        let messages: Array = messages.iter().map(AnthropicMessage::to_json).collect();
        self.0.set("messages", messages.to_json());
    }
}

view! {
    /// A message, of any role: a system message may stand among the others.
    AnthropicMessage
}

impl AnthropicMessage {
    /// One of these blocks.
    pub fn new(role: &str, blocks: &[Block]) -> Self {
        let blocks: Array = blocks.iter().map(Block::to_json).collect();
        Self(Object::new().with("role", role).with_json("content", blocks.to_json()))
    }

    /// Who speaks, as it was written.
    pub fn role(&self) -> String {
        self.0.text_of("role").unwrap_or_default()
    }

    /// What is said: the text, or the texts of its blocks.
    pub fn text(&self) -> String {
        texts(self.0.get("content"))
    }

    /// Its blocks; a plain text is one.
    pub fn blocks(&self) -> Vec<Block> {
        match self.0.get("content") {
            Some(content) => match content.read::<String>() {
                Some(text) => vec![Block::text(&text)],
                None => Array::of(content).iter().flat_map(Array::objects).map(Block).collect(),
            },
            None => Vec::new(),
        }
    }
}

view! {
    /// A block, of any kind.
    Block
}

impl Block {
    /// Words.
    pub fn text(text: &str) -> Self {
        Self(Object::new().with("type", "text").with("text", text))
    }

    /// A call. Arguments that are no JSON object are none: the provider refuses others.
    pub fn tool_use(call: &ToolCall) -> Self {
        let input = Object::parse(&call.arguments).unwrap_or_default().to_json();
        let block = Object::new().with("type", "tool_use").with("id", &call.id).with("name", &call.name);
        Self(block.with_json("input", input))
    }

    /// What a call answered.
    pub fn tool_result(message: &Message) -> Self {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        Self(Object::new().with("type", "tool_result").with("tool_use_id", id).with("content", &*message.content))
    }

    /// What kind of block it is.
    pub fn kind(&self) -> String {
        self.0.text_of("type").unwrap_or_default()
    }

    /// Asks the provider to keep all up to here in its cache.
    pub fn cached(mut self) -> Self {
        self.0.set("cache_control", Object::new().with("type", "ephemeral").to_json());
        self
    }
}

/// A tool as it is offered.
pub fn tool(spec: &ToolSpec) -> Json {
    let ToolSpec { name, description, parameters } = spec;
    Object::new().with("name", name).with("description", description).with("input_schema", parameters).to_json()
}

/// One event of a stream: what all kinds of them have between them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StreamEvent {
    pub(crate) index: u64,
    pub(crate) message: Option<Started>,
    pub(crate) content_block: Option<Box<serde_json::value::RawValue>>,
    pub(crate) delta: Option<BlockDelta>,
    pub(crate) usage: Option<MessageUsage>,
    pub(crate) error: Option<Box<serde_json::value::RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Started {
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

/// What was used so far. Later events say some of it again.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MessageUsage {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl MessageUsage {
    /// What is said later counts.
    pub(crate) fn update(&mut self, later: &MessageUsage) {
        let MessageUsage { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } =
            later;
        self.input_tokens = input_tokens.or(self.input_tokens);
        self.cache_read_input_tokens = cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens = cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.output_tokens = output_tokens.or(self.output_tokens);
    }

    /// Here what was cached is told apart from the rest of the input.
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
