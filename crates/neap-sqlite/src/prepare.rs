//! A commit encoded as rows, before it queues for the writer: nobody waits for another's encoding.

use neap_core::base::ids::{EffortId, Seq, StreamId, TurnNo};
use neap_core::client::HistoryLink;
use neap_core::memory::{MemoryEvent, MemoryId};
use neap_core::session::event::{EffortEvent, Event};
use neap_core::session::project::{ExchangeRow, Projection};

use super::derived_rows::HeadRow;
use super::events::EventRow;
use super::memories::PreparedMemory;
use neap_store::backend::card::IndexEntry;
use neap_store::backend::derived::{links, turn_id, undone_turn, withheld_turn};
use neap_store::{Commit, StoreError, check_commit};

/// Above this much text, encoding would hold up other tasks.
const INLINE_BYTES_MAX: usize = 64 << 10;

pub(super) struct PreparedCommit {
    pub(super) stream: StreamId,
    pub(super) expected: Seq,
    pub(super) events: Vec<EventRow>,
    pub(super) turn_ids: Vec<(String, TurnNo)>,
    pub(super) links: Vec<HistoryLink>,
    pub(super) head: HeadRow,
    pub(super) efforts: Vec<(EffortId, String)>,
    pub(super) exchanges: Vec<ExchangeRow>,
    pub(super) memories: Vec<PreparedMemory>,
    pub(super) erased: Vec<MemoryId>,
    pub(super) memory_events: Vec<(MemoryId, i64)>,
    pub(super) texts: Vec<IndexEntry>,
    pub(super) withheld_turns: Vec<TurnNo>,
    pub(super) undone_turns: Vec<TurnNo>,
}

impl PreparedCommit {
    pub(super) async fn new(commit: Commit) -> Result<Self, StoreError> {
        check_commit(&commit);
        let bytes = commit.projection.rows.texts.iter().map(|text| text.text.len()).sum::<usize>()
            + commit.projection.rows.memories.iter().map(|row| row.text.len()).sum::<usize>();
        let prepared = if bytes <= INLINE_BYTES_MAX {
            Self::encode(commit)
        } else {
            let encoding = tokio::task::spawn_blocking(move || Self::encode(commit));
            encoding.await.map_err(|e| StoreError::Failed(e.to_string()))?
        };
        prepared.map_err(|e| StoreError::Failed(format!("an event cannot be encoded: {e}")))
    }

    fn encode(commit: Commit) -> Result<Self, serde_json::Error> {
        let Commit { stream, expected, events, projection: Projection { head, rows } } = commit;
        let turn_ids = events.iter().filter_map(|recorded| turn_id(&recorded.event));
        let turn_ids = turn_ids.map(|(id, turn)| (id.to_owned(), turn)).collect();
        let links = events.iter().flat_map(|recorded| links(&recorded.event)).copied().collect();
        // New efforts are numbered in the order in which they were opened.
        let opened: Vec<&EffortId> = events.iter().filter_map(|recorded| opened_effort(&recorded.event)).collect();
        let mut efforts: Vec<_> = rows.efforts.iter().collect();
        efforts.sort_by_key(|effort| opened.iter().position(|id| **id == effort.id));
        let efforts = efforts.into_iter().map(|e| Ok((e.id.clone(), serde_json::to_string(e)?)));
        let of_memories = rows.memories.iter().filter_map(IndexEntry::of_memory);
        let texts = rows.texts.iter().map(IndexEntry::of).chain(of_memories).collect();
        let withheld_turns = events.iter().filter_map(|recorded| withheld_turn(&recorded.event)).collect();
        let undone_turns = events.iter().filter_map(|recorded| undone_turn(&recorded.event)).collect();
        let erased = events.iter().filter_map(|recorded| erased_memory(&recorded.event)).collect();
        let events: Vec<_> = events
            .iter()
            .map(|recorded| Ok((recorded.event.memory_id(), EventRow::new(recorded)?)))
            .collect::<Result<_, serde_json::Error>>()?;
        Ok(Self {
            stream,
            expected,
            turn_ids,
            links,
            memory_events: events.iter().filter_map(|(memory, row)| Some(((*memory)?, row.seq))).collect(),
            events: events.into_iter().map(|(_, row)| row).collect(),
            head: HeadRow::new(&head)?,
            efforts: efforts.collect::<Result<_, serde_json::Error>>()?,
            exchanges: rows.exchanges,
            memories: rows.memories.iter().map(PreparedMemory::of).collect::<Result<_, _>>()?,
            erased,
            texts,
            withheld_turns,
            undone_turns,
        })
    }
}

fn opened_effort(event: &Event) -> Option<&EffortId> {
    if let Event::Effort(EffortEvent::Opened { id, .. }) = event { Some(id) } else { None }
}

fn erased_memory(event: &Event) -> Option<MemoryId> {
    if let Event::Memory(MemoryEvent::Erased { id }) = event { Some(*id) } else { None }
}
