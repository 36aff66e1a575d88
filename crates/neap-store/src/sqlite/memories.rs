//! An agent's memories as rows. The number of a row is the number of its text (see `schema`), so it says whose memory
//! it is, of which kind, and where search finds it; a memory that becomes out of date moves to another number.

use std::cmp::Reverse;

use neap_core::event::Event;
use neap_core::ids::{Seq, SessionId, Stamp};
use neap_core::memory::{Memory, MemoryId, MemoryKind};
use neap_core::project::MemoryRow;
use rusqlite::{Connection, OptionalExtension, params};

use super::cards::Tally;
use super::effects::{self, number};
use super::fault::Stop;
use super::reader::Reader;
use super::{events, read, schema, vectors};
use crate::Stored;
use crate::derived::KeptMemory;
use crate::numbers;
use crate::recall::Place;
use neap_core::recall::TextKey;

/// A memory as it is written.
pub(super) struct PreparedMemory {
    id: MemoryId,
    place: Place,
    at: Stamp,
    due: Option<Stamp>,
    body: String,
}

impl PreparedMemory {
    pub(super) fn new(memory: &Memory, due: Option<Stamp>) -> Result<Self, serde_json::Error> {
        let (id, place, at) = (memory.id, Place::of(memory.status), memory.created);
        Ok(Self { id, place, at, due, body: serde_json::to_string(memory)? })
    }

    pub(super) fn id(&self) -> MemoryId {
        self.id
    }

    pub(super) fn of(row: &MemoryRow) -> Result<Self, serde_json::Error> {
        Self::new(&row.memory, row.due)
    }

    /// Inserts or replaces a memory's row; the words it had go. Returns how many texts went.
    pub(super) fn put(&self, db: &Connection, tally: &mut Tally, stream: i64) -> rusqlite::Result<i64> {
        let gone = remove(db, tally, stream, self.id)?;
        let text = numbers::memory_text(stream, self.id, self.place);
        let due = self.due.map(|due| due.0);
        db.prepare_cached("INSERT INTO memories(text, stream, at, due, body, sum) VALUES (?, ?, ?, ?, ?, ?)")?
            .execute(params![text, stream, self.at.0, due, self.body, effects::sum(&self.body)])?;
        count_on(db, numbers::shelf(stream, self.id.kind(), self.place), 1)?;
        Ok(gone)
    }
}

/// Sees to a memory's embedding, after its row and its words have changed.
pub(super) fn settle(db: &Connection, stream: i64, id: MemoryId) -> rusqlite::Result<()> {
    vectors::settle(db, stream, &Place::ALL.map(|place| numbers::memory_text(stream, id, place)))
}

/// Removes a memory's row and words. Returns how many texts went.
pub(super) fn remove(db: &Connection, tally: &mut Tally, stream: i64, id: MemoryId) -> rusqlite::Result<i64> {
    let mut gone = 0;
    for place in Place::ALL {
        let text = numbers::memory_text(stream, id, place);
        let rows = db.prepare_cached("DELETE FROM memories WHERE text = ?")?.execute([text])?;
        if rows > 0 {
            count_on(db, numbers::shelf(stream, id.kind(), place), -1)?;
        }
        gone += i64::from(effects::remove_text(db, tally, text, stream)?);
    }
    Ok(gone)
}

/// Counts a memory that a shelf got or lost.
fn count_on(db: &Connection, shelf: i64, by: i64) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO shelves(shelf, memories) VALUES (?1, ?2)
         ON CONFLICT(shelf) DO UPDATE SET memories = memories + ?2",
    )?
    .execute([shelf, by])?;
    Ok(())
}

/// How many memories a shelf has.
pub(super) fn on_shelf(db: &Connection, shelf: i64) -> rusqlite::Result<u64> {
    let count: Option<i64> = db
        .prepare_cached("SELECT memories FROM shelves WHERE shelf = ?")?
        .query_row([shelf], |row| row.get(0))
        .optional()?;
    Ok(count.unwrap_or(0).max(0) as u64)
}

/// Whether a shelf of an agent's has more or fewer memories than are counted.
pub(super) fn are_miscounted(db: &Connection, stream: i64) -> rusqlite::Result<bool> {
    if !schema::has_memories(db)? {
        return Ok(false);
    }
    let (first, last) = numbers::shelves(stream);
    for shelf in first..=last {
        let there: i64 = db
            .prepare_cached("SELECT count(*) FROM memories WHERE shelf = ?")?
            .query_row([shelf], |row| row.get(0))?;
        if there as u64 != on_shelf(db, shelf)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The number of a memory's row.
pub(super) fn text_of(db: &Connection, stream: i64, id: MemoryId) -> rusqlite::Result<Option<i64>> {
    let [a, b, c] = Place::ALL.map(|place| numbers::memory_text(stream, id, place));
    db.prepare_cached("SELECT text FROM memories WHERE text IN (?, ?, ?)")?
        .query_row([a, b, c], |row| row.get(0))
        .optional()
}

/// Remembers that an event is part of a memory's history.
pub(super) fn put_event(db: &Connection, stream: i64, id: MemoryId, seq: i64) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO memory_events(stream, memory, seq) VALUES (?, ?, ?)")?
        .execute(params![stream, numbers::memory_number(id), seq])?;
    Ok(())
}

/// Removes all that is derived of an agent's memories but their words.
pub(super) fn clear(db: &Connection, stream: i64) -> rusqlite::Result<()> {
    let (first, last) = numbers::all_texts(stream);
    db.execute("DELETE FROM memories WHERE text BETWEEN ? AND ?", [first, last])?;
    db.execute("DELETE FROM memory_events WHERE stream = ?", [stream])?;
    let (first, last) = numbers::shelves(stream);
    db.execute("DELETE FROM shelves WHERE shelf BETWEEN ? AND ?", [first, last])?;
    Ok(())
}

/// An agent's stream, if there is one and the store is of a format that has memories.
pub(super) fn stream(db: &Connection, agent: &SessionId) -> rusqlite::Result<Option<i64>> {
    if schema::has_memories(db)? { events::stream(db, agent.as_str()) } else { Ok(None) }
}

/// The memories of these rows, in this order. One whose row is damaged is read from its events; if they are as well, it is left out.
pub(super) fn bodies(db: &Connection, texts: impl IntoIterator<Item = i64>) -> rusqlite::Result<Vec<Memory>> {
    let mut statement = db.prepare_cached("SELECT body, sum FROM memories WHERE text = ?")?;
    let mut memories = Vec::new();
    for text in texts {
        match statement.query_row([text], |row| Ok(read::json(row, 0))).optional()? {
            Some(Some(memory)) => memories.push(memory),
            Some(None) => memories.extend(latest(db, text)?),
            None => {}
        }
    }
    Ok(memories)
}

/// A memory as its last event left it.
fn latest(db: &Connection, text: i64) -> rusqlite::Result<Option<Memory>> {
    let (stream, Some((id, _))) = (numbers::stream_of(text), numbers::memory_of(text)) else { return Ok(None) };
    let Some(last) = places(db, stream, id)?.pop() else { return Ok(None) };
    let Some(Stored::Event(recorded)) = Reader::new(db, stream).between(last, last, 1)?.pop() else {
        return Ok(None);
    };
    Ok(if let Event::MemoryChanged { memory, .. } = recorded.event { Some(*memory) } else { None })
}

pub(super) fn memories(db: &Connection, agent: &SessionId, ids: &[MemoryId]) -> Result<Vec<Memory>, Stop> {
    let Some(stream) = stream(db, agent)? else { return Ok(Vec::new()) };
    let mut texts = Vec::with_capacity(ids.len());
    for id in ids {
        texts.extend(text_of(db, stream, *id)?);
    }
    Ok(bodies(db, texts)?)
}

pub(super) fn list(
    db: &Connection,
    agent: &SessionId,
    kind: Option<MemoryKind>,
    before: Option<MemoryId>,
    max: usize,
) -> Result<Vec<Memory>, Stop> {
    let Some(stream) = stream(db, agent)? else { return Ok(Vec::new()) };
    let end = match before {
        Some(id) => match written_at(db, stream, id)? {
            Some(at) => Some((at, id)),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let kinds = MemoryKind::ALL.into_iter().filter(|of| kind.is_none_or(|kind| kind == *of));
    let mut found = Vec::new();
    for kind in kinds {
        for place in Place::ALL {
            let shelf = numbers::shelf(stream, kind, place);
            let (first, last) = numbers::shelf_texts(shelf);
            // Where a shelf ends for this page: what was written at the same moment is in the order of ids.
            let (at, text) = match end {
                None => (i64::MAX, last),
                Some((at, id)) if kind == id.kind() => (at, first + i64::from(id.number()) - 1),
                Some((at, id)) => (at, if kind < id.kind() { last } else { first }),
            };
            let mut statement = db.prepare_cached(
                "SELECT at, text FROM memories WHERE shelf = ? AND (at, text) <= (?, ?)
                 ORDER BY at DESC, text DESC LIMIT ?",
            )?;
            let mut rows = statement.query(params![shelf, at, text, number(max as u64)])?;
            while let Some(row) = rows.next()? {
                let (at, text): (i64, i64) = (row.get(0)?, row.get(1)?);
                found.push((at, kind, text - first, text));
            }
        }
    }
    found.sort_unstable_by_key(|(at, kind, number, _)| Reverse((*at, *kind, *number)));
    found.truncate(max);
    Ok(bodies(db, found.into_iter().map(|(_, _, _, text)| text))?)
}

/// When a memory was written; of one that was erased, when its first event was.
fn written_at(db: &Connection, stream: i64, id: MemoryId) -> rusqlite::Result<Option<i64>> {
    if let Some(text) = text_of(db, stream, id)? {
        return db.query_row("SELECT at FROM memories WHERE text = ?", [text], |row| row.get(0)).optional();
    }
    let Some(first) = places(db, stream, id)?.first().copied() else { return Ok(None) };
    let first = Reader::new(db, stream).between(first, first, 1)?.pop();
    Ok(first.and_then(|stored| match stored {
        Stored::Event(recorded) => Some(recorded.at.0),
        Stored::Damaged { .. } => None,
    }))
}

pub(super) fn due(db: &Connection, agent: &SessionId, now: Stamp, max: usize) -> Result<Vec<Memory>, Stop> {
    let Some(stream) = stream(db, agent)? else { return Ok(Vec::new()) };
    let mut statement =
        db.prepare_cached("SELECT due, text FROM memories WHERE stream = ? AND due IS NOT NULL AND due <= ?")?;
    let mut rows = statement.query(params![stream, now.0])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (due, text): (i64, i64) = (row.get(0)?, row.get(1)?);
        found.extend(numbers::memory_of(text).map(|(id, _)| (due, id, text)));
    }
    found.sort_unstable();
    found.truncate(max);
    Ok(bodies(db, found.into_iter().map(|(_, _, text)| text))?)
}

/// The places of a memory's events, in order.
pub(super) fn places(db: &Connection, stream: i64, id: MemoryId) -> rusqlite::Result<Vec<Seq>> {
    let mut statement =
        db.prepare_cached("SELECT seq FROM memory_events WHERE stream = ? AND memory = ? ORDER BY seq")?;
    let rows = statement.query_map(params![stream, numbers::memory_number(id)], |row| row.get::<_, i64>(0))?;
    rows.map(|seq| seq.map(|seq| Seq(seq as u64))).collect()
}

pub(super) fn history(db: &Connection, agent: &SessionId, id: MemoryId) -> Result<Vec<Stored>, Stop> {
    let Some(stream) = stream(db, agent)? else { return Ok(Vec::new()) };
    let (mut reader, mut found) = (Reader::new(db, stream), Vec::new());
    for seq in places(db, stream, id)? {
        found.extend(reader.between(seq, seq, 1)?);
    }
    Ok(found)
}

/// How many memories an agent has, of any status.
pub(super) fn count(db: &Connection, stream: i64) -> rusqlite::Result<u64> {
    if !schema::has_memories(db)? {
        return Ok(0);
    }
    let (first, last) = numbers::shelves(stream);
    let count: i64 = db
        .prepare_cached("SELECT coalesce(sum(memories), 0) FROM shelves WHERE shelf BETWEEN ? AND ?")?
        .query_row([first, last], |row| row.get(0))?;
    Ok(count as u64)
}

/// Adds the rows of memories as they are to what is kept. A row under a number that is not its own is not counted.
pub(super) fn kept(
    db: &Connection,
    stream: i64,
    mut add: impl FnMut(MemoryId, KeptMemory),
    mut add_event: impl FnMut(MemoryId, Seq),
) -> rusqlite::Result<()> {
    if !schema::has_memories(db)? {
        return Ok(());
    }
    let (first, last) = numbers::all_texts(stream);
    let mut statement = db.prepare_cached(
        "SELECT text, at, due, body, sum FROM memories WHERE text BETWEEN ? AND ? AND stream = ?",
    )?;
    let mut rows = statement.query([first, last, stream])?;
    while let Some(row) = rows.next()? {
        let (text, at): (i64, i64) = (row.get(0)?, row.get(1)?);
        let Some(memory) = read::json::<Memory>(row, 3) else { continue };
        let own = numbers::memory_text(stream, memory.id, Place::of(memory.status));
        if text == own && at == memory.created.0 {
            add(memory.id, KeptMemory { due: row.get::<_, Option<i64>>(2)?.map(Stamp), memory });
        }
    }
    let mut statement =
        db.prepare_cached("SELECT memory, seq FROM memory_events WHERE stream = ? ORDER BY memory, seq")?;
    let mut rows = statement.query([stream])?;
    while let Some(row) = rows.next()? {
        if let Some(id) = numbers::numbered_memory(row.get(0)?) {
            add_event(id, Seq(row.get::<_, i64>(1)? as u64));
        }
    }
    Ok(())
}

/// The memory whose words a text in the index is, if that is its own number now.
pub(super) fn indexed(db: &Connection, text: i64) -> rusqlite::Result<Option<TextKey>> {
    let Some((id, _)) = numbers::memory_of(text) else { return Ok(None) };
    let is_there = db.prepare_cached("SELECT 1 FROM memories WHERE text = ?")?.exists([text])?;
    Ok(is_there.then_some(TextKey::Memory(id)))
}
