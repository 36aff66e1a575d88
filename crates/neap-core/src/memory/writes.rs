//! Builds memory writes: renders the lines again and adds the status transitions that use triggers.

use super::lifecycle::transition_write;
use super::{Change, Memory, MemoryKind, MemoryWrite, RenderedMemory};
use crate::base::ids::{Seq, Stamp};
use crate::base::tokens::TokenCounter;

const MOVES_MAX: usize = 4;

/// Stamps `after` and renders its lines again.
pub(super) fn memory_write(
    change: Change,
    before: &Memory,
    mut after: Memory,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> MemoryWrite {
    after.updated = now;
    after.lines = RenderedMemory::render(counter, &after);
    MemoryWrite::update(change, before, after)
}

/// A write and the transitions it triggers. Episodes change with time alone, which a sweep handles.
pub(super) fn with_transitions(write: MemoryWrite, counter: &dyn TokenCounter, now: Stamp) -> Vec<MemoryWrite> {
    let mut writes = vec![write];
    while writes.len() <= MOVES_MAX
        && let Some(last) = writes.last().filter(|last| last.memory.kind() != MemoryKind::Episode)
        && let Some(next) = transition_write(&last.memory, Seq(0), counter, now)
    {
        writes.push(next);
    }
    writes
}
