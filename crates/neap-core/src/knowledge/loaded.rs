//! What was chosen for a turn, as it is recorded, and the running figures of it.

use serde::{Deserialize, Serialize};

use crate::memory::{Confidence, MemoryId};
use crate::tokens::Tokens;

/// Why memories were chosen anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadCause {
    /// There were none.
    First,
    /// The frame changed.
    FrameChanged,
    /// Something was said that the loaded ones do not bear on.
    NewTopic,
    /// A decision or an action was about to be taken.
    BeforeAction,
    /// Nothing was chosen anew: some left for lack of room, and these stayed.
    Pressure,
    /// What the agent knows changed.
    Changed,
}

/// One memory in the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedItem {
    /// Which.
    pub id: MemoryId,
    /// Its composite score.
    pub score: Confidence,
    /// How like the question it is.
    pub similarity: Confidence,
    /// Whether it stands there in one line only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub micro: bool,
    /// What it costs.
    pub tokens: Tokens,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// The stance.
    pub frame: String,
    /// How clearly the words called for it.
    pub frame_confidence: Confidence,
    /// Why anew.
    pub cause: LoadCause,
    /// Found by relevance, in the order of the context.
    pub items: Vec<LoadedItem>,
    /// Candidates that were considered.
    pub considered: u64,
    /// What all layers of memory cost.
    pub tokens: Tokens,
    /// What they were allowed.
    pub budget: Tokens,
}

/// Running figures about memories in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryMetrics {
    /// Times that memories were chosen.
    pub loads: u64,
    /// Of them, not the first.
    pub refreshes: u64,
    /// Memories chosen by relevance, added up.
    pub items: u64,
    /// Their likeness to the question, in thousandths, added up.
    pub similarity_sum: u64,
    /// Of them, those that a reply made use of.
    pub items_used: u64,
    /// What the layers of memory cost, added up over loads.
    pub tokens_sum: Tokens,
    /// What they were allowed, added up over loads.
    pub budget_sum: Tokens,
    /// Censors that found something.
    pub censored: u64,
}

impl MemoryMetrics {
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Follows a choice. What stays when others leave was counted when it came.
    pub(crate) fn follow(&mut self, loaded: &Loaded) {
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
