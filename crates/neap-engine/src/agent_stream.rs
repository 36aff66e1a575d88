//! An agent's open stream, and the memories loaded from it for a session.

use std::collections::BTreeSet;
use std::sync::Arc;

use neap_core::base::ids::{AgentId, Seq, StreamId};
use neap_core::base::tokens::TokenCounter;
use neap_core::context::tools::ToolSet;
use neap_core::memory::knowledge::{AgentProfile, LoadedMemories};
use neap_core::memory::learn::{
    LearnMachine, MemoryCommand, MemoryQuery, MemoryQueryResult, MemoryResponse, MemoryVersion,
};
use neap_core::memory::rewording::{
    REWORDED_KINDS, REWORDED_MAX, REWORDED_MICRO_TOKENS_MAX, REWORDED_SUMMARY_TOKENS_MAX,
};
use neap_core::memory::{Memory, MemoryEvent, MemoryId, RecallResponse};
use neap_core::session::event::{Event, RecordedEvent};
use neap_core::session::summary::SummaryRequest;
use neap_core::turn::AgentContext;
use neap_model::bpe::counter_for;
use neap_store::{StoreError, StoredEvent};

use crate::driver::{Driver, DriverRun};
use crate::error::EngineError;
use crate::observer::{Interrupt, NullObserver};
use crate::parts::Parts;
use crate::stream::OpenStream;

#[derive(Debug, Clone)]
pub(crate) struct AgentConfig {
    pub(crate) id: AgentId,
    pub(crate) profile: Arc<AgentProfile>,
}

pub(crate) struct AgentStream {
    pub(crate) stream: OpenStream,
    pub(crate) memories: LoadedMemories,
    /// Counts in the encoding of the agent's own records.
    pub(crate) counter: Arc<dyn TokenCounter>,
    profile: Arc<AgentProfile>,
    /// Records that a model was asked to reword; each is asked for once.
    reworded: BTreeSet<MemoryId>,
}

impl AgentStream {
    pub(crate) async fn load(parts: &Parts, agent: &AgentConfig) -> Result<Self, StoreError> {
        let stream = OpenStream::load(parts.store.as_ref(), agent.id.stream()).await?;
        let counter = token_counter(parts, &stream);
        Ok(Self {
            stream,
            memories: LoadedMemories::default(),
            counter,
            profile: agent.profile.clone(),
            reworded: BTreeSet::new(),
        })
    }

    pub(crate) fn context(&mut self) -> AgentContext<'_> {
        AgentContext {
            id: &self.stream.id,
            agent: &mut self.stream.state,
            memories: &mut self.memories,
            counter: self.counter.as_ref(),
            profile: &self.profile,
        }
    }

    /// Applies what is due by time; with a configured summariser, also rewords a few long records.
    pub(crate) async fn run_upkeep(&mut self, parts: &Parts) -> Result<(), EngineError> {
        run_command(parts, self.counter.as_ref(), &mut self.stream, MemoryCommand::Sweep).await?;
        if parts.summary_timeout.is_none() {
            return Ok(());
        }
        for kind in REWORDED_KINDS {
            for memory in parts.store.list_memories(&self.stream.id, Some(kind), None, REWORDED_MAX).await? {
                if memory.needs_rewording(self.counter.as_ref()) && self.reworded.insert(memory.id) {
                    self.reword(parts, &memory).await?;
                }
            }
        }
        Ok(())
    }

    /// Rewords one record; on failure its text stays as it is.
    async fn reword(&mut self, parts: &Parts, memory: &Memory) -> Result<(), EngineError> {
        let micro = parts.summarize(&SummaryRequest::for_memory(memory, REWORDED_MICRO_TOKENS_MAX)).await;
        let summary = parts.summarize(&SummaryRequest::for_memory(memory, REWORDED_SUMMARY_TOKENS_MAX)).await;
        if let (Ok(micro), Ok(summary)) = (micro, summary) {
            let command = memory.rewording(micro, summary);
            run_command(parts, self.counter.as_ref(), &mut self.stream, command).await?;
        }
        Ok(())
    }

    /// Reloads the agent if another process changed it. Returns whether a loaded memory was erased.
    pub(crate) async fn refresh(&mut self, parts: &Parts) -> Result<bool, StoreError> {
        let store = parts.store.as_ref();
        if !self.stream.is_ahead_of_store() && store.last_seq(&self.stream.id).await? == self.stream.state.seq() {
            return Ok(false);
        }
        self.stream.reload(store).await?;
        self.counter = token_counter(parts, &self.stream);
        let loaded = self.memories.loaded_ids();
        let current = store.memories(&self.stream.id, &loaded).await?;
        Ok(self.memories.check_outdated(&current))
    }
}

/// The counter in the agent's encoding; a new agent uses the engine's.
pub(crate) fn token_counter(parts: &Parts, stream: &OpenStream) -> Arc<dyn TokenCounter> {
    let encoding = &stream.state.head().encoding;
    counter_for(if encoding.is_empty() { &parts.encoding } else { encoding })
}

/// Runs a memory command. A refusal is a response; changes are durable when this returns.
pub(crate) async fn run_command(
    parts: &Parts,
    counter: &dyn TokenCounter,
    stream: &mut OpenStream,
    command: MemoryCommand,
) -> Result<MemoryResponse, EngineError> {
    stream.drop_uncommitted(parts.store.as_ref()).await?;
    let (tools, interrupt) = (ToolSet::none(), Interrupt::default());
    let driver = Driver { parts, counter, tools: &tools, interrupt: &interrupt, said_at: None };
    let response =
        driver.run(stream, LearnMachine::new(command), &mut DriverRun::new(parts, &mut NullObserver)).await?;
    Ok(*response)
}

pub(crate) async fn lookup(
    parts: &Parts,
    stream: &StreamId,
    query: MemoryQuery,
) -> Result<MemoryQueryResult, StoreError> {
    let store = parts.store.as_ref();
    Ok(match query {
        MemoryQuery::Recall(request) => MemoryQueryResult::Records(store.recall(stream, &request).await?),
        MemoryQuery::Search { request, question } => {
            MemoryQueryResult::Records(parts.search_memories(stream, &request, &question).await?)
        }
        MemoryQuery::Get(ids) => {
            let memories = store.memories(stream, &ids).await?;
            MemoryQueryResult::Records(RecallResponse { memories, ..RecallResponse::default() })
        }
        MemoryQuery::AsOf(seq) => {
            let events = store.events(stream, seq, 1).await?;
            let versions = events.into_iter().filter_map(to_version).filter(|version| version.seq == seq);
            let memories = versions.map(|version| version.memory).collect();
            MemoryQueryResult::Records(RecallResponse { memories, ..RecallResponse::default() })
        }
        MemoryQuery::History(id) => {
            let events = store.memory_history(stream, id).await?;
            let damaged = events.iter().filter_map(damaged_seq).collect();
            MemoryQueryResult::History { versions: events.into_iter().filter_map(to_version).collect(), damaged }
        }
        MemoryQuery::Due { now, max } => {
            let mut due = Vec::new();
            for memory in store.memories_due(stream, now, max).await? {
                let events = store.memory_history(stream, memory.id).await?;
                due.extend(events.into_iter().filter_map(to_version).next_back());
            }
            MemoryQueryResult::Versions(due)
        }
    })
}

fn damaged_seq(stored: &StoredEvent) -> Option<Seq> {
    if let StoredEvent::Damaged { seq, .. } = stored { Some(*seq) } else { None }
}

/// `None` if the event is damaged or has no record.
pub(crate) fn to_version(stored: StoredEvent) -> Option<MemoryVersion> {
    let RecordedEvent { seq, at, event } = stored.whole()?;
    let Event::Memory(MemoryEvent::Changed { change, memory, was: _, sent: _ }) = event else { return None };
    Some(MemoryVersion { seq, at, change, memory: *memory })
}
