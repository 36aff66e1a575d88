//! Compares the stream with the acknowledged commits: nothing lost, doubled, reordered or changed (I2, I10).

use std::collections::BTreeSet;

use neap_core::base::ids::{Seq, StreamId};
use neap_core::session::event::{Event, RecordedEvent, TurnEvent};
use neap_store::{Store, StoreError, StoredEvent};

use super::Violations;
use crate::trace::Trace;

const PAGE: usize = 500;

#[derive(Debug, Default)]
pub struct StreamWatch {
    pub events_seen: usize,
    turns: u64,
    ended: BTreeSet<u64>,
    turn_ids: BTreeSet<String>,
}

/// All events after the first `from`; damage is a violation.
pub async fn read_events(
    store: &dyn Store,
    session: &StreamId,
    from: usize,
    out: &mut Violations,
) -> Result<Vec<RecordedEvent>, StoreError> {
    let mut events = Vec::new();
    let mut next = Seq(from as u64 + 1);
    loop {
        let page = store.events(session, next, PAGE).await?;
        let full = page.len() == PAGE;
        for stored in page {
            next = stored.seq().next();
            match stored {
                StoredEvent::Whole(recorded) => events.push(recorded),
                StoredEvent::Damaged { seq, why } => {
                    out.add("I2", format!("event {seq} of {session} is damaged: {why}"));
                }
            }
        }
        if !full {
            return Ok(events);
        }
    }
}

impl StreamWatch {
    /// Compares stored with acknowledged events, from where the last call ended.
    pub async fn follow(
        &mut self,
        store: &dyn Store,
        session: &StreamId,
        trace: &Trace,
        out: &mut Violations,
    ) -> Result<Vec<RecordedEvent>, StoreError> {
        let stored = read_events(store, session, self.events_seen, out).await?;
        trace.with_acknowledged(session, |all| {
            compare(session, self.events_seen, &stored, all.get(self.events_seen..).unwrap_or_default(), out);
        });
        for recorded in &stored {
            self.events_seen += 1;
            out.check("I10", recorded.seq.0 == self.events_seen as u64, || {
                format!("event {} of {session} stands at place {}", recorded.seq, self.events_seen)
            });
            self.check_turns(recorded, out);
        }
        Ok(stored)
    }

    /// Compares all events from the first: what was durable once must stay so after a crash.
    pub async fn compare_all(
        &self,
        store: &dyn Store,
        session: &StreamId,
        trace: &Trace,
        out: &mut Violations,
    ) -> Result<Vec<RecordedEvent>, StoreError> {
        let stored = read_events(store, session, 0, out).await?;
        trace.with_acknowledged(session, |all| compare(session, 0, &stored, all, out));
        Ok(stored)
    }

    /// Turns are numbered without a gap, each begins once and ends at most once.
    fn check_turns(&mut self, recorded: &RecordedEvent, out: &mut Violations) {
        match &recorded.event {
            Event::Turn(TurnEvent::Started { turn, turn_id, .. }) => {
                self.turns += 1;
                out.check("turns", turn.0 == self.turns, || format!("turn {turn} follows {}", self.turns - 1));
                if let Some(id) = turn_id {
                    let is_new = self.turn_ids.insert(id.clone());
                    out.check("turns", is_new, || format!("the turn id {id} was accepted twice"));
                }
            }
            Event::Turn(
                TurnEvent::Completed { turn, .. }
                | TurnEvent::Abandoned { turn, .. }
                | TurnEvent::Closed { turn, .. },
            ) => {
                let is_first = self.ended.insert(turn.0);
                out.check("turns", is_first, || format!("turn {turn} ended twice"));
                out.check("turns", turn.0 <= self.turns, || format!("turn {turn} ended but never began"));
            }
            Event::Turn(TurnEvent::ToolsCalled { round, .. }) => {
                out.check("I7", round.is_complete(), || format!("a round is not whole: {round:?}"));
            }
            Event::Session(_)
            | Event::Effort(_)
            | Event::Window(_)
            | Event::Turn(TurnEvent::TakenBack { .. } | TurnEvent::MessageAdded { .. })
            | Event::Client(_)
            | Event::Memory(_) => {}
        }
    }
}

fn compare(
    session: &StreamId,
    from: usize,
    stored: &[RecordedEvent],
    acknowledged: &[RecordedEvent],
    out: &mut Violations,
) {
    out.check("durability", stored.len() == acknowledged.len(), || {
        let (stored, acknowledged) = (from + stored.len(), from + acknowledged.len());
        format!("{session} has {stored} events, {acknowledged} were acknowledged")
    });
    for (actual, expected) in stored.iter().zip(acknowledged) {
        if actual != expected {
            out.add("durability", format!("{session}: stored {actual:?}, acknowledged {expected:?}"));
            return;
        }
    }
}
