//! Erases one memory: overwrites its content and leaves tombstones. The stream is read and folded before the write
//! transaction, so that nobody waits for that.

use neap_core::base::ids::{Seq, Stamp, StreamId};
use neap_core::memory::MemoryId;
use rusqlite::{Connection, TransactionBehavior};

use super::cards;
use super::db_error::DbError;
use super::events;
use super::reader::StreamReader;
use super::{derived_rows, memories, progress, read, scrub};
use neap_store::StoreError;
use neap_store::backend::counts::CountChanges;
use neap_store::backend::event_row::EventRow;
use neap_store::backend::memory_erasure::{MemoryErasure, PlannedErasure};
use neap_store::backend::prepared_commit::HeadRow;

/// How often an erasure is replanned because the stream changed; after that it is planned while others wait.
const TRIES_MAX: usize = 3;

pub(super) fn erase_memory(
    db: &mut Connection,
    stream: &StreamId,
    id: MemoryId,
    now: Stamp,
) -> Result<u64, DbError> {
    let erased = erase(db, stream, id, now)?;
    // Also if nothing was left: an earlier erasure may have been cut short before this.
    scrub::purge_deleted(db)?;
    Ok(erased)
}

struct ErasurePlan {
    stream: i64,
    last: Seq,
    planned: PlannedErasure,
}

impl ErasurePlan {
    /// `db` must be in a transaction. `None` if there is nothing to erase.
    fn of(db: &Connection, stream: &StreamId, id: MemoryId, now: Stamp) -> Result<Option<Self>, DbError> {
        let Some(stream) = events::stream_number(db, stream.as_str())? else { return Ok(None) };
        let last = events::last_seq(db, stream)?;
        let mut erasure = MemoryErasure::new(id, memories::event_seqs(db, stream, id)?);
        StreamReader::new(db, stream).for_each(|stored| erasure.add(stored))?;
        Ok(erasure.finish(last, now).map(|planned| Self { stream, last, planned }))
    }
}

fn erase(db: &mut Connection, stream: &StreamId, id: MemoryId, now: Stamp) -> Result<u64, DbError> {
    for _ in 0..TRIES_MAX {
        let snapshot = db.transaction()?;
        let plan = ErasurePlan::of(&snapshot, stream, id, now)?;
        drop(snapshot);
        let Some(plan) = plan else { return Ok(0) };
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Every change to a stream, also an erasure, appends to it.
        if events::last_seq(&transaction, plan.stream)? == plan.last {
            let erased = write(&transaction, &plan, id, now)?;
            transaction.commit()?;
            return Ok(erased);
        }
    }
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some(plan) = ErasurePlan::of(&transaction, stream, id, now)? else { return Ok(0) };
    let erased = write(&transaction, &plan, id, now)?;
    transaction.commit()?;
    Ok(erased)
}

fn write(db: &Connection, plan: &ErasurePlan, id: MemoryId, now: Stamp) -> Result<u64, DbError> {
    let failed = |e: serde_json::Error| StoreError::Failed(e.to_string());
    let ErasurePlan { stream, last: _, planned: PlannedErasure { changed, tombstone, head } } = plan;
    let mut erased = 0;
    for (seq, event) in changed {
        erased += u64::from(events::replace(db, *stream, *seq, event)?);
    }
    if erased == 0 {
        return Ok(0);
    }
    let row = EventRow::new(tombstone).map_err(failed)?;
    events::insert(db, *stream, &row)?;
    memories::put_event(db, *stream, id, row.seq)?;
    let mut count_changes = CountChanges::default();
    let removed = memories::remove(db, &mut count_changes, *stream, id)?;
    cards::write_counts(db, count_changes)?;
    memories::sync_vector(db, *stream, id)?;
    let head = match head {
        Some(head) => HeadRow::new(head),
        None => HeadRow::new(&read::fold_stream(db, *stream)?.derived.head),
    };
    derived_rows::put_head(db, *stream, &head.map_err(failed)?, -removed)?;
    progress::advance(db, 1, Some(now))?;
    Ok(erased)
}
