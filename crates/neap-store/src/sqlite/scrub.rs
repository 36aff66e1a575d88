//! Erasure: the one place where history changes. What a session held is overwritten, in the file, in the word
//! index and in the log of recent writes; a tombstone stays.

use neap_core::event::{Event, Recorded};
use neap_core::ids::{SessionId, Stamp};
use rusqlite::{Connection, TransactionBehavior};

use super::events::{self, EventRow};
use super::fault::Stop;
use super::{progress, read, rebuild};
use crate::StoreError;

pub(super) fn scrub(db: &mut Connection, session: &SessionId, now: Stamp) -> Result<u64, Stop> {
    let erased = erase(db, session, now)?;
    forget(db)?;
    Ok(erased)
}

/// Sees to it that what was removed is nowhere in the file or beside it.
pub(super) fn forget(db: &Connection) -> Result<(), Stop> {
    // Merging rewrites the index without what was removed; freed pages are overwritten (`secure_delete`). A page from
    // which rows moved to another keeps their bytes between its own, though: only a file written anew has none of them.
    db.execute("INSERT INTO words(words) VALUES ('optimize')", [])?;
    db.execute_batch("VACUUM")?;
    let busy: i64 = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy != 0 {
        // Someone still reads what was; asking again finishes it.
        let path = db.path().map(std::path::PathBuf::from).unwrap_or_default();
        return Err(StoreError::Busy { path }.into());
    }
    Ok(())
}

fn erase(db: &mut Connection, session: &SessionId, now: Stamp) -> Result<u64, Stop> {
    let all = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some(stream) = events::stream(&all, session.as_str())? else { return Ok(0) };
    if read::head(&all, stream)?.is_some_and(|head| head.scrubbed && head.session.is_none()) {
        return Ok(0);
    }
    let last = events::last_seq(&all, stream)?;
    let packed: i64 = all.query_row(
        "SELECT coalesce(sum(last_seq - first_seq + 1), 0) FROM blocks WHERE stream = ?",
        [stream],
        |row| row.get(0),
    )?;
    all.execute("DELETE FROM blocks WHERE stream = ?", [stream])?;
    let erased = packed as u64 + all.execute("DELETE FROM events WHERE stream = ?", [stream])? as u64;
    let event = Recorded { seq: last.next(), at: now, event: Event::Scrubbed { events: erased } };
    let row = EventRow::new(&event).map_err(|e| StoreError::Failed(e.to_string()))?;
    row.insert(&all, stream)?;
    let folded = read::fold(&all, stream)?;
    rebuild::write(&all, stream, &folded.derived)?;
    progress::advance(&all, 1, Some(now))?;
    all.commit()?;
    Ok(erased)
}
