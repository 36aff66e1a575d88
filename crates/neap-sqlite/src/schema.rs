//! The tables of today. Those of older formats are in `migrations`.
//!
//! `events`, `blocks` and the names in `sessions` are the truth; everything else is derived from them.
//! [`neap_store::backend::rowids`] explains the rowids of texts.

use rusqlite::Connection;

use super::progress;

/// "Neap" in ASCII: marks the file as ours.
pub(super) const APPLICATION_ID: i32 = 0x4e65_6170;
pub(super) const FORMAT: i64 = 11;
const FORMAT_WITH_MEMORIES: i64 = 3;
const FORMAT_WITH_BLOCKS: i64 = 4;
/// Also the first with shelf counts. A task is what the user last asked for, in the session's row.
const FORMAT_WITH_TASKS: i64 = 5;
const FORMAT_WITH_CARDS: i64 = 6;
const FORMAT_WITH_LINKS: i64 = 7;
/// Also the first with checksums of derived texts.
const FORMAT_WITH_PROGRESS: i64 = 9;
/// Embeddings are apart from their sign bits, which a search reads.
const FORMAT_WITH_VECTOR_INDEX: i64 = 10;
const FORMAT_WITH_PROJECTS: i64 = 11;

const TABLES: &str = "
CREATE TABLE sessions(
  stream INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  texts INTEGER NOT NULL,
  head TEXT NOT NULL,
  cold INTEGER NOT NULL DEFAULT 0,
  sum INTEGER,
  project TEXT
);
CREATE INDEX sessions_by_project ON sessions(project);
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
  sum INTEGER,
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

/// Events by kind, except kinds that nearly every turn has: those are found by scanning backwards.
const KINDS: &str = "
CREATE INDEX events_by_kind ON events(stream, kind, seq)
  WHERE kind NOT IN ('turn_started', 'turn_completed', 'efforts_referenced');
";
/// The kinds that this index leaves out.
pub(super) const KINDS_OF_EVERY_TURN: [&str; 3] = ["turn_started", "turn_completed", "efforts_referenced"];

/// Turns end in the order of their numbers, except for concurrent ones. An exchange goes into the first lane where
/// its turn is higher than all that ended before it. So within a lane the order of turns is the order of the log,
/// any range of turns is one seek per lane, and there are no more lanes than concurrent turns.
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

const MEMORIES: &str = "
CREATE TABLE memories(
  text INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  shelf INTEGER NOT NULL AS (text >> 27),
  at INTEGER NOT NULL,
  due INTEGER,
  body TEXT NOT NULL,
  sum INTEGER
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

const SHELVES: &str = "
CREATE TABLE shelves(
  shelf INTEGER PRIMARY KEY,
  memories INTEGER NOT NULL
);
";

/// What is known of each text except its content: see `cards` and `vectors`.
const CARDS: &str = "
CREATE TABLE cards(
  text INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  nth INTEGER NOT NULL,
  at INTEGER NOT NULL,
  who TEXT,
  tokens INTEGER NOT NULL,
  length INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  terms BLOB NOT NULL
);
CREATE TABLE frequencies(
  term INTEGER PRIMARY KEY,
  texts INTEGER NOT NULL
);
CREATE TABLE counts(
  scope INTEGER PRIMARY KEY,
  texts INTEGER NOT NULL,
  length INTEGER NOT NULL,
  sum INTEGER NOT NULL
);
CREATE TABLE models(
  model INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  UNIQUE(name, dimensions)
);
CREATE TABLE unembedded(
  text INTEGER PRIMARY KEY
);
CREATE TABLE withheld(
  stream INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  PRIMARY KEY(stream, turn)
) WITHOUT ROWID;
";

const VECTORS: &str = "
CREATE TABLE vector_index(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  text INTEGER NOT NULL UNIQUE,
  model INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  at INTEGER NOT NULL,
  replaces INTEGER NOT NULL,
  signs BLOB
);
CREATE TABLE vectors(
  text INTEGER PRIMARY KEY,
  vector BLOB NOT NULL
);
CREATE TABLE embedded(
  model INTEGER NOT NULL,
  scope INTEGER NOT NULL,
  texts INTEGER NOT NULL,
  directions BLOB NOT NULL,
  PRIMARY KEY(model, scope)
) WITHOUT ROWID;
";

/// Digests of clients' histories up to a message.
const LINKS: &str = "
CREATE TABLE links(
  digest BLOB NOT NULL,
  stream INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  PRIMARY KEY(digest, stream)
) WITHOUT ROWID;
CREATE INDEX links_by_stream ON links(stream);
";

pub(super) fn create(db: &Connection) -> rusqlite::Result<()> {
    create_tables(db)?;
    progress::initialize(db)
}

pub(super) fn create_tables(db: &Connection) -> rusqlite::Result<()> {
    for tables in [TABLES, KINDS, EXCHANGES, MEMORIES, BLOCKS, SHELVES, CARDS, VECTORS, LINKS, progress::TABLE] {
        db.execute_batch(tables)?;
    }
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", FORMAT)
}

pub(super) fn format(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// False for an older database that cannot be upgraded.
pub(super) fn has_memories(db: &Connection) -> rusqlite::Result<bool> {
    Ok(format(db)? >= FORMAT_WITH_MEMORIES)
}

pub(super) fn has_tasks(db: &Connection) -> rusqlite::Result<bool> {
    Ok(format(db)? >= FORMAT_WITH_TASKS)
}

/// If false (a read-only store of an older format), searches find nothing.
pub(super) fn has_cards(db: &Connection) -> rusqlite::Result<bool> {
    Ok(format(db)? >= FORMAT_WITH_CARDS)
}

pub(super) fn has_links(db: &Connection) -> rusqlite::Result<bool> {
    Ok(format(db)? >= FORMAT_WITH_LINKS)
}

/// If false (a read-only store of an older format), embeddings are not read.
pub(super) fn has_vector_index(db: &Connection) -> rusqlite::Result<bool> {
    Ok(format(db)? >= FORMAT_WITH_VECTOR_INDEX)
}

pub(super) fn has_progress(db: &Connection) -> rusqlite::Result<bool> {
    Ok(format(db)? >= FORMAT_WITH_PROGRESS)
}

fn has_projects(db: &Connection) -> rusqlite::Result<bool> {
    Ok(format(db)? >= FORMAT_WITH_PROJECTS)
}

fn has_table(db: &Connection, name: &str) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?")?.exists([name])
}

/// Makes a read-only database of an older format readable like a current one.
pub(super) fn emulate_current_format(db: &Connection) -> rusqlite::Result<()> {
    if format(db)? < FORMAT_WITH_BLOCKS {
        db.execute_batch(&BLOCKS.replace("CREATE TABLE", "CREATE TEMP TABLE"))?;
    }
    if has_memories(db)? && !has_tasks(db)? {
        db.execute_batch(
            "CREATE TEMP VIEW shelves AS SELECT shelf, count(*) AS memories FROM main.memories GROUP BY shelf",
        )?;
    }
    if !has_cards(db)? {
        db.execute_batch(&CARDS.replace("CREATE TABLE", "CREATE TEMP TABLE"))?;
    }
    if !has_vector_index(db)? {
        // Until it is upgraded, such a store is searched by words.
        db.execute_batch(&VECTORS.replace("CREATE TABLE", "CREATE TEMP TABLE"))?;
    }
    let has_sums = has_progress(db)?;
    if !has_projects(db)? {
        let sum = if has_sums { "" } else { "NULL AS sum, " };
        db.execute_batch(&format!(
            "CREATE TEMP VIEW sessions AS SELECT *, {sum}NULL AS project FROM main.sessions"
        ))?;
    }
    if !has_sums {
        for table in ["efforts", "memories"] {
            if has_table(db, table)? {
                db.execute_batch(&format!("CREATE TEMP VIEW {table} AS SELECT *, NULL AS sum FROM main.{table}"))?;
            }
        }
    }
    Ok(())
}
