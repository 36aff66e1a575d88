//! Outcomes of memory commands.

use std::collections::BTreeMap;

use neap_core::base::ids::AgentId;
use neap_core::memory::learn::{MemoryHit, MemoryVersion};
use neap_core::memory::{Change, Memory, MemoryId, MemoryKind};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::agent::Agent;

/// A memory that was written, or known already.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryOutcome {
    /// The memory's id.
    pub id: MemoryId,
    /// What became of the draft.
    pub status: &'static str,
    /// Why, in words.
    pub note: String,
    /// Facts that gave way.
    pub superseded: Vec<MemoryId>,
    /// Similar earlier decisions.
    pub similar: Vec<MemoryHit>,
    /// The memory as it is now.
    pub memory: Option<Memory>,
}

/// A memory that was changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryChange {
    /// The memory's id.
    pub id: MemoryId,
    /// What was done, in the past tense.
    pub status: &'static str,
    /// Side effects, in words.
    pub note: String,
    /// The memory as it is now.
    pub memory: Memory,
}

/// What erasing a memory takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryErasure {
    /// The memory's id.
    pub id: MemoryId,
    /// How many versions it has.
    pub versions: u64,
    /// The memory as it is now.
    pub memory: Memory,
    /// Whether it is done.
    pub erased: bool,
}

/// One version of a memory: what happened, when, and the memory after it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct VersionEntry(Value);

impl From<&MemoryVersion> for VersionEntry {
    fn from(version: &MemoryVersion) -> Self {
        let mut value = json!(version.change);
        if let Some(object) = value.as_object_mut() {
            object.insert("seq".to_owned(), json!(version.seq));
            object.insert("at".to_owned(), json!(version.at));
            object.insert("memory".to_owned(), json!(version.memory));
        }
        Self(value)
    }
}

/// Why a model last asked to forget a memory; empty if it gave no reason.
pub fn forget_reason(versions: &[MemoryVersion]) -> String {
    let reasons = versions.iter().rev().filter_map(|version| {
        if let Change::ForgetAsked { reason } = &version.change { Some(reason.clone()) } else { None }
    });
    reasons.into_iter().next().unwrap_or_default()
}

/// Counts of an agent's memories, and how well its confidence fits what happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct MemoryStatus(Value);

impl MemoryStatus {
    /// `counts` is of all records, by kind and status.
    pub fn new(agent: &Agent, counts: &BTreeMap<MemoryKind, BTreeMap<&'static str, u64>>) -> Self {
        let (head, report) = (agent.head(), agent.report());
        let kinds: Map<String, Value> =
            counts.iter().map(|(kind, by_status)| (kind.as_str().to_owned(), json!(by_status))).collect();
        let calibration = head.reviews.calibration().map(|c| {
            json!({
                "reviews": c.reviews, "accuracy": c.accuracy, "brier": c.brier, "confidence": c.confidence,
                "gap": c.gap, "note": c.note(),
            })
        });
        let id: &AgentId = agent.id();
        Self(json!({
            "agent": id, "records": counts.values().flat_map(BTreeMap::values).sum::<u64>(), "kinds": kinds,
            "pending": head.pending, "reviews": head.reviews.count, "calibration": calibration,
            "growth_per_day": report.growth_per_day, "confirmation_rate": report.confirmation_rate,
            "always": in_effect(&head.pinned), "censors": in_effect(&head.censors),
        }))
    }
}

/// Proposals wait for a person's approval and have no effect.
fn in_effect(records: &BTreeMap<MemoryId, Memory>) -> Vec<MemoryId> {
    records.values().filter(|memory| memory.is_person_approved()).map(|memory| memory.id).collect()
}
