//! The built-in model: a set of rules without key or network that records, finds and quotes.
//!
//! It sees only the request, like any model. `prompt_view` parses it, `intent` classifies the user's message,
//! `decide` picks the next step, and `answer` replies about its own actions or with quotes (`quote`) from the
//! context. It never invents anything, and in doubt calls no tool.

mod answer;
mod decide;
mod intent;
mod name;
mod past_questions;
mod past_work;
mod phrases;
mod prompt_history;
mod prompt_view;
mod quote;

use async_trait::async_trait;
use neap_core::base::message::ToolCall;
use neap_core::turn::{ModelReply, ModelRequest};

use crate::stream::stream_words;
use crate::{ChatModel, ModelError, OnText};
use decide::NextStep;
use prompt_view::PromptView;

/// Per turn.
const CALLS_MAX: usize = 3;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfflineModel;

impl OfflineModel {
    pub fn new() -> Self {
        Self
    }

    fn answer(request: &ModelRequest) -> ModelReply {
        let situation = PromptView::read(request);
        let made = situation.calls.len();
        match decide::next_step(&situation) {
            NextStep::Call { tool, arguments } if situation.can_call(tool) && made < CALLS_MAX => {
                // Unique within the turn, and deterministic.
                let id = format!("offline-{}", made + 1);
                let call = ToolCall { id, name: tool.to_owned(), arguments: arguments.to_string() };
                ModelReply { text: String::new(), calls: vec![call], is_truncated: false }
            }
            NextStep::Call { .. } => {
                ModelReply { text: answer::without_calls(&situation), calls: Vec::new(), is_truncated: false }
            }
            NextStep::Say(text) => ModelReply { text, calls: Vec::new(), is_truncated: false },
        }
    }
}

#[async_trait]
impl ChatModel for OfflineModel {
    fn name(&self) -> &str {
        "offline"
    }

    async fn reply(&self, request: &ModelRequest, on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        let reply = Self::answer(request);
        stream_words(&reply.text, on_text).await;
        Ok(reply)
    }
}

#[cfg(test)]
mod tests;
