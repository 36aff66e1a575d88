//! Counts how often procedures and censors were used, and how that came out.

use super::super::writes::{memory_write, with_transitions};
use super::super::{Body, Change, Memory, MemoryKind, Status};
use super::{WriteResult, not_current, wrong_kind};
use crate::base::ids::Stamp;
use crate::base::refusal::Refusal;
use crate::base::tokens::TokenCounter;

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
