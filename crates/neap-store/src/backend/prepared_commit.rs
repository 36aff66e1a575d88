//! A commit encoded as rows, before it waits for anything: nobody waits for another's encoding.

use neap_core::base::ids::{EffortId, Seq, Stamp, StreamId, TurnNo};
use neap_core::base::project_id::ProjectId;
use neap_core::client::HistoryLink;
use neap_core::memory::{Memory, MemoryEvent, MemoryId};
use neap_core::session::event::{EffortEvent, Event};
use neap_core::session::project::{ExchangeRow, MemoryRow, Projection};
use neap_core::session::state::SessionHead;

use super::card::IndexEntry;
use super::derived::{links, turn_id, undone_turn, withheld_turn};
use super::event_row::EventRow;
use super::memory_recall::SearchTier;
use crate::{Commit, StoreError, check_commit};

/// Above this much text, encoding would hold up other tasks.
const INLINE_BYTES_MAX: usize = 64 << 10;

pub struct PreparedCommit {
    pub stream: StreamId,
    pub expected: Seq,
    pub events: Vec<EventRow>,
    pub turn_ids: Vec<(String, TurnNo)>,
    pub links: Vec<HistoryLink>,
    pub head: HeadRow,
    pub efforts: Vec<(EffortId, String)>,
    pub exchanges: Vec<ExchangeRow>,
    pub memories: Vec<PreparedMemory>,
    pub erased: Vec<MemoryId>,
    pub memory_events: Vec<(MemoryId, i64)>,
    pub texts: Vec<IndexEntry>,
    pub withheld_turns: Vec<TurnNo>,
    pub undone_turns: Vec<TurnNo>,
}

impl PreparedCommit {
    pub async fn new(commit: Commit) -> Result<Self, StoreError> {
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

/// A session's row as it is stored.
pub struct HeadRow {
    pub body: String,
    pub project: Option<ProjectId>,
}

impl HeadRow {
    pub fn new(head: &SessionHead) -> Result<Self, serde_json::Error> {
        Ok(Self { body: serde_json::to_string(head)?, project: head.project.clone() })
    }
}

/// A memory's row as it is stored.
pub struct PreparedMemory {
    pub id: MemoryId,
    pub tier: SearchTier,
    pub at: Stamp,
    pub due: Option<Stamp>,
    pub body: String,
}

impl PreparedMemory {
    pub fn new(memory: &Memory, due: Option<Stamp>) -> Result<Self, serde_json::Error> {
        let (id, tier, at) = (memory.id, SearchTier::of(memory.status), memory.created);
        Ok(Self { id, tier, at, due, body: serde_json::to_string(memory)? })
    }

    pub fn of(row: &MemoryRow) -> Result<Self, serde_json::Error> {
        Self::new(&row.memory, row.due)
    }
}

fn opened_effort(event: &Event) -> Option<&EffortId> {
    if let Event::Effort(EffortEvent::Opened { id, .. }) = event { Some(id) } else { None }
}

fn erased_memory(event: &Event) -> Option<MemoryId> {
    if let Event::Memory(MemoryEvent::Erased { id }) = event { Some(*id) } else { None }
}
