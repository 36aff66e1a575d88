//! How much room things take.

use neap_core::event::Event;
use serde::{Deserialize, Serialize};

/// How many bytes a session, or everything, takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// The words that people, models and tools said: contents of messages and arguments of calls.
    pub said: u64,
    /// Rows of events as they are stored, packed or not; what a database adds to a row is estimated.
    pub events: u64,
    /// Derived rows: sessions, efforts, exchanges, turn ids; what a database adds to a row is estimated.
    pub derived: u64,
    /// The word index. Of one session it is the share that its words have in the whole: an estimate.
    pub index: u64,
    /// Files on disk, always of the whole store, free pages and the log of writes included.
    pub file: u64,
}

/// What an event adds to [`Footprint::said`].
pub(crate) fn said(event: &Event) -> u64 {
    let messages = event.said().into_iter().map(|said| &said.message);
    let bytes = messages.map(|m| m.content.len() + m.tool_calls.iter().map(|c| c.arguments.len()).sum::<usize>());
    bytes.sum::<usize>() as u64
}
