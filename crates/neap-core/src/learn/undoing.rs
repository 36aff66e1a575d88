//! Which change of a record is undone, and what it becomes then.

use std::collections::BTreeSet;

use super::rules::RECALL_MAX;
use super::{AgentDesk, MemoryAsk, Version};
use crate::ids::{Seq, Stamp};
use crate::memory::{Change, Lines, Memory, MemoryId, MemoryKind, RecallRequest, lifecycle};
use crate::terms::query_terms;
use crate::tools::Refusal;

/// A change to be undone, and the record to write in its stead.
#[derive(Debug)]
pub(super) struct Undoing<'v> {
    /// The change.
    pub(super) change: &'v Version,
    /// The record before it; none if the change was its writing.
    pub(super) before: Option<Memory>,
    /// What contradicted the record before it.
    contradicted: &'v [MemoryId],
}

impl Undoing<'_> {
    /// Where the facts are that gave way at the change; none where there can be none.
    pub(super) fn gave_way(&self) -> Option<MemoryAsk> {
        let fact = &self.change.memory;
        if fact.kind() != MemoryKind::Fact {
            return None;
        }
        if self.before.is_none() {
            // They say something like it.
            let limits = vec![(MemoryKind::Fact, RECALL_MAX)];
            let terms = query_terms(&fact.text());
            return Some(MemoryAsk::Recall(RecallRequest {
                superseded: true,
                ..RecallRequest::new(terms, limits)
            }));
        }
        let is_settled = self.change.change == Change::Confirmed && !self.contradicted.is_empty();
        is_settled.then(|| MemoryAsk::Get(self.contradicted.to_vec()))
    }

    /// When they did, if that was not with its writing.
    pub(super) fn fell(&self) -> Option<Stamp> {
        self.before.is_some().then_some(self.change.memory.updated)
    }
}

/// Finds the last change that is not undone yet. What contradicts the record and what shook it stays as it is now:
/// that follows from other records.
///
/// `damaged` are versions that cannot be read: what came before them is not known.
pub(super) fn undoing<'v>(
    id: MemoryId,
    versions: &'v [Version],
    damaged: &[Seq],
    desk: &AgentDesk<'_>,
) -> Result<Undoing<'v>, Refusal> {
    let nothing = || {
        Refusal::new(format!("Every change of {id} is undone already."))
            .hint("Remember anew what holds, or edit it.")
    };
    let at = last_change(versions).ok_or_else(nothing)?;
    let change = versions.get(at).ok_or_else(nothing)?;
    let before = at.checked_sub(1).and_then(|at| versions.get(at));
    let since = before.map_or(Seq(0), |before| before.seq);
    let is_missing = before.is_none() && change.change != Change::Remembered;
    if is_missing || damaged.iter().any(|seq| *seq > since) {
        return Err(Refusal::new(format!("What {id} said before event {} cannot be read.", change.seq))
            .hint("Edit it so that it says what holds."));
    }
    let now = versions.last().map(|version| &version.memory);
    let contradicted = before.map_or(&[][..], |before| &before.memory.contested_with);
    let before = before.zip(now).map(|(before, now)| restored(&before.memory, now, &change.change, desk));
    Ok(Undoing { change, before, contradicted })
}

fn restored(before: &Memory, now: &Memory, change: &Change, desk: &AgentDesk<'_>) -> Memory {
    let mut memory = before.clone();
    memory.contested_with.clone_from(&now.contested_with);
    memory.shaken_by.clone_from(&now.shaken_by);
    // Both cannot hold; which does, someone has to say.
    if let Change::Superseded { by, .. } = change
        && !memory.contested_with.contains(by)
    {
        memory.contested_with.push(*by);
    }
    if (&memory.contested_with, &memory.shaken_by) != (&before.contested_with, &before.shaken_by) {
        memory.lines = Lines::of(desk.counter, &memory);
    }
    memory
}

/// Where the last change is that someone made and that is not undone.
fn last_change(versions: &[Version]) -> Option<usize> {
    let mut undone = BTreeSet::new();
    for (at, version) in versions.iter().enumerate() {
        if let Change::Undone { seq } = version.change {
            let earlier = versions.get(..at).unwrap_or_default();
            let own = earlier.iter().position(|version| version.seq == seq);
            // An event of another record: the one that had taken the place of this.
            let superseded = || earlier.iter().rposition(|v| matches!(v.change, Change::Superseded { .. }));
            undone.extend(own.or_else(superseded));
        }
    }
    let open = |(at, version): &(usize, &Version)| !undone.contains(at) && is_own(version);
    versions.iter().enumerate().rev().find(open).map(|(at, _)| at)
}

/// Whether someone made this change, or it followed from others.
fn is_own(version: &Version) -> bool {
    match &version.change {
        Change::Undone { .. } | Change::Contested { .. } | Change::Shaken { .. } | Change::Settled { .. } => false,
        Change::Moved { from, reason } => {
            !lifecycle::is_called(version.memory.kind(), *from, version.memory.status, reason)
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
