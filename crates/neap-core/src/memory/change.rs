//! Changes to a memory, as the agent's stream records them.

use serde::{Deserialize, Serialize};

use super::{CountedState, Memory, MemoryEvent, MemoryId, SentDraft, Status};
use crate::base::ids::Seq;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    Remembered,
    /// The same fact was recorded again, or someone confirmed it.
    Confirmed,
    Superseded {
        by: MemoryId,
        evidence: String,
    },
    /// Another fact contradicts it, with no clear winner.
    Contested {
        with: MemoryId,
        evidence: String,
    },
    /// A fact it rests on was superseded.
    Shaken {
        by: MemoryId,
    },
    /// A contradiction was resolved, or a fact it rests on is valid again.
    Settled {
        with: MemoryId,
    },
    Edited,
    Reviewed,
    /// A procedure was used, or the result of a use became known.
    Activated {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        succeeded: Option<bool>,
    },
    Triggered,
    FalsePositive,
    /// Its status changed.
    Moved {
        from: Status,
        reason: String,
    },
    /// Its rendered lines were reworded.
    Reworded,
    ForgetAsked {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    Undone {
        seq: Seq,
    },
}

/// A planned change: the record after it, and what the record counted as before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryWrite {
    pub change: Change,
    pub memory: Memory,
    /// `None` if the record is new.
    pub previous: Option<CountedState>,
    pub sent: Option<SentDraft>,
}

impl MemoryWrite {
    pub fn new(memory: Memory) -> Self {
        Self { change: Change::Remembered, memory, previous: None, sent: None }
    }

    pub fn update(change: Change, before: &Memory, after: Memory) -> Self {
        Self { change, memory: after, previous: Some(CountedState::of(before)), sent: None }
    }
}

impl From<MemoryWrite> for MemoryEvent {
    fn from(write: MemoryWrite) -> Self {
        let MemoryWrite { change, memory, previous: was, sent } = write;
        MemoryEvent::Changed { change, memory: Box::new(memory), was, sent }
    }
}

impl Change {
    /// A copy without text quoted from `erased`; `None` if it quotes nothing.
    fn without_quotes_of(&self, erased: MemoryId) -> Option<Self> {
        match self {
            Change::Superseded { by, evidence } if *by == erased && !evidence.is_empty() => {
                Some(Change::Superseded { by: *by, evidence: String::new() })
            }
            Change::Contested { with, evidence } if *with == erased && !evidence.is_empty() => {
                Some(Change::Contested { with: *with, evidence: String::new() })
            }
            Change::Superseded { .. }
            | Change::Contested { .. }
            | Change::Remembered
            | Change::Confirmed
            | Change::Shaken { .. }
            | Change::Settled { .. }
            | Change::Edited
            | Change::Reviewed
            | Change::Activated { .. }
            | Change::Triggered
            | Change::FalsePositive
            | Change::Moved { .. }
            | Change::Reworded
            | Change::ForgetAsked { .. }
            | Change::Undone { .. } => None,
        }
    }
}

/// Rewrites an agent's event when a memory is erased; `None` if the event is unaffected. The memory's own events
/// become tombstones; events of facts that it superseded or contested lose the evidence quoted from it.
pub fn erase_from_event(event: &MemoryEvent, erased: MemoryId) -> Option<MemoryEvent> {
    if event.memory_id() == Some(erased) {
        let tombstone = MemoryEvent::Erased { id: erased };
        return (*event != tombstone).then_some(tombstone);
    }
    let MemoryEvent::Changed { change, memory, was, sent } = event else { return None };
    let change = change.without_quotes_of(erased)?;
    Some(MemoryEvent::Changed { change, memory: memory.clone(), was: *was, sent: *sent })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> MemoryId {
        text.parse().expect("a test's id is one")
    }

    #[test]
    fn only_what_quotes_the_erased_memory_changes() {
        let evidence = || "blue → red".to_owned();
        for (before, after) in [
            (
                Change::Superseded { by: id("f2"), evidence: evidence() },
                Some(Change::Superseded { by: id("f2"), evidence: String::new() }),
            ),
            (
                Change::Contested { with: id("f2"), evidence: evidence() },
                Some(Change::Contested { with: id("f2"), evidence: String::new() }),
            ),
            (Change::Superseded { by: id("f3"), evidence: evidence() }, None),
            (Change::Contested { with: id("f3"), evidence: evidence() }, None),
            (Change::Contested { with: id("f2"), evidence: String::new() }, None),
            (Change::Shaken { by: id("f2") }, None),
            (Change::Edited, None),
        ] {
            assert_eq!(before.without_quotes_of(id("f2")), after, "{before:?}");
        }
    }
}
