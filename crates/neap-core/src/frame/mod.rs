//! The stance for a message: what sort of thing is asked, what to ask oneself, and which memories matter for it.
//!
//! Six frames are built in; configuration may add others or take the place of these. [`select()`] chooses one.

mod built_in;
mod select;
mod set;
#[cfg(test)]
mod tests;

pub use select::{Chosen, How, select};
pub use set::Frames;

use serde::{Deserialize, Serialize};

use crate::memory::{Confidence, MemoryKind};
use crate::tokens::Tokens;

/// What memories of a kind count where a frame does not say (003, Step 4: `frame.priorities.get(type, 0.5)`).
const PRIORITY: u16 = 500;

/// A stance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// What it is called: `decision`.
    pub name: String,
    /// What is going on, in one line for the model.
    #[serde(default)]
    pub description: String,
    /// Words and phrases that call for it.
    #[serde(default)]
    pub words: Vec<String>,
    /// What to ask oneself.
    #[serde(default)]
    pub questions: Vec<String>,
    /// How much each kind of memory matters.
    #[serde(default)]
    pub priorities: Priorities,
    /// Among frames with as many hits, the highest wins.
    #[serde(default)]
    pub tie: u32,
    /// What all layers of memory may cost together.
    #[serde(default = "total")]
    pub total: Tokens,
    /// What the layers that are filled by relevance may cost each.
    #[serde(default)]
    pub budgets: Budgets,
}

/// How much each kind of memory matters in a frame, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Priorities {
    /// Decisions.
    pub decisions: Confidence,
    /// Facts.
    pub facts: Confidence,
    /// Procedures.
    pub procedures: Confidence,
    /// Episodes.
    pub episodes: Confidence,
}

/// What the layers that are filled by relevance may cost each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budgets {
    /// Decisions.
    pub decisions: Tokens,
    /// Facts.
    pub facts: Tokens,
    /// Procedures.
    pub procedures: Tokens,
    /// Episodes.
    pub episodes: Tokens,
}

impl Priorities {
    /// Of a kind; censors are always loaded, so nothing is more important.
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
        let middling = thousandths(PRIORITY);
        Self { decisions: middling, facts: middling, procedures: middling, episodes: middling }
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
    /// As a heading says it: `Decision`.
    pub fn title(&self) -> String {
        let mut chars = self.name.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
    }

    /// Whether a choice is what it is about: no kind of memory matters as much as decisions.
    pub fn is_for_deciding(&self) -> bool {
        let Priorities { decisions, facts, procedures, episodes } = self.priorities;
        decisions > facts.max(procedures).max(episodes)
    }
}
