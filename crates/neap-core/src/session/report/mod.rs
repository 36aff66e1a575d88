//! The seeds' metrics, computed from running totals in the session's state.

mod memories;

pub use memories::{AgentReport, MemoryReport, Metric};

use serde::{Deserialize, Serialize};

use crate::base::cost::Cost;
use crate::base::tokens::Tokens;
use crate::session::request_account::RequestTotals;
use crate::session::state::SessionState;

/// Savings compared with sending the whole conversation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Savings {
    pub tokens: i64,
    /// As a share of the part that depends on the conversation.
    pub of_variable: f64,
    /// As a share of everything.
    pub of_whole: f64,
}

/// All metrics of slices 2, 3 and 4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub turns: u64,
    /// The latest context (slice 2).
    pub context_tokens: Tokens,
    /// The largest context so far (slice 4).
    pub context_tokens_peak: Tokens,
    /// Tokens of expanded logs in the latest context (slice 2).
    pub expansion_tokens: Tokens,
    /// Their share of that context (slice 2).
    pub expansion_overhead: f64,
    /// For the latest turn (slice 2).
    pub savings_vs_naive: Savings,
    pub savings_vs_naive_all_turns: Savings,
    /// Expansions that decay ended (slice 3).
    pub auto_collapses: u64,
    /// Expansions that a request ended (slice 3).
    pub manual_collapses: u64,
    /// Their ratio; `None` if nothing decayed (slice 3).
    pub manual_vs_auto_collapse: Option<f64>,
    /// In turns (slice 3).
    pub avg_expansion_duration: Option<f64>,
    /// Share of automatic collapses that were expanded again within two turns (slice 3).
    pub false_decay_rate: Option<f64>,
    /// Summed over turns (slice 3).
    pub tokens_saved_by_decay: Tokens,
    /// Summaries evicted (slice 4).
    pub evictions: u64,
    /// Summaries made of spans of logs.
    pub compactions: u64,
    /// Rewritten prompts; 0 where every turn writes its own.
    pub epochs: u64,
    pub cost: Cost,
    /// The share of sent tokens that the provider had in its cache.
    pub cached_share: f64,
    /// At the policy's prices.
    pub price_dollars: f64,
    pub efforts: EffortCounts,
    /// Client requests that the proxy forwarded.
    #[serde(rename = "passed", default, skip_serializing_if = "RequestTotals::is_empty")]
    pub requests: RequestTotals,
    /// What those would have cost untouched, less what they cost, if prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_dollars: Option<f64>,
    #[serde(default)]
    pub memories: MemoryReport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffortCounts {
    pub open: u64,
    pub expanded: u64,
    pub shown: u64,
    pub evicted: u64,
}

pub fn report(state: &SessionState) -> Report {
    let m = state.metrics();
    let ended = m.manual_collapses + m.auto_collapses + m.other_collapses;
    let expanded = state.expanded_efforts().count() as u64;
    Report {
        turns: state.turn().0,
        context_tokens: m.context_tokens,
        context_tokens_peak: m.context_tokens_peak,
        expansion_tokens: m.expansion_tokens,
        expansion_overhead: ratio(m.expansion_tokens.0, m.context_tokens.0).unwrap_or(0.0),
        savings_vs_naive: savings(m.context_tokens, m.variable_tokens, m.naive_tokens),
        savings_vs_naive_all_turns: savings(m.context_tokens_sum, m.variable_tokens_sum, m.naive_tokens_sum),
        auto_collapses: m.auto_collapses,
        manual_collapses: m.manual_collapses,
        manual_vs_auto_collapse: ratio(m.manual_collapses, m.auto_collapses),
        avg_expansion_duration: ratio(m.expansion_turns_sum, ended),
        false_decay_rate: ratio(m.false_decays, m.auto_collapses),
        tokens_saved_by_decay: m.tokens_saved_by_decay,
        evictions: m.evictions,
        compactions: m.compactions,
        epochs: m.epochs,
        cost: m.cost,
        cached_share: ratio(m.cost.cached.0, m.cost.sent.0).unwrap_or(0.0),
        price_dollars: m.cost.dollars(),
        efforts: EffortCounts {
            open: state.open_efforts().count() as u64,
            expanded,
            shown: state.shown_efforts().filter(|e| e.expanded.is_none()).count() as u64,
            evicted: state.evicted_efforts().len() as u64,
        },
        requests: m.requests,
        saved_dollars: m.requests.known_cost().map(|cost| cost.saved_dollars()),
        memories: MemoryReport::of(&m.memories, m.turns_completed),
    }
}

/// What sending everything would have cost so far, less what the calls cost, at the session's prices. Who sends everything
/// has a provider's cache, too: all but the newest part of a request is read from it.
pub fn saved_dollars(state: &SessionState) -> f64 {
    let (m, policy) = (state.metrics(), state.policy());
    let mut everything =
        Cost::of_call(policy, m.naive_tokens_sum, m.naive_tokens_sum.saturating_sub(m.naive_tokens));
    everything += Cost::of_reply(policy, m.cost.output);
    everything.dollars() - m.cost.dollars()
}

/// Savings over sending everything; negative where summaries cost more than they save.
pub fn savings(context: Tokens, variable: Tokens, naive: Tokens) -> Savings {
    let saved = naive.0 as i64 - context.0 as i64;
    let fixed = context.saturating_sub(variable);
    let share = |base: Tokens| if base == Tokens::ZERO { 0.0 } else { saved as f64 / base.0 as f64 };
    Savings { tokens: saved, of_variable: share(naive.saturating_sub(fixed)), of_whole: share(naive) }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
