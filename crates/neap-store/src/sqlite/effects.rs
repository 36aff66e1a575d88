//! The derived rows: written with the events that change them.

use neap_core::ids::{EffortId, TurnNo};
use neap_core::message::Scope;
use neap_core::project::ExchangeRow;
use rusqlite::{Connection, params};

use super::cards::{self, Tally};
use super::{memories, texts};
use crate::card::Indexed;
use crate::numbers;

/// Stands before the scope of an exchange that a person took back; no effort's id begins with it.
pub(super) const TAKEN_BACK: &str = "~";

/// How a scope is written; no effort's id is empty.
pub(super) fn scope_name(scope: &Scope) -> &str {
    match scope {
        Scope::Ambient => "",
        Scope::Effort(id) => id.as_str(),
    }
}

/// A number as SQLite keeps it.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The checksum of a derived text: it is shown to people and models, and a flipped bit must not put a word in anyone's mouth.
pub(super) fn sum(body: &str) -> u32 {
    crc32fast::hash(body.as_bytes())
}

/// Inserts or replaces an effort's row.
pub(super) fn put_effort(db: &Connection, stream: i64, id: &EffortId, body: &str) -> rusqlite::Result<()> {
    let changed = db
        .prepare_cached("UPDATE efforts SET body = ?, sum = ? WHERE stream = ? AND id = ?")?
        .execute(params![body, sum(body), stream, id.as_str()])?;
    if changed == 0 {
        let (first, last) = numbers::effort_texts(stream);
        db.prepare_cached(
            "INSERT INTO efforts(text, stream, id, body, sum)
             VALUES (coalesce((SELECT max(text) FROM efforts WHERE text BETWEEN ?1 AND ?2) + 1, ?1), ?3, ?4, ?5, ?6)",
        )?
        .execute(params![first, last, stream, id.as_str(), body, sum(body)])?;
    }
    Ok(())
}

/// Adds an exchange to its log; those that ended before it are there already.
pub(super) fn put_exchange(db: &Connection, stream: i64, row: &ExchangeRow) -> rusqlite::Result<()> {
    let (scope, turn) = (scope_name(&row.scope), number(row.turn.0));
    db.prepare_cached(
        "INSERT INTO exchanges(stream, scope, lane, turn, first_seq, last_seq, at, tokens)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        stream,
        scope,
        lane(db, stream, scope, turn)?,
        turn,
        number(row.first_seq.0),
        number(row.last_seq.0),
        row.at.0,
        number(row.tokens.0),
    ])?;
    Ok(())
}

/// The first lane of a log that has no turn like this one or later.
fn lane(db: &Connection, stream: i64, scope: &str, turn: i64) -> rusqlite::Result<i64> {
    let mut last =
        db.prepare_cached("SELECT max(turn) FROM exchanges WHERE stream = ? AND scope = ? AND lane = ?")?;
    let mut lane = 0;
    while last
        .query_row(params![stream, scope, lane], |row| row.get::<_, Option<i64>>(0))?
        .is_some_and(|last| last >= turn)
    {
        lane += 1;
    }
    Ok(lane)
}

/// Remembers a caller's own id of a turn.
pub(super) fn put_turn_id(db: &Connection, stream: i64, id: &str, turn: TurnNo) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO turn_ids(stream, turn_id, turn) VALUES (?, ?, ?)")?
        .execute(params![stream, id, number(turn.0)])?;
    Ok(())
}

/// Puts a text in the word index, and its card beside it, in place of what was there. Returns its number if its key has one, and whether it
/// is a new one.
pub(super) fn put_text(
    db: &Connection,
    tally: &mut Tally,
    stream: i64,
    scope: i64,
    indexed: &Indexed,
) -> rusqlite::Result<(Option<i64>, bool)> {
    let Indexed { key, words, row } = indexed;
    let Some(text) = texts::number_in(db, stream, key)? else { return Ok((None, false)) };
    let known = remove_text(db, tally, text, scope)?;
    db.prepare_cached("INSERT INTO words(rowid, terms) VALUES (?, ?)")?.execute(params![text, words])?;
    cards::put(db, tally, text, scope, row)?;
    Ok((Some(text), !known))
}

/// Removes a text from the word index, and its card. Returns whether it was there.
pub(super) fn remove_text(db: &Connection, tally: &mut Tally, text: i64, scope: i64) -> rusqlite::Result<bool> {
    cards::remove(db, tally, text, scope)?;
    let known = db.prepare_cached("SELECT 1 FROM words_docsize WHERE id = ?")?.exists([text])?;
    if known {
        db.prepare_cached("DELETE FROM words WHERE rowid = ?")?.execute([text])?;
    }
    Ok(known)
}

/// Writes a session's row, and by how many its texts have grown.
pub(super) fn put_head(db: &Connection, stream: i64, head: &str, new_texts: i64) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE sessions SET head = ?, sum = ?, texts = texts + ? WHERE stream = ?")?
        .execute(params![head, sum(head), new_texts, stream])?;
    Ok(())
}

/// Takes a turn out of its log; where it is in the stream stays known. It stands in a scope that no log has.
pub(super) fn take_back(db: &Connection, stream: i64, turn: TurnNo) -> rusqlite::Result<()> {
    db.prepare_cached(
        "UPDATE exchanges SET scope = ?3 || scope WHERE stream = ?1 AND turn = ?2 AND scope NOT GLOB ?3 || '*'",
    )?
    .execute(params![stream, number(turn.0), TAKEN_BACK])?;
    Ok(())
}

/// Remembers that what was said in a turn is not shown again.
pub(super) fn put_withheld(db: &Connection, stream: i64, turn: TurnNo) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO withheld(stream, turn) VALUES (?, ?)")?
        .execute([stream, number(turn.0)])?;
    Ok(())
}

/// Removes a stream's texts from the word index, and their cards.
pub(super) fn clear_texts(db: &Connection, tally: &mut Tally, stream: i64, scope: i64) -> rusqlite::Result<()> {
    let (first, last) = numbers::all_texts(stream);
    let mut indexed = db.prepare("SELECT id FROM words_docsize WHERE id BETWEEN ? AND ?")?;
    let indexed: Vec<i64> = indexed.query_map([first, last], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut remove = db.prepare_cached("DELETE FROM words WHERE rowid = ?")?;
    for text in indexed {
        remove.execute([text])?;
    }
    cards::clear(db, tally, stream, scope)?;
    db.execute("UPDATE sessions SET texts = 0 WHERE stream = ?", [stream])?;
    Ok(())
}

/// Removes everything that is derived from a stream but its embeddings.
pub(super) fn clear(db: &Connection, tally: &mut Tally, stream: i64, scope: i64) -> rusqlite::Result<()> {
    clear_texts(db, tally, stream, scope)?;
    for table in ["efforts", "exchanges", "turn_ids", "withheld", "links"] {
        db.execute(&format!("DELETE FROM {table} WHERE stream = ?"), [stream])?;
    }
    memories::clear(db, stream)
}
