//! Changes to an existing record.
//!
//! Each function validates one change and returns its write, followed by the transitions it triggers (a third
//! confirmation makes a fact core). Nothing is deleted here: only a person's command erases.

mod edit;
mod usage;

use super::remember::truncate_to_newest;
use super::validation::validate_block;
use super::writes::{memory_write, with_transitions};
use super::{
    AgentHead, Author, Body, Change, Memory, MemoryId, MemoryKind, MemoryWrite, Outcome, PINNED_MAX, Provenance,
    RenderedMemory, Status, Trust,
};
use crate::base::ids::{Seq, Stamp};
use crate::base::refusal::Refusal;
use crate::base::tokens::TokenCounter;

pub use edit::{Edit, edit};
pub use usage::{record_false_positive, record_trigger, record_use};

type WriteResult = Result<Vec<MemoryWrite>, Refusal>;

/// Confirms a fact, or, by a person, accepts a proposal ([`Memory::is_proposal`]).
///
/// Counts once per turn or source file, and not where the record itself was written.
pub fn confirm(
    agent: &AgentHead,
    memory: &Memory,
    by: &Provenance,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> WriteResult {
    if by.author.may_pin() && memory.is_proposal() && memory.status.is_current() {
        return accept(agent, memory, by, counter, now);
    }
    let mut after = memory.clone();
    let Body::Fact(fact) = &mut after.body else { return Err(wrong_kind(memory, MemoryKind::Fact, "confirmed")) };
    if !memory.status.is_current() {
        return Err(not_current(memory));
    }
    let is_counted = fact.last_confirmed_by.as_ref().is_some_and(|last| last.is_same_occasion(by));
    if is_counted || memory.provenance.is_same_occasion(by) {
        return Ok(Vec::new());
    }
    fact.confirmations = fact.confirmations.saturating_add(1);
    fact.last_confirmed = Some(now);
    fact.last_confirmed_by = Some(by.clone());
    raise_trust(&mut after, by.author);
    Ok(with_transitions(memory_write(Change::Confirmed, memory, after, counter, now), counter, now))
}

/// A person accepts a proposal: it is pinned, or put in force as a rule.
fn accept(
    agent: &AgentHead,
    memory: &Memory,
    by: &Provenance,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> WriteResult {
    let mut after = memory.clone();
    if memory.pin_asked || memory.pinned {
        check_pin_limit(agent, memory.id)?;
        (after.pinned, after.pin_asked) = (true, false);
    }
    if memory.kind() == MemoryKind::Censor {
        super::remember::check_censor_limit(agent, by.author)?;
    }
    if let Body::Fact(fact) = &mut after.body {
        fact.confirmations = fact.confirmations.saturating_add(1);
        fact.last_confirmed = Some(now);
        fact.last_confirmed_by = Some(by.clone());
    }
    raise_trust(&mut after, by.author);
    Ok(with_transitions(memory_write(Change::Confirmed, memory, after, counter, now), counter, now))
}

/// Records a decision's outcome, or corrects it if the reviewer is trusted as far as the earlier one.
pub fn review(
    memory: &Memory,
    by: Author,
    outcome: Outcome,
    notes: &str,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> WriteResult {
    let mut after = memory.clone();
    let Body::Decision(decision) = &mut after.body else {
        return Err(wrong_kind(memory, MemoryKind::Decision, "reviewed"));
    };
    if outcome == Outcome::Pending {
        return Err(Refusal::new(format!("A review of {} must say how it came out.", memory.id))
            .hint("Outcomes are success, partial and failure."));
    }
    if decision.reviewed_by.is_some_and(|reviewer| reviewer.trust() > by.trust()) {
        return Err(Refusal::new(format!("{} was reviewed by someone more trusted.", memory.id))
            .hint("Ask the person to review it anew."));
    }
    let (notes, masked) = validate_block("the notes", notes)?;
    decision.reviewed_by = Some(by);
    decision.outcome = outcome;
    decision.outcome_notes = notes;
    after.masked = after.masked.saturating_add(masked);
    after.status = Status::Reviewed;
    Ok(vec![memory_write(Change::Reviewed, memory, after, counter, now)])
}

pub fn mark_carried_out(memory: &Memory, counter: &dyn TokenCounter, now: Stamp) -> WriteResult {
    if memory.kind() != MemoryKind::Decision {
        return Err(wrong_kind(memory, MemoryKind::Decision, "carried out"));
    }
    if memory.status != Status::Recorded {
        return Err(already_in_status(memory));
    }
    Ok(vec![transition_to(memory, Status::Pending, "carried out", counter, now)])
}

pub fn mark_core(memory: &Memory, by: Author, counter: &dyn TokenCounter, now: Stamp) -> WriteResult {
    if memory.kind() != MemoryKind::Fact {
        return Err(wrong_kind(memory, MemoryKind::Fact, "marked as core"));
    }
    if memory.status == Status::Core {
        return Err(already_in_status(memory));
    }
    if !memory.status.is_current() {
        return Err(not_current(memory));
    }
    let mut write = transition_to(memory, Status::Core, "marked by hand", counter, now);
    raise_trust(&mut write.memory, by);
    write.memory.lines = RenderedMemory::render(counter, &write.memory);
    Ok(vec![write])
}

/// Marks a fact as wrong.
pub fn deactivate(memory: &Memory, counter: &dyn TokenCounter, now: Stamp) -> WriteResult {
    if memory.kind() != MemoryKind::Fact {
        return Err(wrong_kind(memory, MemoryKind::Fact, "proved wrong"));
    }
    if memory.status == Status::Inactive {
        return Err(already_in_status(memory));
    }
    Ok(vec![transition_to(memory, Status::Inactive, "proved wrong", counter, now)])
}

pub fn retire(memory: &Memory, counter: &dyn TokenCounter, now: Stamp) -> WriteResult {
    match memory.kind() {
        MemoryKind::Procedure | MemoryKind::Censor => {}
        MemoryKind::Fact => {
            return Err(Refusal::new(format!("{} is a fact: facts are not retired.", memory.id))
                .hint("Say that it proved wrong, or remember what holds instead."));
        }
        MemoryKind::Decision | MemoryKind::Episode => return Err(permanent_record(memory)),
    }
    if memory.status == Status::Retired {
        return Err(already_in_status(memory));
    }
    Ok(vec![transition_to(memory, Status::Retired, "taken out of use", counter, now)])
}

pub fn request_forget(memory: &Memory, reason: &str, counter: &dyn TokenCounter, now: Stamp) -> WriteResult {
    if memory.forget_asked {
        return Err(Refusal::new(format!("It was asked before that {} be forgotten.", memory.id))
            .hint("A person decides; nothing more is needed."));
    }
    let (reason, _) = validate_block("the reason", reason)?;
    let mut after = memory.clone();
    after.forget_asked = true;
    Ok(vec![memory_write(Change::ForgetAsked { reason }, memory, after, counter, now)])
}

/// Supersedes a fact with one that a person confirmed; `None` if it is not a fact. Replacements are always
/// younger, so chains cannot form a cycle: a fact younger than `replacement` becomes inactive instead.
pub fn supersede_by(
    memory: &Memory,
    replacement: MemoryId,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> Option<MemoryWrite> {
    let mut after = memory.clone();
    let Body::Fact(fact) = &mut after.body else { return None };
    if memory.id > replacement {
        return Some(transition_to(
            memory,
            Status::Inactive,
            &format!("a person said that {replacement} holds"),
            counter,
            now,
        ));
    }
    fact.superseded_by = Some(replacement);
    after.status = Status::Superseded;
    let evidence = "a person said so".to_owned();
    Some(memory_write(Change::Superseded { by: replacement, evidence }, memory, after, counter, now))
}

/// Removes a contradiction or a superseded support; `None` if there was none.
pub fn settle(memory: &Memory, with: MemoryId, counter: &dyn TokenCounter, now: Stamp) -> Option<MemoryWrite> {
    if !memory.contested_with.contains(&with) && !memory.shaken_by.contains(&with) {
        return None;
    }
    let mut after = memory.clone();
    after.contested_with.retain(|id| *id != with);
    after.shaken_by.retain(|id| *id != with);
    Some(memory_write(Change::Settled { with }, memory, after, counter, now))
}

/// Records that a restored fact contradicts this one; `None` if that is known.
pub fn contest(memory: &Memory, with: MemoryId, counter: &dyn TokenCounter, now: Stamp) -> Option<MemoryWrite> {
    if memory.contested_with.contains(&with) {
        return None;
    }
    let mut after = memory.clone();
    after.contested_with.push(with);
    truncate_to_newest(&mut after.contested_with);
    let evidence = "it was brought back".to_owned();
    Some(memory_write(Change::Contested { with, evidence }, memory, after, counter, now))
}

/// Undoes the change made by event `seq`: writes the record before it again, whatever came after.
///
/// Without an earlier record the change created it: a fact becomes inactive, a procedure or censor retired;
/// decisions and episodes are permanent.
pub fn undo(
    agent: &AgentHead,
    current: &Memory,
    before: Option<&Memory>,
    seq: Seq,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> WriteResult {
    let change = Change::Undone { seq };
    let Some(before) = before else {
        let status = match current.kind() {
            MemoryKind::Fact => Status::Inactive,
            MemoryKind::Procedure | MemoryKind::Censor => Status::Retired,
            MemoryKind::Decision | MemoryKind::Episode => return Err(permanent_record(current)),
        };
        if current.status == status {
            return Err(already_in_status(current));
        }
        let after = Memory { status, ..current.clone() };
        return Ok(vec![memory_write(change, current, after, counter, now)]);
    };
    if before.id != current.id {
        return Err(Refusal::new(format!("Event {seq} did not change {}.", current.id))
            .hint("Its history names its events."));
    }
    let restored = Memory { updated: now, ..before.clone() };
    if (Memory { updated: now, ..current.clone() }) == restored {
        return Err(Refusal::new(format!("{} is already as it was before event {seq}.", current.id)));
    }
    if restored.pinned && restored.status.is_current() {
        check_pin_limit(agent, restored.id)?;
    }
    let is_there = |id: MemoryId| agent.censors.contains_key(&id);
    if restored.kind() == MemoryKind::Censor && restored.status.is_current() && !is_there(restored.id) {
        super::remember::check_censor_limit(agent, restored.provenance.author)?;
    }
    Ok(vec![MemoryWrite::update(change, current, restored)])
}

pub(super) fn check_pin_limit(agent: &AgentHead, id: MemoryId) -> Result<(), Refusal> {
    let pinned = agent.pinned.values().filter(|memory| memory.is_person_approved() && memory.id != id).count();
    if pinned < PINNED_MAX {
        return Ok(());
    }
    Err(Refusal::new(format!("{PINNED_MAX} memories are pinned already, and no more can be."))
        .hint("Remember it without pinning it, or unpin one that is no longer needed."))
}

fn transition_to(
    memory: &Memory,
    to: Status,
    reason: &str,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> MemoryWrite {
    let change = Change::Moved { from: memory.status, reason: reason.to_owned() };
    memory_write(change, memory, Memory { status: to, ..memory.clone() }, counter, now)
}

/// What a person endorses gains a person's trust.
fn raise_trust(memory: &mut Memory, by: Author) {
    if by == Author::Person {
        memory.provenance.trust = Trust::High;
    }
}

fn wrong_kind(memory: &Memory, kind: MemoryKind, what: &str) -> Refusal {
    Refusal::new(format!("{} is a {}; only a {kind} can be {what}.", memory.id, memory.kind()))
        .hint(format!("Ids of a {kind} begin with '{}'.", kind.letter()))
}

fn already_in_status(memory: &Memory) -> Refusal {
    Refusal::new(format!("{} is {} already.", memory.id, memory.status.as_str()))
}

fn not_current(memory: &Memory) -> Refusal {
    let by = match &memory.body {
        Body::Fact(fact) => fact.superseded_by,
        Body::Decision(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => None,
    };
    let hint = match by {
        Some(by) => format!("{by} took its place; undo that if it was wrong."),
        None => "Undo the change that took it out of use, or remember it anew.".to_owned(),
    };
    Refusal::new(format!("{} is {}.", memory.id, memory.status.as_str())).hint(hint)
}

fn permanent_record(memory: &Memory) -> Refusal {
    Refusal::new(format!("{} is a {}, and those are permanent records.", memory.id, memory.kind()))
        .hint(format!("A person can erase it: neap memory forget {}", memory.id))
}

#[cfg(test)]
mod tests;
