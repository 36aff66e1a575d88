//! What an agent must always have at hand, and what is counted as records change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Body, Confidence, Memory, MemoryId, MemoryKind, Outcome, Stakes, Status};
use crate::ids::{SessionId, Stamp};

/// Pinned records at once, at most; the rules refuse more.
pub const PINNED_MAX: usize = 64;
/// Censors in force at once, at most; the rules refuse more.
pub const CENSORS_MAX: usize = 256;
/// Decisions without an outcome that are kept at hand: the newest.
const PENDING_MAX: usize = 64;

/// One row, however much an agent knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentHead {
    /// Records of each kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<MemoryKind, KindCount>,
    /// Censors in force: they are looked at in every turn.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub censors: BTreeMap<MemoryId, Memory>,
    /// Preferences and standing rules: they are always loaded.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pinned: BTreeMap<MemoryId, Memory>,
    /// Decisions without an outcome, the newest of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingDecision>,
    /// Figures of reviewed decisions.
    pub reviews: Reviews,
}

/// Figures of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KindCount {
    /// The number that the last record got.
    pub last: u32,
    /// Records in a status that search finds.
    pub current: u64,
    /// Facts met more than once.
    pub confirmed: u64,
    /// When the first was written.
    pub first_at: Stamp,
}

/// A decision that waits for its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingDecision {
    /// Which.
    pub id: MemoryId,
    /// What was chosen, in short.
    pub text: String,
    /// What hangs on it.
    pub stakes: Stakes,
    /// In which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// When.
    pub at: Stamp,
}

/// Sums over reviewed decisions, exact: confidence and value in thousandths, squares in millionths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reviews {
    /// How many.
    pub count: u64,
    /// Their confidences.
    pub confidence_sum: u64,
    /// Their values: success 1, partial ½, failure 0.
    pub value_sum: u64,
    /// Squares of the differences.
    pub squares_sum: u64,
}

/// What a record counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Where it is in its life.
    pub status: Status,
    /// Whether it is a fact met more than once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
    /// Confidence and outcome, if it is a reviewed decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<(Confidence, Outcome)>,
}

impl Standing {
    /// What a record counts as.
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
    /// What it is worth, in thousandths; none while it is not known.
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
    /// The id that the next record of a kind gets; none when there can be no more.
    pub fn next_id(&self, kind: MemoryKind) -> Option<MemoryId> {
        MemoryId::new(kind, self.of(kind).last.checked_add(1)?)
    }

    /// Figures of a kind.
    pub fn of(&self, kind: MemoryKind) -> KindCount {
        self.kinds.get(&kind).copied().unwrap_or_default()
    }

    /// Follows an erasure. The events of the record are gone as well, so nothing here was ever counted of it, but
    /// that its number was given.
    pub(crate) fn forget(&mut self, id: MemoryId, at: Stamp) {
        let count = self.kinds.entry(id.kind()).or_default();
        if count.last == 0 {
            count.first_at = at;
        }
        count.last = count.last.max(id.number());
        self.pinned.remove(&id);
        self.censors.remove(&id);
        self.pending.retain(|pending| pending.id != id);
    }

    /// Follows a change.
    pub(crate) fn follow(&mut self, memory: &Memory, was: Option<&Standing>, at: Stamp) {
        let now = Standing::of(memory);
        let count = self.kinds.entry(memory.kind()).or_default();
        if count.last == 0 {
            count.first_at = at;
        }
        count.last = count.last.max(memory.id.number());
        for (standing, add) in was.map(|was| (*was, false)).into_iter().chain([(now, true)]) {
            tally(&mut count.current, standing.status.is_searched(), add);
            tally(&mut count.confirmed, standing.confirmed, add);
            if let Some((confidence, outcome)) = standing.review {
                self.reviews.tally(confidence, outcome, add);
            }
        }
        let id = memory.id;
        let in_force = memory.status.is_current();
        keep(&mut self.pinned, memory, memory.pinned && in_force);
        keep(&mut self.censors, memory, memory.kind() == MemoryKind::Censor && in_force);
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

impl Reviews {
    pub(super) fn tally(&mut self, confidence: Confidence, outcome: Outcome, add: bool) {
        let Some(value) = outcome.value() else { return };
        let sure = confidence.thousandths();
        let by = |sum: &mut u64, n: u64| *sum = if add { *sum + n } else { sum.saturating_sub(n) };
        by(&mut self.count, 1);
        by(&mut self.confidence_sum, sure);
        by(&mut self.value_sum, value);
        by(&mut self.squares_sum, sure.abs_diff(value).pow(2));
    }
}

fn tally(sum: &mut u64, counts: bool, add: bool) {
    *sum = match (counts, add) {
        (false, _) => *sum,
        (true, true) => *sum + 1,
        (true, false) => sum.saturating_sub(1),
    };
}

fn keep(at_hand: &mut BTreeMap<MemoryId, Memory>, memory: &Memory, is_kept: bool) {
    if is_kept {
        at_hand.insert(memory.id, memory.clone());
    } else {
        at_hand.remove(&memory.id);
    }
}
