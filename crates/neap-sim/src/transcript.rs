//! Transcripts as other programs write them.

use neap_core::base::digest::Digest;
use neap_core::base::ids::Stamp;
use neap_core::base::tokens::Tokens;
use neap_core::client::transcript::{RecordBody, Transcript, TranscriptRecord};
use neap_core::client::{ContentBlock, HistoryItem, Speaker};
use neap_core::memory::Author;
use neap_model::transcript::Program;

pub(crate) const PROGRAM: Program = Program::ClaudeCode;

pub(crate) fn record(keys: Vec<Digest>, at: Stamp, speaker: Speaker, block: ContentBlock) -> TranscriptRecord {
    let blocks = vec![block].into();
    let item = HistoryItem { speaker, blocks, tokens: Tokens::ZERO, cache_breakpoints: 0 };
    TranscriptRecord { keys, at: Some(at), message_id: None, body: RecordBody::Message(item) }
}

pub(crate) fn transcript(name: &str, author: Author, records: Vec<TranscriptRecord>) -> Transcript {
    Transcript { session: PROGRAM.session_id(name), source: PROGRAM.as_str().to_owned(), author, records }
}
