//! Disk usage of the database file. Reads every event, holding one at a time.

use std::path::Path;

use neap_core::base::ids::StreamId;
use rusqlite::{Connection, StatementStatus, params_from_iter};

use super::db_error::DbError;
use super::reader::StreamReader;
use super::{connect, read, schema};
use neap_store::backend::rowids;
use neap_store::footprint::{Footprint, message_bytes};
use neap_store::{StoredEvent, files};

/// Estimated overhead of a row: its header, numbers and cell pointer.
const ROW: i64 = 24;

pub(super) fn footprint(db: &Connection, path: &Path, session: Option<&StreamId>) -> Result<Footprint, DbError> {
    let mut sum = Footprint { file: on_disk(path), ..Footprint::default() };
    let (mut words, mut all_words) = (0, 0);
    for (stream, id) in read::streams(db)? {
        let words_here = word_count(db, stream)?;
        all_words += words_here;
        if session.is_some_and(|wanted| *wanted != id) {
            continue;
        }
        words += words_here;
        StreamReader::new(db, stream).for_each(|stored| {
            if let StoredEvent::Whole(recorded) = stored {
                sum.said += message_bytes(&recorded.event);
            }
        })?;
        let events =
            format!("SELECT sum({ROW} + octet_length(kind) + octet_length(body)) FROM events WHERE stream = ?");
        sum.events += stream_bytes(db, &events, &[stream])? + blocks(db, stream)?;
        sum.derived += derived(db, stream)?;
        sum.index += cards(db, stream)?;
    }
    let index = bytes(
        db,
        &format!(
            "SELECT (SELECT sum({ROW} + octet_length(block)) FROM words_data)
                  + (SELECT sum({ROW} + octet_length(term)) FROM words_idx)
                  + (SELECT sum({ROW} + octet_length(sz)) FROM words_docsize)"
        ),
    )?;
    let shared = index + bytes(db, &format!("SELECT count(*) * {ROW} FROM frequencies"))?;
    let share =
        if all_words == 0 { 0 } else { (u128::from(shared) * u128::from(words) / u128::from(all_words)) as u64 };
    sum.index += share;
    Ok(sum)
}

/// Blocks are long enough to occupy pages of their own, so they are counted in whole pages.
fn blocks(db: &Connection, stream: i64) -> rusqlite::Result<u64> {
    let page: i64 = db.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let query = format!(
        "SELECT sum((({ROW} + octet_length(kinds) + octet_length(body) + {page} - 1) / {page}) * {page})
         FROM blocks WHERE stream = ?"
    );
    stream_bytes(db, &query, &[stream])
}

fn cards(db: &Connection, stream: i64) -> rusqlite::Result<u64> {
    let mut sum = 0;
    for row in [
        "{ROW} + coalesce(octet_length(who), 0) + octet_length(terms)) FROM cards",
        // An index also holds the rowid.
        "2 * {ROW} + coalesce(octet_length(signs), 0)) FROM vector_index",
        "{ROW} + octet_length(vector)) FROM vectors",
        "{ROW}) FROM unembedded",
    ] {
        let query = format!("SELECT sum({row} WHERE text BETWEEN ? AND ?");
        let (first, last) = rowids::text_range(stream);
        sum += stream_bytes(db, &query.replace("{ROW}", &ROW.to_string()), &[first, last])?;
    }
    Ok(sum)
}

fn derived(db: &Connection, stream: i64) -> rusqlite::Result<u64> {
    let queries = [
        "SELECT sum({ROW} + octet_length(name) + octet_length(head)) FROM sessions WHERE stream = ?",
        // An index also holds the id.
        "SELECT sum(2 * ({ROW} + octet_length(id)) + octet_length(body)) FROM efforts WHERE stream = ?",
        "SELECT sum(2 * ({ROW} + octet_length(scope))) FROM exchanges WHERE stream = ?",
        "SELECT sum({ROW} + octet_length(turn_id)) FROM turn_ids WHERE stream = ?",
    ];
    let of_memories = [
        // An index also holds the shelf and time.
        "SELECT sum(2 * {ROW} + octet_length(body)) FROM memories
         WHERE shelf BETWEEN ?1 << 5 AND (?1 << 5) + 31",
        "SELECT sum({ROW}) FROM memory_events WHERE stream = ?",
    ];
    let of_memories = if schema::has_memories(db)? { &of_memories[..] } else { &[] };
    // An index also holds the stream.
    let of_links = ["SELECT sum(2 * {ROW} + octet_length(digest)) FROM links WHERE stream = ?"];
    let of_links = if schema::has_links(db)? { &of_links[..] } else { &[] };
    let mut sum = 0;
    for query in queries.iter().chain(of_memories).chain(of_links) {
        sum += stream_bytes(db, &query.replace("{ROW}", &ROW.to_string()), &[stream])?;
    }
    Ok(sum)
}

/// The sum that a query returns; NULL counts as zero.
fn bytes(db: &Connection, query: &str) -> rusqlite::Result<u64> {
    let sum: Option<i64> = db.query_row(query, [], |row| row.get(0))?;
    Ok(sum.unwrap_or(0).max(0) as u64)
}

/// Like [`bytes`] for one stream; asserts that other streams' rows are not scanned, since there may be thousands.
fn stream_bytes(db: &Connection, query: &str, args: &[i64]) -> rusqlite::Result<u64> {
    let mut statement = db.prepare_cached(query)?;
    let sum: Option<i64> = statement.query_row(params_from_iter(args), |row| row.get(0))?;
    debug_assert_eq!(statement.get_status(StatementStatus::FullscanStep), 0, "{query}");
    Ok(sum.unwrap_or(0).max(0) as u64)
}

fn word_count(db: &Connection, stream: i64) -> rusqlite::Result<u64> {
    let (first, last) = rowids::text_range(stream);
    let mut statement = db.prepare_cached("SELECT sz FROM words_docsize WHERE id BETWEEN ? AND ?")?;
    let mut rows = statement.query([first, last])?;
    let mut words = 0;
    while let Some(row) = rows.next()? {
        words += first_varint(&row.get::<_, Vec<u8>>(0)?);
    }
    Ok(words)
}

/// The first SQLite varint: seven bits per byte, most significant first.
fn first_varint(bytes: &[u8]) -> u64 {
    let mut value = 0;
    for byte in bytes.iter().take(8) {
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

fn on_disk(path: &Path) -> u64 {
    let sizes = ["", "-wal", "-shm"].map(|end| files::file_len(&connect::sibling_path(path, end)).ok().flatten());
    sizes.into_iter().flatten().sum()
}
