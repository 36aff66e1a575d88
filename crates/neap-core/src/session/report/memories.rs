//! Memory metrics and their targets (003, Key Metrics). Relevance, utilisation, refresh rate and precision belong
//! to a session; growth and confirmation belong to an agent. Cold start is a duration and is not measured here.

use serde::{Deserialize, Serialize};

use super::ratio;
use crate::base::ids::Stamp;
use crate::memory::knowledge::MemoryMetrics;
use crate::memory::{AgentHead, MemoryKind};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryReport {
    /// How often memories were loaded.
    pub loads: u64,
    /// Mean similarity of loaded memories to the query.
    pub context_relevance: Option<f64>,
    /// The used share of the memory budget.
    pub budget_utilisation: Option<f64>,
    /// Refreshes per turn.
    pub refresh_rate: Option<f64>,
    /// The share of loaded memories that a reply used.
    pub recall_precision: Option<f64>,
    pub censored: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentReport {
    pub records: u64,
    /// Records per day since the first; a started day counts as one.
    pub growth_per_day: Option<f64>,
    /// The share of facts that were confirmed.
    pub confirmation_rate: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Metric {
    pub name: &'static str,
    /// `None` if there is nothing to measure yet.
    pub value: Option<f64>,
    pub target: &'static str,
    /// `None` without a value or a target.
    pub met: Option<bool>,
}

impl MemoryReport {
    pub fn of(metrics: &MemoryMetrics, turns: u64) -> Self {
        Self {
            loads: metrics.loads,
            context_relevance: ratio(metrics.similarity_sum, metrics.items.saturating_mul(1_000)),
            budget_utilisation: ratio(metrics.tokens_sum.0, metrics.budget_sum.0),
            refresh_rate: ratio(metrics.refreshes, if metrics.loads > 0 { turns } else { 0 }),
            recall_precision: ratio(metrics.items_used, metrics.items),
            censored: metrics.censored,
        }
    }

    /// In the order of the seed's table.
    pub fn metrics(&self, agent: &AgentReport) -> [Metric; 6] {
        let metric = |name, value: Option<f64>, target, is_met: fn(f64) -> bool| Metric {
            name,
            value,
            target,
            met: value.map(is_met),
        };
        [
            metric("context_relevance", self.context_relevance, "> 0.6", |v| v > 0.6),
            metric("budget_utilisation", self.budget_utilisation, "0.5 to 0.9", |v| (0.5..=0.9).contains(&v)),
            metric("refresh_rate", self.refresh_rate, "< 0.3 per turn", |v| v < 0.3),
            metric("recall_precision", self.recall_precision, "> 0.4", |v| v > 0.4),
            Metric { name: "growth_per_day", value: agent.growth_per_day, target: "monitored", met: None },
            metric("confirmation_rate", agent.confirmation_rate, "> 0.2", |v| v > 0.2),
        ]
    }
}

impl AgentReport {
    pub fn of(head: &AgentHead, now: Stamp) -> Self {
        let written = head.kinds.values().filter(|count| count.last > 0);
        let records = written.clone().map(|count| u64::from(count.last)).sum();
        let first = written.map(|count| count.first_at).min();
        let days = |first: Stamp| now.0.saturating_sub(first.0).max(0) / DAY_MS + 1;
        let facts = head.kind_count(MemoryKind::Fact);
        Self {
            records,
            growth_per_day: first.map(|first| records as f64 / days(first) as f64),
            confirmation_rate: ratio(facts.confirmed, u64::from(facts.last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tokens::Tokens;
    use crate::memory::KindCount;

    fn metrics() -> MemoryMetrics {
        MemoryMetrics {
            loads: 4,
            refreshes: 3,
            items: 10,
            similarity_sum: 7_000,
            items_used: 5,
            tokens_sum: Tokens(600),
            budget_sum: Tokens(1_000),
            censored: 2,
        }
    }

    /// 003, Key Metrics: every row that events can give.
    #[test]
    fn newton_key_metrics_stand_beside_their_targets() {
        let report = MemoryReport::of(&metrics(), 20);
        let agent = AgentReport { records: 30, growth_per_day: Some(3.0), confirmation_rate: Some(0.25) };
        let shown: Vec<(&str, Option<f64>, &str, Option<bool>)> =
            report.metrics(&agent).map(|m| (m.name, m.value, m.target, m.met)).to_vec();
        assert_eq!(
            shown,
            [
                ("context_relevance", Some(0.7), "> 0.6", Some(true)),
                ("budget_utilisation", Some(0.6), "0.5 to 0.9", Some(true)),
                ("refresh_rate", Some(0.15), "< 0.3 per turn", Some(true)),
                ("recall_precision", Some(0.5), "> 0.4", Some(true)),
                ("growth_per_day", Some(3.0), "monitored", None),
                ("confirmation_rate", Some(0.25), "> 0.2", Some(true)),
            ]
        );
    }

    #[test]
    fn targets_are_missed_at_their_edges() {
        let edge = MemoryReport {
            context_relevance: Some(0.6),
            budget_utilisation: Some(0.91),
            refresh_rate: Some(0.3),
            recall_precision: Some(0.4),
            ..MemoryReport::default()
        };
        let agent = AgentReport { confirmation_rate: Some(0.2), ..AgentReport::default() };
        let met: Vec<Option<bool>> = edge.metrics(&agent).map(|metric| metric.met).to_vec();
        assert_eq!(met, [Some(false), Some(false), Some(false), Some(false), None, Some(false)]);
    }

    #[test]
    fn without_memories_nothing_is_measured() {
        let nothing = MemoryReport::of(&MemoryMetrics::default(), 20);
        let agent = AgentReport::of(&AgentHead::default(), Stamp(0));
        assert!(nothing.metrics(&agent).iter().all(|metric| metric.value.is_none() && metric.met.is_none()));
    }

    #[test]
    fn growth_is_counted_from_the_first_record_of_any_kind() {
        let mut head = AgentHead::default();
        let count = |last, first_at| KindCount { last, first_at: Stamp(first_at), ..KindCount::default() };
        head.kinds.insert(MemoryKind::Fact, KindCount { confirmed: 2, ..count(8, 5 * DAY_MS) });
        head.kinds.insert(MemoryKind::Episode, count(4, 2 * DAY_MS));
        let report = AgentReport::of(&head, Stamp(7 * DAY_MS + 1));
        assert_eq!((report.records, report.growth_per_day), (12, Some(2.0)));
        assert_eq!(report.confirmation_rate, Some(0.25));
    }
}
