//! An agent's memories without a conversation, for commands and hosts.

use std::sync::Arc;

use neap_core::base::ids::AgentId;
use neap_core::base::policy::Policy;
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_core::context::memory_budget;
use neap_core::context::tools::ToolSet;
use neap_core::memory::knowledge::{AgentProfile, QuestionContext, context};
use neap_core::memory::learn::{
    Amendment, MemoryCommand, MemoryQuery, MemoryQueryResult, MemoryResponse, MemoryVersion,
};
use neap_core::memory::{AgentHead, Author, Memory, MemoryId, MemoryKind, Provenance};
use neap_core::recall::{Expectation, ProjectFilter, Stage};
use neap_core::session::report::AgentReport;

use crate::agent_stream::{lookup, run_command, token_counter};
use crate::error::EngineError;
use crate::parts::Parts;
use crate::stream::OpenStream;

/// Hits that are looked through for an expected record.
const EXPECTED_AMONG: usize = 1_000;

/// An agent and its memories.
pub struct Agent {
    parts: Arc<Parts>,
    id: AgentId,
    profile: Arc<AgentProfile>,
    stream: OpenStream,
    counter: Arc<dyn TokenCounter>,
}

impl Agent {
    pub(crate) async fn open(
        parts: Arc<Parts>,
        id: AgentId,
        profile: Arc<AgentProfile>,
    ) -> Result<Self, EngineError> {
        let stream = OpenStream::load(parts.store.as_ref(), id.stream()).await?;
        let counter = token_counter(&parts, &stream);
        Ok(Self { parts, id, profile, stream, counter })
    }

    /// The agent's id.
    pub fn id(&self) -> &AgentId {
        &self.id
    }

    /// Censors, pinned records and counts: the part of the memory that is always loaded.
    pub fn head(&self) -> AgentHead {
        self.stream.state.head().agent.as_deref().cloned().unwrap_or_default()
    }

    /// Figures on the agent's memory, such as its growth.
    pub fn report(&self) -> AgentReport {
        AgentReport::of(&self.head(), self.parts.clock.now())
    }

    /// Runs a command. A refusal is a response, not an error; changes are durable when this returns.
    pub async fn run_command(&mut self, command: MemoryCommand) -> Result<MemoryResponse, EngineError> {
        run_command(&self.parts, self.counter.as_ref(), &mut self.stream, command).await
    }

    /// One record; `None` if it never existed or was erased.
    pub async fn get(&self, id: MemoryId) -> Result<Option<Memory>, EngineError> {
        Ok(self.parts.store.memories(&self.stream.id, &[id]).await?.pop())
    }

    /// What became of a record that a search ([`MemoryCommand::Recall`]) should find.
    pub async fn expect(&mut self, id: MemoryId, mut search: MemoryCommand) -> Result<Expectation, EngineError> {
        if self.get(id).await?.is_none() {
            return Ok(Expectation::lost(Stage::NotStored));
        }
        let MemoryCommand::Recall { max, .. } = &mut search else {
            return Ok(Expectation::lost(Stage::NotProposed));
        };
        let asked = std::mem::replace(max, EXPECTED_AMONG);
        let MemoryResponse::Found { hits } = self.run_command(search).await? else {
            return Ok(Expectation::lost(Stage::NotProposed));
        };
        let Some(at) = hits.iter().position(|hit| hit.id == id) else {
            return Ok(Expectation::lost(Stage::NotProposed));
        };
        let stage = if at < asked { Stage::Found } else { Stage::BeyondLimit };
        let (place, score) = (Some(at + 1), Some(hits[at].score.value()));
        Ok(Expectation { place, score, ..Expectation::lost(stage) })
    }

    /// Lists at most `max` records, newest first, from before `before` if given.
    pub async fn list(
        &self,
        kind: Option<MemoryKind>,
        before: Option<MemoryId>,
        max: usize,
    ) -> Result<Vec<Memory>, EngineError> {
        Ok(self.parts.store.list_memories(&self.stream.id, kind, before, max).await?)
    }

    /// All versions of a record, oldest first.
    pub async fn history(&self, id: MemoryId) -> Result<Vec<MemoryVersion>, EngineError> {
        match lookup(&self.parts, &self.stream.id, MemoryQuery::History(id)).await? {
            MemoryQueryResult::History { versions, .. } | MemoryQueryResult::Versions(versions) => Ok(versions),
            MemoryQueryResult::Records(_) => Ok(Vec::new()),
        }
    }

    /// Erases a record physically. Only a person may ask for this.
    pub async fn erase(&mut self, id: MemoryId) -> Result<u64, EngineError> {
        let erased = self.parts.store.erase_memory(&self.stream.id, id, self.parts.clock.now()).await?;
        self.stream.reload(self.parts.store.as_ref()).await?;
        Ok(erased)
    }

    /// Selects the memories that are relevant to a question, with the length and the reason for each.
    pub async fn context(
        &self,
        question: &str,
        frame: Option<&str>,
        budget: Option<Tokens>,
    ) -> Result<QuestionContext, EngineError> {
        self.context_in(question, frame, None, budget).await
    }

    /// The same for a question that is asked in a project.
    pub async fn context_in(
        &self,
        question: &str,
        frame: Option<&str>,
        project: Option<ProjectFilter>,
        budget: Option<Tokens>,
    ) -> Result<QuestionContext, EngineError> {
        let now = self.parts.clock.now();
        let policy = Policy::default();
        let budget = budget.unwrap_or_else(|| {
            memory_budget(&policy, &ToolSet::none(), self.counter.as_ref()).max(Tokens(policy.memory_tokens_max))
        });
        let empty = AgentHead::default();
        let head = self.stream.state.head().agent.as_deref().unwrap_or(&empty);
        let query = context::ContextQuery::new(&self.profile, question, frame, project, now)
            .map_err(EngineError::NoFrame)?;
        let recalled = self.parts.search_memories(&self.stream.id, query.request(), question).await?;
        Ok(query.build_context(head, &recalled, budget, self.counter.as_ref(), now))
    }

    /// Takes a memory out of use that a model, a tool or a file wrote, for a person; `None` if it is permanent (a decision, an
    /// episode) or out of use already. Undoing a fact's first version restores what it superseded.
    pub async fn revoke(&mut self, memory: &Memory) -> Result<Option<MemoryResponse>, EngineError> {
        let id = memory.id;
        if !memory.status.is_searchable() {
            return Ok(None);
        }
        let how = match memory.kind() {
            MemoryKind::Fact if self.history(id).await?.len() == 1 => Amendment::Undo,
            MemoryKind::Fact => Amendment::Deactivate,
            MemoryKind::Procedure | MemoryKind::Censor => Amendment::Retire,
            MemoryKind::Decision | MemoryKind::Episode => return Ok(None),
        };
        let by = Provenance::from_author(Author::Person);
        self.run_command(MemoryCommand::Amend { id, how, by }).await.map(Some)
    }

    /// Applies the changes that are due by time; returns how many records changed.
    pub async fn sweep(&mut self) -> Result<u64, EngineError> {
        match self.run_command(MemoryCommand::Sweep).await? {
            MemoryResponse::Swept { moved } => Ok(moved),
            MemoryResponse::Remembered { .. }
            | MemoryResponse::Changed { .. }
            | MemoryResponse::Counted
            | MemoryResponse::Found { .. }
            | MemoryResponse::Full { .. }
            | MemoryResponse::Status(_)
            | MemoryResponse::Refused(_) => Ok(0),
        }
    }
}
