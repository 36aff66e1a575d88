//! Counts and embeddings of a tenant against its cards: whether they fit, and how they are made to.

use std::collections::BTreeMap;

use neap_store::backend::card::TermCounts;
use neap_store::backend::counts::{CountChanges, SESSIONS_SCOPE};
use neap_store::backend::rowids;
use neap_store::vectors::MeanVector;

use crate::counts::{self, CountBatch};
use crate::db_error::DbError;
use crate::sql::params;
use crate::tx::Tx;
use crate::vectors::as_values;

/// Rows that are read at once.
const PAGE: i64 = 10_000;

/// Checks sums, and where they do not fit, counts everything again. The tenant must be locked.
pub(crate) async fn repair(tx: &Tx, last_vector: i64) -> Result<(), DbError> {
    if !sums_fit(tx).await? {
        for table in ["frequencies", "counts"] {
            tx.execute(&format!("DELETE FROM neap.{table} WHERE tenant = $1"), params![&tx.tenant()]).await?;
        }
        let tenant = tx.tenant();
        for statement in CountBatch::of(&recount(tx).await?).write(&tenant) {
            tx.execute(statement.0, statement.1).await?;
        }
    }
    if has_strays(tx).await? || !embedded_counts_fit(tx).await? {
        repair_vectors(tx, last_vector).await?;
    }
    Ok(())
}

/// Much cheaper than counting: the sums alone.
async fn sums_fit(tx: &Tx) -> Result<bool, DbError> {
    let sql = "SELECT c.texts = k.texts AND c.length = k.length AND f.sum = k.sum AND f.texts = c.distinct_terms
        FROM (SELECT count(*) AS texts, coalesce(sum(length), 0) AS length,
                coalesce(sum(octet_length(terms)), 0) / 5 AS distinct_terms
              FROM neap.cards WHERE tenant = $1) c,
          (SELECT coalesce(sum(texts), 0) AS texts, coalesce(sum(length), 0) AS length, coalesce(sum(sum), 0) AS sum
           FROM neap.counts WHERE tenant = $1) k,
          (SELECT coalesce(sum(texts), 0) AS texts, coalesce(sum(texts * hash), 0) AS sum
           FROM neap.frequencies WHERE tenant = $1) f";
    Ok(tx.query_one(sql, params![&tx.tenant()]).await?.try_get(0)?)
}

/// The numbers of agents' streams, sorted.
async fn agents(tx: &Tx) -> Result<Vec<i64>, DbError> {
    let sql = "SELECT stream FROM neap.sessions WHERE tenant = $1 AND starts_with(name, '@') ORDER BY stream";
    let rows = tx.query(sql, params![&tx.tenant()]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

fn scope_of(agents: &[i64], text: i64) -> i64 {
    let stream = rowids::stream_of(text);
    if agents.binary_search(&stream).is_ok() { stream } else { SESSIONS_SCOPE }
}

/// All counts, from the cards.
pub(crate) async fn recount(tx: &Tx) -> Result<CountChanges, DbError> {
    let agents = agents(tx).await?;
    let sql = "SELECT text, terms, length FROM neap.cards WHERE tenant = $1 AND text > $2 ORDER BY text LIMIT $3";
    let (mut changes, mut last) = (CountChanges::default(), i64::MIN);
    loop {
        let rows = tx.query(sql, params![&tx.tenant(), &last, &PAGE]).await?;
        for row in &rows {
            last = row.try_get(0)?;
            let terms = TermCounts::from_bytes(row.try_get(1)?);
            changes.count(scope_of(&agents, last), &terms, row.try_get::<_, i64>(2)? as u32, 1);
        }
        if (rows.len() as i64) < PAGE {
            return Ok(changes);
        }
    }
}

pub(crate) async fn has_miscounts(tx: &Tx) -> Result<bool, DbError> {
    let (stored, mut actual) = (counts::stored(tx).await?, recount(tx).await?);
    actual.scopes.retain(|_, scope| *scope != Default::default());
    Ok(stored != actual)
}

/// By model and scope: how many embeddings, and the sum of their directions.
type EmbeddedSums = BTreeMap<(i64, i64), (i64, Option<MeanVector>)>;

async fn recount_vectors(tx: &Tx) -> Result<EmbeddedSums, DbError> {
    let sql = "SELECT i.text, i.model, i.scope, v.vector FROM neap.vector_index i
        JOIN neap.vectors v ON v.tenant = $1 AND v.text = i.text
        WHERE i.tenant = $1 AND i.signs IS NOT NULL AND i.text > $2 ORDER BY i.text LIMIT $3";
    let (mut sums, mut last) = (EmbeddedSums::new(), i64::MIN);
    loop {
        let rows = tx.query(sql, params![&tx.tenant(), &last, &PAGE]).await?;
        for row in &rows {
            last = row.try_get(0)?;
            let (texts, directions) = sums.entry((row.try_get(1)?, row.try_get(2)?)).or_default();
            *texts += 1;
            directions.get_or_insert_default().add(&as_values(row.try_get(3)?));
        }
        if (rows.len() as i64) < PAGE {
            return Ok(sums);
        }
    }
}

async fn stored_sums(tx: &Tx) -> Result<EmbeddedSums, DbError> {
    let sql = "SELECT model, scope, texts, directions FROM neap.embedded WHERE tenant = $1 AND texts <> 0";
    let mut sums = EmbeddedSums::new();
    for row in tx.query(sql, params![&tx.tenant()]).await? {
        let directions = MeanVector::from_bytes(row.try_get(3)?);
        sums.insert((row.try_get(0)?, row.try_get(1)?), (row.try_get(2)?, directions));
    }
    Ok(sums)
}

/// Whether a text has neither embedding nor queue entry (or both), a row has no text, or a sum is wrong.
pub(crate) async fn has_inconsistencies(tx: &Tx) -> Result<bool, DbError> {
    Ok(has_strays(tx).await? || stored_sums(tx).await? != recount_vectors(tx).await?)
}

async fn has_strays(tx: &Tx) -> Result<bool, DbError> {
    let sql = "SELECT EXISTS (
          SELECT 1 FROM neap.cards c
          LEFT JOIN neap.vector_index i ON i.tenant = $1 AND i.text = c.text AND i.signs IS NOT NULL
          LEFT JOIN neap.unembedded u ON u.tenant = $1 AND u.text = c.text
          WHERE c.tenant = $1 AND ((i.text IS NULL) <> (u.text IS NOT NULL) OR i.sum <> c.sum))
        OR EXISTS (
          SELECT 1 FROM neap.vector_index i
          LEFT JOIN neap.cards c ON c.tenant = $1 AND c.text = i.text
          LEFT JOIN neap.vectors v ON v.tenant = $1 AND v.text = i.text
          WHERE i.tenant = $1 AND i.signs IS NOT NULL AND (c.text IS NULL OR v.text IS NULL))
        OR EXISTS (
          SELECT 1 FROM neap.vectors v
          LEFT JOIN neap.vector_index i ON i.tenant = $1 AND i.text = v.text AND i.signs IS NOT NULL
          WHERE v.tenant = $1 AND i.text IS NULL)
        OR EXISTS (
          SELECT 1 FROM neap.unembedded u LEFT JOIN neap.cards c ON c.tenant = $1 AND c.text = u.text
          WHERE u.tenant = $1 AND c.text IS NULL)";
    Ok(tx.query_one(sql, params![&tx.tenant()]).await?.try_get(0)?)
}

async fn embedded_counts_fit(tx: &Tx) -> Result<bool, DbError> {
    let sql = "SELECT NOT EXISTS (
          (SELECT model, scope, texts FROM neap.embedded WHERE tenant = $1 AND texts <> 0
           EXCEPT SELECT model, scope, count(*) FROM neap.vector_index
             WHERE tenant = $1 AND signs IS NOT NULL GROUP BY model, scope)
          UNION ALL
          (SELECT model, scope, count(*) FROM neap.vector_index
             WHERE tenant = $1 AND signs IS NOT NULL GROUP BY model, scope
           EXCEPT SELECT model, scope, texts FROM neap.embedded WHERE tenant = $1 AND texts <> 0))";
    Ok(tx.query_one(sql, params![&tx.tenant()]).await?.try_get(0)?)
}

/// Every text has an embedding or is queued, and the sums are those of the embeddings.
async fn repair_vectors(tx: &Tx, last_vector: i64) -> Result<(), DbError> {
    let tenant = tx.tenant();
    let unfit =
        "UPDATE neap.vector_index i SET id = $2 + q.nth, model = 0, sum = 0, kind = 0, at = 0, replaces = true,
          signs = NULL
        FROM (SELECT i.text, row_number() OVER (ORDER BY i.text) AS nth FROM neap.vector_index i
              LEFT JOIN neap.cards c ON c.tenant = $1 AND c.text = i.text
              LEFT JOIN neap.vectors v ON v.tenant = $1 AND v.text = i.text
              WHERE i.tenant = $1 AND i.signs IS NOT NULL
                AND (c.text IS NULL OR v.text IS NULL OR c.sum <> i.sum)) q
        WHERE i.tenant = $1 AND i.text = q.text";
    let changed = tx.execute(unfit, params![&tenant, &last_vector]).await?;
    let last = last_vector + changed as i64;
    tx.execute("UPDATE neap.tenants SET vectors = $2 WHERE tenant = $1", params![&tenant, &last]).await?;
    for sql in [
        "DELETE FROM neap.vectors v WHERE tenant = $1 AND NOT EXISTS (SELECT 1 FROM neap.vector_index i
           WHERE i.tenant = $1 AND i.text = v.text AND i.signs IS NOT NULL)",
        "DELETE FROM neap.unembedded WHERE tenant = $1",
        "INSERT INTO neap.unembedded(tenant, text) SELECT $1, c.text FROM neap.cards c WHERE c.tenant = $1
           AND NOT EXISTS (SELECT 1 FROM neap.vectors v WHERE v.tenant = $1 AND v.text = c.text)",
        "DELETE FROM neap.embedded WHERE tenant = $1",
    ] {
        tx.execute(sql, params![&tenant]).await?;
    }
    for ((model, scope), (texts, directions)) in recount_vectors(tx).await? {
        let sql = "INSERT INTO neap.embedded(tenant, model, scope, texts, directions) VALUES ($1, $2, $3, $4, $5)";
        let bytes = directions.unwrap_or_default().to_bytes();
        tx.execute(sql, params![&tenant, &model, &scope, &texts, &bytes.as_slice()]).await?;
    }
    Ok(())
}
