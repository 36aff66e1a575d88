//! Imports conversations that other programs keep in files of their own. Each record has a key: a [`Digest`] of
//! what identifies it. Imported records are linked to their session, so a file can be read again at any time and
//! only what is new is imported. A transcript lists items like a client's request does, so the same rules assign
//! them to exchanges and find where efforts begin and end.

mod compaction_loss;
mod importer;
mod prompt_fingerprint;
mod steps;
#[cfg(test)]
mod tests;

pub use compaction_loss::{compaction_event, render_loss};
pub use importer::TranscriptImporter;
pub use prompt_fingerprint::{PromptFingerprint, PromptOccurrences, TranscriptCount};
pub use steps::{TranscriptStep, group_records};

use crate::base::digest::Digest;
use crate::base::ids::{SessionId, Stamp};
use crate::base::project_id::Place;
use crate::client::HistoryItem;
use crate::memory::Author;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordBody {
    Message(HistoryItem),
    /// The summary with which the program replaced everything before.
    Compacted(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptRecord {
    /// If any of these is known, the record was imported before.
    pub keys: Vec<Digest>,
    pub at: Option<Stamp>,
    /// Set where one message is written in several records.
    pub message_id: Option<String>,
    pub body: RecordBody,
}

/// A conversation as its program recorded it, or the new part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    pub session: SessionId,
    /// The program, and its name for the conversation.
    pub source: String,
    /// Of the user messages: a person only where the program reports them as they are typed (a hook's prompt).
    pub author: Author,
    pub place: Place,
    /// Oldest first.
    pub records: Vec<TranscriptRecord>,
}

/// What a hook reported and no transcript contains yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookTranscript {
    pub transcript: Transcript,
    /// The fingerprint of the first record if that is a prompt without an id; it has no key yet.
    pub unkeyed_prompt: Option<PromptFingerprint>,
    pub at: Stamp,
}
