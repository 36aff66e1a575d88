//! The newest events of a stream, a row each: written once, checked whenever they are read.

use std::borrow::Cow;

use neap_core::event::{Event, Recorded};
use neap_core::ids::{Seq, Stamp};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};

use super::fault::Stop;
use super::{cold, examine};
use crate::{StoreError, Stored};

/// An event as it lies in its row.
pub(super) struct EventRow {
    pub(super) seq: i64,
    pub(super) at: i64,
    pub(super) kind: &'static str,
    pub(super) sum: u32,
    pub(super) body: String,
}

impl EventRow {
    pub(super) fn new(recorded: &Recorded) -> Result<Self, serde_json::Error> {
        let body = serde_json::to_string(&recorded.event)?;
        let seq = i64::try_from(recorded.seq.0).unwrap_or(i64::MAX);
        let at = recorded.at.0;
        Ok(Self { seq, at, kind: recorded.event.kind(), sum: sum(seq, at, body.as_bytes()), body })
    }

    pub(super) fn insert(&self, db: &Connection, stream: i64) -> rusqlite::Result<()> {
        db.prepare_cached("INSERT INTO events(stream, seq, at, kind, sum, body) VALUES (?, ?, ?, ?, ?, ?)")?
            .execute(params![stream, self.seq, self.at, self.kind, self.sum, self.body])?;
        Ok(())
    }
}

/// Writes an event in the place of another, at the time of that one, also if that one is damaged. Returns whether
/// there was one.
pub(super) fn replace(db: &Connection, stream: i64, seq: Seq, event: &Event) -> Result<bool, Stop> {
    let place = i64::try_from(seq.0).unwrap_or(i64::MAX);
    let was_lost = cold::open_block(db, stream, place)?;
    let at: Option<i64> = db
        .prepare_cached("SELECT at FROM events WHERE stream = ? AND seq = ?")?
        .query_row([stream, place], |row| row.get(0))
        .optional()?;
    // When that was is lost with a damaged block.
    let Some(at) = at.or(was_lost.then_some(0)) else { return Ok(false) };
    let row = EventRow::new(&Recorded { seq, at: Stamp(at), event: event.clone() })
        .map_err(|e| StoreError::Failed(e.to_string()))?;
    db.prepare_cached("DELETE FROM events WHERE stream = ? AND seq = ?")?.execute([stream, place])?;
    row.insert(db, stream)?;
    Ok(true)
}

/// Writes a row for an event that had been packed.
pub(super) fn insert_again(db: &Connection, stream: i64, seq: i64, at: i64, body: &[u8]) -> rusqlite::Result<()> {
    #[derive(serde::Deserialize)]
    struct Kind {
        r#type: String,
    }
    let kind = serde_json::from_slice(body).map_or_else(|_| String::new(), |kind: Kind| kind.r#type);
    let text = ValueRef::Text(body);
    db.prepare_cached("INSERT INTO events(stream, seq, at, kind, sum, body) VALUES (?, ?, ?, ?, ?, ?)")?
        .execute(params![stream, seq, at, kind, sum(seq, at, body), ToSqlOutput::Borrowed(text)])?;
    Ok(())
}

/// Whether a plain body is what was written, in a row of place, time, checksum and body.
pub(super) fn is_whole(row: &Row<'_>, body: &[u8]) -> bool {
    let number = |column| row.get::<_, i64>(column);
    let (Ok(seq), Ok(at), Ok(kept)) = (number(0), number(1), number(2)) else { return false };
    i64::from(sum(seq, at, body)) == kept
}

/// The checksum of a row.
pub(super) fn sum(seq: i64, at: i64, body: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&seq.to_le_bytes());
    sum.update(&at.to_le_bytes());
    sum.update(body);
    sum.finalize()
}

/// The number of a session's stream.
pub(super) fn stream(db: &Connection, session: &str) -> rusqlite::Result<Option<i64>> {
    // The index alone would answer; what it says is compared with the row.
    let by_index = db
        .prepare_cached("SELECT stream, (SELECT name FROM sessions r WHERE r.stream = s.stream) FROM sessions s WHERE name = ?")
        .and_then(|mut found| {
            found.query_row([session], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?))).optional()
        });
    match by_index {
        Ok(Some((stream, name))) if name.as_deref() == Some(session) => return Ok(Some(stream)),
        // The row's name or the index is damaged: the session's own event decides.
        Ok(Some((stream, _))) if examine::name(db, stream)?.is_some_and(|id| id.as_str() == session) => {
            return Ok(Some(stream));
        }
        Ok(_) => {}
        Err(error) if is_damage(&error) => {}
        Err(error) => return Err(error),
    }
    db.prepare_cached("SELECT stream FROM sessions WHERE +name = ?")?
        .query_row([session], |row| row.get(0))
        .optional()
}

/// The place of a stream's last event.
pub(super) fn last_seq(db: &Connection, stream: i64) -> rusqlite::Result<Seq> {
    let last = db
        .prepare_cached(
            "SELECT max(coalesce((SELECT max(seq) FROM events WHERE stream = ?1), 0),
                        coalesce((SELECT max(last_seq) FROM blocks WHERE stream = ?1), 0))",
        )?
        .query_row([stream], |row| row.get::<_, i64>(0));
    match last {
        Ok(last) => Ok(Seq(last as u64)),
        // Where the end of the stream is damaged, its row knows where it was.
        Err(error) if is_damage(&error) => super::read::head(db, stream)?.map(|head| head.seq).ok_or(error),
        Err(error) => Err(error),
    }
}

/// Whether SQLite found the file itself damaged.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Hands the rows between two places to `each` while it wants more. Returns whether it still does. Where a page of the file is damaged, the
/// rows on other pages are found one by one, and those on it are damaged.
pub(super) fn rows(
    db: &Connection,
    stream: i64,
    first: i64,
    last: i64,
    each: &mut dyn FnMut(Stored) -> bool,
) -> rusqlite::Result<bool> {
    let mut next = first;
    match scan(db, stream, first, last, &mut next, each) {
        Ok(false) => return Ok(false),
        Ok(true) if next > last => return Ok(true),
        Ok(true) => {}
        Err(error) if is_damage(&error) => {}
        Err(error) => return Err(error),
    }
    // Events are numbered without a gap: where rows end early, keys may be out of order.
    let end = last.min(i64::try_from(last_seq(db, stream)?.0).unwrap_or(i64::MAX));
    while next <= end {
        let found = db
            .prepare_cached("SELECT seq, at, sum, body FROM events WHERE stream = ? AND seq = ?")
            .and_then(|mut row| row.query_row([stream, next], |row| Ok(read(row))).optional());
        let stored = match found {
            Ok(stored) => stored,
            Err(error) if is_damage(&error) => {
                let why = "its page of the file is damaged".to_owned();
                Some(Stored::Damaged { seq: Seq(next as u64), why })
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

/// The same as far as rows follow each other; `next` is the place after the last.
fn scan(
    db: &Connection,
    stream: i64,
    first: i64,
    last: i64,
    next: &mut i64,
    each: &mut dyn FnMut(Stored) -> bool,
) -> rusqlite::Result<bool> {
    let mut statement = db.prepare_cached(
        "SELECT seq, at, sum, body FROM events WHERE stream = ? AND seq BETWEEN ? AND ? ORDER BY seq",
    )?;
    let mut rows = statement.query([stream, first, last])?;
    while let Some(row) = rows.next()? {
        let seq = row.get::<_, i64>(0).unwrap_or(0);
        if seq < *next || seq > last {
            // Out of order: what is here is found by its number, if at all.
            continue;
        }
        *next = seq.saturating_add(1);
        if !each(read(row)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn read(row: &Row<'_>) -> Stored {
    let seq = row.get::<_, i64>(0).unwrap_or(0);
    let why = match whole(row, seq) {
        Ok(recorded) => return Stored::Event(recorded),
        Err(why) => why,
    };
    Stored::Damaged { seq: Seq(seq as u64), why }
}

fn whole(row: &Row<'_>, seq: i64) -> Result<Recorded, String> {
    let sql = |e: rusqlite::Error| e.to_string();
    let at: i64 = row.get(1).map_err(sql)?;
    let kept: i64 = row.get(2).map_err(sql)?;
    let body = match row.get_ref(3).map_err(sql)? {
        ValueRef::Text(plain) => Cow::Borrowed(plain),
        ValueRef::Blob(packed) => Cow::Owned(cold::unpack(packed)?),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => return Err("it is no text".to_owned()),
    };
    if i64::from(sum(seq, at, &body)) != kept {
        return Err("its checksum does not match".to_owned());
    }
    let event = serde_json::from_slice(&body).map_err(|e| format!("it cannot be understood ({e})"))?;
    Ok(Recorded { seq: Seq(seq as u64), at: Stamp(at), event })
}
