//! Embeddings of texts, and which texts wait for one.
//!
//! A text has one row in `vectors` at most, and its number there grows with every change: whoever holds embeddings in memory reads
//! what is above the last number it knows. Where an embedding went, a row without one stays and says so. An embedding is of
//! a text as long as the card has the sum of the words that were embedded.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::recall::{Embedding, TextId};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::effects::number;
use super::fault::Stop;
use super::{cards, progress, texts};
use crate::card::{kind_number, text_sum};
use crate::numbers;

/// Sees to it that a text has an embedding of what it says, or waits for one, or that nothing is left if it is gone. A memory may
/// have had any of several numbers; an embedding moves with it.
pub(super) fn settle(db: &Connection, scope: i64, numbers: &[i64]) -> rusqlite::Result<()> {
    let mut card = None;
    for text in numbers {
        card = card.or(cards::brief(db, *text)?.map(|brief| (*text, brief)));
    }
    let mut there = Vec::new();
    for text in numbers {
        there.extend(vector(db, *text)?.map(|vector| (*text, vector)));
    }
    let mut is_kept = false;
    for (text, (model, sum, vector)) in there {
        match card {
            Some((own, (_, _, words))) if words == sum && !is_kept => {
                is_kept = true;
                if own != text {
                    drop_vector(db, scope, text, model)?;
                    put(db, scope, own, model, &vector)?;
                }
            }
            Some(_) | None => drop_vector(db, scope, text, model)?,
        }
    }
    for text in numbers {
        let waits = !is_kept && card.is_some_and(|(own, _)| own == *text);
        let change = if waits {
            "INSERT OR IGNORE INTO unembedded(text) VALUES (?)"
        } else {
            "DELETE FROM unembedded WHERE text = ?"
        };
        db.prepare_cached(change)?.execute([text])?;
    }
    Ok(())
}

/// The same for every text of a stream whose cards were made anew.
pub(super) fn settle_all(db: &Connection, scope: i64, stream: i64) -> rusqlite::Result<()> {
    let (first, last) = numbers::all_texts(stream);
    let mut statement = db.prepare_cached(
        "SELECT text FROM cards WHERE text BETWEEN ?1 AND ?2
         UNION SELECT text FROM vectors WHERE text BETWEEN ?1 AND ?2 AND vector IS NOT NULL
         UNION SELECT text FROM unembedded WHERE text BETWEEN ?1 AND ?2",
    )?;
    let all: Vec<i64> = statement.query_map([first, last], |row| row.get(0))?.collect::<Result<_, _>>()?;
    all.into_iter().try_for_each(|text| settle(db, scope, &[text]))
}

/// Counts everything anew and removes what belongs to no text, if what is counted does not add up: every text has an embedding or waits.
pub(super) fn mend(db: &Connection) -> rusqlite::Result<()> {
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
    recounted(db)?.into_iter().try_for_each(|((model, scope), texts)| count(db, model, scope, texts))
}

/// How many embeddings there are, by model and scope.
fn recounted(db: &Connection) -> rusqlite::Result<BTreeMap<(i64, i64), i64>> {
    let agents = cards::agents(db)?;
    let mut statement = db.prepare_cached(
        "SELECT model, text >> 32, count(*) FROM vectors WHERE vector IS NOT NULL GROUP BY model, text >> 32",
    )?;
    let mut rows = statement.query([])?;
    let mut counts = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let stream: i64 = row.get(1)?;
        let scope = if agents.binary_search(&stream).is_ok() { stream } else { cards::SESSIONS };
        *counts.entry((row.get(0)?, scope)).or_default() += row.get::<_, i64>(2)?;
    }
    Ok(counts)
}

/// Whether a text has no embedding of what it says and waits for none, or has one and waits; or whether something belongs to no text or is
/// miscounted.
pub(super) fn are_astray(db: &Connection) -> rusqlite::Result<bool> {
    let astray = [
        "SELECT 1 FROM cards LEFT JOIN vectors ON vectors.text = cards.text AND vector IS NOT NULL
         LEFT JOIN unembedded ON unembedded.text = cards.text
         WHERE (vectors.text IS NULL) <> (unembedded.text IS NOT NULL) OR vectors.sum <> cards.sum",
        "SELECT 1 FROM vectors WHERE vector IS NOT NULL AND text NOT IN (SELECT text FROM cards)",
        "SELECT 1 FROM unembedded WHERE text NOT IN (SELECT text FROM cards)",
    ];
    for query in astray {
        if db.prepare_cached(query)?.exists([])? {
            return Ok(true);
        }
    }
    let mut statement = db.prepare_cached("SELECT model, scope, texts FROM embedded WHERE texts <> 0")?;
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
    Ok(rows.collect::<Result<BTreeMap<_, _>, _>>()? != recounted(db)?)
}

/// A text's embedding: whose, of which words, its bytes.
fn vector(db: &Connection, text: i64) -> rusqlite::Result<Option<(i64, u32, Vec<u8>)>> {
    db.prepare_cached("SELECT model, sum, vector FROM vectors WHERE text = ? AND vector IS NOT NULL")?
        .query_row([text], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()
}

/// Puts a text's embedding where none is.
fn put(db: &Connection, scope: i64, text: i64, model: i64, vector: &[u8]) -> rusqlite::Result<()> {
    let Some((kind, at, sum)) = cards::brief(db, text)? else { return Ok(()) };
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

/// How many texts of a scope have an embedding: of one model, or of any.
pub(super) fn embedded(db: &Connection, model: Option<i64>, scope: i64) -> rusqlite::Result<u64> {
    let texts: Option<i64> = db
        .prepare_cached("SELECT sum(texts) FROM embedded WHERE scope = ?1 AND model = coalesce(?2, model)")?
        .query_row(params![scope, model], |row| row.get(0))?;
    Ok(texts.unwrap_or(0).max(0) as u64)
}

/// The number of a model.
pub(super) fn model(db: &Connection, name: &str, dimensions: usize) -> rusqlite::Result<Option<i64>> {
    db.prepare_cached("SELECT model FROM models WHERE name = ? AND dimensions = ?")?
        .query_row(params![name, number(dimensions as u64)], |row| row.get(0))
        .optional()
}

pub(super) fn embed(db: &mut Connection, name: &str, batch: &[(TextId, Arc<str>, Embedding)]) -> Result<(), Stop> {
    let all = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut names = texts::Names::default();
    for (id, text, embedding) in batch {
        let Some(place) = names.number(&all, id)? else { continue };
        if cards::brief(&all, place)?.is_none_or(|(_, _, sum)| sum != text_sum(text)) {
            continue;
        }
        let scope = if id.stream.agent().is_some() { numbers::stream_of(place) } else { cards::SESSIONS };
        let dimensions = embedding.values().len();
        let model = match model(&all, name, dimensions)? {
            Some(model) => model,
            None => all.query_row(
                "INSERT INTO models(name, dimensions) VALUES (?, ?) RETURNING model",
                params![name, number(dimensions as u64)],
                |row| row.get(0),
            )?,
        };
        if let Some((old, _, _)) = vector(&all, place)? {
            count(&all, old, scope, -1)?;
        }
        put(&all, scope, place, model, &embedding.to_bytes())?;
    }
    progress::advance(&all, 0, None)?;
    all.commit()?;
    Ok(())
}

/// Those that have no embedding at all, in the order of their numbers.
const WITHOUT: &str = "SELECT text, text FROM unembedded WHERE text > ?1 ORDER BY text LIMIT ?2";
/// Those that another model embedded, in the order in which it did.
const OF_OTHERS: &str = "SELECT id, text FROM vectors WHERE id > ?1 AND vector IS NOT NULL
     AND model NOT IN (SELECT model FROM models WHERE name = ?3) ORDER BY id LIMIT ?2";

pub(super) fn unembedded(db: &Connection, model: &str, max: usize) -> Result<Vec<(TextId, Arc<str>)>, Stop> {
    let mut found = Vec::new();
    let others: Option<i64> = db
        .prepare_cached(
            "SELECT sum(texts) FROM embedded WHERE model NOT IN (SELECT model FROM models WHERE name = ?)",
        )?
        .query_row([model], |row| row.get(0))?;
    let queries = if others.unwrap_or(0) > 0 { &[WITHOUT, OF_OTHERS][..] } else { &[WITHOUT] };
    for query in queries {
        let mut last = i64::MIN;
        while found.len() < max {
            let mut statement = db.prepare_cached(query)?;
            let limit = number((max - found.len()) as u64);
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let some: Vec<(i64, i64)> = if *query == WITHOUT {
                statement.query_map([last, limit], read)?.collect::<Result<_, _>>()?
            } else {
                statement.query_map(params![last, limit, model], read)?.collect::<Result<_, _>>()?
            };
            let Some((end, _)) = some.last() else { break };
            last = *end;
            let places: Vec<i64> = some.iter().map(|(_, text)| *text).collect();
            let words = texts::words(db, &places, true)?;
            let mut names = texts::Names::default();
            for (text, words) in places.into_iter().zip(words) {
                let id = names.id(db, text)?;
                found.extend(id.zip(words));
            }
        }
    }
    Ok(found)
}
