//! Groups transcript records: a message written in parts becomes one step, and each call gets a result (I7).

use super::{RecordBody, TranscriptRecord};
use crate::base::digest::Digest;
use crate::base::ids::Stamp;
use crate::client::{ContentBlock, HistoryItem, Speaker};

/// Replaces a result that was never written.
const NO_RESULT: &str = "[no result was recorded]";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptStep {
    /// Keys of all its records.
    pub keys: Vec<Digest>,
    /// How many records it is made of; none for results that were never written.
    pub records: u64,
    pub at: Option<Stamp>,
    pub body: RecordBody,
}

impl TranscriptStep {
    pub fn is_turn_start(&self) -> bool {
        matches!(&self.body, RecordBody::Message(item) if item.is_turn_start())
    }

    pub fn bytes(&self) -> usize {
        match &self.body {
            RecordBody::Message(item) => item.bytes(),
            RecordBody::Compacted(summary) => summary.len(),
        }
    }

    /// Whether it is a reply without calls: the model's last word before the person's next message.
    pub fn is_turn_end(&self) -> bool {
        let RecordBody::Message(item) = &self.body else { return false };
        item.speaker == Speaker::Assistant && item.calls().next().is_none() && !item.has_no_content()
    }
}

/// Adjacent records of one message become one step (I7: its calls stay together). A call that was never answered
/// gets a result before the person's next message.
pub fn group_records(records: &[&TranscriptRecord]) -> Vec<TranscriptStep> {
    let mut out: Vec<TranscriptStep> = Vec::new();
    let mut last_message: Option<&str> = None;
    let mut open: Vec<String> = Vec::new();
    for record in records {
        let message = record.message_id.as_deref();
        let is_part = message.is_some() && message == last_message;
        last_message = message;
        if let RecordBody::Message(item) = &record.body {
            if item.is_turn_start() && !open.is_empty() {
                out.push(missing_results(&mut open, record.at));
            }
            open.extend(item.calls().map(|call| call.id.clone()));
            open.retain(|id| !item.answered_call_ids().any(|answered| answered == id));
            if let Some(TranscriptStep { keys, records, body: RecordBody::Message(so_far), .. }) = out.last_mut()
                && is_part
                && so_far.speaker == item.speaker
            {
                so_far.blocks.extend(item.blocks.iter().cloned());
                keys.extend(&record.keys);
                *records += 1;
                continue;
            }
        }
        out.push(TranscriptStep {
            keys: record.keys.clone(),
            records: 1,
            at: record.at,
            body: record.body.clone(),
        });
    }
    out
}

fn missing_results(open: &mut Vec<String>, at: Option<Stamp>) -> TranscriptStep {
    let result = |id| ContentBlock::ToolResult {
        id,
        content: vec![ContentBlock::Text(NO_RESULT.to_owned())],
        failed: true,
    };
    let blocks: Vec<ContentBlock> = open.drain(..).map(result).collect();
    TranscriptStep {
        keys: Vec::new(),
        records: 0,
        at,
        body: RecordBody::Message(HistoryItem::uncounted(Speaker::Tool, blocks)),
    }
}
