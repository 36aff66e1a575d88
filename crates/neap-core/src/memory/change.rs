//! What happened to a memory.

use serde::{Deserialize, Serialize};

use super::{Memory, MemoryId, Standing, Status};
use crate::event::Event;
use crate::ids::Seq;

/// What happened to a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// It was written.
    Remembered,
    /// It was met again, or someone said that it still holds.
    Confirmed,
    /// A newer fact took its place.
    Superseded {
        /// Which.
        by: MemoryId,
        /// How one could tell.
        evidence: String,
    },
    /// Another contradicts it, and it is not clear which is right.
    Contested {
        /// Which.
        with: MemoryId,
        /// How one could tell.
        evidence: String,
    },
    /// A fact that it rests on holds no longer.
    Shaken {
        /// Which.
        by: MemoryId,
    },
    /// What contradicted it is out of the way, or what it rests on holds again.
    Settled {
        /// Which.
        with: MemoryId,
    },
    /// A person or a model changed what it says.
    Edited,
    /// A decision's outcome became known.
    Reviewed,
    /// A procedure was used, or a use of it came out.
    Activated {
        /// How it came out, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        succeeded: Option<bool>,
    },
    /// A censor found something.
    Triggered,
    /// A censor found something wrongly.
    FalsePositive,
    /// It went on in its life.
    Moved {
        /// From where.
        from: Status,
        /// Why.
        reason: String,
    },
    /// Its lines were worded better.
    Reworded,
    /// A model asked that a person remove it.
    ForgetAsked {
        /// Why.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// An earlier change was undone.
    Undone {
        /// Which event.
        seq: Seq,
    },
}

/// A change that was decided: the record after it, and what it counted as before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryWrite {
    /// What happened.
    pub change: Change,
    /// The record after it.
    pub memory: Memory,
    /// What it counted as before; none if it was not there.
    pub was: Option<Standing>,
}

impl MemoryWrite {
    /// A new record.
    pub fn new(memory: Memory) -> Self {
        Self { change: Change::Remembered, memory, was: None }
    }

    /// A record that is changed.
    pub fn of(change: Change, before: &Memory, after: Memory) -> Self {
        Self { change, memory: after, was: Some(Standing::of(before)) }
    }

    /// As the stream has it.
    pub fn event(self) -> Event {
        let MemoryWrite { change, memory, was } = self;
        Event::MemoryChanged { change, memory: Box::new(memory), was }
    }
}

impl Change {
    /// The same without what it quotes of a memory; none if it quotes nothing of it.
    fn without(&self, erased: MemoryId) -> Option<Self> {
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

/// What an event of an agent's becomes when a memory is erased; none if it stays as it is. The memory's own events
/// become tombstones. Where another fact was superseded or contested by it, that this happened stays, and what was
/// quoted goes.
pub fn after_erasure(event: &Event, erased: MemoryId) -> Option<Event> {
    if event.memory() == Some(erased) {
        let tombstone = Event::MemoryErased { id: erased };
        return (*event != tombstone).then_some(tombstone);
    }
    let Event::MemoryChanged { change, memory, was } = event else { return None };
    let change = change.without(erased)?;
    Some(Event::MemoryChanged { change, memory: memory.clone(), was: *was })
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
            assert_eq!(before.without(id("f2")), after, "{before:?}");
        }
    }
}
