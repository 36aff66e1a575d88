//! A record after a change: its lines made anew, and the moves that use calls for.

use super::lifecycle::moved;
use super::{Change, Lines, Memory, MemoryKind, MemoryWrite};
use crate::ids::{Seq, Stamp};
use crate::tokens::TokenCounter;

/// Moves that one change can bring about, at most.
const MOVES_MAX: usize = 4;

/// The write of a change: `after` is stamped and its lines are made anew.
pub(super) fn changed(
    change: Change,
    before: &Memory,
    mut after: Memory,
    counter: &dyn TokenCounter,
    now: Stamp,
) -> MemoryWrite {
    after.updated = now;
    after.lines = Lines::of(counter, &after);
    MemoryWrite::of(change, before, after)
}

/// A write, and the moves that it brings about. Episodes move by time alone, which a sweep sees to.
pub(super) fn settled(write: MemoryWrite, counter: &dyn TokenCounter, now: Stamp) -> Vec<MemoryWrite> {
    let mut writes = vec![write];
    while writes.len() <= MOVES_MAX
        && let Some(last) = writes.last().filter(|last| last.memory.kind() != MemoryKind::Episode)
        && let Some(next) = moved(&last.memory, Seq(0), counter, now)
    {
        writes.push(next);
    }
    writes
}
