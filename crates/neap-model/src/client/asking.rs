//! What every request has in common, whatever protocol it is written in.

use std::borrow::Cow;

use neap_core::message::{Message, Role, ToolCall};
use neap_core::turn::ModelRequest;

use super::thoughts::Thoughts;
use crate::wire::json::{Array, Json};

/// How a model is asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asking {
    pub(crate) model: String,
    /// Longest reply.
    pub(crate) reply_tokens_max: Option<u64>,
    /// Tokens it may think before it answers, where the protocol lets one say so.
    pub(crate) thinking_tokens: Option<u64>,
    /// Whether it reasons, and its reasoning can be had to send it back.
    pub(crate) reasons: bool,
    /// Whether it is OpenAI itself, which refuses what others need.
    pub(crate) is_openai: bool,
}

/// A request with what is kept of the answers in it.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) request: &'a ModelRequest,
    pub(crate) thoughts: &'a Thoughts,
}

impl Asked<'_> {
    /// How the provider wants a message of its own back, if it has to be more than words and calls. Where thinking is bound
    /// to all that came before it, only if that is unchanged.
    pub(crate) fn kept(&self, at: usize, is_bound: bool) -> Option<&[Json]> {
        let ModelRequest { messages, tools, .. } = self.request;
        let message = &messages[at];
        if message.role != Role::Assistant || message.tool_calls.is_empty() {
            return None;
        }
        self.thoughts.find(message, || is_bound.then(|| Thoughts::digest(tools, &messages[..at])))
    }

    /// The messages with their places, those from `first` on; what is said in a row in the user's role is one message. Servers
    /// that fill a model's own template refuse two of them in a row, and what is ours is told from what a person says by its mark,
    /// which nothing else has.
    pub(crate) fn turns(&self, first: usize) -> Vec<(usize, Cow<'_, Message>)> {
        let mut turns: Vec<(usize, Cow<'_, Message>)> = Vec::new();
        for (at, message) in self.request.messages.iter().enumerate().skip(first) {
            let is_plain = |said: &Message| said.role == Role::User && said.name.is_none();
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

    /// The tools in a protocol's form; none if there are none.
    pub(crate) fn tools(&self, form: fn(&neap_core::tools::ToolSpec) -> Json) -> Option<Json> {
        let tools = &self.request.tools;
        (!tools.is_empty()).then(|| tools.iter().map(form).collect::<Array>().to_json())
    }

    /// Whether the model goes on with what it began: its last words called tools, and these answered.
    pub(crate) fn last_round(&self) -> Option<usize> {
        let messages = &self.request.messages;
        let last = messages.iter().rposition(|message| message.role == Role::Assistant)?;
        (!messages[last].tool_calls.is_empty()).then_some(last)
    }
}

/// Whether a message is what was answered: then it may be sent back as it came.
pub(crate) fn is_same(message: &Message, text: &str, calls: &[ToolCall]) -> bool {
    &*message.content == text && message.tool_calls == calls
}
