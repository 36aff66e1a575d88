//! The stream against the record of what was acknowledged: nothing lost, doubled, reordered or changed (I2, I10).

use std::collections::BTreeSet;

use neap_core::event::{Event, Recorded};
use neap_core::ids::{Seq, SessionId};
use neap_store::{Store, StoreError, Stored};

use super::Violations;
use crate::tape::Tape;

/// Events read at once.
const PAGE: usize = 500;

/// Follows one stream.
#[derive(Debug, Default)]
pub struct StreamWatch {
    /// Events looked at so far.
    pub seen: usize,
    turns: u64,
    ended: BTreeSet<u64>,
    turn_ids: BTreeSet<String>,
}

/// All events from a place on; damage is a violation.
pub async fn read(
    store: &dyn Store,
    session: &SessionId,
    from: usize,
    out: &mut Violations,
) -> Result<Vec<Recorded>, StoreError> {
    let mut events = Vec::new();
    let mut next = Seq(from as u64 + 1);
    loop {
        let page = store.events(session, next, PAGE).await?;
        let full = page.len() == PAGE;
        for stored in page {
            match stored {
                Stored::Event(recorded) => {
                    next = recorded.seq.next();
                    events.push(recorded);
                }
                Stored::Damaged { seq, why } => {
                    next = seq.next();
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
    /// Compares what is stored with what was acknowledged, from where the last look ended.
    pub async fn follow(
        &mut self,
        store: &dyn Store,
        session: &SessionId,
        tape: &Tape,
        out: &mut Violations,
    ) -> Result<Vec<Recorded>, StoreError> {
        let stored = read(store, session, self.seen, out).await?;
        tape.with_acknowledged(session, |all| {
            compare(session, self.seen, &stored, all.get(self.seen..).unwrap_or_default(), out);
        });
        for recorded in &stored {
            self.seen += 1;
            out.check("I10", recorded.seq.0 == self.seen as u64, || {
                format!("event {} of {session} stands at place {}", recorded.seq, self.seen)
            });
            self.number(recorded, out);
        }
        Ok(stored)
    }

    /// The same from the first event on: what was true once must stay true after a crash.
    pub async fn again(
        &self,
        store: &dyn Store,
        session: &SessionId,
        tape: &Tape,
        out: &mut Violations,
    ) -> Result<Vec<Recorded>, StoreError> {
        let stored = read(store, session, 0, out).await?;
        tape.with_acknowledged(session, |all| compare(session, 0, &stored, all, out));
        Ok(stored)
    }

    /// Turns are numbered without a gap, each begins once and ends at most once.
    fn number(&mut self, recorded: &Recorded, out: &mut Violations) {
        match &recorded.event {
            Event::TurnStarted { turn, turn_id, .. } => {
                self.turns += 1;
                out.check("turns", turn.0 == self.turns, || format!("turn {turn} follows {}", self.turns - 1));
                if let Some(id) = turn_id {
                    let is_new = self.turn_ids.insert(id.clone());
                    out.check("turns", is_new, || format!("the turn id {id} was accepted twice"));
                }
            }
            Event::TurnCompleted { turn, .. }
            | Event::TurnAbandoned { turn, .. }
            | Event::TurnClosed { turn, .. } => {
                let is_first = self.ended.insert(turn.0);
                out.check("turns", is_first, || format!("turn {turn} ended twice"));
                out.check("turns", turn.0 <= self.turns, || format!("turn {turn} ended but never began"));
            }
            Event::ToolsCalled { round, .. } => {
                out.check("I7", round.is_whole(), || format!("a round is not whole: {round:?}"));
            }
            Event::SessionCreated { .. }
            | Event::PolicyChanged { .. }
            | Event::EffortOpened { .. }
            | Event::EffortConcluded { .. }
            | Event::EffortSummarized { .. }
            | Event::EffortExpanded { .. }
            | Event::EffortCollapsed { .. }
            | Event::EffortSwitched { .. }
            | Event::EffortReopened { .. }
            | Event::EffortsReferenced { .. }
            | Event::SummariesEvicted { .. }
            | Event::SpanCompacted { .. }
            | Event::TurnTakenBack { .. }
            | Event::HistoryLinked { .. }
            | Event::RequestPassed { .. }
            | Event::ClientCompacted { .. }
            | Event::EpochBegan { .. }
            | Event::MessageAdded { .. }
            | Event::MemoriesLoaded { .. }
            | Event::CensorTriggered { .. }
            | Event::MemoryChanged { .. }
            | Event::MemoryErased { .. }
            | Event::Scrubbed { .. } => {}
        }
    }
}

fn compare(session: &SessionId, from: usize, stored: &[Recorded], promised: &[Recorded], out: &mut Violations) {
    out.check("durability", stored.len() == promised.len(), || {
        let (stored, promised) = (from + stored.len(), from + promised.len());
        format!("{session} has {stored} events, {promised} were acknowledged")
    });
    for (is, must) in stored.iter().zip(promised) {
        if is != must {
            out.add("durability", format!("{session}: stored {is:?}, acknowledged {must:?}"));
            return;
        }
    }
}
