//! Transcripts of other programs that are imported: whole, in pieces, again, by two processes at once.

use neap_core::base::ids::Stamp;
use neap_core::base::message::ToolCall;
use neap_core::client::transcript::{RecordBody, TranscriptRecord};
use neap_core::client::{ContentBlock, Speaker};
use neap_engine::{Author, Clock as _};
use serde_json::json;

use super::{Clients, Delivery};
use crate::check::Violations;
use crate::plant::Plant;
use crate::run::Report;
use crate::transcript::{PROGRAM, record, transcript};

const FILES_MAX: usize = 4;

#[derive(Default)]
pub(super) struct Imports {
    files: Vec<TranscriptFile>,
    begun: u64,
}

/// A file that its program appends to.
#[derive(Default)]
pub(super) struct TranscriptFile {
    pub(super) name: String,
    pub(super) records: Vec<TranscriptRecord>,
    /// How many records were imported.
    pub(super) imported: usize,
}

impl Clients {
    pub(super) async fn use_imports(&mut self, report: &mut Report, out: &mut Violations) {
        let at = self.draw_file();
        let mut file = std::mem::take(&mut self.imports.files[at]);
        for _ in 0..self.rng.below(4) {
            self.append_exchange(&mut file);
        }
        self.import(&mut file, report, out).await;
        self.imports.files[at] = file;
    }

    /// An existing file, or a new one; a resumed conversation's file begins with a copy of the old one.
    fn draw_file(&mut self) -> usize {
        let files = &mut self.imports.files;
        let at = usize::try_from(self.rng.below(files.len() as u64)).unwrap_or(0);
        if !files.is_empty() && self.rng.chance(850) {
            return at;
        }
        self.imports.begun += 1;
        let records = files.get(at).filter(|_| self.rng.chance(500)).map(|old| old.records.clone());
        let name = format!("import {}", self.imports.begun);
        let new = TranscriptFile { name, records: records.unwrap_or_default(), imported: 0 };
        if files.len() < FILES_MAX {
            files.push(new);
            return files.len() - 1;
        }
        files[at] = new;
        at
    }

    /// Imports a range of a file that leaves no gap.
    pub(super) async fn import(&mut self, file: &mut TranscriptFile, report: &mut Report, out: &mut Violations) {
        let (len, imported) = (file.records.len() as u64, file.imported as u64);
        let (from, to) = match self.rng.below(4) {
            0 => (0, len),
            1 => (0, self.rng.below(imported + 1)),
            2 => (self.rng.below(imported + 1), len),
            _ => (imported, self.rng.between(imported, len)),
        };
        let [from, to] = [from, to].map(|place| usize::try_from(place).unwrap_or(0));
        let mut records = file.records[from..to].to_vec();
        if self.plant == Some(Plant::UnstableKeys) {
            let salt = report.imported.to_string();
            let keys = records.iter_mut().flat_map(|record| &mut record.keys).enumerate();
            keys.for_each(|(at, key)| *key = PROGRAM.record_key(&[&at.to_string(), &salt]));
        }
        let part = transcript(&file.name, Author::Import, records);
        let Some(engine) = self.draw_engine() else { return };
        let delivery = Delivery::Transcript(part);
        report.imported += 1;
        let (is_accepted, _) = self.deliver(&engine, delivery.clone(), Some(delivery), out).await;
        if is_accepted {
            file.imported = file.imported.max(to);
        }
    }

    pub(super) fn append_exchange(&mut self, file: &mut TranscriptFile) {
        if self.rng.chance(60) {
            let summary = format!("A summary of the first {} records.", file.records.len());
            let keys = vec![PROGRAM.record_key(&["compacted", &file.name, &summary])];
            let at = Some(self.clock.now());
            file.records.push(TranscriptRecord {
                keys,
                at,
                message_id: None,
                body: RecordBody::Compacted(summary),
            });
        }
        let text = self.local_text();
        self.append(file, Speaker::User, ContentBlock::Text(text));
        if self.rng.chance(300) {
            let arguments = json!({"command": format!("{} ls", self.next_label())}).to_string();
            let id = format!("call_{}", self.labels);
            let call = ToolCall { id: id.clone(), name: "run".to_owned(), arguments };
            self.append(file, Speaker::Assistant, ContentBlock::ToolCall(call));
            let content = vec![ContentBlock::Text(format!("{} three files", self.next_label()))];
            self.append(file, Speaker::Tool, ContentBlock::ToolResult { id, content, failed: false });
        }
        self.append_reply(file);
    }

    pub(super) fn append_reply(&mut self, file: &mut TranscriptFile) {
        let text = self.local_text();
        self.append(file, Speaker::Assistant, ContentBlock::Text(text));
    }

    fn append(&mut self, file: &mut TranscriptFile, speaker: Speaker, block: ContentBlock) {
        let keys = vec![PROGRAM.record_key(&["record", &self.labels.to_string()])];
        file.records.push(record(keys, self.next_moment(), speaker, block));
    }

    /// No two texts are of the same moment.
    pub(super) fn next_moment(&self) -> Stamp {
        Stamp(self.clock.now().0 + i64::try_from(self.labels).unwrap_or(0) * 1_000)
    }
}
