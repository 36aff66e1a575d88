//! The built-in model: it keeps, finds and quotes, needs no key and no network, and does not pretend to think.
//!
//! It sees only what any model sees, the request: where things stand is `read` from it, what the user wants
//! is told by rules (`intent`), what follows from both is decided (`decide`), and what it says (`answer`) is either
//! about its own doing or quoted (`quote`) from the context. It never invents, and in doubt calls no tool.

mod answer;
mod decide;
mod grown;
mod intent;
mod name;
mod phrases;
mod quote;
mod read;
mod recall;

use async_trait::async_trait;
use neap_core::message::ToolCall;
use neap_core::turn::{ModelReply, ModelRequest};

use crate::stream::say;
use crate::{ChatModel, ModelError, OnText};
use decide::Next;
use read::Situation;

/// Calls in one turn, at most.
const CALLS_MAX: usize = 3;

/// A rule-based model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offline;

impl Offline {
    /// The model; it has no state and no settings.
    pub fn new() -> Self {
        Self
    }

    fn answer(request: &ModelRequest) -> ModelReply {
        let situation = Situation::read(request);
        let made = situation.rounds.len();
        match decide::next(&situation) {
            Next::Call { tool, arguments } if situation.may_call(tool) && made < CALLS_MAX => {
                // Unique within the turn, and the same whenever the turn is.
                let id = format!("offline-{}", made + 1);
                let call = ToolCall { id, name: tool.to_owned(), arguments: arguments.to_string() };
                ModelReply { text: String::new(), calls: vec![call], is_cut: false }
            }
            Next::Call { .. } => {
                ModelReply { text: answer::without_calls(&situation), calls: Vec::new(), is_cut: false }
            }
            Next::Say(text) => ModelReply { text, calls: Vec::new(), is_cut: false },
        }
    }
}

#[async_trait]
impl ChatModel for Offline {
    fn name(&self) -> &str {
        "offline"
    }

    async fn reply(&self, request: &ModelRequest, on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        let reply = Self::answer(request);
        say(&reply.text, on_text).await;
        Ok(reply)
    }
}

#[cfg(test)]
mod tests;
