//! What an agent knew at earlier times, folded from its stream, and the pages of memories that prompts had then.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::base::ids::{Seq, Stamp, StreamId};
use neap_core::base::tokens::TokenCounter;
use neap_core::memory::knowledge::{AgentProfile, Knowledge, LoadCause, MemoryLoad};
use neap_core::memory::{AgentHead, Memory, MemoryEvent, MemoryId};
use neap_core::session::event::Event;
use neap_core::session::state::SessionState;
use neap_core::turn::PastAgent;
use neap_store::{Store, StoreError, StoredEvent};

use crate::agent_stream::AgentConfig;

const PAGE: usize = 512;

/// An agent at a time that only moves on.
pub(crate) struct PastMemories {
    id: StreamId,
    profile: Arc<AgentProfile>,
    state: SessionState,
    next: Seq,
    memories: BTreeMap<MemoryId, Memory>,
}

impl PastMemories {
    pub(crate) fn new(agent: &AgentConfig) -> Self {
        let (state, memories) = (SessionState::default(), BTreeMap::new());
        Self { id: agent.id.stream(), profile: agent.profile.clone(), state, next: Seq(1), memories }
    }

    /// The page that was loaded at a time for a message; `None` where the one before stayed.
    pub(crate) async fn page(
        &mut self,
        store: &dyn Store,
        (session, text): (&SessionState, &str),
        (loaded, at): (&MemoryLoad, Stamp),
        counter: &dyn TokenCounter,
    ) -> Result<Option<Knowledge>, StoreError> {
        if loaded.cause == LoadCause::Pressure {
            return Ok(None);
        }
        self.go_on(store, at).await?;
        let nothing = AgentHead::default();
        let head = self.state.head();
        let agent = PastAgent {
            head: head.agent.as_deref().unwrap_or(&nothing),
            memories: &self.memories,
            profile: &self.profile,
            encoding: &head.encoding,
        };
        Ok(agent.page(session, text, loaded, counter))
    }

    async fn go_on(&mut self, store: &dyn Store, until: Stamp) -> Result<(), StoreError> {
        loop {
            let page = store.events(&self.id, self.next, PAGE).await?;
            let Some(newest) = page.last().map(StoredEvent::seq) else { return Ok(()) };
            for recorded in page.into_iter().filter_map(StoredEvent::whole) {
                if recorded.at > until {
                    return Ok(());
                }
                self.state.apply_after_gap(&recorded);
                self.next = recorded.seq.next();
                if let Event::Memory(MemoryEvent::Erased { id }) = &recorded.event {
                    self.memories.remove(id);
                }
                if let Event::Memory(MemoryEvent::Changed { memory, .. }) = recorded.event {
                    self.memories.insert(memory.id, *memory);
                }
            }
            self.next = newest.next();
        }
    }
}
