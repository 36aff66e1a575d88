//! What is kept, and how an older format becomes the present one.
//!
//! `events` and the names in `sessions` are truth; everything else is derived from them.
//!
//! A text in the word index has a number that says whose it is: the stream in the upper half, then one bit
//! that is set for messages, then the number of the effort or the place of the event. So one session's texts of
//! one kind are one range, and no table is needed to tell what a number means.

use rusqlite::Connection;

use super::{effects, log};

/// "Neap" in ASCII: marks the file as ours.
pub(super) const APPLICATION_ID: i32 = 0x4e65_6170;
/// The format that this version writes.
pub(super) const FORMAT: i64 = 2;

const STREAM_SHIFT: u32 = 32;
const MESSAGE: i64 = 1 << 31;

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

/// Makes the tables in an empty database, inside a transaction of the caller's.
pub(super) fn create(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(TABLES)?;
    db.execute_batch(KINDS)?;
    db.execute_batch(EXCHANGES)?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", FORMAT)
}

/// The format of a database.
pub(super) fn format(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
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

#[cfg(test)]
mod tests {
    use super::*;

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
