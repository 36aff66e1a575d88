//! Events of memories. A session's stream has what a turn loaded and which censor matched; an agent's stream has the
//! changes of its records.

use super::knowledge::MemoryLoad;
use super::{CensorAction, CensorSide, Change, CountedState, Memory, MemoryId, SentDraft};
use crate::base::event_family::event_family;
use crate::base::ids::TurnNo;

event_family! {
    pub enum MemoryEvent {
        /// An agent's memories were searched for this turn and some were selected for the context.
        "memories_loaded" => Loaded {
            turn: TurnNo,
            loaded: Box<MemoryLoad>,
        },
        /// A censor matched.
        "censor_triggered" => CensorTriggered {
            turn: TurnNo,
            id: MemoryId,
            side: CensorSide,
            action: CensorAction,
        },
        /// A memory was recorded or changed. Only in an agent's stream.
        "memory_changed" => Changed {
            #[serde(flatten)]
            change: Change,
            /// The whole record after the change.
            memory: Box<Memory>,
            /// What it counted as before; `None` for a new record.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            was: Option<CountedState>,
            /// The draft that it comes of, if its caller gave it a key.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            sent: Option<SentDraft>,
        },
        /// A person erased a memory. The store writes this in place of each of the memory's events, and once more at
        /// the end of the stream to mark the time. Nothing else writes it.
        "memory_erased" => Erased {
            /// Never reused.
            id: MemoryId,
        },
    }
}

impl MemoryEvent {
    pub fn turn(&self) -> Option<TurnNo> {
        match self {
            MemoryEvent::Loaded { turn, .. } | MemoryEvent::CensorTriggered { turn, .. } => Some(*turn),
            MemoryEvent::Changed { .. } | MemoryEvent::Erased { .. } => None,
        }
    }

    /// The record that it changed or erased.
    pub fn memory_id(&self) -> Option<MemoryId> {
        match self {
            MemoryEvent::Changed { memory, .. } => Some(memory.id),
            MemoryEvent::Erased { id } => Some(*id),
            MemoryEvent::Loaded { .. } | MemoryEvent::CensorTriggered { .. } => None,
        }
    }
}
