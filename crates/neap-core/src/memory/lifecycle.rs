//! Status transitions of memories by time and use, in one table (003, Garbage Collection & Lifecycle).
//!
//! A record moves one step at a time: however late the sweep, an episode is summarized first, then archived.
//! Validity ([`Memory::is_valid_at`]) is independent of status: an expired fact was not wrong, only left out.

use super::{
    Author, Body, Censor, CensorAction, Change, Fact, Memory, MemoryKind, MemoryWrite, Outcome, Procedure,
    RenderedMemory, Status,
};
use crate::base::ids::{Seq, Stamp};
use crate::base::tokens::TokenCounter;
use crate::memory::censor::cap_action;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
pub const SUMMARIZED_AFTER_MS: i64 = 30 * DAY_MS;
/// Age at which an episode is archived and its detail leaves the record.
pub const ARCHIVED_AFTER_MS: i64 = 90 * DAY_MS;
pub const CORE_CONFIRMATIONS: u32 = 3;
/// Results needed before a procedure is rated.
pub const PROCEDURE_OUTCOMES_MIN: u32 = 5;
/// Correct matches that escalate a censor.
pub const ESCALATION_TRIGGERS: u32 = 3;
/// Matches needed before false positives can retire a censor.
pub const CENSOR_TRIGGERS_MIN: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    pub kind: MemoryKind,
    pub from: Status,
    pub to: Status,
    pub trigger: TransitionTrigger,
    pub cause: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionTrigger {
    /// Counts and outcomes in the record; found by [`next_status`].
    Use,
    /// Age; found by [`next_status`] and scheduled by [`Memory::transition_due`].
    Time,
    /// A command by a person or model.
    Explicit,
}

const fn transition(
    kind: MemoryKind,
    from: Status,
    to: Status,
    trigger: TransitionTrigger,
    cause: &'static str,
) -> Transition {
    Transition { kind, from, to, trigger, cause }
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

/// Every transition. Undo is not one: it writes an earlier record again.
pub const TRANSITIONS: &[Transition] = {
    use MemoryKind as K;
    use Status as S;
    use TransitionTrigger::{Explicit, Time, Use};
    &[
        transition(K::Decision, S::Recorded, S::Pending, Explicit, CARRIED_OUT),
        transition(K::Decision, S::Recorded, S::Reviewed, Use, CAME_OUT),
        transition(K::Decision, S::Pending, S::Reviewed, Use, CAME_OUT),
        transition(K::Fact, S::New, S::Confirmed, Use, MET),
        transition(K::Fact, S::Confirmed, S::Core, Use, MET_OFTEN),
        transition(K::Fact, S::New, S::Core, Use, MET_OFTEN),
        transition(K::Fact, S::New, S::Core, Explicit, MARKED),
        transition(K::Fact, S::Confirmed, S::Core, Explicit, MARKED),
        transition(K::Fact, S::New, S::Superseded, Use, REPLACED),
        transition(K::Fact, S::Confirmed, S::Superseded, Use, REPLACED),
        transition(K::Fact, S::Core, S::Superseded, Use, REPLACED),
        transition(K::Fact, S::New, S::Inactive, Explicit, WRONG),
        transition(K::Fact, S::Confirmed, S::Inactive, Explicit, WRONG),
        transition(K::Fact, S::Core, S::Inactive, Explicit, WRONG),
        transition(K::Fact, S::Superseded, S::Inactive, Explicit, WRONG),
        transition(K::Episode, S::Active, S::Summarized, Time, OLDER),
        transition(K::Episode, S::Summarized, S::Archived, Time, OLD),
        transition(K::Procedure, S::Active, S::Effective, Use, WORKS),
        transition(K::Procedure, S::Ineffective, S::Effective, Use, WORKS),
        transition(K::Procedure, S::Active, S::Ineffective, Use, FAILS),
        transition(K::Procedure, S::Effective, S::Ineffective, Use, FAILS),
        transition(K::Procedure, S::Effective, S::Active, Use, MIXED),
        transition(K::Procedure, S::Ineffective, S::Active, Use, MIXED),
        transition(K::Procedure, S::Active, S::Retired, Explicit, OUT_OF_USE),
        transition(K::Procedure, S::Effective, S::Retired, Explicit, OUT_OF_USE),
        transition(K::Procedure, S::Ineffective, S::Retired, Explicit, OUT_OF_USE),
        transition(K::Censor, S::Created, S::Active, Use, FOUND),
        transition(K::Censor, S::Active, S::Escalated, Use, FOUND_OFTEN),
        transition(K::Censor, S::Created, S::Retired, Use, TOO_OFTEN_WRONG),
        transition(K::Censor, S::Active, S::Retired, Use, TOO_OFTEN_WRONG),
        transition(K::Censor, S::Escalated, S::Retired, Use, TOO_OFTEN_WRONG),
        transition(K::Censor, S::Created, S::Retired, Explicit, OUT_OF_USE),
        transition(K::Censor, S::Active, S::Retired, Explicit, OUT_OF_USE),
        transition(K::Censor, S::Escalated, S::Retired, Explicit, OUT_OF_USE),
    ]
};

pub fn is_allowed(kind: MemoryKind, from: Status, to: Status) -> bool {
    TRANSITIONS.iter().any(|row| row.kind == kind && row.from == from && row.to == to)
}

/// Whether use or time caused the transition, rather than a command.
pub fn is_automatic(kind: MemoryKind, from: Status, to: Status, cause: &str) -> bool {
    let matches = |row: &Transition| (row.kind, row.from, row.to, row.cause) == (kind, from, to, cause);
    TRANSITIONS.iter().any(|row| row.trigger != TransitionTrigger::Explicit && matches(row))
}

/// The transition that use and time call for now, and its cause; `None` if the status stays.
pub fn next_status(memory: &Memory, now: Stamp) -> Option<(Status, &'static str)> {
    let wanted = target_status(memory, now)?;
    let is_due = |row: &&Transition| {
        row.trigger != TransitionTrigger::Explicit
            && row.kind == memory.kind()
            && row.from == memory.status
            && row.to == wanted
    };
    TRANSITIONS.iter().find(is_due).map(|row| (row.to, row.cause))
}

/// The write for the transition that is due, with lines rendered again.
///
/// `detail_at` is the event that last had an episode's detail; an archived record refers to it.
pub fn transition_write(
    memory: &Memory,
    detail_at: Seq,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> Option<MemoryWrite> {
    let (status, reason) = next_status(memory, now)?;
    let mut after = Memory { status, updated: now, ..memory.clone() };
    match (&mut after.body, status) {
        (Body::Episode(episode), Status::Archived) if !episode.detail.is_empty() => {
            episode.detail.clear();
            episode.detail_at = Some(detail_at);
        }
        (Body::Censor(censor), Status::Escalated) => {
            censor.action = escalate(memory.provenance.author, censor.action);
        }
        (Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_), _) => {}
    }
    after.lines = RenderedMemory::render(counter, &after);
    let change = Change::Moved { from: memory.status, reason: reason.to_owned() };
    Some(MemoryWrite::update(change, memory, after))
}

impl Memory {
    /// When time next causes a transition; `None` if only use or a command can.
    pub fn transition_due(&self) -> Option<Stamp> {
        let age = match (self.kind(), self.status) {
            (MemoryKind::Episode, Status::Active) => SUMMARIZED_AFTER_MS,
            (MemoryKind::Episode, Status::Summarized) => ARCHIVED_AFTER_MS,
            (MemoryKind::Decision | MemoryKind::Fact | MemoryKind::Procedure | MemoryKind::Censor, _)
            | (MemoryKind::Episode, _) => return None,
        };
        Some(Stamp(self.created.0.saturating_add(age)))
    }

    /// Whether it is valid at a time; the end is exclusive.
    pub fn is_valid_at(&self, now: Stamp) -> bool {
        self.valid_from.is_none_or(|from| from <= now) && self.valid_until.is_none_or(|until| now < until)
    }
}

/// The status a record should have; it changes only if the table has such a transition.
fn target_status(memory: &Memory, now: Stamp) -> Option<Status> {
    match &memory.body {
        Body::Decision(decision) => (decision.outcome != Outcome::Pending).then_some(Status::Reviewed),
        Body::Fact(fact) => fact_status(fact),
        Body::Procedure(procedure) => procedure_status(procedure),
        Body::Episode(_) => match memory.transition_due() {
            Some(due) if due <= now => {
                Some(if memory.status == Status::Active { Status::Summarized } else { Status::Archived })
            }
            Some(_) | None => None,
        },
        Body::Censor(censor) => censor_status(censor, memory),
    }
}

fn fact_status(fact: &Fact) -> Option<Status> {
    if fact.superseded_by.is_some() {
        return Some(Status::Superseded);
    }
    match fact.confirmations {
        0 => None,
        1..CORE_CONFIRMATIONS => Some(Status::Confirmed),
        CORE_CONFIRMATIONS.. => Some(Status::Core),
    }
}

/// Exact arithmetic: a rate of 0.6 is not above 0.6.
fn procedure_status(procedure: &Procedure) -> Option<Status> {
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

/// False positives retire a censor, correct matches escalate it; a rule that is often wrong never escalates.
fn censor_status(censor: &Censor, memory: &Memory) -> Option<Status> {
    let (triggers, wrong) = (censor.triggers, censor.false_positives);
    if triggers >= CENSOR_TRIGGERS_MIN && u64::from(wrong) * 2 > u64::from(triggers) {
        return Some(Status::Retired);
    }
    if memory.status == Status::Created {
        return (triggers > 0).then_some(Status::Active);
    }
    let grows = escalate(memory.provenance.author, censor.action) > censor.action;
    (grows && triggers.saturating_sub(wrong) >= ESCALATION_TRIGGERS).then_some(Status::Escalated)
}

/// One step: steer becomes refuse, if the rule's author may set that (docs/decisions/0003-memories.md).
fn escalate(author: Author, action: CensorAction) -> CensorAction {
    match action {
        CensorAction::Steer => cap_action(author, CensorAction::Refuse),
        CensorAction::Refuse | CensorAction::Abort => action,
    }
}

#[cfg(test)]
#[path = "lifecycle_tests.rs"]
mod tests;
