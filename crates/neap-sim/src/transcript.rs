//! Transcripts as other programs write them.

use neap_core::base::digest::Digest;
use neap_core::base::ids::Stamp;
use neap_core::base::project_id::Place;
use neap_core::client::transcript::{RecordBody, Transcript, TranscriptRecord};
use neap_core::client::{ContentBlock, HistoryItem, Speaker};
use neap_core::memory::Author;
use neap_model::transcript::Program;

pub(crate) const PROGRAM: Program = Program::ClaudeCode;

pub(crate) fn record(keys: Vec<Digest>, at: Stamp, speaker: Speaker, block: ContentBlock) -> TranscriptRecord {
    let body = RecordBody::Message(HistoryItem::uncounted(speaker, vec![block]));
    TranscriptRecord { keys, at: Some(at), message_id: None, body }
}

pub(crate) fn transcript(name: &str, author: Author, records: Vec<TranscriptRecord>) -> Transcript {
    Transcript {
        session: PROGRAM.session_id(name),
        source: PROGRAM.as_str().to_owned(),
        author,
        place: Place::Unknown,
        records,
    }
}
