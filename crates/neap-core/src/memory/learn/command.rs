//! Commands on an agent's memory.

use crate::memory::amend::Edit;
use crate::memory::{MemoryDraft, MemoryId, MemoryKind, Outcome, Provenance};
use crate::recall::ProjectFilter;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryCommand {
    Remember(Box<MemoryDraft>),
    Amend {
        id: MemoryId,
        how: Amendment,
        /// Who asks, and where.
        by: Provenance,
    },
    /// Count uses after a turn.
    CountUses(Vec<(MemoryId, MemoryUse)>),
    Recall {
        /// May be empty if a time is given.
        query: String,
        /// Empty means all but censors.
        kinds: Vec<MemoryKind>,
        /// In words, e.g. `yesterday`.
        time: Option<String>,
        /// Where it is asked: other projects' memories are left out, or must bear strongly.
        project: Option<ProjectFilter>,
        /// Also find superseded facts.
        superseded: bool,
        /// A list for a person, who judges by the scores: also what hardly bears on the query.
        lists: bool,
        max: usize,
    },
    /// Return the full record.
    Expand {
        id: MemoryId,
    },
    /// Return the agent's head.
    Status,
    /// Apply the transitions that are due by time.
    Sweep,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amendment {
    /// Confirm a fact or accept a proposal.
    Confirm,
    Review {
        outcome: Outcome,
        notes: String,
    },
    CarryOut,
    Edit(Box<Edit>),
    MarkCore,
    /// Mark a fact as wrong.
    Deactivate,
    Retire,
    Activate {
        succeeded: Option<bool>,
    },
    AskToForget {
        reason: String,
    },
    /// Report that a censor matched wrongly.
    FalsePositive,
    /// Replace the rendered lines with a model's wording.
    Reword {
        micro: String,
        summary: String,
    },
    /// Undo the last change.
    Undo,
}

impl Amendment {
    /// Past tense, as shown to people and models.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryUse {
    Activated,
    Triggered,
}
