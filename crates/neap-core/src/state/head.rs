//! The part of a state that is one row, however long the session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cost::Cost;
use crate::effort::LogSize;
use crate::ids::{EffortId, Seq, SessionId, Stamp, TurnNo};
use crate::ingest::{Line, PassedSum, Tenant};
use crate::knowledge::MemoryMetrics;
use crate::memory::AgentHead;
use crate::policy::Policy;
use crate::tokens::Tokens;
use crate::window::Window;

/// A turn whose reply has not come yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The event that started it.
    pub first_seq: Seq,
    /// When.
    pub at: Stamp,
    /// What it will add to its log so far.
    pub tokens: Tokens,
    /// Which effort was active when it began.
    pub active_before: Option<EffortId>,
    /// The latest effort that this turn opened, switched to or reopened.
    pub entered: Option<EffortId>,
}

/// Everything that is not per effort.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The session; none before its first event and after its erasure.
    pub session: Option<SessionId>,
    /// The encoding its tokens are counted in.
    pub encoding: String,
    /// When it began.
    pub created: Stamp,
    /// When it last changed.
    pub updated: Stamp,
    /// The last event's place.
    pub seq: Seq,
    /// The latest turn.
    pub turn: TurnNo,
    /// The effort that receives messages.
    pub active: Option<EffortId>,
    /// What was last asked for, in short; follow-ups leave it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Size of the ambient log.
    pub ambient: LogSize,
    /// Summaries that can stand for older spans of the ambient log.
    #[serde(default, skip_serializing_if = "Window::is_empty")]
    pub ambient_window: Window,
    /// Size of all logs together.
    pub all_logs: LogSize,
    /// Concluded efforts whose summary does not cover their closing exchange yet, with the turn of that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub summaries_due: BTreeMap<EffortId, TurnNo>,
    /// Turns in flight.
    pub pending: BTreeMap<TurnNo, Pending>,
    /// The settings.
    pub policy: Policy,
    /// The running figures.
    pub metrics: Metrics,
    /// What an agent must always have at hand; only in an agent's stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentHead>>,
    /// Where the history ends that a client sends; none if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
    /// Whose history that is; none of what no caller of the proxy has said, and of streams that are older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Tenant>,
    /// The latest turn of which the client that holds the conversation has only a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<TurnNo>,
    /// Set by an erasure.
    #[serde(default)]
    pub scrubbed: bool,
}

/// Running figures from which the seeds' metrics are made (see `report`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// Turns that got a reply.
    pub turns_completed: u64,
    /// Sum of context tokens over those turns.
    pub context_tokens_sum: Tokens,
    /// Largest context.
    pub context_tokens_peak: Tokens,
    /// Sum of what sending everything would have cost.
    pub naive_tokens_sum: Tokens,
    /// Sum of the variable layers.
    pub variable_tokens_sum: Tokens,
    /// Context tokens of the latest turn.
    pub context_tokens: Tokens,
    /// Its variable layers.
    pub variable_tokens: Tokens,
    /// Its tokens in expanded logs.
    pub expansion_tokens: Tokens,
    /// What sending everything would have cost in that turn.
    pub naive_tokens: Tokens,
    /// Expansions begun.
    pub expansions: u64,
    /// Expansions ended by a request.
    pub manual_collapses: u64,
    /// Expansions ended by decay.
    pub auto_collapses: u64,
    /// Expansions ended by a restart, or because there were too many.
    pub other_collapses: u64,
    /// Turns that ended expansions had lasted, added up.
    pub expansion_turns_sum: u64,
    /// Expansions that came within a few turns of an automatic collapse of the same effort.
    pub false_decays: u64,
    /// Tokens that decayed logs would add to the context now.
    pub decayed_tokens_now: Tokens,
    /// The same, added up over all turns since.
    pub tokens_saved_by_decay: Tokens,
    /// Summaries evicted.
    pub evictions: u64,
    /// Summaries made of spans of logs.
    pub compactions: u64,
    /// Prompts written anew.
    pub epochs: u64,
    /// What all calls of the model cost.
    pub cost: Cost,
    /// Requests of clients that were passed on.
    #[serde(skip_serializing_if = "PassedSum::is_empty")]
    pub passed: PassedSum,
    /// Memories in the context.
    #[serde(skip_serializing_if = "MemoryMetrics::is_nothing")]
    pub memories: MemoryMetrics,
}
