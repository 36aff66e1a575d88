//! What time and use do to memories: one table of moves (003, Garbage Collection & Lifecycle).
//!
//! A record goes one step at a time: an episode that was not looked at for a year is summarized, then archived.
//! Whether a fact holds at a moment ([`Memory::holds`]) is told by its times, not by its status: a fact that has
//! expired was not wrong, it is only left out.

use super::{
    Action, Author, Body, Censor, Change, Fact, Lines, Memory, MemoryKind, MemoryWrite, Outcome, Procedure, Status,
};
use crate::censor::allowed;
use crate::ids::{Seq, Stamp};
use crate::tokens::TokenCounter;

const DAY: i64 = 24 * 60 * 60 * 1_000;
/// Age at which an episode is no longer recent.
pub const SUMMARIZED_AFTER: i64 = 30 * DAY;
/// Age at which an episode's detail leaves the record.
pub const ARCHIVED_AFTER: i64 = 90 * DAY;
/// Confirmations that make a fact a core one.
pub const CORE_CONFIRMATIONS: u32 = 3;
/// Outcomes from which on a procedure's success is judged.
pub const PROCEDURE_OUTCOMES_MIN: u32 = 5;
/// Right triggers that make a censor stricter.
pub const ESCALATION_TRIGGERS: u32 = 3;
/// Triggers from which on a censor is judged by its false ones.
pub const CENSOR_TRIGGERS_MIN: u32 = 5;

/// One move that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// For which kind.
    pub kind: MemoryKind,
    /// From where.
    pub from: Status,
    /// To where.
    pub to: Status,
    /// What calls for it.
    pub by: By,
    /// Why, in words.
    pub cause: &'static str,
}

/// What calls for a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Counts and outcomes in the record: [`next`] finds it.
    Use,
    /// Its age: [`next`] finds it, [`Memory::due`] says when.
    Time,
    /// Someone's word.
    Word,
}

const fn row(kind: MemoryKind, from: Status, to: Status, by: By, cause: &'static str) -> Move {
    Move { kind, from, to, by, cause }
}

const MET: &str = "met again";
const MET_OFTEN: &str = "met again three times";
const MARKED: &str = "marked as core";
const REPLACED: &str = "a newer fact took its place";
const WRONG: &str = "proved wrong";
const OLDER: &str = "older than 30 days";
const OLD: &str = "older than 90 days";
const WORKS: &str = "more than 60 % of its uses went well";
const FAILS: &str = "less than 40 % of its uses went well";
const MIXED: &str = "between 40 % and 60 % of its uses went well";
const OUT_OF_USE: &str = "taken out of use";
const FOUND: &str = "found something for the first time";
const FOUND_OFTEN: &str = "found something three times";
const TOO_OFTEN_WRONG: &str = "more than half of what it found was wrong";
const CARRIED_OUT: &str = "carried out";
const CAME_OUT: &str = "its outcome is known";

/// Every move that there is. Undoing a change is no move: it writes the record before it again.
pub const TABLE: &[Move] = {
    use By::{Time, Use, Word};
    use MemoryKind as K;
    use Status as S;
    &[
        row(K::Decision, S::Recorded, S::Pending, Word, CARRIED_OUT),
        row(K::Decision, S::Recorded, S::Reviewed, Use, CAME_OUT),
        row(K::Decision, S::Pending, S::Reviewed, Use, CAME_OUT),
        row(K::Fact, S::New, S::Confirmed, Use, MET),
        row(K::Fact, S::Confirmed, S::Core, Use, MET_OFTEN),
        row(K::Fact, S::New, S::Core, Use, MET_OFTEN),
        row(K::Fact, S::New, S::Core, Word, MARKED),
        row(K::Fact, S::Confirmed, S::Core, Word, MARKED),
        row(K::Fact, S::New, S::Superseded, Use, REPLACED),
        row(K::Fact, S::Confirmed, S::Superseded, Use, REPLACED),
        row(K::Fact, S::Core, S::Superseded, Use, REPLACED),
        row(K::Fact, S::New, S::Inactive, Word, WRONG),
        row(K::Fact, S::Confirmed, S::Inactive, Word, WRONG),
        row(K::Fact, S::Core, S::Inactive, Word, WRONG),
        row(K::Fact, S::Superseded, S::Inactive, Word, WRONG),
        row(K::Episode, S::Active, S::Summarized, Time, OLDER),
        row(K::Episode, S::Summarized, S::Archived, Time, OLD),
        row(K::Procedure, S::Active, S::Effective, Use, WORKS),
        row(K::Procedure, S::Ineffective, S::Effective, Use, WORKS),
        row(K::Procedure, S::Active, S::Ineffective, Use, FAILS),
        row(K::Procedure, S::Effective, S::Ineffective, Use, FAILS),
        row(K::Procedure, S::Effective, S::Active, Use, MIXED),
        row(K::Procedure, S::Ineffective, S::Active, Use, MIXED),
        row(K::Procedure, S::Active, S::Retired, Word, OUT_OF_USE),
        row(K::Procedure, S::Effective, S::Retired, Word, OUT_OF_USE),
        row(K::Procedure, S::Ineffective, S::Retired, Word, OUT_OF_USE),
        row(K::Censor, S::Created, S::Active, Use, FOUND),
        row(K::Censor, S::Active, S::Escalated, Use, FOUND_OFTEN),
        row(K::Censor, S::Created, S::Retired, Use, TOO_OFTEN_WRONG),
        row(K::Censor, S::Active, S::Retired, Use, TOO_OFTEN_WRONG),
        row(K::Censor, S::Escalated, S::Retired, Use, TOO_OFTEN_WRONG),
        row(K::Censor, S::Created, S::Retired, Word, OUT_OF_USE),
        row(K::Censor, S::Active, S::Retired, Word, OUT_OF_USE),
        row(K::Censor, S::Escalated, S::Retired, Word, OUT_OF_USE),
    ]
};

/// Whether a memory of this kind may go from one status to another.
pub fn may(kind: MemoryKind, from: Status, to: Status) -> bool {
    TABLE.iter().any(|row| row.kind == kind && row.from == from && row.to == to)
}

/// Whether use or time called for a move, rather than someone's word.
pub fn is_called(kind: MemoryKind, from: Status, to: Status, cause: &str) -> bool {
    let is_it = |row: &Move| (row.kind, row.from, row.to, row.cause) == (kind, from, to, cause);
    TABLE.iter().any(|row| row.by != By::Word && is_it(row))
}

/// Where use and time call a memory to at this moment, and why; none if it stays.
pub fn next(memory: &Memory, now: Stamp) -> Option<(Status, &'static str)> {
    let wanted = wanted(memory, now)?;
    let called = |row: &&Move| {
        row.by != By::Word && row.kind == memory.kind() && row.from == memory.status && row.to == wanted
    };
    TABLE.iter().find(called).map(|row| (row.to, row.cause))
}

/// The write of that move: the record after it, its lines made anew.
///
/// `detail_at` is the event that last had an episode's detail; the record names it once it has the detail no longer.
pub fn moved(memory: &Memory, detail_at: Seq, counter: &dyn TokenCounter, now: Stamp) -> Option<MemoryWrite> {
    let (status, reason) = next(memory, now)?;
    let mut after = Memory { status, updated: now, ..memory.clone() };
    match (&mut after.body, status) {
        (Body::Episode(episode), Status::Archived) if !episode.detail.is_empty() => {
            episode.detail.clear();
            episode.detail_at = Some(detail_at);
        }
        (Body::Censor(censor), Status::Escalated) => {
            censor.action = escalated(memory.provenance.author, censor.action);
        }
        (Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_), _) => {}
    }
    after.lines = Lines::of(counter, &after);
    let change = Change::Moved { from: memory.status, reason: reason.to_owned() };
    Some(MemoryWrite::of(change, memory, after))
}

impl Memory {
    /// When time next calls for a move; none where only use or someone's word does.
    pub fn due(&self) -> Option<Stamp> {
        let age = match (self.kind(), self.status) {
            (MemoryKind::Episode, Status::Active) => SUMMARIZED_AFTER,
            (MemoryKind::Episode, Status::Summarized) => ARCHIVED_AFTER,
            (MemoryKind::Decision | MemoryKind::Fact | MemoryKind::Procedure | MemoryKind::Censor, _)
            | (MemoryKind::Episode, _) => return None,
        };
        Some(Stamp(self.created.0.saturating_add(age)))
    }

    /// Whether it holds at a moment, by its times: from the first moment on, until before the last.
    pub fn holds(&self, now: Stamp) -> bool {
        self.valid_from.is_none_or(|from| from <= now) && self.valid_until.is_none_or(|until| now < until)
    }
}

/// Where a record should be; it goes there only if there is such a move.
fn wanted(memory: &Memory, now: Stamp) -> Option<Status> {
    match &memory.body {
        Body::Decision(decision) => (decision.outcome != Outcome::Pending).then_some(Status::Reviewed),
        Body::Fact(fact) => of_fact(fact),
        Body::Procedure(procedure) => of_procedure(procedure),
        Body::Episode(_) => match memory.due() {
            Some(due) if due <= now => {
                Some(if memory.status == Status::Active { Status::Summarized } else { Status::Archived })
            }
            Some(_) | None => None,
        },
        Body::Censor(censor) => of_censor(censor, memory),
    }
}

fn of_fact(fact: &Fact) -> Option<Status> {
    if fact.superseded_by.is_some() {
        return Some(Status::Superseded);
    }
    match fact.confirmations {
        0 => None,
        1..CORE_CONFIRMATIONS => Some(Status::Confirmed),
        CORE_CONFIRMATIONS.. => Some(Status::Core),
    }
}

/// Exact: a share of 0.6 is not more than 0.6.
fn of_procedure(procedure: &Procedure) -> Option<Status> {
    let (well, all) =
        (u64::from(procedure.successes), u64::from(procedure.successes) + u64::from(procedure.failures));
    if all < u64::from(PROCEDURE_OUTCOMES_MIN) {
        return None;
    }
    Some(match () {
        () if well * 10 > all * 6 => Status::Effective,
        () if well * 10 < all * 4 => Status::Ineffective,
        () => Status::Active,
    })
}

/// Retired by false triggers, stricter by right ones: a rule that is often wrong never grows.
fn of_censor(censor: &Censor, memory: &Memory) -> Option<Status> {
    let (triggers, wrong) = (censor.triggers, censor.false_positives);
    if triggers >= CENSOR_TRIGGERS_MIN && u64::from(wrong) * 2 > u64::from(triggers) {
        return Some(Status::Retired);
    }
    if memory.status == Status::Created {
        return (triggers > 0).then_some(Status::Active);
    }
    let grows = escalated(memory.provenance.author, censor.action) > censor.action;
    (grows && triggers.saturating_sub(wrong) >= ESCALATION_TRIGGERS).then_some(Status::Escalated)
}

/// One step: guidance becomes refusal, where the rule's author may set that (DESIGN, decision 14).
fn escalated(author: Author, action: Action) -> Action {
    match action {
        Action::Steer => allowed(author, Action::Refuse),
        Action::Refuse | Action::Abort => action,
    }
}

#[cfg(test)]
#[path = "lifecycle_tests.rs"]
mod tests;
