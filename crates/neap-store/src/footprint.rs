//! Disk usage accounting.

use neap_core::session::event::Event;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// Message contents and tool call arguments.
    pub said: u64,
    /// Event rows as stored, packed or not; the database's overhead per row is estimated.
    pub events: u64,
    /// Derived rows: sessions, efforts, exchanges, turn ids; the database's overhead per row is estimated.
    pub derived: u64,
    /// The word index. For one session an estimate: its share of all words.
    pub index: u64,
    /// Files on disk, always of the whole store, including free pages and the WAL.
    pub file: u64,
}

/// What an event adds to [`Footprint::said`].
pub fn message_bytes(event: &Event) -> u64 {
    let messages = event.transcript_messages().into_iter().map(|counted| &counted.message);
    let bytes = messages.map(|m| m.content.len() + m.tool_calls.iter().map(|c| c.arguments.len()).sum::<usize>());
    bytes.sum::<usize>() as u64
}
