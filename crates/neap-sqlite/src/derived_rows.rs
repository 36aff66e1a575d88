//! The derived rows, written in the same transaction as their events.

use neap_core::base::ids::{EffortId, TurnNo};
use neap_core::base::project_id::ProjectId;
use neap_core::session::project::ExchangeRow;
use rusqlite::{Connection, params};

use super::{cards, memories, texts};
use neap_store::backend::card::IndexEntry;
use neap_store::backend::counts::CountChanges;
use neap_store::backend::event_row::body_checksum;
use neap_store::backend::prepared_commit::HeadRow;
use neap_store::backend::rowids;
use neap_store::backend::scope_column::{UNDONE_PREFIX, scope_name};

/// Saturates: SQLite has signed integers only.
pub(super) fn to_sql(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn put_effort(db: &Connection, stream: i64, id: &EffortId, body: &str) -> rusqlite::Result<()> {
    let changed = db
        .prepare_cached("UPDATE efforts SET body = ?, sum = ? WHERE stream = ? AND id = ?")?
        .execute(params![body, body_checksum(body), stream, id.as_str()])?;
    if changed == 0 {
        let (first, last) = rowids::effort_range(stream);
        db.prepare_cached(
            "INSERT INTO efforts(text, stream, id, body, sum)
             VALUES (coalesce((SELECT max(text) FROM efforts WHERE text BETWEEN ?1 AND ?2) + 1, ?1), ?3, ?4, ?5, ?6)",
        )?
        .execute(params![first, last, stream, id.as_str(), body, body_checksum(body)])?;
    }
    Ok(())
}

/// Adds an exchange to its log; those that ended earlier must already be there.
pub(super) fn put_exchange(db: &Connection, stream: i64, row: &ExchangeRow) -> rusqlite::Result<()> {
    let (scope, turn) = (scope_name(&row.scope), to_sql(row.turn.0));
    db.prepare_cached(
        "INSERT INTO exchanges(stream, scope, lane, turn, first_seq, last_seq, at, tokens)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        stream,
        scope,
        lane(db, stream, scope, turn)?,
        turn,
        to_sql(row.first_seq.0),
        to_sql(row.last_seq.0),
        row.at.0,
        to_sql(row.tokens.0),
    ])?;
    Ok(())
}

/// Lanes keep turns ascending although they may end in any order: the first lane whose turns are all earlier.
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

pub(super) fn put_turn_id(db: &Connection, stream: i64, id: &str, turn: TurnNo) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO turn_ids(stream, turn_id, turn) VALUES (?, ?, ?)")?
        .execute(params![stream, id, to_sql(turn.0)])?;
    Ok(())
}

/// Replaces a text in the word index, and its card. Returns its rowid, if its key has one, and whether it is new.
pub(super) fn put_text(
    db: &Connection,
    changes: &mut CountChanges,
    stream: i64,
    scope: i64,
    entry: &IndexEntry,
) -> rusqlite::Result<(Option<i64>, bool)> {
    let IndexEntry { key, words, row } = entry;
    let Some(text) = texts::rowid_in(db, stream, key)? else { return Ok((None, false)) };
    let existed = remove_text(db, changes, text, scope)?;
    db.prepare_cached("INSERT INTO words(rowid, terms) VALUES (?, ?)")?.execute(params![text, words])?;
    cards::put(db, changes, text, scope, row)?;
    Ok((Some(text), !existed))
}

/// Removes a text and its card from the index. Returns whether it was there.
pub(super) fn remove_text(
    db: &Connection,
    changes: &mut CountChanges,
    text: i64,
    scope: i64,
) -> rusqlite::Result<bool> {
    cards::remove(db, changes, text, scope)?;
    let existed = db.prepare_cached("SELECT 1 FROM words_docsize WHERE id = ?")?.exists([text])?;
    if existed {
        db.prepare_cached("DELETE FROM words WHERE rowid = ?")?.execute([text])?;
    }
    Ok(existed)
}

/// Writes a session's row, and adds `new_texts` to its text count.
pub(super) fn put_head(db: &Connection, stream: i64, head: &HeadRow, new_texts: i64) -> rusqlite::Result<()> {
    let HeadRow { body, project } = head;
    db.prepare_cached("UPDATE sessions SET head = ?, sum = ?, texts = texts + ? WHERE stream = ?")?
        .execute(params![body, body_checksum(body), new_texts, stream])?;
    // Apart, so that a commit leaves the index alone.
    let project = project.as_ref().map(ProjectId::as_str);
    db.prepare_cached("UPDATE sessions SET project = ?1 WHERE stream = ?2 AND project IS NOT ?1")?
        .execute(params![project, stream])?;
    Ok(())
}

/// Moves a turn to a scope that is in no log; its span in the stream stays known.
pub(super) fn mark_undone(db: &Connection, stream: i64, turn: TurnNo) -> rusqlite::Result<()> {
    db.prepare_cached(
        "UPDATE exchanges SET scope = ?3 || scope WHERE stream = ?1 AND turn = ?2 AND scope NOT GLOB ?3 || '*'",
    )?
    .execute(params![stream, to_sql(turn.0), UNDONE_PREFIX])?;
    Ok(())
}

/// Marks a turn as withheld: its texts are not shown again.
pub(super) fn put_withheld(db: &Connection, stream: i64, turn: TurnNo) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO withheld(stream, turn) VALUES (?, ?)")?
        .execute([stream, to_sql(turn.0)])?;
    Ok(())
}

pub(super) fn clear_texts(
    db: &Connection,
    changes: &mut CountChanges,
    stream: i64,
    scope: i64,
) -> rusqlite::Result<()> {
    let (first, last) = rowids::text_range(stream);
    let mut indexed = db.prepare("SELECT id FROM words_docsize WHERE id BETWEEN ? AND ?")?;
    let indexed: Vec<i64> = indexed.query_map([first, last], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut remove = db.prepare_cached("DELETE FROM words WHERE rowid = ?")?;
    for text in indexed {
        remove.execute([text])?;
    }
    cards::clear(db, changes, stream, scope)?;
    db.execute("UPDATE sessions SET texts = 0 WHERE stream = ?", [stream])?;
    Ok(())
}

/// Removes everything derived from a stream except its embeddings.
pub(super) fn clear(db: &Connection, changes: &mut CountChanges, stream: i64, scope: i64) -> rusqlite::Result<()> {
    clear_texts(db, changes, stream, scope)?;
    for table in ["efforts", "exchanges", "turn_ids", "withheld", "links"] {
        db.execute(&format!("DELETE FROM {table} WHERE stream = ?"), [stream])?;
    }
    memories::clear(db, stream)
}
