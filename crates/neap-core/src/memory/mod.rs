//! Long-term memory of an agent: decisions, facts, procedures, episodes and censors.
//!
//! A [`Memory`] is one record in its agent's stream ([`AgentId::stream`](crate::base::ids::AgentId::stream)). Each event
//! carries the whole record after the change, so undo writes an earlier record again. [`AgentHead`] holds what
//! every turn needs (censors, pinned records, counts); everything else is looked up in the store.

pub mod amend;
mod asked_kinds;
mod body;
mod calibration;
pub mod censor;
mod change;
mod confidence;
mod contradiction;
mod draft;
mod event;
pub mod frame;
mod full_text;
mod head;
pub mod knowledge;
pub mod learn;
pub mod lifecycle;
mod names;
mod project_scope;
mod recall_request;
pub mod remember;
mod render;
pub mod rewording;
mod search_text;
mod sent_draft;
pub mod stated;
mod status;
mod text_similarity;
pub mod validation;
mod writes;

pub use crate::base::memory_id::{MemoryId, MemoryKind};
pub use crate::base::provenance::{Author, Provenance, Trust};
pub use body::{
    Body, Censor, CensorAction, CensorPattern, CensorSide, Decision, Episode, Fact, Outcome, Procedure, Reason,
    ReasonKind, Stakes,
};
pub use calibration::{Advice, Calibration, REVIEWS_MIN};
pub use change::{Change, MemoryWrite, erase_from_event};
pub use confidence::Confidence;
pub use draft::MemoryDraft;
pub use event::MemoryEvent;
pub use head::{AgentHead, CENSORS_MAX, CountedState, KindCount, PINNED_MAX, PendingDecision, ReviewStats};
pub use recall_request::{RecallRequest, RecallResponse, RelatedSearch};
pub use remember::{
    DEPENDANTS_MAX, DraftOutcome, RememberPlan, dependants_request, lookup_request, mark_shaken, remember,
};
pub use render::{MICRO_TOKENS_MAX, SUMMARY_TOKENS_MAX};
pub use sent_draft::{SentDraft, UsedKey};
pub use status::Status;
pub use text_similarity::text_similarity;
pub use validation::validate_draft;

use serde::{Deserialize, Serialize};

use crate::base::ids::Stamp;
use crate::base::project_id::ProjectId;
use crate::base::tokens::Tokens;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Unique in its agent's stream; never reused.
    pub id: MemoryId,
    pub body: Body,
    pub status: Status,
    pub provenance: Provenance,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What it is about; without one it is the person's, and serves everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// Subject area, e.g. `infrastructure` or `cooking`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Always loaded: a preference or a standing rule.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    pub created: Stamp,
    pub updated: Stamp,
    /// Start of validity, if other than `created`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<Stamp>,
    /// End of validity, exclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Stamp>,
    /// Records that contradict this one, with no clear winner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contested_with: Vec<MemoryId>,
    /// Facts this decision rests on that have been superseded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shaken_by: Vec<MemoryId>,
    /// Number of secrets masked before the record was stored.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub masked: u32,
    /// Someone without the right to pin asked for it; a person decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pin_asked: bool,
    /// A model asked a person to remove it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forget_asked: bool,
    /// Rendered when the record is written, never when a context is assembled.
    pub lines: RenderedMemory,
}

/// Rendered forms of a record at two lengths: whole lines, each ending in a newline, with their token counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderedMemory {
    pub micro: String,
    pub micro_tokens: Tokens,
    /// Fifty to a hundred tokens; at most [`SUMMARY_TOKENS_MAX`].
    pub summary: String,
    pub summary_tokens: Tokens,
}

impl Memory {
    pub fn kind(&self) -> MemoryKind {
        self.id.kind()
    }

    /// Whether it waits for a person to approve pinning it or to put the rule in force.
    pub fn is_proposal(&self) -> bool {
        let is_rule = self.kind() == MemoryKind::Censor && self.status.is_current();
        // Older stores, from before proposals existed, contain records pinned by a model.
        self.pin_asked || ((is_rule || self.pinned) && !self.is_person_approved())
    }

    /// Whether a person wrote or confirmed it. Only such a record is always loaded or enforced, whatever its other
    /// fields say: older stores contain unapproved records marked as pinned.
    pub fn is_person_approved(&self) -> bool {
        self.provenance.trust == Trust::High
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}
