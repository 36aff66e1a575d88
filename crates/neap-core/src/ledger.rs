//! What was in the context of a turn, layer by layer, and what was left out and why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cost::Cost;
use crate::handle::Handle;
use crate::ids::{EffortId, TurnNo};
use crate::memory::MemoryId;
use crate::message::Scope;
use crate::tokens::Tokens;

/// A part of the context that pays from its own budget (I8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Who the assistant is, and the rules of efforts.
    Protocol,
    /// The schemas of the tools.
    Tools,
    /// Who the agent is, in its own configuration.
    Identity,
    /// Preferences and standing rules.
    Profile,
    /// What not to do.
    Censors,
    /// The stance, and what to ask oneself.
    Frame,
    /// The current task and open threads.
    Focus,
    /// Decisions that bear on this.
    Decisions,
    /// Facts that bear on this.
    Facts,
    /// Procedures that bear on this.
    Procedures,
    /// Episodes that bear on this.
    Episodes,
    /// How good the agent's own judgement was.
    Calibration,
    /// Summaries of concluded efforts.
    Summaries,
    /// Where we are and how to reach what is not shown.
    Note,
    /// Recent chat outside efforts.
    Ambient,
    /// Logs of expanded efforts.
    Expanded,
    /// Logs of open efforts in the background.
    Open,
    /// The log of the active effort.
    Active,
    /// What was said since the prompt was last rewritten.
    Tail,
    /// The new message, and the tool rounds of this turn.
    Message,
}

impl Layer {
    /// All layers, in the order of the context.
    pub const ALL: [Layer; 20] = [
        Layer::Protocol,
        Layer::Tools,
        Layer::Identity,
        Layer::Profile,
        Layer::Censors,
        Layer::Frame,
        Layer::Focus,
        Layer::Decisions,
        Layer::Facts,
        Layer::Procedures,
        Layer::Episodes,
        Layer::Calibration,
        Layer::Summaries,
        Layer::Note,
        Layer::Ambient,
        Layer::Expanded,
        Layer::Open,
        Layer::Active,
        Layer::Tail,
        Layer::Message,
    ];

    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Layer::Protocol => "protocol",
            Layer::Tools => "tools",
            Layer::Identity => "identity",
            Layer::Profile => "profile",
            Layer::Censors => "censors",
            Layer::Frame => "frame",
            Layer::Focus => "focus",
            Layer::Decisions => "decisions",
            Layer::Facts => "facts",
            Layer::Procedures => "procedures",
            Layer::Episodes => "episodes",
            Layer::Calibration => "calibration",
            Layer::Summaries => "summaries",
            Layer::Note => "note",
            Layer::Ambient => "ambient",
            Layer::Expanded => "expanded",
            Layer::Open => "open",
            Layer::Active => "active",
            Layer::Tail => "tail",
            Layer::Message => "message",
        }
    }

    /// Whether its size depends on the conversation.
    pub fn is_variable(self) -> bool {
        !matches!(self, Layer::Protocol | Layer::Tools)
    }

    /// Whether what an agent knows pays from it.
    pub fn is_of_memory(self) -> bool {
        (Layer::Identity..=Layer::Calibration).contains(&self)
    }
}

/// Tokens of every layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct LayerTokens([Tokens; 20]);

/// How tokens of layers are written: by name. The first version had neither tail nor memories
/// and wrote the others in order.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Named(BTreeMap<Layer, Tokens>),
    Listed(Vec<Tokens>),
}

impl From<Written> for LayerTokens {
    fn from(written: Written) -> Self {
        let mut tokens = Self::default();
        match written {
            Written::Named(layers) => layers.into_iter().for_each(|(layer, of)| tokens.add(layer, of)),
            Written::Listed(layers) => {
                let first_version = Layer::ALL.into_iter().filter(|of| *of != Layer::Tail && !of.is_of_memory());
                first_version.zip(layers).for_each(|(layer, of)| tokens.add(layer, of));
            }
        }
        tokens
    }
}

impl From<LayerTokens> for Written {
    fn from(tokens: LayerTokens) -> Self {
        Written::Named(tokens.entries().filter(|(_, of)| *of > Tokens::ZERO).collect())
    }
}

impl LayerTokens {
    /// What one layer costs.
    pub fn get(&self, layer: Layer) -> Tokens {
        self.0[layer as usize]
    }

    /// Adds to a layer.
    pub fn add(&mut self, layer: Layer, tokens: Tokens) {
        self.0[layer as usize] += tokens;
    }

    /// Takes from a layer.
    pub(crate) fn take(&mut self, layer: Layer, tokens: Tokens) {
        self.0[layer as usize] -= tokens;
    }

    /// The whole context.
    pub fn total(&self) -> Tokens {
        self.0.iter().copied().sum()
    }

    /// The layers whose size depends on the conversation.
    pub fn variable(&self) -> Tokens {
        Layer::ALL.into_iter().filter(|l| l.is_variable()).map(|l| self.get(l)).sum()
    }

    /// Layers with their names.
    pub fn entries(&self) -> impl Iterator<Item = (Layer, Tokens)> {
        Layer::ALL.into_iter().map(|layer| (layer, self.get(layer)))
    }
}

/// How much of one log was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogShown {
    /// Which log.
    pub scope: Scope,
    /// Paid by which layer.
    pub layer: Layer,
    /// The handle of what summaries stand for, if any do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_short: Option<Handle>,
    /// The oldest turn shown, if any was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<TurnNo>,
    /// Exchanges shown.
    pub exchanges: u64,
    /// Exchanges that stayed on disk, with nothing in the context to stand for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Whether messages were cut to head and tail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub excerpted: bool,
    /// What it cost.
    pub tokens: Tokens,
}

/// Ids of left out summaries that a ledger names; it is stored with every turn.
const LEFT_OUT_IDS_MAX: usize = 32;

/// The account of one assembled context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The ceiling that applied.
    pub budget: Tokens,
    /// What each layer cost.
    pub tokens: LayerTokens,
    /// What sending everything would have cost.
    pub naive_tokens: Tokens,
    /// Summaries shown, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<EffortId>,
    /// Summaries that were due but did not fit the layer: the first few of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries_over_budget: Vec<EffortId>,
    /// How many there were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub summaries_over_budget_count: u64,
    /// Concluded efforts whose summaries had been evicted before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub evicted: u64,
    /// Memories shown, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<MemoryId>,
    /// Memories that were chosen before and that this turn's reply was the first to make use of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories_used: Vec<MemoryId>,
    /// Logs, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogShown>,
    /// Tool rounds of this turn that no longer fitted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rounds_left_out: u64,
    /// The turn for which the prompt was last rewritten; what it held is in that turn's ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch_since: Option<TurnNo>,
    /// What the turn's calls of the model cost.
    #[serde(default, skip_serializing_if = "Cost::is_nothing")]
    pub cost: Cost,
}

impl Ledger {
    /// Notes a summary that did not fit.
    pub(crate) fn leave_out(&mut self, id: &EffortId) {
        self.summaries_over_budget_count += 1;
        if self.summaries_over_budget.len() < LEFT_OUT_IDS_MAX {
            self.summaries_over_budget.push(id.clone());
        }
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_written_by_name_and_the_first_version_is_understood() {
        let mut tokens = LayerTokens::default();
        tokens.add(Layer::Protocol, Tokens(7));
        tokens.add(Layer::Message, Tokens(5));
        let text = serde_json::to_string(&tokens).unwrap();
        assert_eq!(text, r#"{"protocol":7,"message":5}"#);
        assert_eq!(serde_json::from_str::<LayerTokens>(&text).unwrap(), tokens);
        assert_eq!(serde_json::from_str::<LayerTokens>("[7,0,0,0,0,0,0,0,5]").unwrap(), tokens);
    }
}
