//! A commit in the form of its rows. Made before it queues for the writer, so that nobody waits for another's
//! encoding.

use neap_core::event::Event;
use neap_core::ids::{EffortId, Seq, SessionId, TurnNo};
use neap_core::ingest::Link;
use neap_core::memory::MemoryId;
use neap_core::project::ExchangeRow;

use super::events::EventRow;
use super::memories::PreparedMemory;
use crate::card::Indexed;
use crate::derived::{links, taken_back, turn_id, withheld};
use crate::{Commit, StoreError, check_commit};

/// Above this much text the work would hold up other tasks.
const INLINE_BYTES_MAX: usize = 64 << 10;

/// Rows to write.
pub(super) struct Prepared {
    pub(super) session: SessionId,
    pub(super) expected: Seq,
    pub(super) events: Vec<EventRow>,
    pub(super) turn_ids: Vec<(String, TurnNo)>,
    pub(super) links: Vec<Link>,
    pub(super) head: String,
    pub(super) efforts: Vec<(EffortId, String)>,
    pub(super) exchanges: Vec<ExchangeRow>,
    /// Memories in their new form.
    pub(super) memories: Vec<PreparedMemory>,
    /// Memories that are no more.
    pub(super) erased: Vec<MemoryId>,
    /// Which event belongs to the history of which memory.
    pub(super) memory_events: Vec<(MemoryId, i64)>,
    pub(super) texts: Vec<Indexed>,
    /// Turns that a rule ended or a person took back.
    pub(super) withheld: Vec<TurnNo>,
    /// Turns that a person took back.
    pub(super) taken_back: Vec<TurnNo>,
}

impl Prepared {
    pub(super) async fn new(commit: Commit) -> Result<Self, StoreError> {
        check_commit(&commit);
        let bytes = commit.projection.texts.iter().map(|text| text.text.len()).sum::<usize>()
            + commit.projection.memories.iter().map(|row| row.text.len()).sum::<usize>();
        let prepared = if bytes <= INLINE_BYTES_MAX {
            Self::encode(commit)
        } else {
            let encoding = tokio::task::spawn_blocking(move || Self::encode(commit));
            encoding.await.map_err(|e| StoreError::Failed(e.to_string()))?
        };
        prepared.map_err(|e| StoreError::Failed(format!("an event cannot be written down: {e}")))
    }

    fn encode(commit: Commit) -> Result<Self, serde_json::Error> {
        let Commit { session, expected, events, projection } = commit;
        let turn_ids = events.iter().filter_map(|recorded| turn_id(&recorded.event));
        let turn_ids = turn_ids.map(|(id, turn)| (id.to_owned(), turn)).collect();
        let links = events.iter().flat_map(|recorded| links(&recorded.event)).copied().collect();
        // New ones are numbered in the order in which they were opened.
        let opened: Vec<&EffortId> = events.iter().filter_map(|recorded| opened(&recorded.event)).collect();
        let mut efforts: Vec<_> = projection.efforts.iter().collect();
        efforts.sort_by_key(|effort| opened.iter().position(|id| **id == effort.id));
        let efforts = efforts.into_iter().map(|e| Ok((e.id.clone(), serde_json::to_string(e)?)));
        let of_memories = projection.memories.iter().filter_map(Indexed::of_memory);
        let texts = projection.texts.iter().map(Indexed::of).chain(of_memories).collect();
        let withheld = events.iter().filter_map(|recorded| withheld(&recorded.event)).collect();
        let taken_back = events.iter().filter_map(|recorded| taken_back(&recorded.event)).collect();
        let erased = events.iter().filter_map(|recorded| erased(&recorded.event)).collect();
        let events: Vec<_> = events
            .iter()
            .map(|recorded| Ok((recorded.event.memory(), EventRow::new(recorded)?)))
            .collect::<Result<_, serde_json::Error>>()?;
        Ok(Self {
            session,
            expected,
            turn_ids,
            links,
            memory_events: events.iter().filter_map(|(memory, row)| Some(((*memory)?, row.seq))).collect(),
            events: events.into_iter().map(|(_, row)| row).collect(),
            head: serde_json::to_string(&projection.head)?,
            efforts: efforts.collect::<Result<_, serde_json::Error>>()?,
            exchanges: projection.exchanges,
            memories: projection.memories.iter().map(PreparedMemory::of).collect::<Result<_, _>>()?,
            erased,
            texts,
            withheld,
            taken_back,
        })
    }
}

fn opened(event: &Event) -> Option<&EffortId> {
    if let Event::EffortOpened { id, .. } = event { Some(id) } else { None }
}

fn erased(event: &Event) -> Option<MemoryId> {
    if let Event::MemoryErased { id } = event { Some(*id) } else { None }
}
