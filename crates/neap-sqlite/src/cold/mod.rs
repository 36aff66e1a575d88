//! Packs a run of old event rows into one block, in a transaction of its own: a crash leaves either the rows or
//! the block. The background thread reads and packs before that, so that commits wait only briefly.

mod block;
mod pack;

use std::borrow::Cow;
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, TransactionBehavior, params};

use super::reader::StreamReader;
use super::{events, progress};
pub(super) use block::Block;
use block::{BlockDraft, PackedBlock};
pub(super) use pack::unpack;

/// Events at the end of a stream that stay rows: they are read most often.
const WARM_EVENTS: i64 = 32;
const BLOCK_EVENTS_MAX: i64 = 128;
/// Bytes per block, except for a single larger event. Reading one event unpacks this much.
const BLOCK_BYTES_MAX: usize = 16 << 10;

/// Whether a stream's packable events would fill a block.
pub(super) fn is_due(db: &Connection, stream: i64) -> rusqlite::Result<bool> {
    let (done, last) = packable_range(db, stream)?;
    has_full_block(db, stream, done, last)
}

/// Reads and packs the next block of a stream, if one is due, without changing anything.
pub(super) fn prepare_block(db: &Connection, stream: i64) -> rusqlite::Result<Option<NextBlock>> {
    let (done, last) = packable_range(db, stream)?;
    if !has_full_block(db, stream, done, last)? {
        return Ok(None);
    }
    let (draft, covered) = collect_rows(db, stream, done, last)?;
    let block = pack::Packer::new().ok().and_then(|mut packer| draft.pack(&mut packer));
    Ok(Some(NextBlock { range: (done, last), draft, block, done: covered }))
}

/// Replaces rows with their block, unless someone else is writing or the rows changed. Returns whether it did.
pub(super) fn put_block(db: &mut Connection, stream: i64, next: &NextBlock) -> rusqlite::Result<bool> {
    // Packing can wait; others cannot.
    let lock_wait: u32 = db.query_row("PRAGMA busy_timeout", [], |row| row.get(0))?;
    db.busy_timeout(Duration::ZERO)?;
    let replaced = replace_rows(db, stream, next);
    db.busy_timeout(Duration::from_millis(lock_wait.into()))?;
    match replaced {
        Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
        replaced => replaced,
    }
}

fn packable_range(db: &Connection, stream: i64) -> rusqlite::Result<(i64, i64)> {
    let last = i64::try_from(events::last_seq(db, stream)?.0).unwrap_or(i64::MAX) - WARM_EVENTS;
    let done =
        db.prepare_cached("SELECT cold FROM sessions WHERE stream = ?")?.query_row([stream], |row| row.get(0));
    match done {
        Ok(done) => Ok((done, last)),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok((last, last)),
        Err(e) => Err(e),
    }
}

fn has_full_block(db: &Connection, stream: i64, done: i64, last: i64) -> rusqlite::Result<bool> {
    if last - done >= BLOCK_EVENTS_MAX || last <= done {
        return Ok(last > done);
    }
    let bytes: Option<i64> = db
        .prepare_cached("SELECT sum(octet_length(body)) FROM events WHERE stream = ? AND seq > ? AND seq <= ?")?
        .query_row([stream, done, last], |row| row.get(0))?;
    Ok(bytes.unwrap_or(0) >= BLOCK_BYTES_MAX as i64)
}

pub(super) struct NextBlock {
    /// How far the stream was packed, and could be, when the rows were read.
    range: (i64, i64),
    draft: BlockDraft,
    /// `None` if packing does not pay: then the rows stay.
    block: Option<PackedBlock>,
    done: i64,
}

/// The next run of rows that fits a block, and the last `seq` covered. Damaged events stay rows.
fn collect_rows(db: &Connection, stream: i64, done: i64, last: i64) -> rusqlite::Result<(BlockDraft, i64)> {
    let mut draft = BlockDraft::default();
    // If rows are missing, the whole range counts as done.
    let mut covered = last;
    let mut statement = db.prepare_cached(
        "SELECT seq, at, sum, body, kind FROM events WHERE stream = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
    )?;
    let mut rows = statement.query(params![stream, done, last, BLOCK_EVENTS_MAX])?;
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        let plain = match row.get_ref(3)? {
            ValueRef::Text(plain) => Some(Cow::Borrowed(plain)),
            ValueRef::Blob(packed) => unpack(packed).ok().map(Cow::Owned),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
        };
        let whole = plain.filter(|body| events::is_whole(row, body) && !body.contains(&b'\n'));
        let fits = whole.as_ref().is_some_and(|body| draft.bytes() + body.len() <= BLOCK_BYTES_MAX);
        let continues = fits && draft.is_followed_by(seq);
        if !continues && !draft.is_empty() {
            break;
        }
        covered = seq;
        if let Some(body) = whole {
            draft.add(seq, row.get(1)?, row.get(4)?, &body);
        }
    }
    Ok((draft, covered))
}

/// Returns whether the rows were unchanged: they may have been erased, or packed by another process.
fn replace_rows(db: &mut Connection, stream: i64, next: &NextBlock) -> rusqlite::Result<bool> {
    let (done, last) = next.range;
    let db = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let claimed = db
        .prepare_cached("UPDATE sessions SET cold = ? WHERE stream = ? AND cold = ?")?
        .execute([next.done, stream, done])?;
    if claimed == 0 || collect_rows(&db, stream, done, last)?.0 != next.draft {
        return Ok(false);
    }
    if let Some(PackedBlock { first, last, checksum, kinds, body }) = &next.block {
        db.prepare_cached("DELETE FROM events WHERE stream = ? AND seq BETWEEN ? AND ?")?
            .execute([stream, *first, *last])?;
        db.prepare_cached(
            "INSERT INTO blocks(stream, last_seq, first_seq, sum, kinds, body) VALUES (?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![stream, last, first, checksum, kinds, body])?;
    }
    progress::advance(&db, 0, None)?;
    db.commit()?;
    Ok(true)
}

/// Turns the block with an event back into rows, so that one of them can be changed; it is packed again later.
/// Removes a damaged block; returns whether it did.
pub(super) fn unpack_block(db: &Connection, stream: i64, seq: i64) -> rusqlite::Result<bool> {
    let mut reader = StreamReader::new(db, stream);
    let Some(block) = reader.block_of(seq)? else { return Ok(false) };
    let (first, last) = (*block.seqs().start(), *block.seqs().end());
    db.execute("DELETE FROM blocks WHERE stream = ? AND last_seq = ?", [stream, last])?;
    db.execute("UPDATE sessions SET cold = min(cold, ?) WHERE stream = ?", [first - 1, stream])?;
    let Some(bodies) = block.bodies() else { return Ok(true) };
    for (seq, at, body) in bodies {
        events::reinsert(db, stream, seq, at, body)?;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use neap_core::base::ids::{Seq, Stamp};
    use neap_core::session::event::{RecordedEvent, SessionEvent};

    use super::*;
    use crate::schema;

    fn store(events: u64) -> Connection {
        let db = Connection::open_in_memory().expect("a database in memory");
        schema::create(&db).expect("its tables");
        db.execute("INSERT INTO sessions(stream, name, texts, head) VALUES (1, 'a', 0, '')", [])
            .expect("a session is added");
        for n in 1..=events {
            let recorded =
                RecordedEvent { seq: Seq(n), at: Stamp(9), event: SessionEvent::Scrubbed { events: n }.into() };
            let row = neap_store::backend::event_row::EventRow::new(&recorded).expect("an event is JSON");
            events::insert(&db, 1, &row).expect("a row is added");
        }
        db
    }

    fn counts(db: &Connection) -> (i64, i64, i64) {
        let query = "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM blocks), cold FROM sessions";
        db.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).expect("it can be counted")
    }

    fn pack_some(db: &mut Connection, stream: i64) -> rusqlite::Result<bool> {
        let Some(next) = prepare_block(db, stream)? else { return Ok(false) };
        Ok(put_block(db, stream, &next)? && is_due(db, stream)?)
    }

    #[test]
    fn a_block_takes_the_place_of_its_rows() {
        let mut db = store(300);
        assert_eq!(pack_some(&mut db, 1), Ok(true));
        assert_eq!(counts(&db), (172, 1, 128));
        assert_eq!(pack_some(&mut db, 1), Ok(false));
        assert_eq!(counts(&db), (44, 2, 256));
        assert_eq!(pack_some(&mut db, 1), Ok(false));
        assert_eq!(counts(&db), (44, 2, 256));
    }

    /// Rows may be gone when the transaction begins: erased, or packed by another process.
    #[test]
    fn what_is_no_longer_there_is_not_brought_back() {
        for (change, after) in [
            ("SELECT 1", (172, 1, 128)),
            ("DELETE FROM events WHERE seq < 200", (101, 0, 0)),
            ("UPDATE sessions SET cold = 5", (300, 0, 5)),
            ("UPDATE events SET body = replace(body, '7', '8') WHERE seq = 7", (300, 0, 0)),
        ] {
            let mut db = store(300);
            let (draft, done) = collect_rows(&db, 1, 0, 200).expect("rows can be read");
            let block = draft.pack(&mut pack::Packer::new().expect("a packer can be made"));
            db.execute_batch(change).expect("the scene is set");
            let replaced = replace_rows(&mut db, 1, &NextBlock { range: (0, 200), draft, block, done });
            assert_eq!(replaced, Ok(change == "SELECT 1"), "{change}");
            assert_eq!(counts(&db), after, "{change}");
        }
    }

    #[test]
    fn a_block_is_opened_and_packed_again() {
        let mut db = store(300);
        while pack_some(&mut db, 1) == Ok(true) {}
        let all =
            |db: &Connection| StreamReader::new(db, 1).between(Seq(0), Seq(999), 999).expect("it can be read");
        let before = all(&db);
        assert_eq!(unpack_block(&db, 1, 100), Ok(false));
        assert_eq!(counts(&db), (172, 1, 0));
        assert!(all(&db) == before && before.len() == 300);
        assert_eq!(unpack_block(&db, 1, 100), Ok(false), "it is a row now");
        assert_eq!(counts(&db), (172, 1, 0));
        while pack_some(&mut db, 1) == Ok(true) {}
        assert!(all(&db) == before && counts(&db).0 <= 44);
        db.execute_batch("UPDATE blocks SET body = x'01ff' WHERE first_seq = 1").expect("the scene is set");
        assert_eq!(unpack_block(&db, 1, 100), Ok(true), "what cannot be read is gone");
        assert_eq!(all(&db), before[128..]);
    }
}
