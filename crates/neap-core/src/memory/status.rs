//! Status of a memory. [`lifecycle`](crate::memory::lifecycle) defines the transitions.

use serde::{Deserialize, Serialize};

use super::MemoryKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Decision: recorded, not yet carried out.
    Recorded,
    /// Decision: carried out, outcome open.
    Pending,
    /// Decision: outcome known.
    Reviewed,
    /// Fact: recorded once.
    New,
    /// Fact: recorded again or confirmed.
    Confirmed,
    /// Fact: confirmed often, or marked by a person.
    Core,
    /// Fact: replaced by a newer one.
    Superseded,
    /// Fact: wrong.
    Inactive,
    /// Procedure or censor in use; recent episode.
    Active,
    /// Episode: older than 30 days.
    Summarized,
    /// Episode: older than 90 days; only its history has the detail.
    Archived,
    /// Procedure: mostly succeeds.
    Effective,
    /// Procedure: mostly fails.
    Ineffective,
    /// Censor: no match yet.
    Created,
    /// Censor: made stricter.
    Escalated,
    /// Procedure or censor out of use.
    Retired,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Recorded => "recorded",
            Status::Pending => "pending",
            Status::Reviewed => "reviewed",
            Status::New => "new",
            Status::Confirmed => "confirmed",
            Status::Core => "core",
            Status::Superseded => "superseded",
            Status::Inactive => "inactive",
            Status::Active => "active",
            Status::Summarized => "summarized",
            Status::Archived => "archived",
            Status::Effective => "effective",
            Status::Ineffective => "ineffective",
            Status::Created => "created",
            Status::Escalated => "escalated",
            Status::Retired => "retired",
        }
    }

    pub fn initial(kind: MemoryKind) -> Self {
        match kind {
            MemoryKind::Decision => Status::Recorded,
            MemoryKind::Fact => Status::New,
            MemoryKind::Procedure | MemoryKind::Episode => Status::Active,
            MemoryKind::Censor => Status::Created,
        }
    }

    /// Whether an ordinary search finds it.
    pub fn is_current(self) -> bool {
        !matches!(self, Status::Superseded | Status::Inactive | Status::Retired)
    }

    /// Whether any search finds it.
    pub fn is_searchable(self) -> bool {
        !matches!(self, Status::Inactive | Status::Retired)
    }
}
