//! Reports memory changes to the observer and, at DEBUG, to the log: ids, turns and token counts, never text,
//! since a log may be stored where a conversation may not.

use std::time::Duration;

use neap_core::base::ids::StreamId;
use neap_core::base::tokens::Tokens;
use neap_core::session::event::RecordedEvent;
use neap_core::session::memory_op::MemoryOp;

pub(crate) fn memory_ops(events: &[RecordedEvent], prompt: Tokens) -> Vec<MemoryOp> {
    events.iter().flat_map(|recorded| MemoryOp::from_event(&recorded.event, prompt)).collect()
}

pub(crate) fn log_op(session: &StreamId, op: &MemoryOp, took: Duration) {
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
