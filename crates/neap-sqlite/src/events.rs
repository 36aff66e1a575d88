//! The newest events of a stream, one row each, checked against their checksum on every read.

use std::borrow::Cow;

use neap_core::base::ids::{Seq, Stamp};
use neap_core::session::event::{Event, RecordedEvent};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};

use super::db_error::DbError;
use super::{cold, examine};
use neap_store::backend::event_row::{self, EventRow, row_checksum};
use neap_store::{StoreError, StoredEvent};

pub(super) fn insert(db: &Connection, stream: i64, row: &EventRow) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT INTO events(stream, seq, at, kind, sum, body) VALUES (?, ?, ?, ?, ?, ?)")?
        .execute(params![stream, row.seq, row.at, row.kind, row.checksum, row.body])?;
    Ok(())
}

/// Overwrites an event, keeping its time, also if it is damaged. Returns whether there was one.
pub(super) fn replace(db: &Connection, stream: i64, seq: Seq, event: &Event) -> Result<bool, DbError> {
    let row_seq = i64::try_from(seq.0).unwrap_or(i64::MAX);
    let was_damaged = cold::unpack_block(db, stream, row_seq)?;
    let at: Option<i64> = db
        .prepare_cached("SELECT at FROM events WHERE stream = ? AND seq = ?")?
        .query_row([stream, row_seq], |row| row.get(0))
        .optional()?;
    // A damaged block loses the time.
    let Some(at) = at.or(was_damaged.then_some(0)) else { return Ok(false) };
    let row = EventRow::new(&RecordedEvent { seq, at: Stamp(at), event: event.clone() })
        .map_err(|e| StoreError::Failed(e.to_string()))?;
    db.prepare_cached("DELETE FROM events WHERE stream = ? AND seq = ?")?.execute([stream, row_seq])?;
    insert(db, stream, &row)?;
    Ok(true)
}

pub(super) fn reinsert(db: &Connection, stream: i64, seq: i64, at: i64, body: &[u8]) -> rusqlite::Result<()> {
    #[derive(serde::Deserialize)]
    struct Kind {
        r#type: String,
    }
    let kind = serde_json::from_slice(body).map_or_else(|_| String::new(), |kind: Kind| kind.r#type);
    let text = ValueRef::Text(body);
    db.prepare_cached("INSERT INTO events(stream, seq, at, kind, sum, body) VALUES (?, ?, ?, ?, ?, ?)")?
        .execute(params![stream, seq, at, kind, row_checksum(seq, at, body), ToSqlOutput::Borrowed(text)])?;
    Ok(())
}

/// Whether an unpacked body matches the checksum of its row (`seq`, time, checksum).
pub(super) fn is_whole(row: &Row<'_>, body: &[u8]) -> bool {
    let number = |column| row.get::<_, i64>(column);
    let (Ok(seq), Ok(at), Ok(stored_sum)) = (number(0), number(1), number(2)) else { return false };
    i64::from(row_checksum(seq, at, body)) == stored_sum
}

pub(super) fn stream_number(db: &Connection, session: &str) -> rusqlite::Result<Option<i64>> {
    // The index alone could answer; the name in the row must agree with it.
    let by_index = db
        .prepare_cached("SELECT stream, (SELECT name FROM sessions r WHERE r.stream = s.stream) FROM sessions s WHERE name = ?")
        .and_then(|mut query| {
            query.query_row([session], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?))).optional()
        });
    match by_index {
        Ok(Some((stream, name))) if name.as_deref() == Some(session) => return Ok(Some(stream)),
        // The row's name or the index is damaged: the session's first event decides.
        Ok(Some((stream, _))) if examine::recorded_name(db, stream)?.is_some_and(|id| id.as_str() == session) => {
            return Ok(Some(stream));
        }
        Ok(_) => {}
        Err(error) if is_corruption(&error) => {}
        Err(error) => return Err(error),
    }
    db.prepare_cached("SELECT stream FROM sessions WHERE +name = ?")?
        .query_row([session], |row| row.get(0))
        .optional()
}

pub(super) fn last_seq(db: &Connection, stream: i64) -> rusqlite::Result<Seq> {
    let last = db
        .prepare_cached(
            "SELECT max(coalesce((SELECT max(seq) FROM events WHERE stream = ?1), 0),
                        coalesce((SELECT max(last_seq) FROM blocks WHERE stream = ?1), 0))",
        )?
        .query_row([stream], |row| row.get::<_, i64>(0));
    match last {
        Ok(last) => Ok(Seq(last as u64)),
        // If the end of the stream is damaged, its row still has the last `seq`.
        Err(error) if is_corruption(&error) => super::read::head(db, stream)?.map(|head| head.seq).ok_or(error),
        Err(error) => Err(error),
    }
}

/// Whether SQLite found the file itself damaged.
pub(super) fn is_corruption(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Passes rows to `each` while it returns true; returns whether it still did at the end. On a damaged page of the
/// file, rows are read one by one, and unreadable ones are reported as damaged.
pub(super) fn for_each_row(
    db: &Connection,
    stream: i64,
    first: i64,
    last: i64,
    each: &mut dyn FnMut(StoredEvent) -> bool,
) -> rusqlite::Result<bool> {
    let mut next = first;
    match scan(db, stream, first, last, &mut next, each) {
        Ok(false) => return Ok(false),
        Ok(true) if next > last => return Ok(true),
        Ok(true) => {}
        Err(error) if is_corruption(&error) => {}
        Err(error) => return Err(error),
    }
    // Events are numbered without a gap: if the rows end early, keys may be out of order.
    let end = last.min(i64::try_from(last_seq(db, stream)?.0).unwrap_or(i64::MAX));
    while next <= end {
        let found = db
            .prepare_cached("SELECT seq, at, sum, body FROM events WHERE stream = ? AND seq = ?")
            .and_then(|mut row| row.query_row([stream, next], |row| Ok(read_row(row))).optional());
        let stored = match found {
            Ok(stored) => stored,
            Err(error) if is_corruption(&error) => {
                let why = "its page of the file is damaged".to_owned();
                Some(StoredEvent::Damaged { seq: Seq(next as u64), why })
            }
            Err(error) => return Err(error),
        };
        next += 1;
        if stored.is_some_and(|stored| !each(stored)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Like [`for_each_row`] as long as rows are in order; `next` is the `seq` after the last.
fn scan(
    db: &Connection,
    stream: i64,
    first: i64,
    last: i64,
    next: &mut i64,
    each: &mut dyn FnMut(StoredEvent) -> bool,
) -> rusqlite::Result<bool> {
    let mut statement = db.prepare_cached(
        "SELECT seq, at, sum, body FROM events WHERE stream = ? AND seq BETWEEN ? AND ? ORDER BY seq",
    )?;
    let mut rows = statement.query([stream, first, last])?;
    while let Some(row) = rows.next()? {
        let seq = row.get::<_, i64>(0).unwrap_or(0);
        if seq < *next || seq > last {
            continue;
        }
        *next = seq.saturating_add(1);
        if !each(read_row(row)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn read_row(row: &Row<'_>) -> StoredEvent {
    let seq = row.get::<_, i64>(0).unwrap_or(0);
    let why = match parse_row(row, seq) {
        Ok(recorded) => return StoredEvent::Whole(recorded),
        Err(why) => why,
    };
    StoredEvent::Damaged { seq: Seq(seq as u64), why }
}

fn parse_row(row: &Row<'_>, seq: i64) -> Result<RecordedEvent, String> {
    let sql = |e: rusqlite::Error| e.to_string();
    let at: i64 = row.get(1).map_err(sql)?;
    let stored_sum: i64 = row.get(2).map_err(sql)?;
    let body = match row.get_ref(3).map_err(sql)? {
        ValueRef::Text(plain) => Cow::Borrowed(plain),
        ValueRef::Blob(packed) => Cow::Owned(cold::unpack(packed)?),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => return Err("it is not text".to_owned()),
    };
    event_row::parse_row(seq, at, stored_sum, &body)
}
