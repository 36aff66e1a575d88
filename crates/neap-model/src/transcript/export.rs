//! `conversations.json` as exported from a web app: a list of complete conversations.

use crate::transcript::Program;
use neap_core::base::project_id::Place;
use neap_core::client::transcript::{Transcript, TranscriptRecord};
use neap_core::memory::Author;

use super::{ParsedTranscripts, Skipped};
use crate::wire::json::{Array, Object};

pub(super) struct ExportFormat {
    pub(super) program: Program,
    /// The member that identifies a conversation.
    pub(super) marker_key: &'static str,
    /// Members that may hold the id, the best first.
    pub(super) id_keys: &'static [&'static str],
    pub(super) title_key: &'static str,
    pub(super) records: fn(&Object, &mut Skipped) -> Vec<TranscriptRecord>,
}

impl ExportFormat {
    pub(super) fn read(&self, text: &str) -> ParsedTranscripts {
        let mut out = ParsedTranscripts::default();
        let Ok(all) = Array::parse(text) else {
            out.skipped.damaged += 1;
            return out;
        };
        for conversation in all.items() {
            let is_conversation = |object: &Object| {
                object.object(self.marker_key).is_some() || object.array(self.marker_key).is_some()
            };
            let Some(conversation) = Object::from_json(conversation).filter(is_conversation) else {
                out.skipped.count_unknown("conversation");
                continue;
            };
            let Some(id) = self.id_keys.iter().find_map(|name| conversation.text_of(name)) else {
                out.skipped.damaged += 1;
                continue;
            };
            let records = (self.records)(&conversation, &mut out.skipped);
            if records.is_empty() {
                continue;
            }
            let title = conversation.text_of(self.title_key).unwrap_or_default();
            let source = format!("{} {title}", self.program.as_str()).trim_end().to_owned();
            let session = self.program.session_id(&id);
            out.transcripts.push(Transcript {
                session,
                source,
                author: Author::Import,
                place: Place::Unknown,
                records,
            });
        }
        out
    }
}
