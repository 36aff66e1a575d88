//! An effort: a piece of work in a conversation that can be concluded.

use serde::{Deserialize, Serialize};

use crate::ids::{EffortId, Stamp, TurnNo};
use crate::tokens::Tokens;
use crate::window::Window;

/// Whether work goes on. Being expanded is a view, not a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffortStatus {
    /// Its log is in the context.
    Open,
    /// Its summary stands for it.
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

/// How much has been said in one scope; kept so that nothing is ever re-read to be counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LogSize {
    /// Exchanges in the log.
    pub exchanges: u64,
    /// What showing all of them would cost.
    pub tokens: Tokens,
}

impl LogSize {
    /// Counts one more exchange.
    pub fn add(&mut self, tokens: Tokens) {
        self.exchanges += 1;
        self.tokens += tokens;
    }

    /// Counts one less.
    pub fn take(&mut self, tokens: Tokens) {
        self.exchanges = self.exchanges.saturating_sub(1);
        self.tokens = Tokens(self.tokens.0.saturating_sub(tokens.0));
    }
}

/// What stands for a concluded effort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// One paragraph, without line breaks.
    pub text: String,
    /// What its line in the context costs.
    pub tokens: Tokens,
    /// When it was made; summaries of before this was kept do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Stamp>,
}

/// A concluded effort whose log is back in the context for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expansion {
    /// The turn that expanded it.
    pub since: TurnNo,
    /// When.
    pub at: Stamp,
    /// By how much the context grew.
    pub tokens_loaded: Tokens,
}

/// What the last automatic collapse of an effort freed, until it is expanded again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decayed {
    /// The turn that collapsed it.
    pub turn: TurnNo,
    /// By how much the context shrank.
    pub tokens: Tokens,
}

/// One effort, as the manifest knows it. Its log lives in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// The slug of its name.
    pub id: EffortId,
    /// The name it was opened with.
    pub name: String,
    /// Open or concluded.
    pub status: EffortStatus,
    /// Present once concluded; kept through a reopening as the latest known summary.
    pub summary: Option<Summary>,
    /// Whether the summary is among those shown; eviction clears it, a reference sets it.
    pub shown: bool,
    /// Present while expanded. Only concluded efforts are (I5).
    pub expanded: Option<Expansion>,
    /// The latest turn that mentioned it or called a tool about it.
    pub last_referenced: TurnNo,
    /// The latest turn in which it was, or became, the active one.
    pub last_active: TurnNo,
    /// Size of its log.
    pub log: LogSize,
    /// When it was opened.
    pub created: Stamp,
    /// When its entry last changed.
    pub updated: Stamp,
    /// Set by an automatic collapse.
    pub decayed: Option<Decayed>,
    /// Summaries that can stand for older spans of its log.
    #[serde(default, skip_serializing_if = "Window::is_empty")]
    pub window: Window,
}

impl Effort {
    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.status == EffortStatus::Open
    }

    /// Whether it is concluded.
    pub fn is_concluded(&self) -> bool {
        self.status == EffortStatus::Concluded
    }

    /// Whether it is concluded and out of the context: still stored, findable and expandable.
    pub fn is_evicted(&self) -> bool {
        self.is_concluded() && !self.shown && self.expanded.is_none()
    }
}
