//! How far a folder has got. Written before and after each append, so that a crash in between is undone.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use neap_core::ids::{EffortId, Seq, Stamp};
use neap_core::state::SessionState;
use serde::{Deserialize, Serialize};

use super::CURSOR_FILE;
use super::names::LogNames;
use crate::files;

const CURSOR_BYTES_MAX: u64 = 16 << 20;

/// The folder shows the stream up to an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// Whose stream: when it began.
    pub(super) created: Stamp,
    /// The last event shown.
    pub(super) seq: Seq,
    /// Where the oldest turn began that had not ended by then.
    pub(super) read_from: Seq,
    /// Files that are being added to, and how long they were before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) appending: BTreeMap<String, u64>,
    /// Efforts in the order of their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) efforts: Vec<EffortId>,
}

/// A cursor with its checksum: a flipped bit must not make a folder look as if it knew more than the store.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(flatten)]
    cursor: Cursor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sum: Option<u32>,
}

impl Cursor {
    /// Of a folder that shows this state.
    pub(super) fn of(state: &SessionState, names: &LogNames) -> Self {
        let head = state.head();
        let oldest = head.pending.values().map(|pending| pending.first_seq).min();
        let read_from = oldest.unwrap_or(head.seq.next());
        let (appending, efforts) = (BTreeMap::new(), names.order().to_vec());
        Self { created: head.created, seq: head.seq, read_from, appending, efforts }
    }

    /// As it was left in a folder; none if it is lost, damaged or cannot be understood.
    pub(super) fn read(dir: &Path) -> Option<Self> {
        let bytes = files::read(&dir.join(CURSOR_FILE), CURSOR_BYTES_MAX).ok()??;
        let Written { cursor, sum } = serde_json::from_slice(&bytes).ok()?;
        // Older versions wrote none.
        let is_whole = sum.is_none_or(|sum| cursor.sum().is_ok_and(|of| of == sum));
        is_whole.then_some(cursor)
    }

    /// Leaves it in the folder.
    pub(super) fn write(&self, dir: &Path) -> io::Result<()> {
        let written = Written { cursor: self.clone(), sum: Some(self.sum()?) };
        files::replace(&dir.join(CURSOR_FILE), &serde_json::to_vec(&written)?)
    }

    fn sum(&self) -> serde_json::Result<u32> {
        Ok(crc32fast::hash(&serde_json::to_vec(self)?))
    }

    /// Whether a folder at this point can be brought up to this state.
    pub(super) fn leads_to(&self, state: &SessionState) -> bool {
        self.created == state.head().created && self.seq <= state.seq()
    }
}
