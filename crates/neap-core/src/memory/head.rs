//! An agent's head: the records every turn needs, and the counts kept as records change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Body, Confidence, Memory, MemoryId, MemoryKind, Outcome, SentDraft, Stakes, Status, UsedKey};
use crate::base::ids::{Seq, SessionId, Stamp};

pub const PINNED_MAX: usize = 64;
pub const CENSORS_MAX: usize = 256;
/// Open decisions kept in the head; the newest.
const PENDING_MAX: usize = 64;

/// One row per agent, of bounded size.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentHead {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<MemoryKind, KindCount>,
    /// Censors in force, checked in every turn.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub censors: BTreeMap<MemoryId, Memory>,
    /// Preferences and standing rules, always loaded.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pinned: BTreeMap<MemoryId, Memory>,
    /// The newest decisions without an outcome.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingDecision>,
    pub reviews: ReviewStats,
    /// Callers' keys of the newest drafts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub used_keys: Vec<UsedKey>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KindCount {
    /// The last number given out.
    pub last: u32,
    /// Records that search finds.
    pub current: u64,
    /// Facts with at least one confirmation.
    pub confirmed: u64,
    pub first_at: Stamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingDecision {
    pub id: MemoryId,
    /// The first 120 characters of the description.
    pub text: String,
    pub stakes: Stakes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    pub at: Stamp,
}

/// Exact sums over reviewed decisions: confidence and value in thousandths, squares in millionths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewStats {
    pub count: u64,
    pub confidence_sum: u64,
    /// Success 1, partial ½, failure 0.
    pub value_sum: u64,
    /// Squared differences of confidence and value.
    pub squares_sum: u64,
}

/// What the head counts of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedState {
    pub status: Status,
    /// Fact with at least one confirmation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<(Confidence, Outcome)>,
}

impl CountedState {
    pub fn of(memory: &Memory) -> Self {
        let confirmed = matches!(&memory.body, Body::Fact(fact) if fact.confirmations > 0);
        let review = match &memory.body {
            Body::Decision(decision) if decision.outcome != Outcome::Pending => {
                Some((decision.confidence, decision.outcome))
            }
            Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => None,
        };
        Self { status: memory.status, confirmed, review }
    }
}

impl Outcome {
    /// Value in thousandths; `None` while pending.
    pub fn value(self) -> Option<u64> {
        match self {
            Outcome::Pending => None,
            Outcome::Success => Some(1_000),
            Outcome::Partial => Some(500),
            Outcome::Failure => Some(0),
        }
    }
}

impl AgentHead {
    /// How many more records can be pinned.
    pub fn pin_room(&self) -> usize {
        PINNED_MAX.saturating_sub(self.pinned.values().filter(|memory| memory.is_person_approved()).count())
    }

    /// `None` once the numbers are used up.
    pub fn next_id(&self, kind: MemoryKind) -> Option<MemoryId> {
        MemoryId::new(kind, self.kind_count(kind).last.checked_add(1)?)
    }

    pub fn kind_count(&self, kind: MemoryKind) -> KindCount {
        self.kinds.get(&kind).copied().unwrap_or_default()
    }

    /// Applies an erasure. The record's events are gone too, so only the use of its number is counted.
    pub(crate) fn apply_erasure(&mut self, id: MemoryId, at: Stamp) {
        let count = self.kinds.entry(id.kind()).or_default();
        if count.last == 0 {
            count.first_at = at;
        }
        count.last = count.last.max(id.number());
        self.pinned.remove(&id);
        self.censors.remove(&id);
        self.used_keys.retain(|used| used.id != id);
        self.pending.retain(|pending| pending.id != id);
    }

    /// Notes the key under which a draft was sent that became this record.
    pub(crate) fn apply_sent(&mut self, sent: Option<SentDraft>, seq: Seq, id: MemoryId) {
        UsedKey::note(&mut self.used_keys, sent, seq, id);
    }

    pub(crate) fn apply_change(&mut self, memory: &Memory, was: Option<&CountedState>, at: Stamp) {
        let now = CountedState::of(memory);
        let count = self.kinds.entry(memory.kind()).or_default();
        if count.last == 0 {
            count.first_at = at;
        }
        count.last = count.last.max(memory.id.number());
        for (state, add) in was.map(|was| (*was, false)).into_iter().chain([(now, true)]) {
            tally(&mut count.current, state.status.is_searchable(), add);
            tally(&mut count.confirmed, state.confirmed, add);
            if let Some((confidence, outcome)) = state.review {
                self.reviews.tally(confidence, outcome, add);
            }
        }
        let id = memory.id;
        let in_force = memory.status.is_current();
        insert_or_remove(&mut self.pinned, memory, memory.pinned && in_force);
        insert_or_remove(&mut self.censors, memory, memory.kind() == MemoryKind::Censor && in_force);
        self.pending.retain(|pending| pending.id != id);
        if let Body::Decision(decision) = &memory.body
            && decision.outcome == Outcome::Pending
        {
            let text: String = decision.description.chars().take(120).collect();
            let (session, at) = (memory.provenance.session.clone(), memory.created);
            self.pending.push(PendingDecision { id, text, stakes: decision.stakes, session, at });
            self.pending.sort_by_key(|pending| pending.id);
            let over = self.pending.len().saturating_sub(PENDING_MAX);
            self.pending.drain(..over);
        }
    }
}

impl ReviewStats {
    pub(super) fn tally(&mut self, confidence: Confidence, outcome: Outcome, add: bool) {
        let Some(value) = outcome.value() else { return };
        let thousandths = confidence.thousandths();
        let adjust = |sum: &mut u64, n: u64| *sum = if add { *sum + n } else { sum.saturating_sub(n) };
        adjust(&mut self.count, 1);
        adjust(&mut self.confidence_sum, thousandths);
        adjust(&mut self.value_sum, value);
        adjust(&mut self.squares_sum, thousandths.abs_diff(value).pow(2));
    }
}

fn tally(sum: &mut u64, counts: bool, add: bool) {
    *sum = match (counts, add) {
        (false, _) => *sum,
        (true, true) => *sum + 1,
        (true, false) => sum.saturating_sub(1),
    };
}

fn insert_or_remove(records: &mut BTreeMap<MemoryId, Memory>, memory: &Memory, keep: bool) {
    if keep {
        records.insert(memory.id, memory.clone());
    } else {
        records.remove(&memory.id);
    }
}
