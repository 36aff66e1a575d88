//! Erasure of one memory: what it said is overwritten wherever it was written; that it was erased stays.

use std::collections::BTreeSet;

use neap_core::event::{Event, Recorded};
use neap_core::ids::{SessionId, Stamp};
use neap_core::memory::MemoryId;
use rusqlite::{Connection, TransactionBehavior};

use super::events::{self, EventRow};
use super::fault::Stop;
use super::reader::Reader;
use super::{effects, memories, read, scrub};
use crate::{StoreError, Stored};

pub(super) fn erase_memory(db: &mut Connection, agent: &SessionId, id: MemoryId, now: Stamp) -> Result<u64, Stop> {
    let erased = erase(db, agent, id, now)?;
    // Also where nothing was left: an earlier erasure may not have got this far.
    scrub::forget(db)?;
    Ok(erased)
}

fn erase(db: &mut Connection, agent: &SessionId, id: MemoryId, now: Stamp) -> Result<u64, Stop> {
    let failed = |e: serde_json::Error| StoreError::Failed(e.to_string());
    let all = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some(stream) = events::stream(&all, agent.as_str())? else { return Ok(0) };
    let event = Event::MemoryErased { id };
    // The stream itself says which events are this memory's; of those that are damaged only its history can.
    let mut places: BTreeSet<_> = memories::places(&all, stream, id)?.into_iter().collect();
    Reader::new(&all, stream).for_each(|stored| {
        if let Stored::Event(Recorded { seq, event: found, .. }) = stored
            && found.memory() == Some(id)
        {
            if found == event {
                places.remove(&seq);
            } else {
                places.insert(seq);
            }
        }
    })?;
    let mut erased = 0;
    for seq in places {
        erased += u64::from(events::replace(&all, stream, seq, &event)?);
    }
    if erased == 0 {
        return Ok(0);
    }
    let tombstone = Recorded { seq: events::last_seq(&all, stream)?.next(), at: now, event };
    let row = EventRow::new(&tombstone).map_err(failed)?;
    row.insert(&all, stream)?;
    memories::put_event(&all, stream, id, row.seq)?;
    let gone = memories::remove(&all, stream, id)?;
    let head = read::fold(&all, stream)?.derived.head;
    effects::put_head(&all, stream, &serde_json::to_string(&head).map_err(failed)?, -gone)?;
    all.commit()?;
    Ok(erased)
}
