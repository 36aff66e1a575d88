//! Records put together: a message that was written in parts is one, and no call stays without a result.

use super::{Record, What};
use crate::ids::Stamp;
use crate::ingest::{Block, Digest, Item, Speaker};
use crate::tokens::Tokens;

/// Stands for a result that was never written.
const NO_RESULT: &str = "[no result was recorded]";

/// What is taken in at once: a message, or a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it is known by from now on.
    pub keys: Vec<Digest>,
    /// When.
    pub at: Option<Stamp>,
    /// What it tells.
    pub what: What,
}

impl Step {
    /// Whether a person's turn begins with it.
    pub fn begins_turn(&self) -> bool {
        matches!(&self.what, What::Said(item) if item.begins_turn())
    }

    /// How much is in it.
    pub fn bytes(&self) -> usize {
        match &self.what {
            What::Said(item) => item.bytes(),
            What::Compacted(summary) => summary.len(),
        }
    }

    /// Whether the model has said all that it says before the person speaks again.
    pub fn ends_turn(&self) -> bool {
        let What::Said(item) = &self.what else { return false };
        item.speaker == Speaker::Assistant && item.calls().next().is_none() && !item.is_hollow()
    }
}

/// The steps of records that are new, in their order. Neighbours of one message become one (I7: its calls stay together); a call
/// that was never answered is, before the person speaks again.
pub fn steps(records: &[&Record]) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::new();
    let mut last_message: Option<&str> = None;
    let mut open: Vec<String> = Vec::new();
    for record in records {
        let message = record.message.as_deref();
        let is_part = message.is_some() && message == last_message;
        last_message = message;
        if let What::Said(item) = &record.what {
            if item.begins_turn() && !open.is_empty() {
                out.push(unanswered(&mut open, record.at));
            }
            open.extend(item.calls().map(|call| call.id.clone()));
            open.retain(|id| !item.answers().any(|answered| answered == id));
            if let Some(Step { keys, what: What::Said(so_far), .. }) = out.last_mut()
                && is_part
                && so_far.speaker == item.speaker
            {
                so_far.blocks.extend(item.blocks.iter().cloned());
                keys.extend(&record.keys);
                continue;
            }
        }
        out.push(Step { keys: record.keys.clone(), at: record.at, what: record.what.clone() });
    }
    out
}

fn unanswered(open: &mut Vec<String>, at: Option<Stamp>) -> Step {
    let answer = |id| Block::Answer { id, content: vec![Block::Text(NO_RESULT.to_owned())], failed: true };
    let blocks = open.drain(..).map(answer).collect();
    Step {
        keys: Vec::new(),
        at,
        what: What::Said(Item { speaker: Speaker::Tool, blocks, tokens: Tokens::ZERO, marks: 0 }),
    }
}
