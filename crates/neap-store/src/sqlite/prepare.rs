//! A commit in the form of its rows. Made before it queues for the writer, so that nobody waits for another's
//! encoding.

use neap_core::event::Event;
use neap_core::ids::{EffortId, Seq, SessionId, TurnNo};
use neap_core::memory::MemoryId;
use neap_core::project::ExchangeRow;
use neap_core::recall::TextKey;

use super::events::EventRow;
use super::memories::PreparedMemory;
use crate::derived::{memory_words, turn_id, words};
use crate::{Commit, StoreError, check_commit};

/// Above this much text the work would hold up other tasks.
const INLINE_BYTES_MAX: usize = 64 << 10;

/// Rows to write.
pub(super) struct Prepared {
    pub(super) session: SessionId,
    pub(super) expected: Seq,
    pub(super) events: Vec<EventRow>,
    pub(super) turn_ids: Vec<(String, TurnNo)>,
    pub(super) head: String,
    pub(super) efforts: Vec<(EffortId, String)>,
    pub(super) exchanges: Vec<ExchangeRow>,
    /// Memories in their new form.
    pub(super) memories: Vec<PreparedMemory>,
    /// Memories that are no more.
    pub(super) erased: Vec<MemoryId>,
    /// Which event belongs to the history of which memory.
    pub(super) memory_events: Vec<(MemoryId, i64)>,
    pub(super) texts: Vec<(TextKey, String)>,
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
        let efforts = projection.efforts.iter().map(|e| Ok((e.id.clone(), serde_json::to_string(e)?)));
        let memory_words = projection.memories.iter().map(memory_words);
        let texts = projection.texts.iter().map(words);
        let texts = texts.chain(memory_words.filter_map(|(key, words)| Some((key, words?)))).collect();
        let erased = events.iter().filter_map(|recorded| erased(&recorded.event)).collect();
        let events: Vec<_> = events
            .iter()
            .map(|recorded| Ok((recorded.event.memory(), EventRow::new(recorded)?)))
            .collect::<Result<_, serde_json::Error>>()?;
        Ok(Self {
            session,
            expected,
            turn_ids,
            memory_events: events.iter().filter_map(|(memory, row)| Some(((*memory)?, row.seq))).collect(),
            events: events.into_iter().map(|(_, row)| row).collect(),
            head: serde_json::to_string(&projection.head)?,
            efforts: efforts.collect::<Result<_, serde_json::Error>>()?,
            exchanges: projection.exchanges,
            memories: projection.memories.iter().map(PreparedMemory::of).collect::<Result<_, _>>()?,
            erased,
            texts,
        })
    }
}

fn erased(event: &Event) -> Option<MemoryId> {
    if let Event::MemoryErased { id } = event { Some(*id) } else { None }
}
