//! What requests have in common in all protocols.

use std::borrow::Cow;

use neap_core::base::message::{Message, Role, ToolCall};
use neap_core::turn::ModelRequest;

use super::reasoning_cache::ReasoningCache;
use crate::wire::json::{Array, Json};

#[derive(Debug, Clone, Default)]
pub(crate) struct RequestOptions {
    pub(crate) model: String,
    pub(crate) reply_tokens_max: Option<u64>,
    pub(crate) thinking_tokens: Option<u64>,
    /// Whether the model reasons and its reasoning must be requested to be sent back.
    pub(crate) reasons: bool,
    /// Whether this is OpenAI itself, which rejects what other servers need.
    pub(crate) is_openai: bool,
}

/// A request with the cached reasoning of its replies.
#[derive(Clone, Copy)]
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) request: &'a ModelRequest,
    pub(crate) reasoning: &'a ReasoningCache,
}

impl OutgoingRequest<'_> {
    /// The items to send in place of an assistant message. `is_bound` requires an unchanged prompt before it.
    pub(crate) fn replay_items(&self, at: usize, is_bound: bool) -> Option<&[Json]> {
        let ModelRequest { messages, tools, .. } = self.request;
        let message = &messages[at];
        if message.role != Role::Assistant || message.tool_calls.is_empty() {
            return None;
        }
        self.reasoning.find(message, || is_bound.then(|| ReasoningCache::digest(tools, &messages[..at])))
    }

    /// The messages from `first` on, with their indexes; consecutive user messages are merged. Servers that apply
    /// a model's chat template reject two in a row. Neap's own text stays recognizable by its mark.
    pub(crate) fn merged_turns(&self, first: usize) -> Vec<(usize, Cow<'_, Message>)> {
        let mut turns: Vec<(usize, Cow<'_, Message>)> = Vec::new();
        for (at, message) in self.request.messages.iter().enumerate().skip(first) {
            let is_plain = |message: &Message| message.role == Role::User && message.name.is_none();
            match turns.last_mut() {
                Some((_, last)) if is_plain(last) && is_plain(message) => {
                    let both = format!("{}\n\n{}", last.content, message.content);
                    last.to_mut().content = both.into();
                }
                Some(_) | None => turns.push((at, Cow::Borrowed(message))),
            }
        }
        turns
    }

    /// The tools in the protocol's format; `None` if there are none.
    pub(crate) fn tools(&self, form: fn(&neap_core::context::tools::ToolSpec) -> Json) -> Option<Json> {
        let tools = &self.request.tools;
        (!tools.is_empty()).then(|| tools.iter().map(form).collect::<Array>().to_json())
    }

    /// The index of the last assistant message if it called tools: the model continues that round.
    pub(crate) fn open_tool_round(&self) -> Option<usize> {
        let messages = &self.request.messages;
        let last = messages.iter().rposition(|message| message.role == Role::Assistant)?;
        (!messages[last].tool_calls.is_empty()).then_some(last)
    }
}

/// Whether a message is this reply, unchanged, and so may be replaced by the original items.
pub(crate) fn is_same_reply(message: &Message, text: &str, calls: &[ToolCall]) -> bool {
    &*message.content == text && message.tool_calls == calls
}
