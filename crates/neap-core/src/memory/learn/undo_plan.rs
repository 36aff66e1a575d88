//! Finds the change to undo and the record to restore.

use std::collections::BTreeSet;

use super::operations::superseded_lookup;
use super::{LearnContext, MemoryQuery, MemoryVersion};
use crate::base::ids::{Seq, Stamp};
use crate::base::refusal::Refusal;
use crate::memory::{Change, Memory, MemoryId, MemoryKind, RenderedMemory, lifecycle};

/// A change to undo, and the record to write instead.
#[derive(Debug)]
pub(super) struct UndoPlan<'v> {
    pub(super) change: &'v MemoryVersion,
    /// `None` if the change created the record.
    pub(super) before: Option<Memory>,
    /// Facts that contradicted the record before the change.
    contradicted: &'v [MemoryId],
}

impl UndoPlan<'_> {
    /// Finds the facts that the change superseded; `None` if there can be none.
    pub(super) fn superseded_query(&self) -> Option<MemoryQuery> {
        let fact = &self.change.memory;
        if fact.kind() != MemoryKind::Fact {
            return None;
        }
        if self.before.is_none() {
            return Some(superseded_lookup(fact));
        }
        let is_settled = self.change.change == Change::Confirmed && !self.contradicted.is_empty();
        is_settled.then(|| MemoryQuery::Get(self.contradicted.to_vec()))
    }

    /// When the facts were superseded, if not when the record was written.
    pub(super) fn superseded_at(&self) -> Option<Stamp> {
        self.before.is_some().then_some(self.change.memory.updated)
    }
}

/// Finds the last change that is not undone. Contradictions and superseded support keep their current state,
/// because they depend on other records.
///
/// `damaged` are versions that cannot be read: the state before them is unknown.
pub(super) fn plan_undo<'v>(
    id: MemoryId,
    versions: &'v [MemoryVersion],
    damaged: &[Seq],
    context: &LearnContext<'_>,
) -> Result<UndoPlan<'v>, Refusal> {
    let nothing_left = || {
        Refusal::new(format!("Every change of {id} is undone already."))
            .hint("Remember anew what holds, or edit it.")
    };
    let at = last_change(versions).ok_or_else(nothing_left)?;
    let change = versions.get(at).ok_or_else(nothing_left)?;
    let before = at.checked_sub(1).and_then(|at| versions.get(at));
    let since = before.map_or(Seq(0), |before| before.seq);
    let is_missing = before.is_none() && change.change != Change::Remembered;
    if is_missing || damaged.iter().any(|seq| *seq > since) {
        return Err(Refusal::new(format!("What {id} said before event {} cannot be read.", change.seq))
            .hint("Edit it so that it says what holds."));
    }
    let current = versions.last().map(|version| &version.memory);
    let contradicted = before.map_or(&[][..], |before| &before.memory.contested_with);
    let before =
        before.zip(current).map(|(before, current)| restore(&before.memory, current, &change.change, context));
    Ok(UndoPlan { change, before, contradicted })
}

fn restore(before: &Memory, current: &Memory, change: &Change, context: &LearnContext<'_>) -> Memory {
    let mut memory = before.clone();
    memory.contested_with.clone_from(&current.contested_with);
    memory.shaken_by.clone_from(&current.shaken_by);
    // Both cannot be true; a person has to say which is.
    if let Change::Superseded { by, .. } = change
        && !memory.contested_with.contains(by)
    {
        memory.contested_with.push(*by);
    }
    if (&memory.contested_with, &memory.shaken_by) != (&before.contested_with, &before.shaken_by) {
        memory.lines = RenderedMemory::render(context.counter, &memory);
    }
    memory
}

/// Index of the last deliberate change that is not undone.
fn last_change(versions: &[MemoryVersion]) -> Option<usize> {
    let mut undone = BTreeSet::new();
    for (at, version) in versions.iter().enumerate() {
        if let Change::Undone { seq } = version.change {
            let earlier = versions.get(..at).unwrap_or_default();
            let own = earlier.iter().position(|version| version.seq == seq);
            // The undone event belongs to another record, the one that had superseded this.
            let superseded = || earlier.iter().rposition(|v| matches!(v.change, Change::Superseded { .. }));
            undone.extend(own.or_else(superseded));
        }
    }
    let open = |(at, version): &(usize, &MemoryVersion)| !undone.contains(at) && is_deliberate(version);
    versions.iter().enumerate().rev().find(open).map(|(at, _)| at)
}

/// Whether a person or model made the change, rather than a rule.
fn is_deliberate(version: &MemoryVersion) -> bool {
    match &version.change {
        Change::Undone { .. } | Change::Contested { .. } | Change::Shaken { .. } | Change::Settled { .. } => false,
        Change::Moved { from, reason } => {
            !lifecycle::is_automatic(version.memory.kind(), *from, version.memory.status, reason)
        }
        Change::Remembered
        | Change::Confirmed
        | Change::Superseded { .. }
        | Change::Edited
        | Change::Reviewed
        | Change::Activated { .. }
        | Change::Triggered
        | Change::FalsePositive
        | Change::Reworded
        | Change::ForgetAsked { .. } => true,
    }
}
