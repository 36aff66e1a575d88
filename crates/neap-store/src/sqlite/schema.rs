//! What is kept, and how an older format becomes the present one.
//!
//! `events`, `blocks` and the names in `sessions` are truth; everything else is derived from them.
//!
//! A text in the word index has a number that says whose it is: the stream in the upper half, then one bit
//! that is set for messages, then the number of the effort or the place of the event. An agent has no efforts: there
//! the lower half is four bits for a kind of memories and where search finds them (a shelf), then the memory's number.
//! So one session's texts of one kind are one range, and no table is needed to tell what a number means.

use neap_core::memory::{MemoryId, MemoryKind};
use rusqlite::Connection;

use super::{effects, log, task};
use crate::recall::Place;

/// "Neap" in ASCII: marks the file as ours.
pub(super) const APPLICATION_ID: i32 = 0x4e65_6170;
/// The format that this version writes.
pub(super) const FORMAT: i64 = 5;
/// The first format with memories.
const FORMAT_WITH_MEMORIES: i64 = 3;
/// The first format with blocks.
const FORMAT_WITH_BLOCKS: i64 = 4;
/// The first format where shelves are counted, and where a session's row says what was last asked for.
const FORMAT_WITH_TASKS: i64 = 5;

const STREAM_SHIFT: u32 = 32;
const MESSAGE: i64 = 1 << 31;
/// A memory's number is below this; above it is its shelf.
const SHELF_SHIFT: u32 = 27;
const SHELVES_SHIFT: u32 = STREAM_SHIFT - SHELF_SHIFT;
const KINDS_OF_MEMORIES: i64 = MemoryKind::ALL.len() as i64;

const TABLES: &str = "
CREATE TABLE sessions(
  stream INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  texts INTEGER NOT NULL,
  head TEXT NOT NULL,
  cold INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE events(
  stream INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  sum INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY(stream, seq)
) WITHOUT ROWID;
CREATE TABLE efforts(
  text INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE(stream, id)
);
CREATE TABLE turn_ids(
  stream INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  turn INTEGER NOT NULL,
  PRIMARY KEY(stream, turn_id)
) WITHOUT ROWID;
-- The words come analysed; to the ascii tokenizer everything beyond ASCII is part of a word.
CREATE VIRTUAL TABLE words USING fts5(
  terms, content='', contentless_delete=1, detail=none, tokenize='ascii'
);
";

/// Events by kind, but for those that nearly every turn has: these are found by looking back.
const KINDS: &str = "
CREATE INDEX events_by_kind ON events(stream, kind, seq)
  WHERE kind NOT IN ('turn_started', 'turn_completed', 'efforts_referenced');
";
/// The kinds that are not in that index.
pub(super) const KINDS_OF_EVERY_TURN: [&str; 3] = ["turn_started", "turn_completed", "efforts_referenced"];

/// Turns end in the order of their numbers, but for those that ran at once. An exchange is in the first lane
/// where it follows all that ended before it by number as well: in a lane, the order of turns is the order of
/// the log, so that any range of turns is one seek in each, and there are no more lanes than turns at once.
const EXCHANGES: &str = "
CREATE TABLE exchanges(
  stream INTEGER NOT NULL,
  scope TEXT NOT NULL,
  lane INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY(stream, scope, lane, turn)
) WITHOUT ROWID;
CREATE INDEX exchanges_by_turn ON exchanges(stream, turn);
";

/// What an agent knows, and which events are whose history.
const MEMORIES: &str = "
CREATE TABLE memories(
  text INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  shelf INTEGER NOT NULL AS (text >> 27),
  at INTEGER NOT NULL,
  due INTEGER,
  body TEXT NOT NULL
);
CREATE INDEX memories_by_time ON memories(shelf, at);
CREATE INDEX memories_by_due ON memories(stream, due) WHERE due IS NOT NULL;
CREATE TABLE memory_events(
  stream INTEGER NOT NULL,
  memory INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY(stream, memory, seq)
) WITHOUT ROWID;
";

/// Runs of events that are far behind, packed; their rows are gone.
const BLOCKS: &str = "
CREATE TABLE blocks(
  stream INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  kinds TEXT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY(stream, last_seq)
) WITHOUT ROWID;
";

/// How many memories each shelf has.
const SHELVES: &str = "
CREATE TABLE shelves(
  shelf INTEGER PRIMARY KEY,
  memories INTEGER NOT NULL
);
";

/// The same, counted anew.
const COUNTED: &str = "SELECT shelf, count(*) AS memories FROM memories GROUP BY shelf";

/// Makes the tables in an empty database, inside a transaction of the caller's.
pub(super) fn create(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(TABLES)?;
    db.execute_batch(KINDS)?;
    db.execute_batch(EXCHANGES)?;
    db.execute_batch(MEMORIES)?;
    db.execute_batch(BLOCKS)?;
    db.execute_batch(SHELVES)?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", FORMAT)
}

/// The format of a database.
pub(super) fn format(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether a database is of a format with memories; an older one that may not be written to has none.
pub(super) fn has_memories(db: &Connection) -> rusqlite::Result<bool> {
    Ok(format(db)? >= FORMAT_WITH_MEMORIES)
}

/// Whether the rows of sessions say what was last asked for.
pub(super) fn has_tasks(db: &Connection) -> rusqlite::Result<bool> {
    Ok(format(db)? >= FORMAT_WITH_TASKS)
}

/// Brings an older database to the present format, inside a transaction of the caller's.
pub(super) fn upgrade(db: &Connection) -> rusqlite::Result<()> {
    if format(db)? == 1 {
        db.execute_batch(
            "ALTER TABLE sessions ADD COLUMN cold INTEGER NOT NULL DEFAULT 0;
             DROP INDEX exchanges_by_turn;
             ALTER TABLE exchanges RENAME TO exchanges_1;",
        )?;
        db.execute_batch(KINDS)?;
        db.execute_batch(EXCHANGES)?;
        let mut old = db.prepare(
            "SELECT turn, scope, first_seq, last_seq, at, tokens, stream FROM exchanges_1 ORDER BY stream, last_seq",
        )?;
        let mut rows = old.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(exchange) = log::exchange_row(row)? {
                effects::put_exchange(db, row.get(6)?, &exchange)?;
            }
        }
        drop(rows);
        drop(old);
        db.execute_batch("DROP TABLE exchanges_1")?;
        db.pragma_update(None, "user_version", 2)?;
    }
    if format(db)? < FORMAT_WITH_MEMORIES {
        db.execute_batch(MEMORIES)?;
        db.pragma_update(None, "user_version", FORMAT_WITH_MEMORIES)?;
    }
    if format(db)? < FORMAT_WITH_BLOCKS {
        db.execute_batch(BLOCKS)?;
        // Rows that were packed each by itself become blocks when their session goes on.
        db.execute_batch("UPDATE sessions SET cold = 0")?;
        db.pragma_update(None, "user_version", FORMAT_WITH_BLOCKS)?;
    }
    if format(db)? < FORMAT_WITH_TASKS {
        db.execute_batch(SHELVES)?;
        db.execute_batch(&format!("INSERT INTO shelves {COUNTED}"))?;
        task::fill_in(db)?;
        db.pragma_update(None, "user_version", FORMAT_WITH_TASKS)?;
    }
    Ok(())
}

/// Lets an older database that may not be written to be read like one of today's.
pub(super) fn stand_in(db: &Connection) -> rusqlite::Result<()> {
    if format(db)? < FORMAT_WITH_BLOCKS {
        db.execute_batch(&BLOCKS.replace("CREATE TABLE", "CREATE TEMP TABLE"))?;
    }
    if has_memories(db)? && !has_tasks(db)? {
        db.execute_batch(&format!("CREATE TEMP VIEW shelves AS {COUNTED}"))?;
    }
    Ok(())
}

/// The numbers of a session's texts of both kinds: first and last.
pub(super) fn all_texts(stream: i64) -> (i64, i64) {
    (stream << STREAM_SHIFT, (stream << STREAM_SHIFT) | (MESSAGE | (MESSAGE - 1)))
}

/// The numbers that a session's efforts may have.
pub(super) fn effort_texts(stream: i64) -> (i64, i64) {
    (stream << STREAM_SHIFT, (stream << STREAM_SHIFT) | (MESSAGE - 1))
}

/// The numbers that a session's messages may have.
pub(super) fn message_texts(stream: i64) -> (i64, i64) {
    (message_text(stream, 0), message_text(stream, MESSAGE - 1))
}

/// The number of the text that an event says.
pub(super) fn message_text(stream: i64, seq: i64) -> i64 {
    assert!((0..MESSAGE).contains(&seq), "a stream has fewer than two thousand million events");
    (stream << STREAM_SHIFT) | MESSAGE | seq
}

/// The event that a message's number names.
pub(super) fn message_seq(text: i64) -> i64 {
    text & (MESSAGE - 1)
}

/// A kind's number; they are stored, so they never change.
fn kind_code(kind: MemoryKind) -> i64 {
    match kind {
        MemoryKind::Decision => 0,
        MemoryKind::Fact => 1,
        MemoryKind::Procedure => 2,
        MemoryKind::Episode => 3,
        MemoryKind::Censor => 4,
    }
}

fn place_code(place: Place) -> i64 {
    match place {
        Place::Current => 0,
        Place::Superseded => 1,
        Place::Aside => 2,
    }
}

/// The number of the shelf where an agent's memories of a kind are that are found in one place.
pub(super) fn shelf(stream: i64, kind: MemoryKind, place: Place) -> i64 {
    (stream << SHELVES_SHIFT) | (place_code(place) * KINDS_OF_MEMORIES + kind_code(kind))
}

/// The first and the last number that an agent's shelves may have.
pub(super) fn shelves(stream: i64) -> (i64, i64) {
    let (first, last) = effort_texts(stream);
    (first >> SHELF_SHIFT, last >> SHELF_SHIFT)
}

/// The numbers that the memories of a shelf may have; none has the first.
pub(super) fn shelf_texts(shelf: i64) -> (i64, i64) {
    (shelf << SHELF_SHIFT, (shelf << SHELF_SHIFT) | i64::from(MemoryId::NUMBER_MAX))
}

/// The numbers of all memories of an agent that are found in these places, the first and those that follow it.
pub(super) fn searched_texts(stream: i64, places: &[Place]) -> (i64, i64) {
    let code = |place: Option<&Place>| place.map_or(0, |place| place_code(*place)) * KINDS_OF_MEMORIES;
    let shelves = stream << SHELVES_SHIFT;
    let (first, _) = shelf_texts(shelves | code(places.first()));
    let (_, last) = shelf_texts(shelves | (code(places.last()) + KINDS_OF_MEMORIES - 1));
    (first, last)
}

/// The number of a memory's text.
pub(super) fn memory_text(stream: i64, id: MemoryId, place: Place) -> i64 {
    shelf_texts(shelf(stream, id.kind(), place)).0 | i64::from(id.number())
}

/// The memory that a number of an agent's text names, and where it is found.
pub(super) fn memory_of(text: i64) -> Option<(MemoryId, Place)> {
    if text & MESSAGE != 0 {
        return None;
    }
    let code = (text >> SHELF_SHIFT) & ((1 << (SHELVES_SHIFT - 1)) - 1);
    let place = Place::ALL.into_iter().find(|place| place_code(*place) == code / KINDS_OF_MEMORIES)?;
    let kind = MemoryKind::ALL.into_iter().find(|kind| kind_code(*kind) == code % KINDS_OF_MEMORIES)?;
    let number = u32::try_from(text & i64::from(MemoryId::NUMBER_MAX)).ok()?;
    MemoryId::new(kind, number).map(|id| (id, place))
}

/// The number of a memory, wherever search finds it.
pub(super) fn memory_number(id: MemoryId) -> i64 {
    memory_text(0, id, Place::Current)
}

/// The memory with this number.
pub(super) fn numbered_memory(number: i64) -> Option<MemoryId> {
    memory_of(number).map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_memories_say_what_they_are() {
        for kind in MemoryKind::ALL {
            for place in Place::ALL {
                for number in [1, 2, MemoryId::NUMBER_MAX] {
                    let id = MemoryId::new(kind, number).expect("it is a number");
                    let text = memory_text(7, id, place);
                    assert_eq!(memory_of(text), Some((id, place)));
                    let (first, last) = effort_texts(7);
                    assert!((first..=last).contains(&text));
                    let (first, last) = searched_texts(7, &[Place::Current, Place::Superseded]);
                    assert_eq!((first..=last).contains(&text), place != Place::Aside);
                    let (first, last) = shelves(7);
                    assert!((first..=last).contains(&(text >> 27)));
                    assert_eq!(shelf(7, kind, place), text >> 27);
                    assert_eq!(numbered_memory(memory_number(id)), Some(id));
                }
            }
        }
        assert_eq!(memory_of(message_text(7, 12)), None);
        assert_eq!(memory_of(all_texts(7).0), None, "no memory has the number 0");
    }

    #[test]
    fn numbers_of_texts_do_not_overlap() {
        let (first, last) = all_texts(7);
        let (efforts_first, efforts_last) = effort_texts(7);
        let (messages_first, messages_last) = message_texts(7);
        assert_eq!((first, last), (efforts_first, messages_last));
        assert_eq!(efforts_last + 1, messages_first);
        assert_eq!(last + 1, all_texts(8).0);
        assert_eq!(message_seq(message_text(7, 12)), 12);
    }
}
