//! All events that are whole on some page, put into the tables of a new store, and the names of the sessions they belong to.

use std::collections::BTreeMap;
use std::path::Path;

use neap_core::event::{Event, Recorded};
use neap_core::ids::SessionId;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, params};

use super::super::cold::{Block, unpack};
use super::super::events;
use super::super::reader::Reader;
use super::pages::Pages;
use super::record::{Row, Value, rows};
use crate::Stored;

/// What was found beside the events.
pub(super) struct Gathered {
    /// What the row of each session says it is called.
    names: BTreeMap<i64, String>,
    pub(super) damaged_frames: u64,
}

/// A row of truth: an event, or a block of them.
struct Truth {
    stream: i64,
    /// The place of its first event.
    first: i64,
    /// The place of its last.
    last: i64,
    sum: i64,
    what: What,
}

enum What {
    /// Its time, its kind, its body, and whether that is packed by itself, as the second format did.
    Event { at: i64, kind: String, body: Vec<u8>, is_packed: bool },
    /// The kinds of its events, and its body.
    Block { kinds: String, body: Vec<u8> },
}

/// Reads every page of a database and its log, and puts what is whole into the tables of another.
pub(super) fn gather(database: &Path, into: &Connection) -> Result<Gathered, Failed> {
    let mut pages = Pages::open(database)?;
    let mut names = BTreeMap::new();
    let mut unsure = Vec::new();
    read(&mut pages, into, &mut names, &mut unsure)?;
    if pages.read_by_file() {
        read(&mut pages, into, &mut names, &mut unsure)?;
    }
    for truth in unsure {
        let has = |seq| has(into, truth.stream, seq);
        let is_new = !has(truth.first)? && !has(truth.last)?;
        let follows = truth.first == 1 || has(truth.first - 1)? || has(truth.last + 1)?;
        if is_new && (follows || is_empty(into, truth.stream)?) {
            truth.put(into)?;
        }
    }
    Ok(Gathered { names, damaged_frames: pages.damaged_frames })
}

fn read(
    pages: &mut Pages,
    into: &Connection,
    names: &mut BTreeMap<i64, String>,
    unsure: &mut Vec<Truth>,
) -> Result<(), Failed> {
    // A row at the edge of a page says of itself alone which stream it is of; one beside others of its stream is sure.
    for page in 1..=pages.count() {
        let mut truths = Vec::new();
        for row in rows(pages, page) {
            names.extend(session(&row));
            truths.extend(truth(row));
        }
        let places: Vec<(i64, i64)> = truths.iter().map(|truth| (truth.stream, truth.last)).collect();
        for (at, mut truth) in truths.into_iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| places.get(at));
            let after = places.get(at + 1);
            let is_of = |other: Option<&(i64, i64)>| other.is_some_and(|(of, _)| *of == truth.stream);
            if is_of(before) || is_of(after) {
                truth.put(into)?;
            } else if let (Some(before), Some(after)) = (before, after)
                && before.0 == after.0
                && (before.1..after.1).contains(&truth.last)
            {
                // Between two of one stream there is no other: its number is what is damaged.
                truth.stream = before.0;
                truth.put(into)?;
            } else {
                unsure.push(truth);
            }
        }
    }
    Ok(())
}

/// Why gathering ended early.
pub(super) enum Failed {
    Reading(std::io::Error),
    Writing(rusqlite::Error),
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::Reading(error)
    }
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Self::Writing(error)
    }
}

impl Truth {
    fn put(&self, db: &Connection) -> rusqlite::Result<()> {
        let Self { stream, first, last, sum, what } = self;
        match what {
            What::Event { at, kind, body, is_packed } => {
                let body = if *is_packed { ValueRef::Blob(body) } else { ValueRef::Text(body) };
                db.prepare_cached(
                    "INSERT OR IGNORE INTO events(stream, seq, at, kind, sum, body) VALUES (?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![stream, last, at, kind, sum, ToSqlOutput::Borrowed(body)])?;
            }
            What::Block { kinds, body } => {
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

fn has(db: &Connection, stream: i64, seq: i64) -> rusqlite::Result<bool> {
    let is_row = db.prepare_cached("SELECT 1 FROM events WHERE stream = ? AND seq = ?")?.exists([stream, seq])?;
    Ok(is_row
        || db
            .prepare_cached("SELECT 1 FROM blocks WHERE stream = ?1 AND last_seq >= ?2 AND first_seq <= ?2")?
            .exists([stream, seq])?)
}

fn is_empty(db: &Connection, stream: i64) -> rusqlite::Result<bool> {
    let there = db.prepare_cached(
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM events WHERE stream = ?1) OR EXISTS (SELECT 1 FROM blocks WHERE stream = ?1)",
    )?;
    let mut there = there;
    Ok(!there.exists([stream])?)
}

impl Gathered {
    /// What a stream's session is called: as its own event says, which has a checksum, else as its row says.
    pub(super) fn name(&self, db: &Connection, stream: i64) -> rusqlite::Result<Option<SessionId>> {
        let mut created = None;
        Reader::new(db, stream).for_each(|stored| {
            if let Stored::Event(Recorded { event: Event::SessionCreated { session, .. }, .. }) = stored {
                // One that was erased and begun again has its latest name.
                created = Some(session);
            }
        })?;
        let row = self.names.get(&stream).and_then(|name| SessionId::stored(name).ok());
        Ok(created.or(row))
    }
}

/// The number and the name of a session.
fn session(row: &Row) -> Option<(i64, String)> {
    let Row { number: Some(stream), values } = row else { return None };
    let [Value::Null, Value::Text(name), Value::Integer(_), Value::Text(_), ..] = values.as_slice() else {
        return None;
    };
    let name = String::from_utf8(name.clone()).ok()?;
    SessionId::stored(&name).ok().map(|_| (*stream, name))
}

/// An event or a block that is whole.
fn truth(row: Row) -> Option<Truth> {
    let Row { number: None, values } = row else { return None };
    let [stream, last, third, fourth, fifth, sixth] = <[Value; 6]>::try_from(values).ok()?;
    let (stream, last, third) = (stream.integer()?, last.integer()?, third.integer()?);
    let text = |bytes| String::from_utf8(bytes).ok();
    let (first, sum, what) = match (fourth, fifth, sixth) {
        (Value::Text(kind), Value::Integer(sum), Value::Text(body)) => {
            (last, sum, What::Event { at: third, kind: text(kind)?, body, is_packed: false })
        }
        (Value::Text(kind), Value::Integer(sum), Value::Blob(body)) => {
            (last, sum, What::Event { at: third, kind: text(kind)?, body, is_packed: true })
        }
        (Value::Integer(sum), Value::Text(kinds), Value::Blob(body)) => {
            (third, sum, What::Block { kinds: text(kinds)?, body })
        }
        _ => return None,
    };
    let truth = Truth { stream, first, last, sum, what };
    truth.is_whole().then_some(truth)
}

impl Truth {
    fn is_whole(&self) -> bool {
        if self.stream < 0 || self.first < 1 || self.last < self.first {
            return false;
        }
        match &self.what {
            What::Event { at, body, is_packed: false, .. } => {
                i64::from(events::sum(self.last, *at, body)) == self.sum
            }
            What::Event { at, body, is_packed: true, .. } => {
                unpack(body).is_ok_and(|plain| i64::from(events::sum(self.last, *at, &plain)) == self.sum)
            }
            What::Block { body, .. } => Block::read(self.first, self.last, self.sum, body).is_whole(),
        }
    }
}
