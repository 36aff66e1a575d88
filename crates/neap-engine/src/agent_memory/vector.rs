//! What bears on a question, wherever in a conversation it was said.

use async_trait::async_trait;
use neap_core::handle::Handle;
use neap_core::ids::{SessionId, Stamp, TurnNo};
use neap_core::message::{Counted, Message, Role};
use neap_core::tokens::Tokens;
use neap_core::told::{Chunk, recalled};

use super::keep::Keeper;
use super::{AgentMemory, check};
use crate::engine::Engine;
use crate::error::EngineError;

/// Chunks that are recalled at once, unless said otherwise.
const K: usize = 8;
/// So many chunks are looked at for each one that is wanted: what does not fit is passed over.
const SPARE: usize = 4;

/// Stores everything and fetches the chunks that bear on the latest user message, within a budget.
///
/// A text is found if it shares a word with the question (stemmed, identifiers split; rare words count more), and, where the
/// engine has an embedder, if it means alike. The same store and question give the same chunks.
///
/// What it gives is one message: a record between two lines that say so, every line quoted, oldest first, each
/// text once, each with the handle of the message it is from. Of a long text, the chunks are
/// taken that have most of the question's words.
pub struct VectorMemory {
    keeper: Keeper,
    max: Tokens,
    reserved: Tokens,
    k: usize,
}

impl VectorMemory {
    /// Opens the memory of a session, or begins it; `max` is the most that its part of a prompt may cost.
    pub async fn open(engine: &Engine, session: &SessionId, max: Tokens) -> Result<Self, EngineError> {
        let max = check(max)?;
        let keeper = Keeper::open(engine, session, max).await?;
        Ok(Self { keeper, max, reserved: max, k: K })
    }

    /// How many chunks are recalled at most; eight by default.
    pub fn top(mut self, k: usize) -> Self {
        self.k = k;
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

    /// The `k` chunks that answer a query best, as one message for a prompt; empty if nothing does. It costs no more than
    /// what was last reserved.
    pub async fn fetch_relevant(&mut self, query: &str, k: usize) -> Result<Vec<Message>, EngineError> {
        let chunks = self.relevant(query, k).await?;
        let record = recalled(self.keeper.counter().as_ref(), &chunks, k, self.reserved);
        Ok(record.into_iter().map(|said| said.message).collect())
    }

    /// The chunks that answer a query, best first; some more than `k`, since not all may fit.
    pub async fn relevant(&mut self, query: &str, k: usize) -> Result<Vec<Chunk>, EngineError> {
        self.recall(query, k, |_| true).await
    }

    pub(super) async fn recall(
        &mut self,
        query: &str,
        k: usize,
        keep: impl Fn(TurnNo) -> bool,
    ) -> Result<Vec<Chunk>, EngineError> {
        // Another memory, or another process, may have added to the same session.
        self.keeper.reload().await?;
        self.keeper.recall(query, k.saturating_mul(SPARE), keep).await
    }

    pub(super) fn k(&self) -> usize {
        self.k
    }

    pub(super) fn write(&self, chunks: &[Chunk], room: Tokens) -> Option<Counted> {
        recalled(self.keeper.counter().as_ref(), chunks, self.k, room.min(self.max))
    }
}

#[async_trait]
impl AgentMemory for VectorMemory {
    async fn add(&mut self, role: Role, content: &str, timestamp: Stamp) -> Result<(), EngineError> {
        self.keeper.tell(role, content, timestamp).await
    }

    async fn reserve_tokens(&mut self, budget: Tokens) -> Result<(), EngineError> {
        self.reserved = check(budget)?.min(self.max);
        Ok(())
    }

    /// What bears on the latest user message, without that message itself.
    async fn fetch_for_prompt(&mut self) -> Result<Vec<Message>, EngineError> {
        let Some((asked, query)) = self.keeper.asked().await? else { return Ok(Vec::new()) };
        let chunks = self.recall(&query, self.k, |turn| turn < asked).await?;
        Ok(self.write(&chunks, self.reserved).into_iter().map(|said| said.message).collect())
    }
}
