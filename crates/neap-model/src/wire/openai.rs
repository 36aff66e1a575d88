//! OpenAI Chat Completions: `/v1/chat/completions`, and all that speak it.

use neap_core::message::{Message, Role, ToolCall};
use neap_core::tokens::Tokens;
use neap_core::tools::ToolSpec;
use serde::Deserialize;

use super::json::{Array, Json, Object};
use super::view;
use crate::usage::Usage;

view! {
    /// A request.
    ChatRequest
}

impl ChatRequest {
    /// The model asked for.
    pub fn model(&self) -> Option<String> {
        self.0.text_of("model")
    }

    /// Whether the answer is to come piece by piece; not if it is not said.
    pub fn streams(&self) -> bool {
        self.0.read("stream").unwrap_or(false)
    }

    /// The conversation; what is no object in it is left out here and stays in the request.
    pub fn messages(&self) -> Vec<ChatMessage> {
        self.0.array("messages").iter().flat_map(Array::objects).map(ChatMessage).collect()
    }

    /// Puts another conversation in.
    pub fn set_messages(&mut self, messages: &[ChatMessage]) {
        let messages: Array = messages.iter().map(ChatMessage::to_json).collect();
        self.0.set("messages", messages.to_json());
    }
}

view! {
    /// A message, of any role.
    ChatMessage
}

impl ChatMessage {
    /// One of ours.
    pub fn of(message: &Message) -> Self {
        let Message { role, content, name, tool_calls, tool_call_id, incomplete: _ } = message;
        let mut object = Object::new().with("role", role.as_str());
        // A message that only calls says nothing, rather than an empty text, which some refuse.
        let is_silent = content.is_empty() && !tool_calls.is_empty() && *role == Role::Assistant;
        object.set("content", if is_silent { Json::of(&()) } else { Json::of(&**content) });
        if let Some(name) = name {
            object.set("name", Json::of(name));
        }
        if !tool_calls.is_empty() {
            let calls: Array = tool_calls.iter().map(call_json).collect();
            object.set("tool_calls", calls.to_json());
        }
        if let Some(id) = tool_call_id {
            object.set("tool_call_id", Json::of(id));
        }
        Self(object)
    }

    /// Who speaks, as it was written.
    pub fn role(&self) -> String {
        self.0.text_of("role").unwrap_or_default()
    }

    /// What is said: the text, or the texts of its parts.
    pub fn text(&self) -> String {
        texts(self.0.get("content"))
    }

    /// The calls it makes.
    pub fn tool_calls(&self) -> Vec<ToolCall> {
        let calls = self.0.array("tool_calls");
        let calls = calls.iter().flat_map(Array::objects).filter_map(|call| {
            let function = call.object("function")?;
            let (id, name) = (call.text_of("id")?, function.text_of("name")?);
            Some(ToolCall { id, name, arguments: function.text_of("arguments").unwrap_or_default() })
        });
        calls.collect()
    }

    /// The call it answers.
    pub fn tool_call_id(&self) -> Option<String> {
        self.0.text_of("tool_call_id")
    }
}

fn call_json(call: &ToolCall) -> Json {
    let function = Object::new().with("name", &call.name).with("arguments", &call.arguments);
    Object::new().with("id", &call.id).with("type", "function").with_json("function", function.to_json()).to_json()
}

/// A tool as it is offered.
pub fn tool(spec: &ToolSpec) -> Json {
    Object::new().with("type", "function").with_json("function", Json::of(spec)).to_json()
}

/// A text, or the texts of parts.
pub(super) fn texts(content: Option<&Json>) -> String {
    let Some(content) = content else { return String::new() };
    if let Some(text) = content.read::<String>() {
        return text;
    }
    let parts = Array::of(content);
    parts.iter().flat_map(Array::objects).filter_map(|part| part.text_of("text")).collect()
}

/// One event of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Chunk {
    pub(crate) choices: Option<Vec<Choice>>,
    pub(crate) usage: Option<ChatUsage>,
    pub(crate) error: Option<Box<serde_json::value::RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Choice {
    pub(crate) index: Option<u64>,
    pub(crate) delta: Option<Delta>,
    pub(crate) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Delta {
    pub(crate) content: Option<String>,
    pub(crate) refusal: Option<String>,
    pub(crate) tool_calls: Option<Vec<CallDelta>>,
    /// Thinking, as DeepSeek, llama.cpp and vLLM send it.
    pub(crate) reasoning_content: Option<String>,
    /// The same, as OpenRouter and Ollama do.
    pub(crate) reasoning: Option<String>,
    /// The same in blocks, which OpenRouter wants back.
    pub(crate) reasoning_details: Option<Vec<Box<serde_json::value::RawValue>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CallDelta {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<String>,
    pub(crate) function: Option<FunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FunctionDelta {
    pub(crate) name: Option<String>,
    pub(crate) arguments: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ChatUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptDetails>,
    /// DeepSeek's own word for what was cached.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl ChatUsage {
    pub(crate) fn to_usage(&self) -> Usage {
        let cached = self.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
        let cached = cached.or(self.prompt_cache_hit_tokens).unwrap_or(0);
        Usage {
            calls: 1,
            input: Tokens(self.prompt_tokens),
            cached: Tokens(cached),
            cache_written: Tokens::ZERO,
            output: Tokens(self.completion_tokens),
        }
    }
}
