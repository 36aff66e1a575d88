//! Figures of one session, and of all together.

use neap_core::base::cost::Cost;
use neap_core::base::ids::SessionId;
use neap_core::client::RequestTotals;
use neap_core::session::report::{AgentReport, Metric, Report};
use neap_store::SessionInfo;
use serde::Serialize;

/// A session's figures beside those of its agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionReport {
    /// The session's own figures.
    #[serde(flatten)]
    pub report: Report,
    /// The name that `--session` takes.
    pub session: SessionId,
    /// The agent's figures.
    pub agent: AgentReport,
    /// Memory metrics with their targets.
    pub memory_metrics: Vec<Metric>,
}

impl SessionReport {
    /// Puts both together.
    pub fn new(session: SessionId, report: Report, agent: AgentReport) -> Self {
        let memory_metrics = report.memories.metrics(&agent).to_vec();
        Self { report, session, agent, memory_metrics }
    }
}

/// Totals of all sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoreReport {
    /// Sessions with a turn that are not erased.
    pub sessions: u64,
    /// Their turns.
    pub turns: u64,
    /// Calls of their own model.
    pub cost: Cost,
    /// What these cost.
    pub price_dollars: f64,
    /// Requests of clients that the proxy forwarded.
    #[serde(rename = "passed")]
    pub requests: RequestTotals,
    /// What the proxy saved against untouched requests, if prices are known.
    pub saved_dollars: Option<f64>,
}

impl StoreReport {
    /// From the sessions' rows alone.
    pub fn of(sessions: &[SessionInfo]) -> Self {
        let (mut count, mut turns, mut cost) = (0, 0, Cost::default());
        let mut requests = RequestTotals::default();
        for info in sessions.iter().filter(|info| !info.scrubbed && info.turns.0 > 0) {
            count += 1;
            turns += info.turns.0;
            cost += info.cost;
            requests += &info.requests;
        }
        let saved_dollars = requests.known_cost().map(|cost| cost.saved_dollars());
        Self { sessions: count, turns, cost, price_dollars: cost.dollars(), requests, saved_dollars }
    }
}
