//! Where a memory is in its life. Which moves there are is told by [`lifecycle`](crate::memory::lifecycle).

use serde::{Deserialize, Serialize};

use super::MemoryKind;

/// Where a memory is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A decision whose intent is on record.
    Recorded,
    /// A decision that was carried out and waits for its outcome.
    Pending,
    /// A decision whose outcome is known.
    Reviewed,
    /// A fact just learnt.
    New,
    /// A fact met again.
    Confirmed,
    /// A fact met often, or marked so by a person.
    Core,
    /// A fact that a newer one took the place of.
    Superseded,
    /// A fact that proved wrong.
    Inactive,
    /// A procedure or censor in use, an episode of late.
    Active,
    /// An episode of some time ago.
    Summarized,
    /// An episode of long ago; its detail is in its history.
    Archived,
    /// A procedure that works.
    Effective,
    /// A procedure that does not.
    Ineffective,
    /// A censor that has not found anything yet.
    Created,
    /// A censor that became stricter.
    Escalated,
    /// A procedure or censor out of use.
    Retired,
}

impl Status {
    /// Its name.
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

    /// Where a memory of this kind begins.
    pub fn first(kind: MemoryKind) -> Self {
        match kind {
            MemoryKind::Decision => Status::Recorded,
            MemoryKind::Fact => Status::New,
            MemoryKind::Procedure | MemoryKind::Episode => Status::Active,
            MemoryKind::Censor => Status::Created,
        }
    }

    /// Whether search finds it without being asked for what is out of date.
    pub fn is_current(self) -> bool {
        !matches!(self, Status::Superseded | Status::Inactive | Status::Retired)
    }

    /// Whether search finds it at all.
    pub fn is_searched(self) -> bool {
        !matches!(self, Status::Inactive | Status::Retired)
    }
}
