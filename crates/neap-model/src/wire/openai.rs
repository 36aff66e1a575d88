//! OpenAI Chat Completions (`/v1/chat/completions`), also of compatible servers.

use neap_core::base::message::{Message, Role, ToolCall};
use neap_core::base::tokens::Tokens;
use neap_core::context::tools::ToolSpec;
use serde::Deserialize;

use super::json::{Array, Json, Object};
use crate::usage::Usage;

pub(crate) fn message_object(message: &Message) -> Object {
    let Message { role, content, name, tool_calls, tool_call_id, incomplete: _ } = message;
    let mut object = Object::new().with("role", role.as_str());
    // Content is null, not empty, in a message that only calls tools: some servers reject an empty text.
    let is_silent = content.is_empty() && !tool_calls.is_empty() && *role == Role::Assistant;
    object.set("content", if is_silent { Json::from_value(&()) } else { Json::from_value(&**content) });
    if let Some(name) = name {
        object.set("name", Json::from_value(name));
    }
    if !tool_calls.is_empty() {
        let calls: Array = tool_calls.iter().map(call_json).collect();
        object.set("tool_calls", calls.to_json());
    }
    if let Some(id) = tool_call_id {
        object.set("tool_call_id", Json::from_value(id));
    }
    object
}

pub(crate) fn tool_calls(message: &Object) -> Vec<ToolCall> {
    let calls = message.array("tool_calls");
    let calls = calls.iter().flat_map(Array::objects).filter_map(|call| {
        let function = call.object("function")?;
        let (id, name) = (call.text_of("id")?, function.text_of("name")?);
        Some(ToolCall { id, name, arguments: function.text_of("arguments").unwrap_or_default() })
    });
    calls.collect()
}

fn call_json(call: &ToolCall) -> Json {
    let function = Object::new().with("name", &call.name).with("arguments", &call.arguments);
    Object::new().with("id", &call.id).with("type", "function").with_json("function", function.to_json()).to_json()
}

pub(crate) fn tool_json(spec: &ToolSpec) -> Json {
    Object::new().with("type", "function").with_json("function", Json::from_value(spec)).to_json()
}

/// The text, or the concatenated texts of the parts.
pub(crate) fn content_text(content: Option<&Json>) -> String {
    let Some(content) = content else { return String::new() };
    if let Some(text) = content.read::<String>() {
        return text;
    }
    let parts = Array::from_json(content);
    parts.iter().flat_map(Array::objects).filter_map(|part| part.text_of("text")).collect()
}

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
    /// DeepSeek, llama.cpp and vLLM.
    pub(crate) reasoning_content: Option<String>,
    /// OpenRouter and Ollama.
    pub(crate) reasoning: Option<String>,
    /// OpenRouter, in blocks that it wants back.
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
    /// DeepSeek's name for cached tokens.
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
