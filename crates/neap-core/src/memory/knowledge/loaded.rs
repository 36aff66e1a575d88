//! The record of which memories a turn loaded, and running metrics.

use serde::{Deserialize, Serialize};

use crate::base::tokens::Tokens;
use crate::memory::{Confidence, MemoryId};

/// Why memories were selected again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadCause {
    /// Nothing was loaded before.
    First,
    FrameChanged,
    /// A message on something the loaded memories do not cover.
    NewTopic,
    /// A decision or an action was about to happen.
    BeforeAction,
    /// Not selected again: some memories were dropped to save tokens, these remain.
    Pressure,
    /// The agent's memory changed.
    Changed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedItem {
    pub id: MemoryId,
    pub score: Confidence,
    pub similarity: Confidence,
    /// Shown as one line instead of the summary.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub micro: bool,
    pub tokens: Tokens,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryLoad {
    pub frame: String,
    /// 0 if nothing selected the frame.
    pub frame_confidence: Confidence,
    pub cause: LoadCause,
    /// Selected by relevance, in context order.
    pub items: Vec<LoadedItem>,
    /// Number of candidates.
    pub considered: u64,
    /// Tokens of all memory layers.
    pub tokens: Tokens,
    /// Budget of all memory layers.
    pub budget: Tokens,
}

/// Running metrics of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryMetrics {
    pub loads: u64,
    /// Loads and trims after the first load.
    pub refreshes: u64,
    /// Sum of memories loaded by relevance.
    pub items: u64,
    /// Sum of their similarities, in thousandths.
    pub similarity_sum: u64,
    /// How many of them a reply used.
    pub items_used: u64,
    pub tokens_sum: Tokens,
    pub budget_sum: Tokens,
    pub censored: u64,
}

impl MemoryMetrics {
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Counts a load. Under pressure the remaining items were already counted when they were loaded.
    pub(crate) fn record_load(&mut self, loaded: &MemoryLoad) {
        self.refreshes += u64::from(loaded.cause != LoadCause::First);
        if loaded.cause == LoadCause::Pressure {
            return;
        }
        self.loads += 1;
        self.items += loaded.items.len() as u64;
        self.similarity_sum += loaded.items.iter().map(|item| item.similarity.thousandths()).sum::<u64>();
        self.tokens_sum += loaded.tokens;
        self.budget_sum += loaded.budget;
    }
}
