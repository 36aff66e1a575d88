//! What a turn's context contained, layer by layer, and what was left out and why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::cost::Cost;
use crate::base::handle::Handle;
use crate::base::ids::{EffortId, TurnNo};
use crate::base::memory_id::MemoryId;
use crate::base::message::Scope;
use crate::base::model_name::ModelName;
use crate::base::tokens::Tokens;

/// A part of the context with its own budget (I8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Identity and the rules of efforts.
    Protocol,
    Tools,
    /// The agent's configured identity.
    Identity,
    Profile,
    Censors,
    /// The frame's stance and questions.
    Frame,
    Focus,
    Decisions,
    Facts,
    Procedures,
    Episodes,
    /// How accurate the agent's judgement has been.
    Calibration,
    Summaries,
    /// Which efforts are in play and how to reach what is not shown.
    Note,
    /// Recent chat outside efforts.
    Ambient,
    Expanded,
    Open,
    Active,
    /// Messages since the prompt was last rewritten.
    Tail,
    /// The new message and this turn's tool rounds.
    Message,
}

impl Layer {
    /// In the order of the context.
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

    pub fn is_variable(self) -> bool {
        !matches!(self, Layer::Protocol | Layer::Tools)
    }

    /// Whether it holds memories.
    pub fn is_memory(self) -> bool {
        (Layer::Identity..=Layer::Calibration).contains(&self)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct LayerTokens([Tokens; 20]);

/// Serialised form: tokens by layer name. Version 1, which had neither tail nor memory layers, wrote a list.
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
            Written::Named(layers) => layers.into_iter().for_each(|(layer, count)| tokens.add(layer, count)),
            Written::Listed(layers) => {
                let first_version =
                    Layer::ALL.into_iter().filter(|layer| *layer != Layer::Tail && !layer.is_memory());
                first_version.zip(layers).for_each(|(layer, count)| tokens.add(layer, count));
            }
        }
        tokens
    }
}

impl From<LayerTokens> for Written {
    fn from(tokens: LayerTokens) -> Self {
        Written::Named(tokens.entries().filter(|(_, count)| *count > Tokens::ZERO).collect())
    }
}

impl LayerTokens {
    pub fn get(&self, layer: Layer) -> Tokens {
        self.0[layer as usize]
    }

    pub fn add(&mut self, layer: Layer, tokens: Tokens) {
        self.0[layer as usize] += tokens;
    }

    pub(crate) fn subtract(&mut self, layer: Layer, tokens: Tokens) {
        self.0[layer as usize] -= tokens;
    }

    pub fn total(&self) -> Tokens {
        self.0.iter().copied().sum()
    }

    pub fn variable(&self) -> Tokens {
        Layer::ALL.into_iter().filter(|l| l.is_variable()).map(|l| self.get(l)).sum()
    }

    pub fn entries(&self) -> impl Iterator<Item = (Layer, Tokens)> {
        Layer::ALL.into_iter().map(|layer| (layer, self.get(layer)))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogShown {
    pub scope: Scope,
    /// The layer that pays for it.
    pub layer: Layer,
    /// The turns shown as summaries, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_short: Option<Handle>,
    /// The oldest turn shown raw, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<TurnNo>,
    pub exchanges: u64,
    /// Exchanges that are stored but neither shown nor summarised.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Whether a message was cut to head and tail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub excerpted: bool,
    pub tokens: Tokens,
}

/// Omitted summaries that a ledger names; bounded because every turn stores its ledger.
const LEFT_OUT_IDS_MAX: usize = 32;

/// The token account of one assembled context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The limit that applied.
    pub budget: Tokens,
    pub tokens: LayerTokens,
    /// What sending the whole conversation would have cost.
    pub naive_tokens: Tokens,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<EffortId>,
    /// The first few summaries that did not fit their layer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries_over_budget: Vec<EffortId>,
    /// How many did not fit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub summaries_over_budget_count: u64,
    /// Concluded efforts that had been evicted before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub evicted: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<MemoryId>,
    /// Memories that were loaded earlier and first used by this turn's reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories_used: Vec<MemoryId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogShown>,
    /// Tool rounds of this turn that did not fit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rounds_left_out: u64,
    /// The turn that last rewrote the prompt; that turn's ledger lists its contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch_since: Option<TurnNo>,
    /// The model that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// Cost of the turn's model calls.
    #[serde(default, skip_serializing_if = "Cost::is_nothing")]
    pub cost: Cost,
}

impl Ledger {
    pub(crate) fn omit_summary(&mut self, id: &EffortId) {
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
