//! The metrics of memories, with their targets (003, Key Metrics).
//!
//! Relevance, utilisation, refresh rate and precision are a session's, from what was chosen for its turns; growth and
//! confirmation are an agent's, from all that it knows. Cold start is a time: nobody measures it here.

use serde::{Deserialize, Serialize};

use super::ratio;
use crate::ids::Stamp;
use crate::knowledge::MemoryMetrics;
use crate::memory::{AgentHead, MemoryKind};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// How what an agent knows served a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryReport {
    /// Times that memories were chosen.
    pub loads: u64,
    /// How like the question they were, on average.
    pub context_relevance: Option<f64>,
    /// The share of their budget that was used.
    pub budget_utilisation: Option<f64>,
    /// How often they were chosen anew, per turn.
    pub refresh_rate: Option<f64>,
    /// The share of those chosen that a reply made use of.
    pub recall_precision: Option<f64>,
    /// Censors that found something.
    pub censored: u64,
}

/// How an agent's memory grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentReport {
    /// Records written so far.
    pub records: u64,
    /// Records written per day since the first; a day counts as one from its beginning.
    pub growth_per_day: Option<f64>,
    /// The share of facts that were met again.
    pub confirmation_rate: Option<f64>,
}

/// One metric beside its target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Metric {
    /// What is measured.
    pub name: &'static str,
    /// How much it is; none if there is nothing to measure yet.
    pub value: Option<f64>,
    /// What it should be.
    pub target: &'static str,
    /// Whether it is; none where nothing is measured or aimed at.
    pub met: Option<bool>,
}

impl MemoryReport {
    /// Of the running figures of a session with this many turns.
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

    /// The metrics that events can tell, with those of the agent, in the order of the seed's table.
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
    /// Of what an agent has at hand.
    pub fn of(head: &AgentHead, now: Stamp) -> Self {
        let written = head.kinds.values().filter(|count| count.last > 0);
        let records = written.clone().map(|count| u64::from(count.last)).sum();
        let first = written.map(|count| count.first_at).min();
        let days = |first: Stamp| now.0.saturating_sub(first.0).max(0) / DAY_MS + 1;
        let facts = head.of(MemoryKind::Fact);
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
    use crate::memory::KindCount;
    use crate::tokens::Tokens;

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

    /// 003, Key Metrics: every row that events can tell.
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
