//! Frames: what kind of request a message is, what to consider, and which memories matter for it.
//!
//! Six frames are built in; configuration can add or replace some. [`select()`] chooses one for a message.

mod built_in;
mod frame_set;
mod select;
#[cfg(test)]
mod tests;

pub use frame_set::FrameSet;
pub use select::{ChoiceBasis, FrameChoice, select};

use serde::{Deserialize, Serialize};

use crate::base::tokens::Tokens;
use crate::memory::{Confidence, MemoryKind};

/// Default priority of a kind (003, Step 4: `frame.priorities.get(type, 0.5)`).
const PRIORITY: u16 = 500;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    pub name: String,
    /// One line for the model.
    #[serde(default)]
    pub description: String,
    /// Words and phrases that select it.
    #[serde(default)]
    pub words: Vec<String>,
    #[serde(default)]
    pub questions: Vec<String>,
    #[serde(default)]
    pub priorities: Priorities,
    /// Breaks ties between frames with as many hits; the highest wins.
    #[serde(default)]
    pub tie: u32,
    /// Token budget of all memory layers together.
    #[serde(default = "total")]
    pub total: Tokens,
    /// Token budgets of the layers filled by relevance.
    #[serde(default)]
    pub budgets: Budgets,
}

/// Weight of each kind of memory, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Priorities {
    pub decisions: Confidence,
    pub facts: Confidence,
    pub procedures: Confidence,
    pub episodes: Confidence,
}

/// Token budgets of the layers filled by relevance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budgets {
    pub decisions: Tokens,
    pub facts: Tokens,
    pub procedures: Tokens,
    pub episodes: Tokens,
}

impl Priorities {
    /// Censors are always loaded and have full priority.
    pub fn of(&self, kind: MemoryKind) -> Confidence {
        match kind {
            MemoryKind::Decision => self.decisions,
            MemoryKind::Fact => self.facts,
            MemoryKind::Procedure => self.procedures,
            MemoryKind::Episode => self.episodes,
            MemoryKind::Censor => Confidence::FULL,
        }
    }
}

impl Default for Priorities {
    fn default() -> Self {
        let default = thousandths(PRIORITY);
        Self { decisions: default, facts: default, procedures: default, episodes: default }
    }
}

/// 003, Context Budget.
impl Default for Budgets {
    fn default() -> Self {
        Self { decisions: Tokens(2_000), facts: Tokens(1_500), procedures: Tokens(1_500), episodes: Tokens(1_000) }
    }
}

/// 003, Context Budget: about 8,000 tokens.
fn total() -> Tokens {
    Tokens(8_000)
}

fn thousandths(n: u16) -> Confidence {
    Confidence::from_thousandths(n).unwrap_or(Confidence::FULL)
}

impl Frame {
    /// For headings, e.g. `Decision`.
    pub fn title(&self) -> String {
        let mut chars = self.name.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
    }

    /// Whether decisions rank above every other kind.
    pub fn is_for_deciding(&self) -> bool {
        let Priorities { decisions, facts, procedures, episodes } = self.priorities;
        decisions > facts.max(procedures).max(episodes)
    }
}
