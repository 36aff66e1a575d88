//! Writes a store as an older version would have left it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::path::Path;

use rusqlite::Connection;

/// What each format changed, from the tables of the first on.
const FORMATS: [&str; 10] = [
    include_str!("format_1.sql"),
    include_str!("../../src/migrations/v2.sql"),
    include_str!("../../src/migrations/v3.sql"),
    include_str!("../../src/migrations/v4.sql"),
    include_str!("../../src/migrations/v5.sql"),
    include_str!("../../src/migrations/v6.sql"),
    include_str!("../../src/migrations/v7.sql"),
    include_str!("../../src/migrations/v8.sql"),
    include_str!("../../src/migrations/v9.sql"),
    include_str!("../../src/migrations/v10.sql"),
];

/// The rows of a store of today, and the formats that had a place for them.
const ROWS: [(std::ops::RangeInclusive<i64>, &str); 12] = [
    (
        1..=10,
        "INSERT INTO sessions(stream, name, texts, head) SELECT stream, name, texts, head FROM today.sessions;
         INSERT INTO events SELECT stream, seq, at, kind, sum, body FROM today.events;
         INSERT INTO efforts(text, stream, id, body) SELECT text, stream, id, body FROM today.efforts;
         INSERT INTO turn_ids SELECT stream, turn_id, turn FROM today.turn_ids;
         DELETE FROM words_data; INSERT INTO words_data SELECT * FROM today.words_data;
         DELETE FROM words_idx; INSERT INTO words_idx SELECT * FROM today.words_idx;
         DELETE FROM words_docsize; INSERT INTO words_docsize SELECT * FROM today.words_docsize;",
    ),
    (
        1..=1,
        "INSERT INTO exchanges SELECT stream, scope, last_seq, first_seq, turn, at, tokens FROM today.exchanges;",
    ),
    (
        2..=10,
        "INSERT INTO exchanges
         SELECT stream, scope, lane, turn, first_seq, last_seq, at, tokens FROM today.exchanges;",
    ),
    (
        3..=10,
        "INSERT INTO memories(text, stream, at, due, body) SELECT text, stream, at, due, body FROM today.memories;
         INSERT INTO memory_events SELECT stream, memory, seq FROM today.memory_events;",
    ),
    (4..=10, "INSERT INTO blocks SELECT stream, last_seq, first_seq, sum, kinds, body FROM today.blocks;"),
    // Before the fifth, none knew what was last asked for.
    (1..=4, "UPDATE sessions SET head = json_remove(head, '$.task');"),
    (5..=10, "INSERT INTO shelves SELECT shelf, memories FROM today.shelves;"),
    (
        6..=10,
        "INSERT INTO cards SELECT text, kind, turn, nth, at, who, tokens, length, sum, terms FROM today.cards;
         INSERT INTO frequencies SELECT term, texts FROM today.frequencies;
         INSERT INTO counts SELECT scope, texts, length, sum FROM today.counts;
         INSERT INTO models SELECT model, name, dimensions FROM today.models;
         INSERT INTO unembedded SELECT text FROM today.unembedded;
         INSERT INTO withheld SELECT stream, turn FROM today.withheld;",
    ),
    (
        6..=9,
        "INSERT INTO vectors SELECT id, text, model, sum, kind, at, vector
         FROM today.vector_index LEFT JOIN today.vectors USING (text);
         INSERT INTO embedded SELECT model, scope, texts FROM today.embedded;",
    ),
    (
        10..=10,
        "INSERT INTO vector_index SELECT id, text, model, sum, kind, at, replaces, signs FROM today.vector_index;
         INSERT INTO vectors SELECT text, vector FROM today.vectors;
         INSERT INTO embedded SELECT model, scope, texts, directions FROM today.embedded;",
    ),
    (7..=10, "INSERT INTO links SELECT digest, stream, turn FROM today.links;"),
    (9..=10, "INSERT INTO progress SELECT one, body FROM today.progress;"),
];

/// `today` must be closed.
pub(crate) fn write_older(today: &Path, path: &Path, format: i64) {
    let db = Connection::open(path).unwrap();
    db.pragma_update(None, "journal_mode", "WAL").unwrap();
    for sql in &FORMATS[..usize::try_from(format).unwrap()] {
        db.execute_batch(sql).unwrap();
    }
    db.execute_batch(&format!("PRAGMA application_id = 0x4e656170; PRAGMA user_version = {format};")).unwrap();
    db.execute("ATTACH ? AS today", [today.to_str().unwrap()]).unwrap();
    for (_, rows) in ROWS.iter().filter(|(formats, _)| formats.contains(&format)) {
        db.execute_batch(rows).unwrap();
    }
}
