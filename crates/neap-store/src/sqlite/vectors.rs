//! Embeddings of texts, and which texts lack one.
//!
//! A text has at most one row in `vectors`, and its `id` grows with every change: a cache reads the rows above the
//! last `id` it knows. Where an embedding was removed, a row without one stays and says so. An embedding is
//! current while its checksum equals the card's.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::recall::{Embedding, TextId};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::db_error::DbError;
use super::derived_rows::to_sql;
use super::{cards, progress, texts};
use crate::card::{kind_number, text_checksum};
use crate::rowids;

/// Ensures that a text has a current embedding, or is queued for one, or that nothing is left if the text is gone.
/// `rowids` are all that a memory may have had; its embedding moves with it.
pub(super) fn sync_vector(db: &Connection, scope: i64, rowids: &[i64]) -> rusqlite::Result<()> {
    let mut card = None;
    for text in rowids {
        card = card.or(cards::text_meta(db, *text)?.map(|meta| (*text, meta)));
    }
    let mut vectors = Vec::new();
    for text in rowids {
        vectors.extend(stored_vector(db, *text)?.map(|vector| (*text, vector)));
    }
    let mut has_vector = false;
    for (text, (model, sum, vector)) in vectors {
        match card {
            Some((own, (_, _, checksum))) if checksum == sum && !has_vector => {
                has_vector = true;
                if own != text {
                    drop_vector(db, scope, text, model)?;
                    put(db, scope, own, model, &vector)?;
                }
            }
            Some(_) | None => drop_vector(db, scope, text, model)?,
        }
    }
    for text in rowids {
        let is_queued = !has_vector && card.is_some_and(|(own, _)| own == *text);
        let change = if is_queued {
            "INSERT OR IGNORE INTO unembedded(text) VALUES (?)"
        } else {
            "DELETE FROM unembedded WHERE text = ?"
        };
        db.prepare_cached(change)?.execute([text])?;
    }
    Ok(())
}

/// Like [`sync_vector`] for every text of a stream whose cards were rebuilt.
pub(super) fn sync_stream(db: &Connection, scope: i64, stream: i64) -> rusqlite::Result<()> {
    let (first, last) = rowids::text_range(stream);
    let mut statement = db.prepare_cached(
        "SELECT text FROM cards WHERE text BETWEEN ?1 AND ?2
         UNION SELECT text FROM vectors WHERE text BETWEEN ?1 AND ?2 AND vector IS NOT NULL
         UNION SELECT text FROM unembedded WHERE text BETWEEN ?1 AND ?2",
    )?;
    let all: Vec<i64> = statement.query_map([first, last], |row| row.get(0))?.collect::<Result<_, _>>()?;
    all.into_iter().try_for_each(|text| sync_vector(db, scope, &[text]))
}

/// Every text has an embedding or is queued: if the sums disagree, removes rows without a text and recounts.
pub(super) fn repair_counts(db: &Connection) -> rusqlite::Result<()> {
    let differ: bool = db.query_row(
        "SELECT (SELECT coalesce(sum(texts), 0) FROM embedded) + (SELECT count(*) FROM unembedded)
             <> (SELECT count(*) FROM cards)",
        [],
        |row| row.get(0),
    )?;
    if !differ {
        return Ok(());
    }
    db.execute_batch(
        "DELETE FROM unembedded WHERE text NOT IN (SELECT text FROM cards);
         DELETE FROM embedded;
         INSERT OR REPLACE INTO vectors(text, model, sum, kind, at) SELECT text, 0, 0, 0, 0 FROM vectors
         WHERE vector IS NOT NULL AND text NOT IN (SELECT text FROM cards);",
    )?;
    recount(db)?.into_iter().try_for_each(|((model, scope), texts)| count(db, model, scope, texts))
}

fn recount(db: &Connection) -> rusqlite::Result<BTreeMap<(i64, i64), i64>> {
    let agents = cards::agent_streams(db)?;
    let mut statement = db.prepare_cached(
        "SELECT model, text >> 32, count(*) FROM vectors WHERE vector IS NOT NULL GROUP BY model, text >> 32",
    )?;
    let mut rows = statement.query([])?;
    let mut counts = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let stream: i64 = row.get(1)?;
        let scope = if agents.binary_search(&stream).is_ok() { stream } else { cards::SESSIONS_SCOPE };
        *counts.entry((row.get(0)?, scope)).or_default() += row.get::<_, i64>(2)?;
    }
    Ok(counts)
}

/// Whether a text has neither embedding nor queue entry (or both), a row has no text, or a count is wrong.
pub(super) fn has_inconsistencies(db: &Connection) -> rusqlite::Result<bool> {
    let checks = [
        "SELECT 1 FROM cards LEFT JOIN vectors ON vectors.text = cards.text AND vector IS NOT NULL
         LEFT JOIN unembedded ON unembedded.text = cards.text
         WHERE (vectors.text IS NULL) <> (unembedded.text IS NOT NULL) OR vectors.sum <> cards.sum",
        "SELECT 1 FROM vectors WHERE vector IS NOT NULL AND text NOT IN (SELECT text FROM cards)",
        "SELECT 1 FROM unembedded WHERE text NOT IN (SELECT text FROM cards)",
    ];
    for query in checks {
        if db.prepare_cached(query)?.exists([])? {
            return Ok(true);
        }
    }
    let mut statement = db.prepare_cached("SELECT model, scope, texts FROM embedded WHERE texts <> 0")?;
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
    Ok(rows.collect::<Result<BTreeMap<_, _>, _>>()? != recount(db)?)
}

/// A text's embedding: model, checksum of the embedded text, bytes.
fn stored_vector(db: &Connection, text: i64) -> rusqlite::Result<Option<(i64, u32, Vec<u8>)>> {
    db.prepare_cached("SELECT model, sum, vector FROM vectors WHERE text = ? AND vector IS NOT NULL")?
        .query_row([text], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()
}

fn put(db: &Connection, scope: i64, text: i64, model: i64, vector: &[u8]) -> rusqlite::Result<()> {
    let Some((kind, at, sum)) = cards::text_meta(db, text)? else { return Ok(()) };
    db.prepare_cached(
        "INSERT OR REPLACE INTO vectors(text, model, sum, kind, at, vector) VALUES (?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![text, model, sum, kind_number(kind), at.0, vector])?;
    db.prepare_cached("DELETE FROM unembedded WHERE text = ?")?.execute([text])?;
    count(db, model, scope, 1)
}

fn drop_vector(db: &Connection, scope: i64, text: i64, model: i64) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR REPLACE INTO vectors(text, model, sum, kind, at) VALUES (?, 0, 0, 0, 0)")?
        .execute([text])?;
    count(db, model, scope, -1)
}

fn count(db: &Connection, model: i64, scope: i64, by: i64) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO embedded(model, scope, texts) VALUES (?1, ?2, ?3)
         ON CONFLICT(model, scope) DO UPDATE SET texts = texts + ?3",
    )?
    .execute([model, scope, by])?;
    Ok(())
}

/// How many texts of a scope have an embedding of one model, or of any.
pub(super) fn embedded_count(db: &Connection, model: Option<i64>, scope: i64) -> rusqlite::Result<u64> {
    let texts: Option<i64> = db
        .prepare_cached("SELECT sum(texts) FROM embedded WHERE scope = ?1 AND model = coalesce(?2, model)")?
        .query_row(params![scope, model], |row| row.get(0))?;
    Ok(texts.unwrap_or(0).max(0) as u64)
}

pub(super) fn model_number(db: &Connection, name: &str, dimensions: usize) -> rusqlite::Result<Option<i64>> {
    db.prepare_cached("SELECT model FROM models WHERE name = ? AND dimensions = ?")?
        .query_row(params![name, to_sql(dimensions as u64)], |row| row.get(0))
        .optional()
}

pub(super) fn put_embeddings(
    db: &mut Connection,
    name: &str,
    batch: &[(TextId, Arc<str>, Embedding)],
) -> Result<(), DbError> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut ids = texts::IdCache::default();
    for (id, text, embedding) in batch {
        let Some(rowid) = ids.rowid(&transaction, id)? else { continue };
        if cards::text_meta(&transaction, rowid)?.is_none_or(|(_, _, sum)| sum != text_checksum(text)) {
            continue;
        }
        let scope = if id.stream.agent().is_some() { rowids::stream_of(rowid) } else { cards::SESSIONS_SCOPE };
        let dimensions = embedding.values().len();
        let model = match model_number(&transaction, name, dimensions)? {
            Some(model) => model,
            None => transaction.query_row(
                "INSERT INTO models(name, dimensions) VALUES (?, ?) RETURNING model",
                params![name, to_sql(dimensions as u64)],
                |row| row.get(0),
            )?,
        };
        if let Some((old, _, _)) = stored_vector(&transaction, rowid)? {
            count(&transaction, old, scope, -1)?;
        }
        put(&transaction, scope, rowid, model, &embedding.to_bytes())?;
    }
    progress::advance(&transaction, 0, None)?;
    transaction.commit()?;
    Ok(())
}

/// Texts without any embedding, by rowid.
const UNEMBEDDED_SQL: &str = "SELECT text, text FROM unembedded WHERE text > ?1 ORDER BY text LIMIT ?2";
/// Texts embedded by another model, in the order in which it did.
const OTHER_MODELS_SQL: &str = "SELECT id, text FROM vectors WHERE id > ?1 AND vector IS NOT NULL
     AND model NOT IN (SELECT model FROM models WHERE name = ?3) ORDER BY id LIMIT ?2";

pub(super) fn unembedded(db: &Connection, model: &str, max: usize) -> Result<Vec<(TextId, Arc<str>)>, DbError> {
    let mut found = Vec::new();
    let others: Option<i64> = db
        .prepare_cached(
            "SELECT sum(texts) FROM embedded WHERE model NOT IN (SELECT model FROM models WHERE name = ?)",
        )?
        .query_row([model], |row| row.get(0))?;
    let queries =
        if others.unwrap_or(0) > 0 { &[UNEMBEDDED_SQL, OTHER_MODELS_SQL][..] } else { &[UNEMBEDDED_SQL] };
    for query in queries {
        let mut last = i64::MIN;
        while found.len() < max {
            let mut statement = db.prepare_cached(query)?;
            let limit = to_sql((max - found.len()) as u64);
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let page: Vec<(i64, i64)> = if *query == UNEMBEDDED_SQL {
                statement.query_map([last, limit], read)?.collect::<Result<_, _>>()?
            } else {
                statement.query_map(params![last, limit, model], read)?.collect::<Result<_, _>>()?
            };
            let Some((end, _)) = page.last() else { break };
            last = *end;
            let rowids: Vec<i64> = page.iter().map(|(_, text)| *text).collect();
            let words = texts::text_contents(db, &rowids, true)?;
            let mut ids = texts::IdCache::default();
            for (text, words) in rowids.into_iter().zip(words) {
                let id = ids.id(db, text)?;
                found.extend(id.zip(words));
            }
        }
    }
    Ok(found)
}
