//! Shows the newest part of a conversation verbatim, and summaries of what came before.

use std::time::Duration;

use async_trait::async_trait;
use neap_core::base::handle::Handle;
use neap_core::base::ids::{SessionId, Stamp};
use neap_core::base::message::{CountedMessage, Message, Role};
use neap_core::base::tokens::Tokens;
use neap_core::context::host_log::RenderedLog;
use neap_core::session::summary::SummarizerKind;

use super::conversation::ConversationLog;
use super::{AgentMemory, check_budget};
use crate::engine::Engine;
use crate::error::EngineError;

const SUMMARY_TIMEOUT: Duration = Duration::from_secs(30);

/// A sliding window: text is shown verbatim, then summarised, then leaves the window, but never the store.
///
/// [`fetch_for_prompt`](AgentMemory::fetch_for_prompt) costs at most `max` tokens: one message with summaries of
/// what came before, between two marker lines, then the newest exchanges as they were added. Of a message that is
/// too long, it shows head and tail, with the handle of the whole between them.
///
/// [`reserve_tokens`](AgentMemory::reserve_tokens) prepares summaries from nine tenths of the budget on, with the
/// engine's summariser. If that fails, times out or was never called, the built-in one is used. A summary that is
/// empty, too long or wrong about its source is rejected (I12).
pub struct WindowMemory {
    pub(super) conversation: ConversationLog,
    max: Tokens,
    reserved: Tokens,
    summary_timeout: Duration,
}

impl WindowMemory {
    /// Opens the memory of a session, or creates it; `max` limits the cost of its part of a prompt. Nothing else
    /// should chat in that session at the same time.
    pub async fn open(engine: &Engine, session: &SessionId, max: Tokens) -> Result<Self, EngineError> {
        let max = check_budget(max)?;
        let conversation = ConversationLog::open(engine, session, max).await?;
        Ok(Self { conversation, max, reserved: max, summary_timeout: SUMMARY_TIMEOUT })
    }

    /// Limits the engine's summariser in [`reserve_tokens`](AgentMemory::reserve_tokens); 30 seconds by default.
    pub fn summary_timeout(mut self, limit: Duration) -> Self {
        self.summary_timeout = limit;
        self
    }

    /// The memory's session.
    pub fn session(&self) -> &SessionId {
        self.conversation.session()
    }

    /// The messages behind a handle, verbatim; empty if there are none.
    pub async fn original(&self, handle: &Handle) -> Result<Vec<Message>, EngineError> {
        self.conversation.original(handle).await
    }

    /// Token budget of the next prompt.
    pub fn budget(&self) -> Tokens {
        self.reserved
    }

    pub(super) async fn render(&mut self, budget: Tokens) -> Result<RenderedLog, EngineError> {
        if let Err(error) = self.conversation.ensure_summaries(budget, SummarizerKind::BuiltIn).await {
            tracing::warn!(session = %self.session(), %error, "shown without new summaries");
        }
        self.conversation.render(budget).await
    }
}

#[async_trait]
impl AgentMemory for WindowMemory {
    async fn add(&mut self, role: Role, content: &str, timestamp: Stamp) -> Result<(), EngineError> {
        self.conversation.append_message(role, content, timestamp).await
    }

    async fn reserve_tokens(&mut self, budget: Tokens) -> Result<(), EngineError> {
        let limit = check_budget(budget)?.min(self.max);
        self.reserved = limit;
        let prepare_at = limit.percent(self.conversation.prepare_percent());
        let prepared = tokio::time::timeout(
            self.summary_timeout,
            self.conversation.ensure_summaries(prepare_at, SummarizerKind::Configured),
        )
        .await;
        let why = match prepared {
            Ok(Ok(made)) => {
                tracing::debug!(session = %self.session(), made, room = limit.0, "memory prepared");
                None
            }
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the summariser took too long".to_owned()),
        };
        if let Some(why) = why {
            tracing::warn!(session = %self.session(), why, "memory not prepared");
        }
        self.conversation.ensure_summaries(limit, SummarizerKind::BuiltIn).await?;
        Ok(())
    }

    async fn fetch_for_prompt(&mut self) -> Result<Vec<Message>, EngineError> {
        let rendered = self.render(self.reserved).await?;
        Ok(into_messages(rendered.messages))
    }
}

pub(super) fn into_messages(messages: Vec<CountedMessage>) -> Vec<Message> {
    messages.into_iter().map(|counted| counted.message).collect()
}
