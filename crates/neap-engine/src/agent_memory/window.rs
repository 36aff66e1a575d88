//! The newest part of a conversation as it was said, and what came before it in short.

use std::time::Duration;

use async_trait::async_trait;
use neap_core::handle::Handle;
use neap_core::ids::{SessionId, Stamp};
use neap_core::message::{Counted, Message, Role};
use neap_core::summary::SummaryBy;
use neap_core::tokens::Tokens;
use neap_core::told::Shown;

use super::keep::Keeper;
use super::{AgentMemory, check};
use crate::engine::Engine;
use crate::error::EngineError;

/// How long a summariser may take, unless said otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

/// A sliding window: raw, then summarised, then out of the window; never out of the store.
///
/// What [`fetch_for_prompt`](AgentMemory::fetch_for_prompt) gives costs at most `max` tokens, always: first one message
/// with the summaries of what came before, between two lines that say so, then the newest exchanges as they were
/// added. A message too long for that is shown head and tail, with the handle of the whole between them.
///
/// [`reserve_tokens`](AgentMemory::reserve_tokens) prepares summaries from nine tenths of the room on, by the engine's
/// summariser. Where that fails, takes too long or was never asked, the built-in one steps in. A summary that is
/// empty, too long or wrong about what it summarises is not taken (I12).
pub struct WindowMemory {
    pub(super) keeper: Keeper,
    max: Tokens,
    reserved: Tokens,
    patience: Duration,
}

impl WindowMemory {
    /// Opens the memory of a session, or begins it; `max` is the most that its part of a prompt may cost. A session that
    /// is told to a memory should not be chatted with elsewhere at the same time.
    pub async fn open(engine: &Engine, session: &SessionId, max: Tokens) -> Result<Self, EngineError> {
        let max = check(max)?;
        let keeper = Keeper::open(engine, session, max).await?;
        Ok(Self { keeper, max, reserved: max, patience: PATIENCE })
    }

    /// How long the engine's summariser may take in one [`reserve_tokens`](AgentMemory::reserve_tokens): half a minute
    /// by default.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The session that it is.
    pub fn session(&self) -> &SessionId {
        self.keeper.session()
    }

    /// The words behind a handle, exactly as they were added; empty if there are none.
    pub async fn original(&self, handle: &Handle) -> Result<Vec<Message>, EngineError> {
        self.keeper.original(handle).await
    }

    /// What the next prompt may cost.
    pub fn budget(&self) -> Tokens {
        self.reserved
    }

    /// What is shown in a room, with the summaries that it needs.
    pub(super) async fn show(&mut self, room: Tokens) -> Result<Shown, EngineError> {
        if let Err(error) = self.keeper.shrink(room, SummaryBy::BuiltIn).await {
            tracing::warn!(session = %self.session(), %error, "shown without new summaries");
        }
        self.keeper.show(room).await
    }
}

#[async_trait]
impl AgentMemory for WindowMemory {
    async fn add(&mut self, role: Role, content: &str, timestamp: Stamp) -> Result<(), EngineError> {
        self.keeper.tell(role, content, timestamp).await
    }

    async fn reserve_tokens(&mut self, budget: Tokens) -> Result<(), EngineError> {
        let room = check(budget)?.min(self.max);
        self.reserved = room;
        let near = room.percent(self.keeper.prepare_percent());
        let prepared = tokio::time::timeout(self.patience, self.keeper.shrink(near, SummaryBy::Configured)).await;
        let why = match prepared {
            Ok(Ok(made)) => {
                tracing::debug!(session = %self.session(), made, room = room.0, "memory prepared");
                None
            }
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the summariser took too long".to_owned()),
        };
        if let Some(why) = why {
            tracing::warn!(session = %self.session(), why, "memory not prepared");
        }
        self.keeper.shrink(room, SummaryBy::BuiltIn).await?;
        Ok(())
    }

    async fn fetch_for_prompt(&mut self) -> Result<Vec<Message>, EngineError> {
        let shown = self.show(self.reserved).await?;
        Ok(plain(shown.messages))
    }
}

pub(super) fn plain(messages: Vec<Counted>) -> Vec<Message> {
    messages.into_iter().map(|said| said.message).collect()
}
