//! A commit in the form of its rows. Made before it queues for the writer, so that nobody waits for another's
//! encoding.

use neap_core::ids::{EffortId, Seq, SessionId, TurnNo};
use neap_core::project::{ExchangeRow, Indexed};

use super::events::EventRow;
use crate::derived::{TextKey, turn_id, words};
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
    pub(super) texts: Vec<(TextKey, String)>,
}

impl Prepared {
    pub(super) async fn new(commit: Commit) -> Result<Self, StoreError> {
        check_commit(&commit);
        let bytes: usize = commit.projection.texts.iter().map(text_bytes).sum();
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
        let efforts = projection.efforts.iter().map(|e| Ok((e.id.clone(), serde_json::to_string(e)?)));
        Ok(Self {
            session,
            expected,
            turn_ids: turn_ids.map(|(id, turn)| (id.to_owned(), turn)).collect(),
            events: events.iter().map(EventRow::new).collect::<Result<_, _>>()?,
            head: serde_json::to_string(&projection.head)?,
            efforts: efforts.collect::<Result<_, serde_json::Error>>()?,
            exchanges: projection.exchanges,
            texts: projection.texts.iter().map(words).collect(),
        })
    }
}

fn text_bytes(indexed: &Indexed) -> usize {
    match indexed {
        Indexed::Message { text, .. } => text.len(),
        Indexed::Effort { text, .. } => text.len(),
    }
}
