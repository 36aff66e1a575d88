//! Embeddings of texts, and which texts lack one.
//!
//! `vectors` has the embedding of each text, `vector_index` its sign bits and what a search filters by. The `id` of a
//! row there grows with every change, so a cache reads the rows above the last `id` it knows. Where an embedding was
//! removed, a row without signs stays and says so. An embedding is current while its checksum equals the card's.
//! `embedded` counts and adds up the embeddings of each model and scope.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use neap_core::recall::{Embedding, TextId, UnembeddedText};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::db_error::DbError;
use super::derived_rows::to_sql;
use super::{cards, progress, texts};
use neap_store::backend::card::{kind_number, text_checksum};
use neap_store::backend::rowids;
use neap_store::vectors::{MeanVector, sign_bytes, similarity};

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
                    subtract(db, scope, model, &vector)?;
                    put(db, scope, own, model, &vector)?;
                }
            }
            Some(_) | None => subtract(db, scope, model, &vector)?,
        }
    }
    let keeps_vector = |text: i64| has_vector && card.is_some_and(|(own, _)| own == text);
    for text in rowids.iter().filter(|text| !keeps_vector(**text)) {
        // Also where one of the two rows was lost: what is left of an embedding must not stay.
        db.prepare_cached("DELETE FROM vectors WHERE text = ?")?.execute([text])?;
        db.prepare_cached(
            "INSERT OR REPLACE INTO vector_index(text, model, sum, kind, at, replaces)
             SELECT text, 0, 0, 0, 0, 1 FROM vector_index WHERE text = ? AND signs IS NOT NULL",
        )?
        .execute([text])?;
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
         UNION SELECT text FROM vectors WHERE text BETWEEN ?1 AND ?2
         UNION SELECT text FROM vector_index WHERE text BETWEEN ?1 AND ?2 AND signs IS NOT NULL
         UNION SELECT text FROM unembedded WHERE text BETWEEN ?1 AND ?2",
    )?;
    let all: Vec<i64> = statement.query_map([first, last], |row| row.get(0))?.collect::<Result<_, _>>()?;
    all.into_iter().try_for_each(|text| sync_vector(db, scope, &[text]))
}

/// Every text has an embedding or is queued, and the sums are those of the embeddings: otherwise removes rows
/// without a text and recounts.
pub(super) fn repair_counts(db: &Connection) -> rusqlite::Result<()> {
    if !has_inconsistencies(db)? {
        return Ok(());
    }
    db.execute_batch(
        "DELETE FROM unembedded WHERE text NOT IN (SELECT text FROM cards);
         DELETE FROM embedded;
         DELETE FROM vectors WHERE text NOT IN (SELECT text FROM cards)
             OR text NOT IN (SELECT text FROM vector_index WHERE signs IS NOT NULL);
         INSERT OR REPLACE INTO vector_index(text, model, sum, kind, at, replaces) SELECT text, 0, 0, 0, 0, 1
         FROM vector_index WHERE signs IS NOT NULL AND text NOT IN (SELECT text FROM vectors);
         INSERT OR IGNORE INTO unembedded(text) SELECT text FROM cards
         WHERE text NOT IN (SELECT text FROM vectors);",
    )?;
    write_sums(db)
}

fn write_sums(db: &Connection) -> rusqlite::Result<()> {
    for ((model, scope), (texts, directions)) in recount(db)? {
        put_sums(db, model, scope, texts, &directions.unwrap_or_default())?;
    }
    Ok(())
}

/// By model and scope: how many embeddings, and the sum of their directions, `None` if it is damaged.
type EmbeddedSums = BTreeMap<(i64, i64), (i64, Option<MeanVector>)>;

fn recount(db: &Connection) -> rusqlite::Result<EmbeddedSums> {
    let agents = cards::agent_streams(db)?;
    let mut statement = db.prepare_cached(
        "SELECT model, text, vector FROM vector_index JOIN vectors USING (text) WHERE signs IS NOT NULL",
    )?;
    let mut rows = statement.query([])?;
    let mut sums = EmbeddedSums::new();
    while let Some(row) = rows.next()? {
        let stream = rowids::stream_of(row.get(1)?);
        let scope = if agents.binary_search(&stream).is_ok() { stream } else { cards::SESSIONS_SCOPE };
        let (texts, directions) = sums.entry((row.get(0)?, scope)).or_default();
        *texts += 1;
        directions.get_or_insert_default().add(&as_values(blob(row, 2)?.unwrap_or_default()));
    }
    Ok(sums)
}

fn embedded_sums(db: &Connection) -> rusqlite::Result<EmbeddedSums> {
    let mut statement =
        db.prepare_cached("SELECT model, scope, texts, directions FROM embedded WHERE texts <> 0")?;
    let mut rows = statement.query([])?;
    let mut sums = EmbeddedSums::new();
    while let Some(row) = rows.next()? {
        let directions = blob(row, 3)?.and_then(MeanVector::from_bytes);
        sums.insert((row.get(0)?, row.get(1)?), (row.get(2)?, directions));
    }
    Ok(sums)
}

/// Whether a text has neither embedding nor queue entry (or both), a row has no text, or a sum is wrong.
pub(super) fn has_inconsistencies(db: &Connection) -> rusqlite::Result<bool> {
    Ok(has_stray_rows(db)? || embedded_sums(db)? != recount(db)?)
}

fn has_stray_rows(db: &Connection) -> rusqlite::Result<bool> {
    let checks = [
        "SELECT 1 FROM cards LEFT JOIN vector_index ON vector_index.text = cards.text AND signs IS NOT NULL
         LEFT JOIN unembedded ON unembedded.text = cards.text
         WHERE (vector_index.text IS NULL) <> (unembedded.text IS NOT NULL) OR vector_index.sum <> cards.sum",
        "SELECT 1 FROM vector_index WHERE signs IS NOT NULL AND text NOT IN (SELECT text FROM cards)",
        "SELECT 1 FROM vector_index WHERE signs IS NOT NULL AND text NOT IN (SELECT text FROM vectors)",
        "SELECT 1 FROM vectors WHERE text NOT IN (SELECT text FROM vector_index WHERE signs IS NOT NULL)",
        "SELECT 1 FROM unembedded WHERE text NOT IN (SELECT text FROM cards)",
    ];
    for query in checks {
        if db.prepare_cached(query)?.exists([])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A text's embedding: model, checksum of the embedded text, bytes.
fn stored_vector(db: &Connection, text: i64) -> rusqlite::Result<Option<(i64, u32, Vec<u8>)>> {
    db.prepare_cached(
        "SELECT model, sum, vector FROM vector_index JOIN vectors USING (text) WHERE text = ? AND signs IS NOT NULL",
    )?
    .query_row([text], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    .optional()
}

fn put(db: &Connection, scope: i64, text: i64, model: i64, vector: &[u8]) -> rusqlite::Result<()> {
    let Some((kind, at, sum)) = cards::text_meta(db, text)? else { return Ok(()) };
    db.prepare_cached(
        "INSERT OR REPLACE INTO vector_index(text, model, sum, kind, at, replaces, signs)
         VALUES (?1, ?2, ?3, ?4, ?5, EXISTS (SELECT 1 FROM vector_index WHERE text = ?1), ?6)",
    )?
    .execute(params![text, model, sum, kind_number(kind), at.0, sign_bytes(&as_values(vector))])?;
    db.prepare_cached("INSERT OR REPLACE INTO vectors(text, vector) VALUES (?, ?)")?
        .execute(params![text, vector])?;
    db.prepare_cached("DELETE FROM unembedded WHERE text = ?")?.execute([text])?;
    change_sums(db, model, scope, 1, |directions| directions.add(&as_values(vector)))
}

fn subtract(db: &Connection, scope: i64, model: i64, vector: &[u8]) -> rusqlite::Result<()> {
    change_sums(db, model, scope, -1, |directions| directions.subtract(&as_values(vector)))
}

fn change_sums(
    db: &Connection,
    model: i64,
    scope: i64,
    by: i64,
    change: impl FnOnce(&mut MeanVector),
) -> rusqlite::Result<()> {
    let stored = db
        .prepare_cached("SELECT texts, directions FROM embedded WHERE model = ? AND scope = ?")?
        .query_row([model, scope], |row| {
            Ok((row.get::<_, i64>(0)?, blob(row, 1)?.and_then(MeanVector::from_bytes)))
        })
        .optional()?;
    let (texts, directions) = stored.unwrap_or_default();
    let mut directions = directions.unwrap_or_default();
    change(&mut directions);
    put_sums(db, model, scope, texts + by, &directions)
}

fn put_sums(db: &Connection, model: i64, scope: i64, texts: i64, directions: &MeanVector) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR REPLACE INTO embedded(model, scope, texts, directions) VALUES (?, ?, ?, ?)")?
        .execute(params![model, scope, texts, directions.to_bytes()])?;
    Ok(())
}

/// `None` if a damaged column is no blob.
fn blob<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<Option<&'a [u8]>> {
    Ok(row.get_ref(column)?.as_blob().ok())
}

fn as_values(bytes: &[u8]) -> Vec<i8> {
    bytes.iter().map(|byte| byte.cast_signed()).collect()
}

/// The similarity of each of these texts that has an embedding of this model.
pub(super) fn similarities(
    db: &Connection,
    query: &Embedding,
    model: i64,
    texts: impl Iterator<Item = i64>,
) -> rusqlite::Result<HashMap<i64, f64>> {
    let mut texts: Vec<i64> = texts.collect();
    // Neighbouring rows are on the same page.
    texts.sort_unstable();
    let other_models: bool = db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM embedded WHERE model <> ? AND texts > 0)")?
        .query_row([model], |row| row.get(0))?;
    let query_sql = if other_models {
        "SELECT vector FROM vectors JOIN vector_index USING (text) WHERE text = ?1 AND model = ?2"
    } else {
        "SELECT vector FROM vectors WHERE text = ?1 AND ?2 = ?2"
    };
    let mut statement = db.prepare_cached(query_sql)?;
    let mut found = HashMap::with_capacity(texts.len());
    for text in texts {
        let mut rows = statement.query([text, model])?;
        if let Some(row) = rows.next()? {
            found.extend(blob(row, 0)?.map(|vector| (text, similarity(query, &as_values(vector)))));
        }
    }
    Ok(found)
}

/// The mean similarity of a query to the embeddings of these scopes.
pub(super) fn mean_similarity(
    db: &Connection,
    query: &Embedding,
    model: i64,
    scopes: &[i64],
) -> rusqlite::Result<f64> {
    let mut statement = db.prepare_cached("SELECT directions FROM embedded WHERE model = ? AND scope = ?")?;
    let mut sums = Vec::with_capacity(scopes.len());
    for scope in scopes {
        let read = |row: &rusqlite::Row<'_>| Ok(blob(row, 0)?.and_then(MeanVector::from_bytes));
        sums.extend(statement.query_row([model, *scope], read).optional()?.flatten());
    }
    Ok(MeanVector::mean_similarity(sums, query))
}

/// Computes the sign bits and sums of all embeddings.
pub(super) fn compute_signs(db: &Connection) -> rusqlite::Result<()> {
    let mut statement = db.prepare("SELECT text, vector FROM vectors")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(vector) = blob(row, 1)? else { continue };
        db.prepare_cached("UPDATE vector_index SET signs = ? WHERE text = ?")?
            .execute(params![sign_bytes(&as_values(vector)), row.get::<_, i64>(0)?])?;
    }
    write_sums(db)
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
        if let Some((old, _, vector)) = stored_vector(&transaction, rowid)? {
            subtract(&transaction, scope, old, &vector)?;
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
const OTHER_MODELS_SQL: &str = "SELECT id, text FROM vector_index WHERE id > ?1 AND signs IS NOT NULL
     AND model NOT IN (SELECT model FROM models WHERE name = ?3) ORDER BY id LIMIT ?2";

pub(super) fn unembedded(db: &Connection, model: &str, max: usize) -> Result<Vec<UnembeddedText>, DbError> {
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
            found.extend(texts::unembedded_texts(db, &rowids)?);
        }
    }
    Ok(found)
}
