//! The scenarios: what is prepared, what is said, and what must happen.

use serde::Deserialize;

use super::scenario_run::{BILLING, LOGIN, Observed};
use crate::LabError;

const SCENARIOS: &str = include_str!("../scripts/scenarios.jsonl");
/// Must be in a summary of the login effort.
const FACTS: [&str; 4] = ["refresh", "invalid_grant", "auth-refresh", "4.2.1"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Setup {
    Nothing,
    /// An effort about a failing login is open.
    Working,
    /// That effort is concluded, and its summary is shown.
    Concluded,
    /// That effort is concluded and expanded.
    Expanded,
    /// An effort about a database was concluded long ago and is evicted.
    Evicted,
    /// The login effort is concluded, with a summary by this model.
    SummarizedByModel,
}

#[derive(Deserialize)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) expected: String,
    pub(super) setup: Setup,
    pub(super) messages: Vec<String>,
}

pub(super) fn scenarios() -> Result<Vec<Scenario>, LabError> {
    Ok(SCENARIOS.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

impl Scenario {
    /// Whether what is expected happened.
    pub(super) fn passes(&self, observed: &Observed) -> bool {
        let Observed { calls, opened, concluded, expanded, reopened, active, expanded_now, summary, .. } =
            observed;
        let has = |list: &[String], id: &str| list.iter().any(|listed| listed == id);
        let changes_nothing = opened.is_empty() && concluded.is_empty() && reopened.is_empty();
        match self.expected.as_str() {
            "opens one effort" => opened.len() == 1 && concluded.is_empty(),
            "opens none" | "stays closed" => changes_nothing,
            "stays in the effort" => changes_nothing && active.as_deref() == Some(LOGIN),
            "closes the effort" => has(concluded, LOGIN) && opened.is_empty(),
            "stays open" => concluded.is_empty(),
            "expands the effort" => has(expanded, LOGIN),
            "collapses it or lets it decay" => expanded_now.is_empty(),
            "searches for it" => has(calls, "search_efforts"),
            "searches, then expands it" => has(calls, "search_efforts") && has(expanded, BILLING),
            "reopens it by its name" => has(reopened, LOGIN) && opened.is_empty(),
            "keeps the facts" => FACTS.iter().all(|fact| summary.contains(fact)),
            _ => false,
        }
    }
}
