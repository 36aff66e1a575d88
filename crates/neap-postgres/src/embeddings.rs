//! Stores embeddings, and lists the texts that wait for one.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::recall::{Embedding, TextId};
use neap_store::backend::card::text_checksum;
use neap_store::backend::counts::SESSIONS_SCOPE;
use neap_store::backend::rowids;

use crate::commit::lock_tenant;
use crate::db_error::DbError;
use crate::sql::{params, usize_to_sql};
use crate::texts::{contents, ids_of, rowids_of};
use crate::tx::Tx;
use crate::vectors::{VectorBatch, model_number, scope_sums, stored_texts};

pub(crate) async fn put(tx: Tx, name: &str, batch: &[(TextId, Arc<str>, Embedding)]) -> Result<(), DbError> {
    let (_, mut last_vector) = lock_tenant(&tx).await?;
    let ids: Vec<TextId> = batch.iter().map(|(id, _, _)| id.clone()).collect();
    let texts = rowids_of(&tx, &ids).await?;
    let mut scopes: Vec<i64> = Vec::new();
    let scope_of = |id: &TextId, text: i64| {
        if id.stream.agent().is_some() { rowids::stream_of(text) } else { SESSIONS_SCOPE }
    };
    for (id, text) in ids.iter().zip(&texts) {
        let scope = text.map(|text| scope_of(id, text));
        scopes.extend(scope.filter(|scope| !scopes.contains(scope)));
    }
    let tenant = tx.tenant().to_owned();
    for scope in scopes {
        let of_scope: Vec<_> = batch
            .iter()
            .zip(&texts)
            .filter_map(|(item, text)| Some((item, (*text)?)))
            .filter(|((id, _, _), text)| scope_of(id, *text) == scope)
            .collect();
        let rowids: Vec<i64> = of_scope.iter().map(|(_, text)| *text).collect();
        let stored = stored_texts(&tx, scope, &rowids, &Vec::new()).await?;
        let metas = metas(&tx, &rowids).await?;
        let mut vectors = VectorBatch::new(last_vector, scope_sums(&tx, scope).await?);
        // Of a text that comes twice the last embedding counts.
        let last_place: BTreeMap<i64, usize> =
            rowids.iter().zip(0..).map(|(rowid, place)| (*rowid, place)).collect();
        for (place, ((_, text, embedding), rowid)) in of_scope.into_iter().enumerate() {
            if last_place.get(&rowid) != Some(&place) {
                continue;
            }
            let Some(meta) = metas.get(&rowid).filter(|meta| meta.2 == i64::from(text_checksum(text))) else {
                continue;
            };
            let model = number_of(&tx, name, embedding.values().len()).await?;
            if let Some(old) = stored.get(&rowid).and_then(|stored| stored.vector.as_ref()) {
                vectors.subtract(old);
            }
            vectors.put_meta(rowid, *meta, model, embedding.to_bytes());
        }
        last_vector = vectors.last_id;
        for statement in vectors.write(&tenant.as_str(), &scope) {
            tx.execute(statement.0, statement.1).await?;
        }
    }
    tx.commit().await
}

/// Kind, time and checksum of texts.
async fn metas(tx: &Tx, texts: &Vec<i64>) -> Result<BTreeMap<i64, (i64, i64, i64)>, DbError> {
    let sql = "SELECT text, kind, at, sum FROM neap.cards WHERE tenant = $1 AND text = ANY($2)";
    let rows = tx.query(sql, params![&tx.tenant(), texts]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?)))).collect()
}

/// The model's number; the tenant must be locked.
async fn number_of(tx: &Tx, name: &str, dimensions: usize) -> Result<i64, DbError> {
    if let Some(model) = model_number(tx, name, dimensions).await? {
        return Ok(model);
    }
    let sql = "UPDATE neap.tenants SET models = models + 1 WHERE tenant = $1 RETURNING models";
    let model: i64 = tx.query_one(sql, params![&tx.tenant()]).await?.try_get(0)?;
    let sql = "INSERT INTO neap.models(tenant, model, name, dimensions) VALUES ($1, $2, $3, $4)";
    let dimensions = usize_to_sql(dimensions);
    tx.execute(sql, params![&tx.tenant(), &model, &name.as_bytes(), &dimensions]).await?;
    Ok(model)
}

/// Texts without any embedding, by rowid.
const UNEMBEDDED: &str = "SELECT text, text FROM neap.unembedded
    WHERE tenant = $1 AND text > $2 AND $4::bytea IS NOT NULL ORDER BY text LIMIT $3";
/// Texts embedded by another model, in the order in which it did.
const OTHER_MODELS: &str = "SELECT id, text FROM neap.vector_index
    WHERE tenant = $1 AND id > $2 AND signs IS NOT NULL
      AND model NOT IN (SELECT model FROM neap.models WHERE tenant = $1 AND name = $4) ORDER BY id LIMIT $3";

pub(crate) async fn unembedded(tx: &Tx, model: &str, max: usize) -> Result<Vec<(TextId, Arc<str>)>, DbError> {
    let mut found = Vec::new();
    for sql in [UNEMBEDDED, OTHER_MODELS] {
        let mut last = i64::MIN;
        while found.len() < max {
            let limit = usize_to_sql(max - found.len()).min(1_000);
            let page = tx.query(sql, params![&tx.tenant(), &last, &limit, &model.as_bytes()]).await?;
            let mut texts: Vec<i64> = Vec::with_capacity(page.len());
            for row in &page {
                last = row.try_get(0)?;
                texts.push(row.try_get(1)?);
            }
            let (mut ids, words) = (ids_of(tx, &texts).await?, contents(tx, texts.iter().copied(), true).await?);
            found.extend(texts.iter().filter_map(|text| ids.remove(text).zip(words.get(text).cloned())));
            if (page.len() as i64) < limit {
                break;
            }
        }
    }
    Ok(found)
}
