//! Recalls what is relevant to a question from a whole conversation.

use async_trait::async_trait;
use neap_core::base::handle::Handle;
use neap_core::base::ids::{SessionId, Stamp, TurnNo};
use neap_core::base::message::{CountedMessage, Message, Role};
use neap_core::base::tokens::Tokens;
use neap_core::context::host_log::{TextChunk, render_recalled};

use super::conversation::ConversationLog;
use super::{AgentMemory, check_budget};
use crate::engine::Engine;
use crate::error::EngineError;

const TOP_K: usize = 8;
/// Chunks that are considered for each one wanted, since some may not fit.
const OVERFETCH: usize = 4;

/// Stores everything, and fetches the chunks that are relevant to the latest user message within a budget.
///
/// A text is found if it shares a word with the question (stemmed, identifiers split; rare words count more) or,
/// with an embedder, if its meaning is similar. The same store and question give the same chunks.
///
/// The result is one message: a record between two marker lines, every line quoted, oldest first, each text once
/// and with the handle of its message. Of a long text it has the chunks with most of the question's words.
pub struct VectorMemory {
    conversation: ConversationLog,
    max: Tokens,
    reserved: Tokens,
    k: usize,
}

impl VectorMemory {
    /// Opens the memory of a session, or creates it; `max` limits the cost of its part of a prompt.
    pub async fn open(engine: &Engine, session: &SessionId, max: Tokens) -> Result<Self, EngineError> {
        let max = check_budget(max)?;
        let conversation = ConversationLog::open(engine, session, max).await?;
        Ok(Self { conversation, max, reserved: max, k: TOP_K })
    }

    /// Most chunks to recall; 8 by default.
    pub fn top_k(mut self, k: usize) -> Self {
        self.k = k;
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

    /// The `k` chunks that match a query best, as one message for a prompt; empty if none does. Costs at most what
    /// was last reserved.
    pub async fn fetch_relevant(&mut self, query: &str, k: usize) -> Result<Vec<Message>, EngineError> {
        let chunks = self.relevant_chunks(query, k).await?;
        let record = render_recalled(self.conversation.counter().as_ref(), &chunks, k, self.reserved);
        Ok(record.into_iter().map(|counted| counted.message).collect())
    }

    /// The chunks that match a query, best first; more than `k`, since not all may fit.
    pub async fn relevant_chunks(&mut self, query: &str, k: usize) -> Result<Vec<TextChunk>, EngineError> {
        self.recall(query, k, |_| true).await
    }

    pub(super) async fn recall(
        &mut self,
        query: &str,
        k: usize,
        keep: impl Fn(TurnNo) -> bool,
    ) -> Result<Vec<TextChunk>, EngineError> {
        // Another memory or process may have added to the session.
        self.conversation.reload().await?;
        self.conversation.recall(query, k.saturating_mul(OVERFETCH), keep).await
    }

    pub(super) fn k(&self) -> usize {
        self.k
    }

    pub(super) fn render_chunks(&self, chunks: &[TextChunk], budget: Tokens) -> Option<CountedMessage> {
        render_recalled(self.conversation.counter().as_ref(), chunks, self.k, budget.min(self.max))
    }
}

#[async_trait]
impl AgentMemory for VectorMemory {
    async fn add(&mut self, role: Role, content: &str, timestamp: Stamp) -> Result<(), EngineError> {
        self.conversation.append_message(role, content, timestamp).await
    }

    async fn reserve_tokens(&mut self, budget: Tokens) -> Result<(), EngineError> {
        self.reserved = check_budget(budget)?.min(self.max);
        Ok(())
    }

    /// What is relevant to the latest user message, without that message.
    async fn fetch_for_prompt(&mut self) -> Result<Vec<Message>, EngineError> {
        let Some((latest_turn, query)) = self.conversation.latest_query().await? else { return Ok(Vec::new()) };
        let chunks = self.recall(&query, self.k, |turn| turn < latest_turn).await?;
        Ok(self.render_chunks(&chunks, self.reserved).into_iter().map(|counted| counted.message).collect())
    }
}
