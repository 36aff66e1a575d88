//! Changes to an existing record.
//!
//! Each function validates one change and returns its write, followed by the transitions it triggers (a third
//! confirmation makes a fact core). Nothing is deleted here: only a person's command erases.

use super::remember::truncate_to_newest;
use super::validation::{validate_block, validate_draft};
use super::writes::{memory_write, with_transitions};
use super::{
    AgentHead, Author, Body, Change, Memory, MemoryDraft, MemoryId, MemoryKind, MemoryWrite, Outcome, PINNED_MAX,
    Provenance, RenderedMemory, Status, Trust,
};
use crate::base::ids::{Seq, Stamp};
use crate::base::refusal::Refusal;
use crate::base::tokens::TokenCounter;

/// Fields an edit changes; `None` leaves a field as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Nobody may edit a record of a more trusted author.
    pub author: Author,
    /// Counts, outcomes and supersession stay as they are.
    pub body: Option<Body>,
    pub tags: Option<Vec<String>>,
    /// `Some(None)` removes it.
    pub domain: Option<Option<String>>,
    pub pinned: Option<bool>,
    /// Replaces both ends of the validity.
    pub valid: Option<(Option<Stamp>, Option<Stamp>)>,
}

impl Edit {
    pub fn new(by: Author) -> Self {
        Self { author: by, body: None, tags: None, domain: None, pinned: None, valid: None }
    }
}

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

pub fn edit(
    agent: &AgentHead,
    memory: &Memory,
    edit: Edit,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> WriteResult {
    if edit.author.trust() < memory.provenance.trust {
        return Err(Refusal::new(format!("{} was written by someone more trusted.", memory.id))
            .hint("Remember what you know beside it, or ask the person to edit it."));
    }
    let mut wanted = edit.body.unwrap_or_else(|| memory.body.clone());
    if let Body::Fact(fact) = &mut wanted {
        fact.superseded_by = None;
    }
    if wanted.kind() != memory.kind() {
        return Err(Refusal::new(format!("{} is a {} and stays one.", memory.id, memory.kind()))
            .hint(format!("Remember a new {} instead.", wanted.kind())));
    }
    let (valid_from, valid_until) = edit.valid.unwrap_or((memory.valid_from, memory.valid_until));
    let draft = MemoryDraft {
        body: wanted,
        tags: edit.tags.unwrap_or_else(|| memory.tags.clone()),
        domain: edit.domain.unwrap_or_else(|| memory.domain.clone()),
        pinned: edit.pinned.unwrap_or(memory.pinned),
        valid_from,
        valid_until,
        provenance: memory.provenance.clone(),
    };
    let (draft, masked) = validate_draft(draft)?;
    let mut after = memory.clone();
    if draft.pinned && !memory.pinned {
        let is_decided = edit.author.may_pin();
        if is_decided {
            check_pin_limit(agent, memory.id)?;
        }
        (after.pinned, after.pin_asked) = (is_decided, !is_decided);
    } else if edit.pinned == Some(false) {
        (after.pinned, after.pin_asked) = (false, false);
    }
    after.body = with_counts_of(&memory.body, draft.body);
    (after.tags, after.domain) = (draft.tags, draft.domain);
    (after.valid_from, after.valid_until) = (draft.valid_from, draft.valid_until);
    after.masked = after.masked.saturating_add(masked);
    raise_trust(&mut after, edit.author);
    Ok(with_transitions(memory_write(Change::Edited, memory, after, counter, now), counter, now))
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

/// Counts a use of a procedure, or the result of one.
pub fn record_use(
    memory: &Memory,
    succeeded: Option<bool>,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> WriteResult {
    let mut after = memory.clone();
    let Body::Procedure(procedure) = &mut after.body else {
        return Err(wrong_kind(memory, MemoryKind::Procedure, "used"));
    };
    if memory.status == Status::Retired {
        return Err(not_current(memory));
    }
    let count = match succeeded {
        None => &mut procedure.activations,
        Some(true) => &mut procedure.successes,
        Some(false) => &mut procedure.failures,
    };
    *count = count.saturating_add(1);
    // A result without a recorded use counts as a use.
    procedure.activations = procedure.activations.max(procedure.successes.saturating_add(procedure.failures));
    Ok(with_transitions(memory_write(Change::Activated { succeeded }, memory, after, counter, now), counter, now))
}

pub fn record_trigger(memory: &Memory, counter: &dyn TokenCounter, now: Stamp) -> WriteResult {
    let mut after = memory.clone();
    let Body::Censor(censor) = &mut after.body else {
        return Err(wrong_kind(memory, MemoryKind::Censor, "triggered"));
    };
    if memory.status == Status::Retired {
        return Err(not_current(memory));
    }
    censor.triggers = censor.triggers.saturating_add(1);
    Ok(with_transitions(memory_write(Change::Triggered, memory, after, counter, now), counter, now))
}

pub fn record_false_positive(memory: &Memory, counter: &dyn TokenCounter, now: Stamp) -> WriteResult {
    let mut after = memory.clone();
    let Body::Censor(censor) = &mut after.body else {
        return Err(wrong_kind(memory, MemoryKind::Censor, "wrong"));
    };
    if memory.status == Status::Retired {
        return Err(not_current(memory));
    }
    if censor.false_positives >= censor.triggers {
        return Err(Refusal::new(format!(
            "{} found something {} times, and each was reported as wrong already.",
            memory.id, censor.triggers
        ))
        .hint("Retire it if it is of no use."));
    }
    censor.false_positives += 1;
    Ok(with_transitions(memory_write(Change::FalsePositive, memory, after, counter, now), counter, now))
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

/// An edit cannot change counts.
fn with_counts_of(before: &Body, wanted: Body) -> Body {
    match (before, wanted) {
        (Body::Decision(old), Body::Decision(new)) => Body::Decision(super::Decision {
            outcome: old.outcome,
            outcome_notes: old.outcome_notes.clone(),
            reviewed_by: old.reviewed_by,
            ..new
        }),
        (Body::Fact(old), Body::Fact(new)) => Body::Fact(super::Fact {
            confirmations: old.confirmations,
            last_confirmed: old.last_confirmed,
            last_confirmed_by: old.last_confirmed_by.clone(),
            superseded_by: old.superseded_by,
            ..new
        }),
        (Body::Procedure(old), Body::Procedure(new)) => Body::Procedure(super::Procedure {
            activations: old.activations,
            successes: old.successes,
            failures: old.failures,
            ..new
        }),
        (Body::Episode(old), Body::Episode(new)) => Body::Episode(super::Episode {
            detail_at: old.detail_at,
            session: old.session.clone(),
            effort: old.effort.clone(),
            ..new
        }),
        (Body::Censor(old), Body::Censor(new)) => {
            Body::Censor(super::Censor { triggers: old.triggers, false_positives: old.false_positives, ..new })
        }
        (Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_), wanted) => {
            wanted
        }
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
