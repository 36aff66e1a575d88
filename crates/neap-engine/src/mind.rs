//! The agent whose conversation a session is: its stream in memory, and what of it is loaded.

use std::collections::BTreeSet;
use std::sync::Arc;

use neap_core::event::{Event, Recorded};
use neap_core::ids::{AgentId, Seq};
use neap_core::knowledge::{Known, Mind, Outlook};
use neap_core::learn::{
    AgentDesk, Amendment, Answer, LearnInput, LearnStep, Learning, MemoryAsk, MemoryGiven, Version, Wish,
};
use neap_core::memory::{Author, Lines, Memory, MemoryId, MemoryKind, Provenance, Recalled, SUMMARY_TOKENS_MAX};
use neap_core::message::Message;
use neap_core::summary::{SummaryBy, SummaryRequest};
use neap_core::tokens::{TokenCounter, Tokens};
use neap_model::bpe::counter_for;
use neap_store::{StoreError, Stored};

use crate::error::EngineError;
use crate::live::{Live, overtaken};
use crate::parts::Parts;

/// Records of a kind that are looked at, newest first, for whether a model should word them.
const WORDED_MAX: usize = 4;
/// What a model is asked for; id, state and provenance come on top.
const MICRO_WORDS_MAX: Tokens = Tokens(24);
const SUMMARY_WORDS_MAX: Tokens = Tokens(90);

/// Which agent an engine's sessions belong to, and how it sees things.
#[derive(Debug, Clone)]
pub(crate) struct AgentPart {
    pub(crate) id: AgentId,
    pub(crate) outlook: Arc<Outlook>,
}

/// An agent in memory.
pub(crate) struct MindLive {
    pub(crate) live: Live,
    pub(crate) known: Known,
    /// As its own records are counted.
    pub(crate) counter: Arc<dyn TokenCounter>,
    outlook: Arc<Outlook>,
    /// Records that a model was asked to word, so that none is asked for twice.
    worded: BTreeSet<MemoryId>,
}

impl MindLive {
    /// Loads the agent.
    pub(crate) async fn load(parts: &Parts, agent: &AgentPart) -> Result<Self, StoreError> {
        let live = Live::load(parts.store.as_ref(), agent.id.stream()).await?;
        let counter = counter_of(parts, &live);
        Ok(Self {
            live,
            known: Known::default(),
            counter,
            outlook: agent.outlook.clone(),
            worded: BTreeSet::new(),
        })
    }

    /// As the core's machines have it.
    pub(crate) fn mind(&mut self) -> Mind<'_> {
        Mind {
            id: &self.live.id,
            agent: &mut self.live.state,
            known: &mut self.known,
            counter: self.counter.as_ref(),
            outlook: &self.outlook,
        }
    }

    /// Upkeep: what time calls for; and where a summariser is configured, it words a few records that were long.
    pub(crate) async fn tend(&mut self, parts: &Parts) -> Result<(), EngineError> {
        ask(parts, self.counter.as_ref(), &mut self.live, Wish::Sweep).await?;
        if parts.summary_limit.is_none() {
            return Ok(());
        }
        for kind in [MemoryKind::Decision, MemoryKind::Episode] {
            for memory in parts.store.list_memories(&self.live.id, Some(kind), None, WORDED_MAX).await? {
                if needs_words(self.counter.as_ref(), &memory) && self.worded.insert(memory.id) {
                    self.word(parts, &memory).await?;
                }
            }
        }
        Ok(())
    }

    /// Has one record worded; if that fails, its lines stay as they are.
    async fn word(&mut self, parts: &Parts, memory: &Memory) -> Result<(), EngineError> {
        let request = |tokens_max| SummaryRequest {
            about: format!("{} {}", memory.kind(), memory.id),
            by: SummaryBy::Configured,
            messages: vec![Message::user(memory.full())],
            tokens_max,
        };
        let micro = parts.summarize(&request(MICRO_WORDS_MAX)).await;
        let summary = parts.summarize(&request(SUMMARY_WORDS_MAX)).await;
        if let (Ok(micro), Ok(summary)) = (micro, summary) {
            let by = Provenance::of(Author::Model);
            let how = Amendment::Reword { micro, summary };
            ask(parts, self.counter.as_ref(), &mut self.live, Wish::Amend { id: memory.id, how, by }).await?;
        }
        Ok(())
    }

    /// Looks whether another process taught the agent something, and if so, loads it. Says whether something that is
    /// loaded was erased.
    pub(crate) async fn follow(&mut self, parts: &Parts) -> Result<bool, StoreError> {
        let store = parts.store.as_ref();
        if !self.live.is_ahead_of_store() && store.seq(&self.live.id).await? == self.live.state.seq() {
            return Ok(false);
        }
        self.live.reload(store).await?;
        self.counter = counter_of(parts, &self.live);
        let loaded = self.known.loaded();
        let now = store.memories(&self.live.id, &loaded).await?;
        Ok(self.known.compare(&now))
    }
}

/// Whether a record stands there by template and has more to say than that holds.
fn needs_words(counter: &dyn TokenCounter, memory: &Memory) -> bool {
    memory.status.is_current()
        && memory.lines == Lines::of(counter, memory)
        && counter.count(&memory.full()) > SUMMARY_TOKENS_MAX
}

/// How an agent's records are counted.
pub(crate) fn counter_of(parts: &Parts, live: &Live) -> Arc<dyn TokenCounter> {
    let known = &live.state.head().encoding;
    counter_for(if known.is_empty() { &parts.encoding } else { known })
}

/// Carries out a wish. A refusal is an answer; once this returns, what was learnt is durable.
pub(crate) async fn ask(
    parts: &Parts,
    counter: &dyn TokenCounter,
    live: &mut Live,
    wish: Wish,
) -> Result<Answer, EngineError> {
    let store = parts.store.as_ref();
    let (mut learning, mut input, mut conflicts) = (Learning::new(wish), LearnInput::Begin, 0);
    if live.is_ahead_of_store() {
        live.reload(store).await?;
    }
    loop {
        let now = parts.clock.now();
        let mut desk = AgentDesk { id: &live.id, agent: &mut live.state, counter, now };
        input = match learning.step(&mut desk, input) {
            LearnStep::Ask(ask) => LearnInput::Given(given(parts, live, ask).await?),
            LearnStep::Commit(events) => match live.commit(store, events).await {
                Ok(()) => LearnInput::Committed,
                Err(error) => {
                    overtaken(live, store, error, &mut conflicts).await?;
                    LearnInput::Stale
                }
            },
            LearnStep::Done(answer) => return Ok(*answer),
        };
    }
}

/// Looks up what a machine asks for.
pub(crate) async fn given(parts: &Parts, live: &Live, ask: MemoryAsk) -> Result<MemoryGiven, StoreError> {
    let (store, agent) = (parts.store.as_ref(), &live.id);
    Ok(match ask {
        MemoryAsk::Recall(request) => MemoryGiven::Recalled(store.recall(agent, &request).await?),
        MemoryAsk::Search { request, question } => {
            MemoryGiven::Recalled(parts.search_memories(agent, &request, &question).await?)
        }
        MemoryAsk::Get(ids) => {
            let memories = store.memories(agent, &ids).await?;
            MemoryGiven::Recalled(Recalled { memories, ..Recalled::default() })
        }
        MemoryAsk::AsOf(seq) => {
            let events = store.events(agent, seq, 1).await?;
            let versions = events.into_iter().filter_map(version).filter(|version| version.seq == seq);
            let memories = versions.map(|version| version.memory).collect();
            MemoryGiven::Recalled(Recalled { memories, ..Recalled::default() })
        }
        MemoryAsk::History(id) => {
            let events = store.memory_history(agent, id).await?;
            let damaged = events.iter().filter_map(damaged).collect();
            MemoryGiven::History { versions: events.into_iter().filter_map(version).collect(), damaged }
        }
        MemoryAsk::Due { now, max } => {
            let mut due = Vec::new();
            for memory in store.memories_due(agent, now, max).await? {
                let events = store.memory_history(agent, memory.id).await?;
                due.extend(events.into_iter().filter_map(version).next_back());
            }
            MemoryGiven::Versions(due)
        }
    })
}

fn damaged(stored: &Stored) -> Option<Seq> {
    if let Stored::Damaged { seq, .. } = stored { Some(*seq) } else { None }
}

/// A record as an event has it, if the event is whole and has one.
pub(crate) fn version(stored: Stored) -> Option<Version> {
    let Stored::Event(Recorded { seq, at, event }) = stored else { return None };
    let Event::MemoryChanged { change, memory, was: _ } = event else { return None };
    Some(Version { seq, at, change, memory: *memory })
}
