//! An agent's memories as rows. The rowid is that of the memory's text (see `rowids`), so it encodes agent, kind
//! and search tier; a memory whose search tier changes (superseded, inactive, retired) moves to another rowid.

use std::cmp::Reverse;

use neap_core::base::ids::{Seq, Stamp, StreamId};
use neap_core::memory::{Memory, MemoryEvent, MemoryId, MemoryKind};
use neap_core::session::event::Event;
use rusqlite::{Connection, OptionalExtension, params};

use super::db_error::DbError;
use super::derived_rows::{self, to_sql};
use super::reader::StreamReader;
use super::{events, read, schema, vectors};
use neap_core::recall::TextKey;
use neap_store::StoredEvent;
use neap_store::backend::counts::CountChanges;
use neap_store::backend::derived::StoredMemory;
use neap_store::backend::event_row::body_checksum;
use neap_store::backend::memory_recall::SearchTier;
use neap_store::backend::prepared_commit::PreparedMemory;
use neap_store::backend::rowids;

/// Replaces a memory's row and removes its text from the index. Returns how many texts were removed.
pub(super) fn put(
    db: &Connection,
    changes: &mut CountChanges,
    stream: i64,
    memory: &PreparedMemory,
) -> rusqlite::Result<i64> {
    let removed = remove(db, changes, stream, memory.id)?;
    let text = rowids::memory_rowid(stream, memory.id, memory.tier);
    let due = memory.due.map(|due| due.0);
    db.prepare_cached("INSERT INTO memories(text, stream, at, due, body, sum) VALUES (?, ?, ?, ?, ?, ?)")?
        .execute(params![text, stream, memory.at.0, due, memory.body, body_checksum(&memory.body)])?;
    count_shelf(db, rowids::shelf(stream, memory.id.kind(), memory.tier), 1)?;
    Ok(removed)
}

/// Updates a memory's embedding after its row and text have changed.
pub(super) fn sync_vector(db: &Connection, stream: i64, id: MemoryId) -> rusqlite::Result<()> {
    vectors::sync_vector(db, stream, &SearchTier::ALL.map(|tier| rowids::memory_rowid(stream, id, tier)))
}

/// Removes a memory's row and text. Returns how many texts were removed.
pub(super) fn remove(
    db: &Connection,
    changes: &mut CountChanges,
    stream: i64,
    id: MemoryId,
) -> rusqlite::Result<i64> {
    let mut removed = 0;
    for tier in SearchTier::ALL {
        let text = rowids::memory_rowid(stream, id, tier);
        let rows = db.prepare_cached("DELETE FROM memories WHERE text = ?")?.execute([text])?;
        if rows > 0 {
            count_shelf(db, rowids::shelf(stream, id.kind(), tier), -1)?;
        }
        removed += i64::from(derived_rows::remove_text(db, changes, text, stream)?);
    }
    Ok(removed)
}

fn count_shelf(db: &Connection, shelf: i64, by: i64) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO shelves(shelf, memories) VALUES (?1, ?2)
         ON CONFLICT(shelf) DO UPDATE SET memories = memories + ?2",
    )?
    .execute([shelf, by])?;
    Ok(())
}

pub(super) fn shelf_count(db: &Connection, shelf: i64) -> rusqlite::Result<u64> {
    let count: Option<i64> = db
        .prepare_cached("SELECT memories FROM shelves WHERE shelf = ?")?
        .query_row([shelf], |row| row.get(0))
        .optional()?;
    Ok(count.unwrap_or(0).max(0) as u64)
}

/// Whether the stored count of any of an agent's shelves is wrong.
pub(super) fn has_miscounts(db: &Connection, stream: i64) -> rusqlite::Result<bool> {
    if !schema::has_memories(db)? {
        return Ok(false);
    }
    let (first, last) = rowids::shelf_range(stream);
    for shelf in first..=last {
        let actual: i64 = db
            .prepare_cached("SELECT count(*) FROM memories WHERE shelf = ?")?
            .query_row([shelf], |row| row.get(0))?;
        if actual as u64 != shelf_count(db, shelf)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn rowid_of(db: &Connection, stream: i64, id: MemoryId) -> rusqlite::Result<Option<i64>> {
    let [a, b, c] = SearchTier::ALL.map(|tier| rowids::memory_rowid(stream, id, tier));
    db.prepare_cached("SELECT text FROM memories WHERE text IN (?, ?, ?)")?
        .query_row([a, b, c], |row| row.get(0))
        .optional()
}

pub(super) fn put_event(db: &Connection, stream: i64, id: MemoryId, seq: i64) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO memory_events(stream, memory, seq) VALUES (?, ?, ?)")?
        .execute(params![stream, rowids::memory_number(id), seq])?;
    Ok(())
}

/// Removes everything derived from an agent's memories except their texts.
pub(super) fn clear(db: &Connection, stream: i64) -> rusqlite::Result<()> {
    let (first, last) = rowids::text_range(stream);
    db.execute("DELETE FROM memories WHERE text BETWEEN ? AND ?", [first, last])?;
    db.execute("DELETE FROM memory_events WHERE stream = ?", [stream])?;
    let (first, last) = rowids::shelf_range(stream);
    db.execute("DELETE FROM shelves WHERE shelf BETWEEN ? AND ?", [first, last])?;
    Ok(())
}

/// `None` also if the store's format has no memories yet.
pub(super) fn agent_stream(db: &Connection, stream: &StreamId) -> rusqlite::Result<Option<i64>> {
    if schema::has_memories(db)? { events::stream_number(db, stream.as_str()) } else { Ok(None) }
}

/// In this order. A damaged row is read from its last event; if that is damaged too, it is left out.
pub(super) fn load_rows(db: &Connection, texts: impl IntoIterator<Item = i64>) -> rusqlite::Result<Vec<Memory>> {
    let mut statement = db.prepare_cached("SELECT body, sum FROM memories WHERE text = ?")?;
    let mut memories = Vec::new();
    for text in texts {
        match statement.query_row([text], |row| Ok(read::checked_json(row, 0))).optional()? {
            Some(Some(memory)) => memories.push(memory),
            Some(None) => memories.extend(from_last_event(db, text)?),
            None => {}
        }
    }
    Ok(memories)
}

fn from_last_event(db: &Connection, text: i64) -> rusqlite::Result<Option<Memory>> {
    let (stream, Some((id, _))) = (rowids::stream_of(text), rowids::memory_at_rowid(text)) else {
        return Ok(None);
    };
    let Some(last) = event_seqs(db, stream, id)?.pop() else { return Ok(None) };
    let Some(StoredEvent::Whole(recorded)) = StreamReader::new(db, stream).between(last, last, 1)?.pop() else {
        return Ok(None);
    };
    Ok(if let Event::Memory(MemoryEvent::Changed { memory, .. }) = recorded.event { Some(*memory) } else { None })
}

pub(super) fn memories(db: &Connection, stream: &StreamId, ids: &[MemoryId]) -> Result<Vec<Memory>, DbError> {
    let Some(stream) = agent_stream(db, stream)? else { return Ok(Vec::new()) };
    let mut texts = Vec::with_capacity(ids.len());
    for id in ids {
        texts.extend(rowid_of(db, stream, *id)?);
    }
    Ok(load_rows(db, texts)?)
}

pub(super) fn list(
    db: &Connection,
    stream: &StreamId,
    kind: Option<MemoryKind>,
    before: Option<MemoryId>,
    max: usize,
) -> Result<Vec<Memory>, DbError> {
    let Some(stream) = agent_stream(db, stream)? else { return Ok(Vec::new()) };
    let end = match before {
        Some(id) => match written_at(db, stream, id)? {
            Some(at) => Some((at, id)),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let kinds = MemoryKind::ALL.into_iter().filter(|candidate| kind.is_none_or(|kind| kind == *candidate));
    let mut found = Vec::new();
    for kind in kinds {
        for tier in SearchTier::ALL {
            let shelf = rowids::shelf(stream, kind, tier);
            let (at, text) = rowids::page_end(shelf, kind, end);
            let mut statement = db.prepare_cached(
                "SELECT at, text FROM memories WHERE shelf = ? AND (at, text) <= (?, ?)
                 ORDER BY at DESC, text DESC LIMIT ?",
            )?;
            let mut rows = statement.query(params![shelf, at, text, to_sql(max as u64)])?;
            while let Some(row) = rows.next()? {
                let (at, text): (i64, i64) = (row.get(0)?, row.get(1)?);
                found.extend(rowids::memory_at_rowid(text).map(|(id, _)| (at, id, text)));
            }
        }
    }
    found.sort_unstable_by_key(|(at, id, _)| Reverse((*at, *id)));
    found.truncate(max);
    Ok(load_rows(db, found.into_iter().map(|(_, _, text)| text))?)
}

/// When a memory was created; if it was erased, the time of its first event.
fn written_at(db: &Connection, stream: i64, id: MemoryId) -> rusqlite::Result<Option<i64>> {
    if let Some(text) = rowid_of(db, stream, id)? {
        return db.query_row("SELECT at FROM memories WHERE text = ?", [text], |row| row.get(0)).optional();
    }
    let Some(first) = event_seqs(db, stream, id)?.first().copied() else { return Ok(None) };
    let first = StreamReader::new(db, stream).between(first, first, 1)?.pop();
    Ok(first.and_then(StoredEvent::whole).map(|recorded| recorded.at.0))
}

pub(super) fn due(db: &Connection, stream: &StreamId, now: Stamp, max: usize) -> Result<Vec<Memory>, DbError> {
    let Some(stream) = agent_stream(db, stream)? else { return Ok(Vec::new()) };
    let mut statement =
        db.prepare_cached("SELECT due, text FROM memories WHERE stream = ? AND due IS NOT NULL AND due <= ?")?;
    let mut rows = statement.query(params![stream, now.0])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (due, text): (i64, i64) = (row.get(0)?, row.get(1)?);
        found.extend(rowids::memory_at_rowid(text).map(|(id, _)| (due, id, text)));
    }
    found.sort_unstable();
    found.truncate(max);
    Ok(load_rows(db, found.into_iter().map(|(_, _, text)| text))?)
}

pub(super) fn event_seqs(db: &Connection, stream: i64, id: MemoryId) -> rusqlite::Result<Vec<Seq>> {
    let mut statement =
        db.prepare_cached("SELECT seq FROM memory_events WHERE stream = ? AND memory = ? ORDER BY seq")?;
    let rows = statement.query_map(params![stream, rowids::memory_number(id)], |row| row.get::<_, i64>(0))?;
    rows.map(|seq| seq.map(|seq| Seq(seq as u64))).collect()
}

pub(super) fn history(db: &Connection, stream: &StreamId, id: MemoryId) -> Result<Vec<StoredEvent>, DbError> {
    let Some(stream) = agent_stream(db, stream)? else { return Ok(Vec::new()) };
    let (mut reader, mut found) = (StreamReader::new(db, stream), Vec::new());
    for seq in event_seqs(db, stream, id)? {
        found.extend(reader.between(seq, seq, 1)?);
    }
    Ok(found)
}

pub(super) fn count(db: &Connection, stream: i64) -> rusqlite::Result<u64> {
    if !schema::has_memories(db)? {
        return Ok(0);
    }
    let (first, last) = rowids::shelf_range(stream);
    let count: i64 = db
        .prepare_cached("SELECT coalesce(sum(memories), 0) FROM shelves WHERE shelf BETWEEN ? AND ?")?
        .query_row([first, last], |row| row.get(0))?;
    Ok(count as u64)
}

/// Passes on the stored rows and events of memories. A row under a rowid that is not its own is skipped.
pub(super) fn for_each_stored(
    db: &Connection,
    stream: i64,
    mut add: impl FnMut(MemoryId, StoredMemory),
    mut add_event: impl FnMut(MemoryId, Seq),
) -> rusqlite::Result<()> {
    if !schema::has_memories(db)? {
        return Ok(());
    }
    let (first, last) = rowids::text_range(stream);
    let mut statement = db.prepare_cached(
        "SELECT text, at, due, body, sum FROM memories WHERE text BETWEEN ? AND ? AND stream = ?",
    )?;
    let mut rows = statement.query([first, last, stream])?;
    while let Some(row) = rows.next()? {
        let (text, at): (i64, i64) = (row.get(0)?, row.get(1)?);
        let Some(memory) = read::checked_json::<Memory>(row, 3) else { continue };
        let own = rowids::memory_rowid(stream, memory.id, SearchTier::of(memory.status));
        if text == own && at == memory.created.0 {
            add(memory.id, StoredMemory { due: row.get::<_, Option<i64>>(2)?.map(Stamp), memory });
        }
    }
    let mut statement =
        db.prepare_cached("SELECT memory, seq FROM memory_events WHERE stream = ? ORDER BY memory, seq")?;
    let mut rows = statement.query([stream])?;
    while let Some(row) = rows.next()? {
        if let Some(id) = rowids::memory_from_number(row.get(0)?) {
            add_event(id, Seq(row.get::<_, i64>(1)? as u64));
        }
    }
    Ok(())
}

/// The memory that an indexed text belongs to, if this is its current rowid.
pub(super) fn text_key(db: &Connection, text: i64) -> rusqlite::Result<Option<TextKey>> {
    let Some((id, _)) = rowids::memory_at_rowid(text) else { return Ok(None) };
    let exists = db.prepare_cached("SELECT 1 FROM memories WHERE text = ?")?.exists([text])?;
    Ok(exists.then_some(TextKey::Memory(id)))
}
