//! Changes to a record that is there: what each needs, and the writes it makes.
//!
//! Each function gives the change first and then the moves that it brings about (a third confirmation makes a fact
//! core). Nothing is removed here: only a person's command erases.

use super::admit::{admit, block};
use super::remember::newest;
use super::renew::{changed, settled};
use super::{
    AgentHead, Author, Body, Change, Lines, Memory, MemoryDraft, MemoryId, MemoryKind, MemoryWrite, Outcome,
    PINNED_MAX, Provenance, Status, Trust,
};
use crate::ids::{Seq, Stamp};
use crate::tokens::TokenCounter;
use crate::tools::Refusal;

/// What an edit changes; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Who edits: no one changes what someone more trusted wrote.
    pub by: Author,
    /// What it says; counts, outcomes and what took its place stay as they are.
    pub body: Option<Body>,
    /// Words to sort by.
    pub tags: Option<Vec<String>>,
    /// The field it belongs to; `Some(None)` takes it away.
    pub domain: Option<Option<String>>,
    /// Whether it is always loaded.
    pub pinned: Option<bool>,
    /// From when and until when it holds, both anew.
    pub valid: Option<(Option<Stamp>, Option<Stamp>)>,
}

impl Edit {
    /// One that changes nothing yet.
    pub fn by(by: Author) -> Self {
        Self { by, body: None, tags: None, domain: None, pinned: None, valid: None }
    }
}

/// What changes give.
type Writes = Result<Vec<MemoryWrite>, Refusal>;

/// Someone says that a fact still holds; a person accepts what waited for one (see [`Memory::is_proposal`]).
///
/// In one turn, or from one file, that counts once; who wrote it there has not met it again.
pub fn confirm(
    agent: &AgentHead,
    memory: &Memory,
    by: &Provenance,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> Writes {
    if by.author.may_pin() && memory.is_proposal() && memory.status.is_current() {
        return accept(agent, memory, by, counter, now);
    }
    let mut after = memory.clone();
    let Body::Fact(fact) = &mut after.body else { return Err(not_a(memory, MemoryKind::Fact, "confirmed")) };
    if !memory.status.is_current() {
        return Err(out_of_date(memory));
    }
    let is_counted = fact.last_confirmed_by.as_ref().is_some_and(|last| last.is_same_occasion(by));
    if is_counted || memory.provenance.is_same_occasion(by) {
        return Ok(Vec::new());
    }
    fact.confirmations = fact.confirmations.saturating_add(1);
    fact.last_confirmed = Some(now);
    fact.last_confirmed_by = Some(by.clone());
    trusted(&mut after, by.author);
    Ok(settled(changed(Change::Confirmed, memory, after, counter, now), counter, now))
}

/// A person takes up what somebody else proposed: it is always loaded from now on, or in force as a rule.
fn accept(agent: &AgentHead, memory: &Memory, by: &Provenance, counter: &dyn TokenCounter, now: Stamp) -> Writes {
    let mut after = memory.clone();
    if memory.pin_asked || memory.pinned {
        room_to_pin(agent, memory.id)?;
        (after.pinned, after.pin_asked) = (true, false);
    }
    if memory.kind() == MemoryKind::Censor {
        super::remember::room_for_censor(agent, by.author)?;
    }
    if let Body::Fact(fact) = &mut after.body {
        fact.confirmations = fact.confirmations.saturating_add(1);
        fact.last_confirmed = Some(now);
        fact.last_confirmed_by = Some(by.clone());
    }
    trusted(&mut after, by.author);
    Ok(settled(changed(Change::Confirmed, memory, after, counter, now), counter, now))
}

/// The outcome of a decision became known, or is corrected by someone trusted as far.
pub fn review(
    memory: &Memory,
    by: Author,
    outcome: Outcome,
    notes: &str,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> Writes {
    let mut after = memory.clone();
    let Body::Decision(decision) = &mut after.body else {
        return Err(not_a(memory, MemoryKind::Decision, "reviewed"));
    };
    if outcome == Outcome::Pending {
        return Err(Refusal::new(format!("A review of {} must say how it came out.", memory.id))
            .hint("Outcomes are success, partial and failure."));
    }
    if decision.reviewed_by.is_some_and(|reviewer| reviewer.trust() > by.trust()) {
        return Err(Refusal::new(format!("{} was reviewed by someone more trusted.", memory.id))
            .hint("Ask the person to review it anew."));
    }
    let (notes, masked) = block("the notes", notes)?;
    decision.reviewed_by = Some(by);
    decision.outcome = outcome;
    decision.outcome_notes = notes;
    after.masked = after.masked.saturating_add(masked);
    after.status = Status::Reviewed;
    Ok(vec![changed(Change::Reviewed, memory, after, counter, now)])
}

/// A decision was carried out and waits for its outcome.
pub fn carried_out(memory: &Memory, counter: &dyn TokenCounter, now: Stamp) -> Writes {
    if memory.kind() != MemoryKind::Decision {
        return Err(not_a(memory, MemoryKind::Decision, "carried out"));
    }
    if memory.status != Status::Recorded {
        return Err(already(memory));
    }
    Ok(vec![moved(memory, Status::Pending, "carried out", counter, now)])
}

/// A person or a model changes what a record says.
pub fn edit(agent: &AgentHead, memory: &Memory, edit: Edit, counter: &dyn TokenCounter, now: Stamp) -> Writes {
    if edit.by.trust() < memory.provenance.trust {
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
    let (draft, masked) = admit(draft)?;
    let mut after = memory.clone();
    if draft.pinned && !memory.pinned {
        let is_decided = edit.by.may_pin();
        if is_decided {
            room_to_pin(agent, memory.id)?;
        }
        (after.pinned, after.pin_asked) = (is_decided, !is_decided);
    } else if edit.pinned == Some(false) {
        (after.pinned, after.pin_asked) = (false, false);
    }
    after.body = with_counts_of(&memory.body, draft.body);
    (after.tags, after.domain) = (draft.tags, draft.domain);
    (after.valid_from, after.valid_until) = (draft.valid_from, draft.valid_until);
    after.masked = after.masked.saturating_add(masked);
    trusted(&mut after, edit.by);
    Ok(settled(changed(Change::Edited, memory, after, counter, now), counter, now))
}

/// A person marks a fact as core.
pub fn mark_core(memory: &Memory, by: Author, counter: &dyn TokenCounter, now: Stamp) -> Writes {
    if memory.kind() != MemoryKind::Fact {
        return Err(not_a(memory, MemoryKind::Fact, "marked as core"));
    }
    if memory.status == Status::Core {
        return Err(already(memory));
    }
    if !memory.status.is_current() {
        return Err(out_of_date(memory));
    }
    let mut write = moved(memory, Status::Core, "marked by hand", counter, now);
    trusted(&mut write.memory, by);
    write.memory.lines = Lines::of(counter, &write.memory);
    Ok(vec![write])
}

/// A fact proved wrong.
pub fn deactivate(memory: &Memory, counter: &dyn TokenCounter, now: Stamp) -> Writes {
    if memory.kind() != MemoryKind::Fact {
        return Err(not_a(memory, MemoryKind::Fact, "proved wrong"));
    }
    if memory.status == Status::Inactive {
        return Err(already(memory));
    }
    Ok(vec![moved(memory, Status::Inactive, "proved wrong", counter, now)])
}

/// A procedure or a censor goes out of use.
pub fn retire(memory: &Memory, counter: &dyn TokenCounter, now: Stamp) -> Writes {
    match memory.kind() {
        MemoryKind::Procedure | MemoryKind::Censor => {}
        MemoryKind::Fact => {
            return Err(Refusal::new(format!("{} is a fact: facts are not retired.", memory.id))
                .hint("Say that it proved wrong, or remember what holds instead."));
        }
        MemoryKind::Decision | MemoryKind::Episode => return Err(permanent(memory)),
    }
    if memory.status == Status::Retired {
        return Err(already(memory));
    }
    Ok(vec![moved(memory, Status::Retired, "taken out of use", counter, now)])
}

/// A model asks that a person remove a record.
pub fn forget_asked(memory: &Memory, reason: &str, counter: &dyn TokenCounter, now: Stamp) -> Writes {
    if memory.forget_asked {
        return Err(Refusal::new(format!("It was asked before that {} be forgotten.", memory.id))
            .hint("A person decides; nothing more is needed."));
    }
    let (reason, _) = block("the reason", reason)?;
    let mut after = memory.clone();
    after.forget_asked = true;
    Ok(vec![changed(Change::ForgetAsked { reason }, memory, after, counter, now)])
}

/// A procedure was used, or a use of it came out.
pub fn activate(memory: &Memory, succeeded: Option<bool>, counter: &dyn TokenCounter, now: Stamp) -> Writes {
    let mut after = memory.clone();
    let Body::Procedure(procedure) = &mut after.body else {
        return Err(not_a(memory, MemoryKind::Procedure, "used"));
    };
    if memory.status == Status::Retired {
        return Err(out_of_date(memory));
    }
    let count = match succeeded {
        None => &mut procedure.activations,
        Some(true) => &mut procedure.successes,
        Some(false) => &mut procedure.failures,
    };
    *count = count.saturating_add(1);
    // An outcome that is told without its use counts as a use.
    procedure.activations = procedure.activations.max(procedure.successes.saturating_add(procedure.failures));
    Ok(settled(changed(Change::Activated { succeeded }, memory, after, counter, now), counter, now))
}

/// A censor found something.
pub fn trigger(memory: &Memory, counter: &dyn TokenCounter, now: Stamp) -> Writes {
    let mut after = memory.clone();
    let Body::Censor(censor) = &mut after.body else { return Err(not_a(memory, MemoryKind::Censor, "triggered")) };
    if memory.status == Status::Retired {
        return Err(out_of_date(memory));
    }
    censor.triggers = censor.triggers.saturating_add(1);
    Ok(settled(changed(Change::Triggered, memory, after, counter, now), counter, now))
}

/// A censor found something wrongly.
pub fn false_positive(memory: &Memory, counter: &dyn TokenCounter, now: Stamp) -> Writes {
    let mut after = memory.clone();
    let Body::Censor(censor) = &mut after.body else { return Err(not_a(memory, MemoryKind::Censor, "wrong")) };
    if memory.status == Status::Retired {
        return Err(out_of_date(memory));
    }
    if censor.false_positives >= censor.triggers {
        return Err(Refusal::new(format!(
            "{} found something {} times, and each was reported as wrong already.",
            memory.id, censor.triggers
        ))
        .hint("Retire it if it is of no use."));
    }
    censor.false_positives += 1;
    Ok(settled(changed(Change::FalsePositive, memory, after, counter, now), counter, now))
}

/// A fact gives way to one that contradicts it, because a person said that that one holds. What takes a place is always
/// younger, so that no chain can close: a younger one proved wrong. None if it is no fact.
pub fn gives_way(memory: &Memory, to: MemoryId, counter: &dyn TokenCounter, now: Stamp) -> Option<MemoryWrite> {
    let mut after = memory.clone();
    let Body::Fact(fact) = &mut after.body else { return None };
    if memory.id > to {
        return Some(moved(memory, Status::Inactive, &format!("a person said that {to} holds"), counter, now));
    }
    fact.superseded_by = Some(to);
    after.status = Status::Superseded;
    let evidence = "a person said so".to_owned();
    Some(changed(Change::Superseded { by: to, evidence }, memory, after, counter, now))
}

/// A record is no longer contested or shaken by another; none if it was not.
pub fn settles(memory: &Memory, with: MemoryId, counter: &dyn TokenCounter, now: Stamp) -> Option<MemoryWrite> {
    if !memory.contested_with.contains(&with) && !memory.shaken_by.contains(&with) {
        return None;
    }
    let mut after = memory.clone();
    after.contested_with.retain(|id| *id != with);
    after.shaken_by.retain(|id| *id != with);
    Some(changed(Change::Settled { with }, memory, after, counter, now))
}

/// A fact that was brought back contradicts this one; none if that is known.
pub fn contests(memory: &Memory, with: MemoryId, counter: &dyn TokenCounter, now: Stamp) -> Option<MemoryWrite> {
    if memory.contested_with.contains(&with) {
        return None;
    }
    let mut after = memory.clone();
    after.contested_with.push(with);
    newest(&mut after.contested_with);
    let evidence = "it was brought back".to_owned();
    Some(changed(Change::Contested { with, evidence }, memory, after, counter, now))
}

/// Undoes the change that event `seq` made: the record before it is written again, whatever came after.
///
/// Without a record before it, the change was the first writing: a fact becomes inactive, a procedure or a censor
/// retired; decisions and episodes are permanent.
pub fn undo(
    agent: &AgentHead,
    now_is: &Memory,
    before: Option<&Memory>,
    seq: Seq,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> Writes {
    let change = Change::Undone { seq };
    let Some(before) = before else {
        let status = match now_is.kind() {
            MemoryKind::Fact => Status::Inactive,
            MemoryKind::Procedure | MemoryKind::Censor => Status::Retired,
            MemoryKind::Decision | MemoryKind::Episode => return Err(permanent(now_is)),
        };
        if now_is.status == status {
            return Err(already(now_is));
        }
        let after = Memory { status, ..now_is.clone() };
        return Ok(vec![changed(change, now_is, after, counter, now)]);
    };
    if before.id != now_is.id {
        return Err(Refusal::new(format!("Event {seq} did not change {}.", now_is.id))
            .hint("Its history names its events."));
    }
    let restored = Memory { updated: now, ..before.clone() };
    if (Memory { updated: now, ..now_is.clone() }) == restored {
        return Err(Refusal::new(format!("{} is already as it was before event {seq}.", now_is.id)));
    }
    if restored.pinned && restored.status.is_current() {
        room_to_pin(agent, restored.id)?;
    }
    let is_there = |id: MemoryId| agent.censors.contains_key(&id);
    if restored.kind() == MemoryKind::Censor && restored.status.is_current() && !is_there(restored.id) {
        super::remember::room_for_censor(agent, restored.provenance.author)?;
    }
    Ok(vec![MemoryWrite::of(change, now_is, restored)])
}

/// Whether one more record may be pinned.
pub(super) fn room_to_pin(agent: &AgentHead, id: MemoryId) -> Result<(), Refusal> {
    let pinned = agent.pinned.values().filter(|memory| memory.is_a_persons() && memory.id != id).count();
    if pinned < PINNED_MAX {
        return Ok(());
    }
    Err(Refusal::new(format!("{PINNED_MAX} memories are pinned already, and no more can be."))
        .hint("Remember it without pinning it, or unpin one that is no longer needed."))
}

fn moved(memory: &Memory, to: Status, reason: &str, counter: &dyn TokenCounter, now: Stamp) -> MemoryWrite {
    let change = Change::Moved { from: memory.status, reason: reason.to_owned() };
    changed(change, memory, Memory { status: to, ..memory.clone() }, counter, now)
}

/// What a person stands for is trusted as a person is.
fn trusted(memory: &mut Memory, by: Author) {
    if by == Author::Person {
        memory.provenance.trust = Trust::High;
    }
}

/// What is counted is not for an edit to change.
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

fn not_a(memory: &Memory, kind: MemoryKind, what: &str) -> Refusal {
    Refusal::new(format!("{} is a {}; only a {kind} can be {what}.", memory.id, memory.kind()))
        .hint(format!("Ids of a {kind} begin with '{}'.", kind.letter()))
}

fn already(memory: &Memory) -> Refusal {
    Refusal::new(format!("{} is {} already.", memory.id, memory.status.as_str()))
}

fn out_of_date(memory: &Memory) -> Refusal {
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

fn permanent(memory: &Memory) -> Refusal {
    Refusal::new(format!("{} is a {}, and those are permanent records.", memory.id, memory.kind()))
        .hint(format!("A person can erase it: neap memory forget {}", memory.id))
}

#[cfg(test)]
mod tests;
