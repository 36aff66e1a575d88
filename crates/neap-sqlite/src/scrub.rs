//! Erasure of a session, one of the two places where history changes (see `erase`). Its content is overwritten in
//! the file, the word index and the WAL; a tombstone stays.

use neap_core::base::ids::{Stamp, StreamId};
use neap_core::session::event::{RecordedEvent, SessionEvent};
use rusqlite::{Connection, TransactionBehavior};

use super::db_error::DbError;
use super::events;
use super::{progress, read, rebuild};
use neap_store::StoreError;
use neap_store::backend::event_row::EventRow;

pub(super) fn scrub(db: &mut Connection, session: &StreamId, now: Stamp) -> Result<u64, DbError> {
    let erased = erase(db, session, now)?;
    purge_deleted(db)?;
    Ok(erased)
}

/// Ensures that deleted content is nowhere in the file or beside it.
pub(super) fn purge_deleted(db: &Connection) -> Result<(), DbError> {
    // Merging rewrites the index without deleted terms; freed pages are overwritten (`secure_delete`). But a page
    // whose rows moved elsewhere keeps their bytes in its free space: only VACUUM gets rid of those.
    db.execute("INSERT INTO words(words) VALUES ('optimize')", [])?;
    db.execute_batch("VACUUM")?;
    let busy: i64 = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy != 0 {
        // A reader still uses the old pages; a retry finishes this.
        let path = db.path().map(std::path::PathBuf::from).unwrap_or_default();
        return Err(StoreError::Busy { path }.into());
    }
    Ok(())
}

fn erase(db: &mut Connection, session: &StreamId, now: Stamp) -> Result<u64, DbError> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some(stream) = events::stream_number(&transaction, session.as_str())? else { return Ok(0) };
    if read::head(&transaction, stream)?.is_some_and(|head| head.scrubbed && head.stream.is_none()) {
        return Ok(0);
    }
    let last = events::last_seq(&transaction, stream)?;
    let packed: i64 = transaction.query_row(
        "SELECT coalesce(sum(last_seq - first_seq + 1), 0) FROM blocks WHERE stream = ?",
        [stream],
        |row| row.get(0),
    )?;
    transaction.execute("DELETE FROM blocks WHERE stream = ?", [stream])?;
    let erased = packed as u64 + transaction.execute("DELETE FROM events WHERE stream = ?", [stream])? as u64;
    let event =
        RecordedEvent { seq: last.next(), at: now, event: SessionEvent::Scrubbed { events: erased }.into() };
    let row = EventRow::new(&event).map_err(|e| StoreError::Failed(e.to_string()))?;
    events::insert(&transaction, stream, &row)?;
    let folded = read::fold_stream(&transaction, stream)?;
    rebuild::write_rows(&transaction, stream, &folded.derived)?;
    progress::advance(&transaction, 1, Some(now))?;
    transaction.commit()?;
    Ok(erased)
}
