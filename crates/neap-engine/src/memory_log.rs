//! Reports memory changes to the observer and, at DEBUG, to the log: ids, turns and token counts, never text,
//! since a log may be stored where a conversation may not.

use std::time::{Duration, Instant};

use neap_core::base::ids::StreamId;
use neap_core::base::tokens::Tokens;
use neap_core::session::event::RecordedEvent;
use neap_core::session::memory_op::MemoryOp;

use crate::observer::TurnObserver;
use crate::parts::Parts;
use crate::stream::Recorder;

pub(crate) struct DriverRun<'p, 'w> {
    pub(crate) recorder: Recorder<'p>,
    pub(crate) watch: &'w mut dyn TurnObserver,
    /// How many of the machine's banners were announced.
    pub(crate) announced: usize,
    /// Whether the last reply is held back until the end.
    pub(crate) is_buffered: bool,
    since: Instant,
}

impl<'p, 'w> DriverRun<'p, 'w> {
    pub(crate) fn new(parts: &'p Parts, watch: &'w mut dyn TurnObserver) -> Self {
        Self { recorder: Recorder::new(parts), watch, announced: 0, is_buffered: false, since: Instant::now() }
    }

    /// Restarts the timer, so that it does not count the model's time.
    pub(crate) fn model_answered(&mut self) {
        self.since = Instant::now();
    }

    pub(crate) fn committed(&mut self, session: &StreamId, ops: &[MemoryOp]) {
        let took = self.since.elapsed();
        self.since = Instant::now();
        for op in ops {
            log_op(session, op, took);
            self.watch.on_memory_op(op, took);
        }
    }
}

pub(crate) fn memory_ops(events: &[RecordedEvent], prompt: Tokens) -> Vec<MemoryOp> {
    events.iter().flat_map(|recorded| MemoryOp::from_event(&recorded.event, prompt)).collect()
}

fn log_op(session: &StreamId, op: &MemoryOp, took: Duration) {
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
