//! Figures of one session, and of all together.

use std::collections::BTreeMap;

use neap_core::base::cost::Cost;
use neap_core::base::ids::SessionId;
use neap_core::base::model_name::ModelName;
use neap_core::base::project_id::ProjectId;
use neap_core::base::tokens::Tokens;
use neap_core::client::RequestTotals;
use neap_core::session::report::{AgentReport, Metric, Report};
use neap_core::session::spending::{Spending, SpendingByModel};
use neap_model::profile::ModelProfiles;
use neap_store::SessionInfo;
use serde::Serialize;

/// Models of a report, and projects.
const ROWS_MAX: usize = 100;

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
    /// By model, most tokens first, at most 100.
    pub models: Vec<ModelTotals>,
    /// By project, most tokens first, at most 100.
    pub projects: Vec<ProjectTotals>,
}

/// What one model took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelTotals {
    /// Its name, as its provider calls it.
    pub model: ModelName,
    /// How often it was called.
    pub calls: u64,
    /// What was sent, and what of it the provider's cache had.
    #[serde(flatten)]
    pub tokens: TotalTokens,
    /// What it cost; `None` if its prices are unknown.
    pub dollars: Option<f64>,
    /// What untouched requests would have cost.
    pub untouched_dollars: Option<f64>,
}

/// What one project took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProjectTotals {
    /// `None` for sessions that belong to none.
    pub project: Option<ProjectId>,
    /// Its sessions.
    pub sessions: u64,
    /// Their turns.
    pub turns: u64,
    /// What was sent, and what of it the provider's cache had.
    #[serde(flatten)]
    pub tokens: TotalTokens,
    /// What it cost, as far as prices are known.
    pub dollars: f64,
    /// What untouched requests would have cost.
    pub untouched_dollars: f64,
}

/// Tokens of several calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TotalTokens {
    /// Includes what was read from the provider's cache.
    pub sent: Tokens,
    /// Read from there.
    pub cached: Tokens,
    /// The replies.
    pub output: Tokens,
}

impl StoreReport {
    /// From the sessions' rows alone.
    pub fn of(sessions: &[SessionInfo]) -> Self {
        let counted = || sessions.iter().filter(|info| !info.scrubbed && info.turns.0 > 0);
        let (mut count, mut turns, mut cost) = (0, 0, Cost::default());
        let (mut requests, mut spending) = (RequestTotals::default(), SpendingByModel::default());
        for info in counted() {
            count += 1;
            turns += info.turns.0;
            cost += info.cost;
            requests += &info.requests;
            spending += &info.spending;
        }
        let saved_dollars = requests.known_cost().map(|cost| cost.saved_dollars());
        let profiles = ModelProfiles::built_in();
        let mut models: Vec<ModelTotals> =
            spending.iter().map(|(model, spent)| ModelTotals::new(model, spent, &profiles)).collect();
        models.sort_by_key(|totals| std::cmp::Reverse(totals.tokens.sent));
        models.truncate(ROWS_MAX);
        let projects = ProjectTotals::of(counted());
        let price_dollars = cost.dollars();
        Self { sessions: count, turns, cost, price_dollars, requests, saved_dollars, models, projects }
    }
}

impl ModelTotals {
    fn new(model: &ModelName, spent: &Spending, profiles: &ModelProfiles) -> Self {
        let is_priced = spent.priced > 0 || profiles.lookup(model.as_str()).token_prices().is_some();
        let dollars = |nanodollars: u64| is_priced.then_some(nanodollars as f64 / 1e9);
        Self {
            model: model.clone(),
            calls: spent.calls,
            tokens: TotalTokens { sent: spent.sent, cached: spent.cached, output: spent.output },
            dollars: dollars(spent.nanodollars),
            untouched_dollars: dollars(spent.untouched_nanodollars),
        }
    }
}

impl ProjectTotals {
    fn of<'a>(sessions: impl Iterator<Item = &'a SessionInfo>) -> Vec<Self> {
        let mut all: BTreeMap<Option<ProjectId>, Self> = BTreeMap::new();
        for info in sessions {
            let totals = all.entry(info.project.clone()).or_insert_with(|| Self::new(info.project.clone()));
            totals.add(info);
        }
        let mut all: Vec<Self> = all.into_values().collect();
        all.sort_by_key(|totals| std::cmp::Reverse(totals.tokens.sent));
        all.truncate(ROWS_MAX);
        all
    }

    fn new(project: Option<ProjectId>) -> Self {
        let (sessions, turns, tokens) = (0, 0, TotalTokens::default());
        Self { project, sessions, turns, tokens, dollars: 0.0, untouched_dollars: 0.0 }
    }

    fn add(&mut self, info: &SessionInfo) {
        let (own, passed) = (&info.cost, &info.requests);
        self.sessions += 1;
        self.turns += info.turns.0;
        self.tokens.sent += own.sent + passed.used.input;
        self.tokens.cached += own.cached + passed.used.cached;
        self.tokens.output += own.output + passed.used.output;
        self.dollars += own.dollars() + passed.cost.sent_dollars();
        self.untouched_dollars += own.dollars() + passed.cost.untouched_dollars();
    }
}
