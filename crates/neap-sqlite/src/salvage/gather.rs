//! Collects all undamaged events from any page into the tables of a new store, and the names of their sessions.

use std::collections::BTreeMap;
use std::path::Path;

use neap_core::base::ids::StreamId;
use neap_core::session::event::{Event, RecordedEvent, SessionEvent};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, params};

use super::super::cold::{Block, unpack};
use super::super::reader::StreamReader;
use super::page_rows::{Row, Value, rows};
use super::pages::Pages;
use neap_store::StoredEvent;
use neap_store::backend::event_row;

pub(super) struct Gathered {
    names: BTreeMap<i64, String>,
    pub(super) damaged_frames: u64,
}

/// An event, or a block of them.
struct SalvagedRow {
    stream: i64,
    first: i64,
    last: i64,
    sum: i64,
    content: RowContent,
}

enum RowContent {
    /// Format 2 packed single events.
    Event {
        at: i64,
        kind: String,
        body: Vec<u8>,
        is_packed: bool,
    },
    Block {
        kinds: String,
        body: Vec<u8>,
    },
}

/// Reads every page of a database and its WAL, and writes undamaged rows into another database.
pub(super) fn gather(database: &Path, into: &Connection) -> Result<Gathered, SalvageError> {
    let mut pages = Pages::open(database)?;
    let mut names = BTreeMap::new();
    let mut uncertain = Vec::new();
    read_pages(&mut pages, into, &mut names, &mut uncertain)?;
    if pages.prefer_file() {
        read_pages(&mut pages, into, &mut names, &mut uncertain)?;
    }
    for row in uncertain {
        let has = |seq| has_event(into, row.stream, seq);
        let is_new = !has(row.first)? && !has(row.last)?;
        let follows = row.first == 1 || has(row.first - 1)? || has(row.last + 1)?;
        if is_new && (follows || has_no_events(into, row.stream)?) {
            row.put(into)?;
        }
    }
    Ok(Gathered { names, damaged_frames: pages.damaged_frames })
}

fn read_pages(
    pages: &mut Pages,
    into: &Connection,
    names: &mut BTreeMap<i64, String>,
    uncertain: &mut Vec<SalvagedRow>,
) -> Result<(), SalvageError> {
    // At the edge of a page, a row has only its own word for its stream; a neighbour of that stream confirms it.
    for page in 1..=pages.count() {
        let mut salvaged = Vec::new();
        for row in rows(pages, page) {
            names.extend(parse_session(&row));
            salvaged.extend(parse_row(row));
        }
        let positions: Vec<(i64, i64)> = salvaged.iter().map(|row| (row.stream, row.last)).collect();
        for (at, mut row) in salvaged.into_iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| positions.get(at));
            let after = positions.get(at + 1);
            let is_same_stream =
                |other: Option<&(i64, i64)>| other.is_some_and(|(stream, _)| *stream == row.stream);
            if is_same_stream(before) || is_same_stream(after) {
                row.put(into)?;
            } else if let (Some(before), Some(after)) = (before, after)
                && before.0 == after.0
                && (before.1..after.1).contains(&row.last)
            {
                // No other stream lies between two rows of one stream: the number is damaged.
                row.stream = before.0;
                row.put(into)?;
            } else {
                uncertain.push(row);
            }
        }
    }
    Ok(())
}

pub(super) enum SalvageError {
    Reading(std::io::Error),
    Writing(rusqlite::Error),
}

impl From<std::io::Error> for SalvageError {
    fn from(error: std::io::Error) -> Self {
        Self::Reading(error)
    }
}

impl From<rusqlite::Error> for SalvageError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Writing(error)
    }
}

impl SalvagedRow {
    fn put(&self, db: &Connection) -> rusqlite::Result<()> {
        let Self { stream, first, last, sum, content } = self;
        match content {
            RowContent::Event { at, kind, body, is_packed } => {
                let body = if *is_packed { ValueRef::Blob(body) } else { ValueRef::Text(body) };
                db.prepare_cached(
                    "INSERT OR IGNORE INTO events(stream, seq, at, kind, sum, body) VALUES (?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![stream, last, at, kind, sum, ToSqlOutput::Borrowed(body)])?;
            }
            RowContent::Block { kinds, body } => {
                db.prepare_cached(
                    "INSERT OR IGNORE INTO blocks(stream, last_seq, first_seq, sum, kinds, body)
                     VALUES (?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![stream, last, first, sum, kinds, body])?;
            }
        }
        Ok(())
    }
}

fn has_event(db: &Connection, stream: i64, seq: i64) -> rusqlite::Result<bool> {
    let is_row = db.prepare_cached("SELECT 1 FROM events WHERE stream = ? AND seq = ?")?.exists([stream, seq])?;
    Ok(is_row
        || db
            .prepare_cached("SELECT 1 FROM blocks WHERE stream = ?1 AND last_seq >= ?2 AND first_seq <= ?2")?
            .exists([stream, seq])?)
}

fn has_no_events(db: &Connection, stream: i64) -> rusqlite::Result<bool> {
    let statement = db.prepare_cached(
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM events WHERE stream = ?1) OR EXISTS (SELECT 1 FROM blocks WHERE stream = ?1)",
    )?;
    let mut statement = statement;
    Ok(!statement.exists([stream])?)
}

impl Gathered {
    /// The session's name: from its own event, which has a checksum, otherwise from its row.
    pub(super) fn name(&self, db: &Connection, stream: i64) -> rusqlite::Result<Option<StreamId>> {
        let mut created = None;
        StreamReader::new(db, stream).for_each(|stored| {
            if let StoredEvent::Whole(RecordedEvent {
                event: Event::Session(SessionEvent::Created { session, .. }),
                ..
            }) = stored
            {
                // A session that was erased and begun again has its latest name.
                created = Some(session);
            }
        })?;
        let row = self.names.get(&stream).and_then(|name| StreamId::parse(name).ok());
        Ok(created.or(row))
    }
}

fn parse_session(row: &Row) -> Option<(i64, String)> {
    let Row { number: Some(stream), values } = row else { return None };
    let [Value::Null, Value::Text(name), Value::Integer(_), Value::Text(_), ..] = values.as_slice() else {
        return None;
    };
    let name = String::from_utf8(name.clone()).ok()?;
    StreamId::parse(&name).ok().map(|_| (*stream, name))
}

fn parse_row(row: Row) -> Option<SalvagedRow> {
    let Row { number: None, values } = row else { return None };
    let [stream, last, third, fourth, fifth, sixth] = <[Value; 6]>::try_from(values).ok()?;
    let (stream, last, third) = (stream.integer()?, last.integer()?, third.integer()?);
    let text = |bytes| String::from_utf8(bytes).ok();
    let (first, sum, content) = match (fourth, fifth, sixth) {
        (Value::Text(kind), Value::Integer(sum), Value::Text(body)) => {
            (last, sum, RowContent::Event { at: third, kind: text(kind)?, body, is_packed: false })
        }
        (Value::Text(kind), Value::Integer(sum), Value::Blob(body)) => {
            (last, sum, RowContent::Event { at: third, kind: text(kind)?, body, is_packed: true })
        }
        (Value::Integer(sum), Value::Text(kinds), Value::Blob(body)) => {
            (third, sum, RowContent::Block { kinds: text(kinds)?, body })
        }
        _ => return None,
    };
    let salvaged = SalvagedRow { stream, first, last, sum, content };
    salvaged.is_whole().then_some(salvaged)
}

impl SalvagedRow {
    fn is_whole(&self) -> bool {
        if self.stream < 0 || self.first < 1 || self.last < self.first {
            return false;
        }
        match &self.content {
            RowContent::Event { at, body, is_packed: false, .. } => {
                i64::from(event_row::row_checksum(self.last, *at, body)) == self.sum
            }
            RowContent::Event { at, body, is_packed: true, .. } => unpack(body)
                .is_ok_and(|plain| i64::from(event_row::row_checksum(self.last, *at, &plain)) == self.sum),
            RowContent::Block { body, .. } => Block::read(self.first, self.last, self.sum, body).is_whole(),
        }
    }
}
