//! Rebuilds a session's derived rows in one transaction.

use neap_core::base::ids::StreamId;
use neap_core::client::HistoryLink;
use rusqlite::{Connection, TransactionBehavior, params};

use super::cards;
use super::db_error::DbError;
use super::{derived_rows, events, examine, links, memories, progress, read, vectors};
use neap_store::backend::card::IndexEntry;
use neap_store::backend::counts::CountChanges;
use neap_store::backend::derived::Derived;
use neap_store::backend::examine::losses;
use neap_store::backend::prepared_commit::{HeadRow, PreparedMemory};
use neap_store::{Finding, StoreError};

pub(super) fn rebuild(db: &mut Connection, session: &StreamId) -> Result<Vec<Finding>, DbError> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some(stream) = find_stream(&transaction, session)? else { return Ok(Vec::new()) };
    let folded = read::fold_stream(&transaction, stream)?;
    write_rows(&transaction, stream, &folded.derived)?;
    if let Some(own_name) = folded.derived.head.stream.as_ref().filter(|own_name| *own_name != session) {
        // The event has a checksum, the row has none. If another session has that name, it stays as it is.
        transaction.execute(
            "UPDATE OR IGNORE sessions SET name = ? WHERE stream = ?",
            params![own_name.as_str(), stream],
        )?;
    }
    progress::advance(&transaction, 0, None)?;
    transaction.commit()?;
    Ok(losses(session, &folded))
}

/// A session's stream; one missing from the list of sessions is added again.
fn find_stream(db: &Connection, session: &StreamId) -> rusqlite::Result<Option<i64>> {
    if let Some(stream) = events::stream_number(db, session.as_str())? {
        return Ok(Some(stream));
    }
    for stream in examine::orphan_streams(db)? {
        if examine::recorded_name(db, stream)?.as_ref() == Some(session) {
            db.execute(
                "INSERT INTO sessions(stream, name, texts, head) VALUES (?, ?, 0, '')",
                params![stream, session.as_str()],
            )?;
            return Ok(Some(stream));
        }
    }
    Ok(None)
}

pub(super) fn write_rows(db: &Connection, stream: i64, derived: &Derived) -> Result<(), DbError> {
    let json = |e: serde_json::Error| StoreError::Failed(e.to_string());
    let scope = cards::count_scope(db, stream)?;
    let mut changes = CountChanges::default();
    derived_rows::clear(db, &mut changes, stream, scope)?;
    let mut efforts: Vec<_> = derived.efforts.iter().collect();
    efforts.sort_by_key(|(id, _)| derived.effort_order.get(*id).copied().unwrap_or(u64::MAX));
    for (id, effort) in efforts {
        derived_rows::put_effort(db, stream, id, &serde_json::to_string(effort).map_err(json)?)?;
    }
    for row in derived.exchanges.values() {
        derived_rows::put_exchange(db, stream, row)?;
    }
    for (id, turn) in &derived.turn_ids {
        derived_rows::put_turn_id(db, stream, id, *turn)?;
    }
    for (digest, turn) in &derived.links {
        links::put(db, stream, &HistoryLink { digest: *digest, turn: *turn })?;
    }
    for stored in derived.memories.values() {
        let memory = PreparedMemory::new(&stored.memory, stored.due).map_err(json)?;
        memories::put(db, &mut changes, stream, &memory)?;
    }
    for (id, seqs) in &derived.history {
        for seq in seqs {
            memories::put_event(db, stream, *id, derived_rows::to_sql(seq.0))?;
        }
    }
    for turn in &derived.withheld_turns {
        derived_rows::put_withheld(db, stream, *turn)?;
    }
    for turn in &derived.undone_turns {
        derived_rows::mark_undone(db, stream, *turn)?;
    }
    let texts = put_texts(db, &mut changes, stream, scope, derived)?;
    derived_rows::put_head(db, stream, &HeadRow::new(&derived.head).map_err(json)?, texts)?;
    cards::write_counts(db, changes)?;
    cards::repair_counts(db)?;
    vectors::sync_stream(db, scope, stream)?;
    vectors::repair_counts(db)?;
    Ok(())
}

fn put_texts(
    db: &Connection,
    changes: &mut CountChanges,
    stream: i64,
    scope: i64,
    derived: &Derived,
) -> rusqlite::Result<i64> {
    let mut texts = 0;
    for (key, row) in &derived.cards {
        let words = derived.texts.get(key).cloned().unwrap_or_default();
        let entry = IndexEntry { key: key.clone(), words, row: row.clone() };
        texts += i64::from(derived_rows::put_text(db, changes, stream, scope, &entry)?.1);
    }
    Ok(texts)
}

/// Rebuilds word index and cards of every stream, brings its embeddings into line and adds its withheld turns.
/// Leaves other derived rows alone: a damaged stream has less than they do.
pub(super) fn reindex_all(db: &Connection) -> rusqlite::Result<()> {
    let mut changes = CountChanges::default();
    for (stream, _) in read::streams(db)? {
        let (scope, derived) = (cards::count_scope(db, stream)?, read::fold_stream(db, stream)?.derived);
        derived_rows::clear_texts(db, &mut changes, stream, scope)?;
        let texts = put_texts(db, &mut changes, stream, scope, &derived)?;
        db.execute("UPDATE sessions SET texts = ? WHERE stream = ?", [texts, stream])?;
        for turn in &derived.withheld_turns {
            derived_rows::put_withheld(db, stream, *turn)?;
        }
        vectors::sync_stream(db, scope, stream)?;
    }
    cards::write_counts(db, changes)
}
