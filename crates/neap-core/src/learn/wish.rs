//! What can be asked of an agent's memory.

use crate::memory::amend::Edit;
use crate::memory::{MemoryDraft, MemoryId, MemoryKind, Outcome, Provenance};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Keep this.
    Remember(Box<MemoryDraft>),
    /// Change a record.
    Amend {
        /// Which.
        id: MemoryId,
        /// How.
        how: Amendment,
        /// Who wants it, and where.
        by: Provenance,
    },
    /// Count what was used.
    Use(Vec<(MemoryId, Use)>),
    /// Find records.
    Recall {
        /// What to look for; may be empty if a time is given.
        query: String,
        /// Only these kinds; all but censors if none is named.
        kinds: Vec<MemoryKind>,
        /// When, in words: `yesterday`.
        time: Option<String>,
        /// Whether facts that a newer one took the place of are found as well.
        superseded: bool,
        /// How many, at most.
        max: usize,
    },
    /// Give a record whole.
    Expand {
        /// Which.
        id: MemoryId,
    },
    /// Say how much is known.
    Status,
    /// Do what time calls for.
    Sweep,
}

/// How a record is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amendment {
    /// A fact still holds.
    Confirm,
    /// A decision came out.
    Review {
        /// How.
        outcome: Outcome,
        /// In words.
        notes: String,
    },
    /// A decision was carried out and waits for its outcome.
    CarryOut,
    /// Someone changes what it says.
    Edit(Box<Edit>),
    /// A person says that a fact is one to build on.
    MarkCore,
    /// A fact proved wrong.
    Deactivate,
    /// A procedure or censor goes out of use.
    Retire,
    /// A procedure was used.
    Activate {
        /// How that came out, if it is known.
        succeeded: Option<bool>,
    },
    /// A model asks a person to remove it.
    AskToForget {
        /// Why.
        reason: String,
    },
    /// A censor found something wrongly.
    FalsePositive,
    /// A model says it better, at both lengths.
    Reword {
        /// In one line.
        micro: String,
        /// In a few.
        summary: String,
    },
    /// The last change is taken back.
    Undo,
}

impl Amendment {
    /// What is done, in the past tense.
    pub fn as_str(&self) -> &'static str {
        match self {
            Amendment::Confirm => "confirmed",
            Amendment::Review { .. } => "reviewed",
            Amendment::CarryOut => "carried out",
            Amendment::Edit(_) => "edited",
            Amendment::MarkCore => "marked as core",
            Amendment::Deactivate => "marked as wrong",
            Amendment::Retire => "retired",
            Amendment::Activate { .. } => "used",
            Amendment::AskToForget { .. } => "to be removed by a person",
            Amendment::FalsePositive => "reported as a false positive",
            Amendment::Reword { .. } => "reworded",
            Amendment::Undo => "undone",
        }
    }
}

/// What a turn made of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// A procedure was followed.
    Activated,
    /// A censor found something.
    Triggered,
}
