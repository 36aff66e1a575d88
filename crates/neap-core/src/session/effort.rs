//! An effort: a piece of work in a conversation that can be concluded.

use serde::{Deserialize, Serialize};

use crate::base::ids::{EffortId, Stamp, TurnNo};
use crate::base::tokens::Tokens;
use crate::session::window::Window;

/// Open or concluded. Being expanded is a view, not a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffortStatus {
    Open,
    Concluded,
}

impl EffortStatus {
    /// The word shown to models and people.
    pub fn as_str(self) -> &'static str {
        match self {
            EffortStatus::Open => "open",
            EffortStatus::Concluded => "concluded",
        }
    }
}

/// The size of a log, maintained incrementally so that nothing is re-read to be counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LogSize {
    pub exchanges: u64,
    /// The cost of showing all exchanges.
    pub tokens: Tokens,
}

impl LogSize {
    pub fn add(&mut self, tokens: Tokens) {
        self.exchanges += 1;
        self.tokens += tokens;
    }

    pub fn remove(&mut self, tokens: Tokens) {
        self.exchanges = self.exchanges.saturating_sub(1);
        self.tokens = Tokens(self.tokens.0.saturating_sub(tokens.0));
    }
}

/// Replaces a concluded effort's log in the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// One paragraph, without line breaks.
    pub text: String,
    /// The cost of its line in the context.
    pub tokens: Tokens,
    /// Absent in summaries older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Stamp>,
}

/// A concluded effort's log is temporarily back in the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expansion {
    pub since: TurnNo,
    pub at: Stamp,
    pub tokens_loaded: Tokens,
}

/// An effort's last automatic collapse, until it is expanded again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecayRecord {
    pub turn: TurnNo,
    pub tokens: Tokens,
}

/// An effort's entry in the manifest. Its log is in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// The slug of its name.
    pub id: EffortId,
    pub name: String,
    pub status: EffortStatus,
    /// Set when it is concluded; a reopened effort keeps its latest summary.
    pub summary: Option<Summary>,
    /// Whether the summary is shown. Eviction clears it, a reference sets it.
    pub shown: bool,
    /// Only for concluded efforts (I5).
    pub expanded: Option<Expansion>,
    /// The latest turn that mentioned it or called a tool on it.
    pub last_referenced: TurnNo,
    /// The latest turn in which it was active.
    pub last_active: TurnNo,
    pub log: LogSize,
    pub created: Stamp,
    pub updated: Stamp,
    pub decayed: Option<DecayRecord>,
    /// Summaries of older spans of its log.
    #[serde(default, skip_serializing_if = "Window::is_empty")]
    pub window: Window,
}

impl Effort {
    pub fn is_open(&self) -> bool {
        self.status == EffortStatus::Open
    }

    pub fn is_concluded(&self) -> bool {
        self.status == EffortStatus::Concluded
    }

    /// Concluded and out of the context; still stored, searchable and expandable.
    pub fn is_evicted(&self) -> bool {
        self.is_concluded() && !self.shown && self.expanded.is_none()
    }
}
