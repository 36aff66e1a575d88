//! Text that is far behind is packed in place, a bounded batch at a time, in a transaction of its own: a kill
//! leaves a row either plain or packed. Its checksum stays that of the plain bytes, so damage is found as before.

mod pack;

use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, TransactionBehavior, params};

use super::connect::BUSY_TIMEOUT;
use super::events;
pub(super) use pack::unpack;

/// Events at the end of a stream that stay as they are: what is read most is read as it is.
const WARM_EVENTS: i64 = 512;
/// It begins when this many are waiting, so that its wait for the disk is shared.
const WAITING_EVENTS_MIN: i64 = 128;
/// In one batch; what comes meanwhile waits for that.
const BATCH_EVENTS_MAX: i64 = 256;
/// In one batch, but for a single body that is larger.
const BATCH_BYTES_MAX: usize = 1 << 20;
/// Shorter ones stay as they are.
const BODY_BYTES_MIN: usize = 64;

/// Packs the next batch of a stream, if enough is waiting. Returns whether more is.
pub(super) fn pack_some(db: &mut Connection, stream: i64) -> rusqlite::Result<bool> {
    if !is_due(db, stream)? {
        return Ok(false);
    }
    // It can wait; others cannot.
    db.busy_timeout(Duration::ZERO)?;
    let packed = pack_batch(db, stream);
    db.busy_timeout(BUSY_TIMEOUT)?;
    match packed {
        Ok(()) => is_due(db, stream),
        Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
        Err(e) => Err(e),
    }
}

fn is_due(db: &Connection, stream: i64) -> rusqlite::Result<bool> {
    let (done, last) = reach(db, stream)?;
    Ok(last - done >= WAITING_EVENTS_MIN)
}

/// How far a stream is packed, and how far it may be.
fn reach(db: &Connection, stream: i64) -> rusqlite::Result<(i64, i64)> {
    let last = i64::try_from(events::last_seq(db, stream)?.0).unwrap_or(i64::MAX) - WARM_EVENTS;
    let done =
        db.prepare_cached("SELECT cold FROM sessions WHERE stream = ?")?.query_row([stream], |row| row.get(0));
    match done {
        Ok(done) => Ok((done, last)),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok((last, last)),
        Err(e) => Err(e),
    }
}

fn pack_batch(db: &mut Connection, stream: i64) -> rusqlite::Result<()> {
    let db = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (done, last) = reach(&db, stream)?;
    let Ok(mut packer) = pack::Packer::new() else { return Ok(()) };
    let (mut seen, mut bytes, mut packed) = (done, 0, Vec::new());
    {
        let mut statement = db.prepare_cached(
            "SELECT seq, at, sum, body FROM events WHERE stream = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        )?;
        let mut rows = statement.query(params![stream, done, last, BATCH_EVENTS_MAX])?;
        while bytes < BATCH_BYTES_MAX
            && let Some(row) = rows.next()?
        {
            seen = row.get(0)?;
            let ValueRef::Text(body) = row.get_ref(3)? else { continue };
            // What is damaged stays as it was found.
            if body.len() < BODY_BYTES_MIN || !events::is_whole(row, body) {
                continue;
            }
            bytes += body.len();
            packed.extend(packer.pack(body).map(|body| (seen, body)));
        }
    }
    for (seq, body) in packed {
        db.prepare_cached("UPDATE events SET body = ? WHERE stream = ? AND seq = ?")?
            .execute(params![body, stream, seq])?;
    }
    // Where rows are missing, the whole stretch is done.
    let done = if seen == done { last } else { seen };
    db.prepare_cached("UPDATE sessions SET cold = ? WHERE stream = ?")?.execute([done, stream])?;
    db.commit()
}
