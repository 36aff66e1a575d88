//! Telling what is done to the memory as it happens: to whoever watches, and to the log at DEBUG.
//!
//! Ids, turns and token counts are told, never words: a log may be kept where a conversation may not.

use std::time::{Duration, Instant};

use neap_core::event::Recorded;
use neap_core::ids::SessionId;
use neap_core::memory_op::MemoryOp;
use neap_core::tokens::Tokens;

use crate::watch::Watch;

/// One run of the loop: who watches it, how often others came first, and when its last step was done.
pub(crate) struct Run<'w> {
    pub(crate) watch: &'w mut dyn Watch,
    pub(crate) conflicts: usize,
    since: Instant,
}

impl<'w> Run<'w> {
    pub(crate) fn new(watch: &'w mut dyn Watch) -> Self {
        Self { watch, conflicts: 0, since: Instant::now() }
    }

    /// From here on is the memory's own time, not the model's.
    pub(crate) fn model_answered(&mut self) {
        self.since = Instant::now();
    }

    /// Events became durable.
    pub(crate) fn committed(&mut self, session: &SessionId, ops: &[MemoryOp]) {
        let took = self.since.elapsed();
        self.since = Instant::now();
        for op in ops {
            log(session, op, took);
            self.watch.memory(op, took);
        }
    }
}

/// What events do to the memory.
pub(crate) fn operations(events: &[Recorded], prompt: Tokens) -> Vec<MemoryOp> {
    events.iter().flat_map(|recorded| MemoryOp::of(&recorded.event, prompt)).collect()
}

/// One line in the log.
fn log(session: &SessionId, op: &MemoryOp, took: Duration) {
    let count = |tokens: Option<Tokens>| tokens.map(|tokens| tokens.0);
    tracing::debug!(
        target: "neap::memory",
        %session,
        turn = op.turn.0,
        before = count(op.before),
        after = count(op.after),
        took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        "{op}"
    );
}
