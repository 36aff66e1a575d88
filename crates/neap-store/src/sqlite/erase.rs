//! Erasure of one memory: what it said is overwritten wherever it was written; that it was erased stays.
//!
//! The stream is read and followed before the transaction that writes, so that nobody waits for that.

use std::collections::BTreeMap;

use neap_core::event::{Event, Recorded};
use neap_core::ids::{Seq, SessionId, Stamp};
use neap_core::memory::{MemoryId, after_erasure};
use neap_core::state::Head;
use rusqlite::{Connection, TransactionBehavior};

use super::cards::Tally;
use super::events::{self, EventRow};
use super::fault::Stop;
use super::reader::Reader;
use super::{effects, memories, progress, read, scrub};
use crate::derived::Fold;
use crate::{StoreError, Stored};

/// How often an erasure is planned anew because the stream went on; then it is planned while others wait.
const TRIES_MAX: usize = 3;

pub(super) fn erase_memory(db: &mut Connection, agent: &SessionId, id: MemoryId, now: Stamp) -> Result<u64, Stop> {
    let erased = erase(db, agent, id, now)?;
    // Also where nothing was left: an earlier erasure may not have got this far.
    scrub::forget(db)?;
    Ok(erased)
}

/// What an erasure will write.
struct Plan {
    stream: i64,
    /// The stream's last event when it was read.
    last: Seq,
    /// Events to overwrite, and with what.
    changed: BTreeMap<Seq, Event>,
    /// The agent's row after it; none where damage lets only the outcome tell.
    head: Option<Head>,
}

impl Plan {
    /// Reads a stream; `db` is in a transaction. None if there is nothing to erase.
    fn of(db: &Connection, agent: &SessionId, id: MemoryId, now: Stamp) -> Result<Option<Self>, Stop> {
        let Some(stream) = events::stream(db, agent.as_str())? else { return Ok(None) };
        let last = events::last_seq(db, stream)?;
        let tombstone = Event::MemoryErased { id };
        // The stream itself says which events are this memory's; of those that are damaged only its history can.
        let places = memories::places(db, stream, id)?.into_iter();
        let mut changed: BTreeMap<Seq, Event> = places.map(|seq| (seq, tombstone.clone())).collect();
        let mut fold = Fold::default();
        let mut is_whole = true;
        Reader::new(db, stream).for_each(|stored| {
            let Stored::Event(mut recorded) = stored else {
                is_whole = false;
                return;
            };
            match after_erasure(&recorded.event, id) {
                Some(after) => {
                    changed.insert(recorded.seq, after.clone());
                    recorded.event = after;
                }
                None => {
                    changed.remove(&recorded.seq);
                }
            }
            fold.add(Stored::Event(recorded));
        })?;
        if changed.is_empty() {
            return Ok(None);
        }
        fold.add(Stored::Event(Recorded { seq: last.next(), at: now, event: tombstone }));
        let head = is_whole.then(|| fold.finish().derived.head);
        Ok(Some(Self { stream, last, changed, head }))
    }
}

fn erase(db: &mut Connection, agent: &SessionId, id: MemoryId, now: Stamp) -> Result<u64, Stop> {
    for _ in 0..TRIES_MAX {
        let reading = db.transaction()?;
        let plan = Plan::of(&reading, agent, id, now)?;
        drop(reading);
        let Some(plan) = plan else { return Ok(0) };
        let all = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Whatever changes a stream, erasures as well, adds to it.
        if events::last_seq(&all, plan.stream)? == plan.last {
            let erased = write(&all, &plan, id, now)?;
            all.commit()?;
            return Ok(erased);
        }
    }
    let all = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some(plan) = Plan::of(&all, agent, id, now)? else { return Ok(0) };
    let erased = write(&all, &plan, id, now)?;
    all.commit()?;
    Ok(erased)
}

fn write(all: &Connection, plan: &Plan, id: MemoryId, now: Stamp) -> Result<u64, Stop> {
    let failed = |e: serde_json::Error| StoreError::Failed(e.to_string());
    let Plan { stream, last, changed, head } = plan;
    let mut erased = 0;
    for (seq, event) in changed {
        erased += u64::from(events::replace(all, *stream, *seq, event)?);
    }
    if erased == 0 {
        return Ok(0);
    }
    let tombstone = Recorded { seq: last.next(), at: now, event: Event::MemoryErased { id } };
    let row = EventRow::new(&tombstone).map_err(failed)?;
    row.insert(all, *stream)?;
    memories::put_event(all, *stream, id, row.seq)?;
    let mut tally = Tally::default();
    let gone = memories::remove(all, &mut tally, *stream, id)?;
    tally.write(all)?;
    memories::settle(all, *stream, id)?;
    let head = match head {
        Some(head) => serde_json::to_string(head),
        None => serde_json::to_string(&read::fold(all, *stream)?.derived.head),
    };
    effects::put_head(all, *stream, &head.map_err(failed)?, -gone)?;
    progress::advance(all, 1, Some(now))?;
    Ok(erased)
}
