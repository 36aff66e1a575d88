//! An agent's memory, without a conversation: what a person's commands and other hosts ask of it.

use std::sync::Arc;

use neap_core::assemble::memory_room;
use neap_core::ids::AgentId;
use neap_core::knowledge::{Context, Outlook, context};
use neap_core::learn::{Answer, MemoryAsk, MemoryGiven, Version, Wish};
use neap_core::memory::{AgentHead, Memory, MemoryId, MemoryKind};
use neap_core::policy::Policy;
use neap_core::report::AgentReport;
use neap_core::tokens::{TokenCounter, Tokens};
use neap_core::tools::ToolSet;

use crate::error::EngineError;
use crate::live::Live;
use crate::mind::{ask, counter_of, given};
use crate::parts::Parts;

/// An agent and what it knows.
pub struct Agent {
    parts: Arc<Parts>,
    id: AgentId,
    outlook: Arc<Outlook>,
    live: Live,
    counter: Arc<dyn TokenCounter>,
}

impl Agent {
    pub(crate) async fn open(parts: Arc<Parts>, id: AgentId, outlook: Arc<Outlook>) -> Result<Self, EngineError> {
        let live = Live::load(parts.store.as_ref(), id.stream()).await?;
        let counter = counter_of(&parts, &live);
        Ok(Self { parts, id, outlook, live, counter })
    }

    /// Its id.
    pub fn id(&self) -> &AgentId {
        &self.id
    }

    /// What it always has at hand, and how much it knows.
    pub fn head(&self) -> AgentHead {
        self.live.state.head().agent.as_deref().cloned().unwrap_or_default()
    }

    /// How its memory grows.
    pub fn report(&self) -> AgentReport {
        AgentReport::of(&self.head(), self.parts.clock.now())
    }

    /// Carries out a wish. A refusal is an answer, not an error; once this returns, what was learnt is durable.
    pub async fn ask(&mut self, wish: Wish) -> Result<Answer, EngineError> {
        ask(&self.parts, self.counter.as_ref(), &mut self.live, wish).await
    }

    /// A record; none if there never was one, or it was erased.
    pub async fn get(&self, id: MemoryId) -> Result<Option<Memory>, EngineError> {
        Ok(self.parts.store.memories(&self.live.id, &[id]).await?.pop())
    }

    /// Records, newest first, from before one on.
    pub async fn list(
        &self,
        kind: Option<MemoryKind>,
        before: Option<MemoryId>,
        max: usize,
    ) -> Result<Vec<Memory>, EngineError> {
        Ok(self.parts.store.list_memories(&self.live.id, kind, before, max).await?)
    }

    /// All versions of a record, oldest first.
    pub async fn history(&self, id: MemoryId) -> Result<Vec<Version>, EngineError> {
        match given(&self.parts, &self.live, MemoryAsk::History(id)).await? {
            MemoryGiven::History { versions, .. } | MemoryGiven::Versions(versions) => Ok(versions),
            MemoryGiven::Recalled(_) => Ok(Vec::new()),
        }
    }

    /// Erases a record, physically. Only a person may.
    pub async fn erase(&mut self, id: MemoryId) -> Result<u64, EngineError> {
        let erased = self.parts.store.erase_memory(&self.live.id, id, self.parts.clock.now()).await?;
        self.live.reload(self.parts.store.as_ref()).await?;
        Ok(erased)
    }

    /// The context that a question calls for: what of the agent's memory, at which length, and why.
    pub async fn context(
        &self,
        question: &str,
        frame: Option<&str>,
        budget: Option<Tokens>,
    ) -> Result<Context, EngineError> {
        let now = self.parts.clock.now();
        let policy = Policy::default();
        let room = budget.unwrap_or_else(|| {
            memory_room(&policy, &ToolSet::none(), self.counter.as_ref()).max(Tokens(policy.memory_tokens_max))
        });
        let nothing = AgentHead::default();
        let head = self.live.state.head().agent.as_deref().unwrap_or(&nothing);
        let asking = context::Asking::new(&self.outlook, question, frame, now).map_err(EngineError::NoFrame)?;
        let recalled = self.parts.search_memories(&self.live.id, asking.request(), question).await?;
        Ok(asking.answer(head, &recalled, room, self.counter.as_ref(), now))
    }

    /// Does what time calls for; says how many records moved.
    pub async fn sweep(&mut self) -> Result<u64, EngineError> {
        match self.ask(Wish::Sweep).await? {
            Answer::Swept { moved } => Ok(moved),
            Answer::Learnt { .. }
            | Answer::Changed { .. }
            | Answer::Counted
            | Answer::Found { .. }
            | Answer::Full { .. }
            | Answer::Status(_)
            | Answer::Refused(_) => Ok(0),
        }
    }
}
