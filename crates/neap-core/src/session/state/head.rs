//! The part of a session's state that is stored as one row, however long the session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::cost::Cost;
use crate::base::ids::{EffortId, Seq, SessionId, Stamp, StreamId, TurnNo};
use crate::base::ledger::{Layer, Ledger};
use crate::base::policy::Policy;
use crate::base::project_id::ProjectId;
use crate::base::tenant::Tenant;
use crate::base::token_ratio::TokenRatios;
use crate::base::tokens::Tokens;
use crate::memory::AgentHead;
use crate::memory::knowledge::MemoryMetrics;
use crate::session::effort::LogSize;
use crate::session::request_account::{HistoryHead, RequestTotals};
use crate::session::spending::SpendingByModel;
use crate::session::window::Window;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTurn {
    pub first_seq: Seq,
    pub at: Stamp,
    /// What it adds to its log so far.
    pub tokens: Tokens,
    pub active_before: Option<EffortId>,
    /// The latest effort that this turn opened, switched to or reopened.
    pub entered: Option<EffortId>,
}

/// Everything that is not per effort.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHead {
    /// `None` before the first event and after an erasure.
    #[serde(rename = "session")]
    pub stream: Option<StreamId>,
    /// The token encoding that its counts use.
    pub encoding: String,
    pub created: Stamp,
    pub updated: Stamp,
    pub seq: Seq,
    pub turn: TurnNo,
    pub active: Option<EffortId>,
    /// `None` where nobody knows or said what the session is about: then it belongs to the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// The latest task, shortened; follow-up messages do not change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub ambient: LogSize,
    /// Summaries of older spans of the ambient log.
    #[serde(default, skip_serializing_if = "Window::is_empty")]
    pub ambient_window: Window,
    pub all_logs: LogSize,
    /// Concluded efforts with a summary that does not cover their closing exchange yet, and the turn of that
    /// exchange.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub summaries_due: BTreeMap<EffortId, TurnNo>,
    pub pending: BTreeMap<TurnNo, PendingTurn>,
    pub policy: Policy,
    pub metrics: Metrics,
    #[serde(default, skip_serializing_if = "SpendingByModel::is_empty")]
    pub spending: SpendingByModel,
    /// Only in an agent's stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentHead>>,
    /// The latest keys of host entries, oldest first, each with its event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_keys: Vec<(String, Seq)>,
    /// Where the client's history ends, if a client sends one.
    #[serde(default, rename = "line", skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryHead>,
    /// Who owns that history. `None` in streams without a proxy caller and in those older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Tenant>,
    /// The latest turn that the client itself holds only as a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<TurnNo>,
    /// How providers count what is sent of this conversation.
    #[serde(default, skip_serializing_if = "TokenRatios::is_empty")]
    pub token_ratios: TokenRatios,
    /// Set by an erasure.
    #[serde(default)]
    pub scrubbed: bool,
}

impl SessionHead {
    /// The session, if this is a session's stream.
    pub fn session(&self) -> Option<SessionId> {
        self.stream.as_ref().and_then(StreamId::session)
    }
}

/// Running totals for the metrics of [`report`](crate::session::report).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    pub turns_completed: u64,
    /// Summed over turns that got a reply, like the other sums.
    pub context_tokens_sum: Tokens,
    pub context_tokens_peak: Tokens,
    /// What sending everything would have cost, summed.
    pub naive_tokens_sum: Tokens,
    /// The variable layers, summed.
    pub variable_tokens_sum: Tokens,
    /// The latest turn's context.
    pub context_tokens: Tokens,
    /// The latest turn's variable layers.
    pub variable_tokens: Tokens,
    /// The latest turn's expanded logs.
    pub expansion_tokens: Tokens,
    /// What sending everything would have cost in the latest turn.
    pub naive_tokens: Tokens,
    pub expansions: u64,
    /// Ended by a request.
    pub manual_collapses: u64,
    /// Ended by decay.
    pub auto_collapses: u64,
    /// Ended by a restart or because too many were expanded.
    pub other_collapses: u64,
    /// Turns that ended expansions lasted, summed.
    pub expansion_turns_sum: u64,
    /// Expansions within `false_decay_turns` of an automatic collapse of the same effort.
    pub false_decays: u64,
    /// Tokens that decayed logs would add to the context now.
    pub decayed_tokens_now: Tokens,
    /// The same, summed over all turns since.
    pub tokens_saved_by_decay: Tokens,
    pub evictions: u64,
    /// Summaries made of spans of logs.
    pub compactions: u64,
    pub epochs: u64,
    pub cost: Cost,
    /// Client requests that the proxy forwarded.
    #[serde(rename = "passed", skip_serializing_if = "RequestTotals::is_empty")]
    pub requests: RequestTotals,
    #[serde(skip_serializing_if = "MemoryMetrics::is_nothing")]
    pub memories: MemoryMetrics,
}

impl Metrics {
    pub(super) fn add_turn(&mut self, ledger: &Ledger) {
        self.turns_completed += 1;
        self.context_tokens = ledger.tokens.total();
        self.variable_tokens = ledger.tokens.variable();
        self.expansion_tokens = ledger.tokens.get(Layer::Expanded);
        self.naive_tokens = ledger.naive_tokens;
        self.context_tokens_sum += self.context_tokens;
        self.variable_tokens_sum += self.variable_tokens;
        self.naive_tokens_sum += self.naive_tokens;
        self.context_tokens_peak = self.context_tokens_peak.max(self.context_tokens);
        self.tokens_saved_by_decay += self.decayed_tokens_now;
        self.cost += ledger.cost;
        self.memories.items_used += ledger.memories_used.len() as u64;
    }
}
