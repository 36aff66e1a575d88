//! How far a folder shows its stream. Written around each append, so that a crashed append is undone.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use neap_core::base::ids::{EffortId, Seq, Stamp};
use neap_core::session::state::SessionState;
use serde::{Deserialize, Serialize};

use super::CURSOR_FILE;
use super::log_names::LogNames;
use crate::files;

const CURSOR_BYTES_MAX: u64 = 16 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// When the stream was created; tells it from another stream of the same name.
    pub(super) created: Stamp,
    pub(super) seq: Seq,
    /// The first event of the oldest turn that was still in flight.
    pub(super) read_from: Seq,
    /// Files being appended to, with their length before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) appending: BTreeMap<String, u64>,
    /// Efforts in the order of their log numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) efforts: Vec<EffortId>,
}

/// The checksum keeps a flipped bit from making a folder look ahead of the store.
#[derive(Serialize, Deserialize)]
struct CursorFile {
    #[serde(flatten)]
    cursor: Cursor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sum: Option<u32>,
}

impl Cursor {
    pub(super) fn of(state: &SessionState, names: &LogNames) -> Self {
        let head = state.head();
        let oldest = head.pending.values().map(|pending| pending.first_seq).min();
        let read_from = oldest.unwrap_or(head.seq.next());
        let (appending, efforts) = (BTreeMap::new(), names.order().to_vec());
        Self { created: head.created, seq: head.seq, read_from, appending, efforts }
    }

    /// `None` if the cursor is missing, damaged or cannot be parsed.
    pub(super) fn read(dir: &Path) -> Option<Self> {
        let bytes = files::read(&dir.join(CURSOR_FILE), CURSOR_BYTES_MAX).ok()??;
        let CursorFile { cursor, sum } = serde_json::from_slice(&bytes).ok()?;
        // Older versions wrote no checksum.
        let is_whole = sum.is_none_or(|sum| cursor.checksum().is_ok_and(|computed| computed == sum));
        is_whole.then_some(cursor)
    }

    pub(super) fn write(&self, dir: &Path) -> io::Result<()> {
        let written = CursorFile { cursor: self.clone(), sum: Some(self.checksum()?) };
        files::replace(&dir.join(CURSOR_FILE), &serde_json::to_vec(&written)?)
    }

    fn checksum(&self) -> serde_json::Result<u32> {
        Ok(crc32fast::hash(&serde_json::to_vec(self)?))
    }

    /// Whether a folder at this point can be brought up to this state.
    pub(super) fn can_advance_to(&self, state: &SessionState) -> bool {
        self.created == state.head().created && self.seq <= state.seq()
    }
}
