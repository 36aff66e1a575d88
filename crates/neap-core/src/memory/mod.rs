//! What an agent knows beyond a conversation: decisions, facts, procedures, episodes and censors.
//!
//! A [`Memory`] is one record. Its stream is its agent's (see [`AgentId::stream`](crate::ids::AgentId::stream)), and
//! each event there carries the whole record as it is after the change: a record's history is the list of its
//! events, and undoing a change is writing the record before it again. What an agent must always have at hand
//! (censors, standing rules, running figures) is its [`AgentHead`]; everything else is found through the store.

pub mod admit;
pub mod amend;
mod body;
mod calibration;
mod change;
mod clash;
mod confidence;
mod draft;
mod full;
mod head;
mod id;
pub mod lifecycle;
mod lines;
mod names;
mod provenance;
mod recall;
pub mod remember;
mod renew;
mod similar;
mod status;
pub(crate) mod tame;
mod text;
mod when;

pub use admit::admit;
pub use body::{
    Action, Body, Censor, Decision, Episode, Fact, Outcome, Pattern, Procedure, Reason, ReasonKind, Side, Stakes,
};
pub use calibration::{Advice, Calibration, REVIEWS_MIN};
pub use change::{Change, MemoryWrite, after_erasure};
pub use confidence::Confidence;
pub use draft::MemoryDraft;
pub use head::{AgentHead, CENSORS_MAX, KindCount, PINNED_MAX, PendingDecision, Reviews, Standing};
pub use id::{MemoryId, MemoryKind};
pub use lines::{MICRO_TOKENS_MAX, SUMMARY_TOKENS_MAX};
pub use provenance::{Author, Provenance, Trust};
pub use recall::{RecallRequest, Recalled};
pub use remember::{DEPENDANTS_MAX, Learnt, WhatLearnt, dependants, remember, shaken, wanted};
pub use similar::similarity;
pub use status::Status;

use serde::{Deserialize, Serialize};

use crate::ids::Stamp;
use crate::tokens::Tokens;

/// One thing an agent knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Its id, unique in its agent's stream and never used again.
    pub id: MemoryId,
    /// What it says, by kind.
    pub body: Body,
    /// Where it is in its life.
    pub status: Status,
    /// Who wrote it, where, and how far it is trusted.
    pub provenance: Provenance,
    /// Words to sort by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The field it belongs to: `infrastructure`, `cooking`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether it is always loaded: a preference or a standing rule.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// When it was written.
    pub created: Stamp,
    /// When it last changed.
    pub updated: Stamp,
    /// From when on it holds, if that is not when it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<Stamp>,
    /// Until when it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Stamp>,
    /// Records that contradict it, where it is not clear which is right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contested_with: Vec<MemoryId>,
    /// Facts that it rested on and that hold no longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shaken_by: Vec<MemoryId>,
    /// How many secrets were masked in it before it was stored.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub masked: u32,
    /// Whether someone who may not pin it asked that it be always loaded: a person decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pin_asked: bool,
    /// Whether a model asked that a person remove it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forget_asked: bool,
    /// How it stands in a context; made when it is written, never when a context is assembled.
    pub lines: Lines,
}

/// A record as it stands in a context, at two lengths: whole lines, each ending in a newline, counted once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// One line.
    pub micro: String,
    /// What that costs.
    pub micro_tokens: Tokens,
    /// Fifty to a hundred tokens.
    pub summary: String,
    /// What that costs.
    pub summary_tokens: Tokens,
}

impl Memory {
    /// Its kind.
    pub fn kind(&self) -> MemoryKind {
        self.id.kind()
    }

    /// Whether it waits for a person: to be always loaded, or to be in force as a rule.
    pub fn is_proposal(&self) -> bool {
        let is_rule = self.kind() == MemoryKind::Censor && self.status.is_current();
        // Stores of before there were proposals have records that a model pinned.
        self.pin_asked || ((is_rule || self.pinned) && !self.is_a_persons())
    }

    /// Whether a person wrote it or said that it holds. Only such a record is always loaded or in force as a rule, whatever
    /// else is stored in it: stores of before this was so have others that say they are.
    pub fn is_a_persons(&self) -> bool {
        self.provenance.trust == Trust::High
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}
