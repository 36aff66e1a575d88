//! What was in the context of a turn, layer by layer, and what was left out and why.

use serde::{Deserialize, Serialize};

use crate::ids::{EffortId, TurnNo};
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
    /// The new message, and the tool rounds of this turn.
    Message,
}

impl Layer {
    /// All layers, in the order of the context.
    pub const ALL: [Layer; 9] = [
        Layer::Protocol,
        Layer::Tools,
        Layer::Summaries,
        Layer::Note,
        Layer::Ambient,
        Layer::Expanded,
        Layer::Open,
        Layer::Active,
        Layer::Message,
    ];

    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Layer::Protocol => "protocol",
            Layer::Tools => "tools",
            Layer::Summaries => "summaries",
            Layer::Note => "note",
            Layer::Ambient => "ambient",
            Layer::Expanded => "expanded",
            Layer::Open => "open",
            Layer::Active => "active",
            Layer::Message => "message",
        }
    }

    /// Whether its size depends on the conversation.
    pub fn is_variable(self) -> bool {
        !matches!(self, Layer::Protocol | Layer::Tools)
    }
}

/// Tokens of every layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LayerTokens([Tokens; 9]);

impl LayerTokens {
    /// What one layer costs.
    pub fn get(&self, layer: Layer) -> Tokens {
        self.0[layer as usize]
    }

    /// Adds to a layer.
    pub fn add(&mut self, layer: Layer, tokens: Tokens) {
        self.0[layer as usize] += tokens;
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
    /// The oldest turn shown, if any was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<TurnNo>,
    /// Exchanges shown.
    pub exchanges: u64,
    /// Exchanges that stayed on disk.
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
    /// Logs, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogShown>,
    /// Tool rounds of this turn that no longer fitted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rounds_left_out: u64,
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
