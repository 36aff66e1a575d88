//! `conversations.json`, as people export it from a web page: a list of conversations, each with all that was said in it.

use neap_core::memory::Author;
use neap_core::transcript::{Program, Record, Transcript};

use super::{Left, Read};
use crate::wire::json::{Array, Object};

/// How one maker writes a conversation.
pub(super) struct Export {
    pub(super) program: Program,
    /// The member that makes it one.
    pub(super) mark: &'static str,
    /// Members that may hold its id, the better first.
    pub(super) ids: &'static [&'static str],
    pub(super) title: &'static str,
    /// What was said in it.
    pub(super) records: fn(&Object, &mut Left) -> Vec<Record>,
}

impl Export {
    pub(super) fn read(&self, text: &str) -> Read {
        let mut out = Read::default();
        let Ok(all) = Array::parse(text) else {
            out.left.damaged += 1;
            return out;
        };
        for conversation in all.items() {
            let is_one = |object: &Object| object.object(self.mark).is_some() || object.array(self.mark).is_some();
            let Some(conversation) = Object::of(conversation).filter(is_one) else {
                out.left.unknown("conversation");
                continue;
            };
            let Some(id) = self.ids.iter().find_map(|name| conversation.text_of(name)) else {
                out.left.damaged += 1;
                continue;
            };
            let records = (self.records)(&conversation, &mut out.left);
            if records.is_empty() {
                continue;
            }
            let title = conversation.text_of(self.title).unwrap_or_default();
            let source = format!("{} {title}", self.program.as_str()).trim_end().to_owned();
            let session = self.program.session(&id);
            out.transcripts.push(Transcript { session, source, author: Author::Import, records });
        }
        out
    }
}
