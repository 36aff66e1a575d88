//! OpenAI Responses (`/v1/responses`). A conversation is a list of items: messages, calls, call outputs, reasoning
//! and other kinds, known or not.

use neap_core::base::message::{Message, Role};
use neap_core::base::tokens::Tokens;
use neap_core::context::tools::ToolSpec;
use serde::Deserialize;

use super::json::{Array, Json, Object};
use super::openai::content_text;
use super::view;
use crate::usage::Usage;

view! {
    ResponsesRequest
}

impl ResponsesRequest {
    pub fn model(&self) -> Option<String> {
        self.0.text_of("model")
    }

    pub fn is_streaming(&self) -> bool {
        self.0.read("stream").unwrap_or(false)
    }

    /// A plain string is one user message.
    pub fn input(&self) -> Vec<InputItem> {
        match self.0.get("input") {
            Some(input) => match input.read::<String>() {
                Some(text) => vec![InputItem::message(Role::User, &text)],
                None => Array::from_json(input).iter().flat_map(Array::objects).map(InputItem).collect(),
            },
            None => Vec::new(),
        }
    }

    pub fn set_input(&mut self, items: &[InputItem]) {
        let items: Array = items.iter().map(InputItem::to_json).collect();
        self.0.set("input", items.to_json());
    }
}

view! {
    InputItem
}

impl InputItem {
    pub fn message(role: Role, text: &str) -> Self {
        Self(Object::new().with("role", role.as_str()).with("content", text))
    }

    /// One message as items: its text, then its calls.
    pub fn from_message(message: &Message) -> Vec<Self> {
        let Message { role, content, name: _, tool_calls, tool_call_id, incomplete: _ } = message;
        let mut items = Vec::new();
        match tool_call_id {
            Some(id) if *role == Role::Tool => {
                let output = Object::new().with("type", "function_call_output").with("call_id", id);
                items.push(Self(output.with("output", &**content)));
            }
            Some(_) | None if content.is_empty() && !tool_calls.is_empty() => {}
            Some(_) | None => items.push(Self::message(*role, content)),
        }
        for call in tool_calls {
            let item = Object::new().with("type", "function_call").with("call_id", &call.id);
            items.push(Self(item.with("name", &call.name).with("arguments", &call.arguments)));
        }
        items
    }

    /// The item's type; it is optional for messages.
    pub fn kind(&self) -> String {
        let kind = self.0.text_of("type");
        kind.unwrap_or_else(|| if self.0.get("role").is_some() { "message".to_owned() } else { String::new() })
    }

    pub fn role(&self) -> Option<String> {
        self.0.text_of("role")
    }

    /// The text, or the concatenated texts of the parts.
    pub fn text(&self) -> String {
        content_text(self.0.get("content"))
    }

    pub fn call_id(&self) -> Option<String> {
        self.0.text_of("call_id")
    }
}

pub fn tool_json(spec: &ToolSpec) -> Json {
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
