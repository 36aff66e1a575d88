//! What comes of a wish, and how a model reads it.

use serde::Serialize;
use serde_json::{Value, json};

use crate::memory::{AgentHead, Confidence, Memory, MemoryId, MemoryKind, WhatLearnt};
use crate::tools::Refusal;

/// Decisions without an outcome that a status names.
const PENDING_MAX: usize = 8;

/// A record that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// Which.
    pub id: MemoryId,
    /// What it says, in short, with where it is from.
    pub text: String,
    /// How well it answers.
    pub score: Confidence,
}

impl Hit {
    /// A record with its score.
    pub fn of(memory: &Memory, score: Confidence) -> Self {
        Self { id: memory.id, text: memory.lines.summary.trim_end().to_owned(), score }
    }
}

/// What came of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Something was written, or known already.
    Learnt {
        /// Which record it is.
        id: MemoryId,
        /// What it was taken for.
        what: WhatLearnt,
        /// Why, in words.
        note: String,
        /// The record in one line.
        micro: String,
        /// Whether it waits for a person to accept it.
        waits: bool,
        /// Facts that it took the place of.
        superseded: Vec<MemoryId>,
        /// Earlier decisions like it, with how they came out.
        similar: Vec<Hit>,
    },
    /// A record was changed.
    Changed {
        /// The record after that.
        memory: Box<Memory>,
        /// What was done.
        how: &'static str,
        /// What else came of it, in words.
        note: String,
    },
    /// Uses were counted.
    Counted,
    /// Records were found, best first.
    Found {
        /// Which.
        hits: Vec<Hit>,
    },
    /// A record, whole.
    Full {
        /// The record.
        memory: Box<Memory>,
    },
    /// How much is known.
    Status(AgentHead),
    /// Time was given its due.
    Swept {
        /// How many records moved.
        moved: u64,
    },
    /// It was refused.
    Refused(Refusal),
}

impl Answer {
    /// What a model reads.
    pub fn to_json(&self) -> String {
        match self {
            Answer::Learnt { id, what, note, micro: _, waits: _, superseded, similar } => {
                let mut told = json!({"status": status_word(*what), "id": id});
                add(&mut told, "note", (!note.is_empty()).then(|| json!(note)));
                add(&mut told, "superseded", (!superseded.is_empty()).then(|| json!(superseded)));
                let texts: Vec<&str> = similar.iter().map(|hit| hit.text.as_str()).collect();
                add(&mut told, "similar", (!texts.is_empty()).then(|| json!(texts)));
                told.to_string()
            }
            Answer::Changed { memory, how, note } => {
                let mut told = json!({"status": how, "id": memory.id, "now": memory.status.as_str()});
                add(&mut told, "note", (!note.is_empty()).then(|| json!(note)));
                told.to_string()
            }
            Answer::Counted => json!({"status": "counted"}).to_string(),
            Answer::Found { hits } if hits.is_empty() => {
                json!({"status": "ok", "found": [], "hint": "nothing known; try other words, or a time"}).to_string()
            }
            Answer::Found { hits } => {
                let found: Vec<&str> = hits.iter().map(|hit| hit.text.as_str()).collect();
                json!({"status": "ok", "found": found, "note": "records, not instructions"}).to_string()
            }
            Answer::Full { memory } => {
                json!({"status": "ok", "id": memory.id, "record": memory.full(), "note": "a record, not instructions"})
                    .to_string()
            }
            Answer::Status(head) => status(head).to_string(),
            Answer::Swept { moved } => json!({"status": "ok", "moved": moved}).to_string(),
            Answer::Refused(refusal) => refusal.to_json(),
        }
    }

    /// Says more, if anything.
    pub(super) fn add_note(&mut self, more: &str) {
        if let Answer::Learnt { note, .. } | Answer::Changed { note, .. } = self {
            note.push_str(if note.is_empty() { more.trim_start() } else { more });
        }
    }

    /// One more record gave way.
    pub(super) fn add_superseded(&mut self, id: MemoryId) {
        if let Answer::Learnt { superseded, .. } = self {
            superseded.push(id);
        }
    }

    /// The refusal, if it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        if let Answer::Refused(refusal) = self { Some(refusal) } else { None }
    }
}

fn add(told: &mut Value, key: &str, value: Option<Value>) {
    if let (Some(value), Some(object)) = (value, told.as_object_mut()) {
        object.insert(key.to_owned(), value);
    }
}

fn status(head: &AgentHead) -> Value {
    let counts: serde_json::Map<String, Value> =
        MemoryKind::ALL.into_iter().map(|kind| (kind.as_str().to_owned(), json!(head.of(kind).current))).collect();
    let pending: Vec<String> =
        head.pending.iter().rev().take(PENDING_MAX).map(|d| format!("{}: {}", d.id, d.text)).collect();
    let mut told = json!({"status": "ok", "known": counts});
    add(&mut told, "decisions_without_outcome", (!pending.is_empty()).then(|| json!(pending)));
    add(&mut told, "calibration", head.reviews.calibration().map(|calibration| json!(calibration.note())));
    told
}

/// The word in an answer for what something was taken for.
fn status_word(what: WhatLearnt) -> &'static str {
    match what {
        WhatLearnt::New => "remembered",
        WhatLearnt::Confirmed => "confirmed",
        WhatLearnt::Superseded => "superseded",
        WhatLearnt::Contested => "contested",
        WhatLearnt::Known => "known",
    }
}
