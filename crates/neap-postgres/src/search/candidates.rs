//! Finds candidates: texts with rarer terms or similar embeddings. Reads only the chosen cards.

use std::collections::HashMap;

use neap_core::recall::{Candidates, Query};
use neap_store::backend::card::QueryTerms;
use neap_store::vectors::{MeanVector, VectorEntry, VectorFilter, VectorScan, by_similarity};

use super::lexical::by_terms;
use super::searched::Searched;
use super::{embedding_of, read_cards, to_candidates};
use crate::db_error::DbError;
use crate::sql::{params, usize_to_sql};
use crate::tx::Tx;
use crate::vector_cache::{CachedVectors, VectorCache};
use crate::vectors::similarities;

/// On a thread that may be blocked: a large index takes a while to scan.
pub(super) async fn find_candidates(tx: &Tx, cache: &VectorCache, query: &Query) -> Result<Candidates, DbError> {
    let terms = QueryTerms::of(query);
    let searched = Searched::of(tx, &query.filter).await?;
    let (mut proposed, model, last_vector) = count_searched(tx, query, &terms, &searched).await?;
    let Some((embedding, model)) = embedding_of(query).zip(model) else {
        let found = by_terms(tx, query, &terms, &searched, &proposed).await?;
        proposed.items = to_candidates(found, &HashMap::new());
        return Ok(proposed);
    };
    let vectors = cache.load(tx, model, embedding.values().len(), last_vector).await?;
    let mut found = by_terms(tx, query, &terms, &searched, &proposed).await?;
    let closest = scan(&vectors, query, &searched);
    drop(vectors);
    let mut compared: Vec<i64> = closest.clone();
    compared.extend(found.keys());
    compared.sort_unstable();
    compared.dedup();
    let all = similarities(tx, embedding, model, &compared).await?;
    let mut nearest: Vec<(i64, f64)> =
        closest.into_iter().filter_map(|text| Some((text, *all.get(&text)?))).collect();
    nearest.sort_unstable_by(by_similarity);
    nearest.truncate(query.limits.semantic_max);
    let unread = nearest.iter().map(|(text, _)| *text).filter(|text| !found.contains_key(text)).collect();
    found.extend(read_cards(tx, &unread, &terms).await?);
    proposed.items = to_candidates(found, &all);
    Ok(proposed)
}

/// The counts over everything that is searched, without candidates; the number of the query's model, and the last
/// row of embeddings.
async fn count_searched(
    tx: &Tx,
    query: &Query,
    terms: &QueryTerms,
    searched: &Searched,
) -> Result<(Candidates, Option<i64>, i64), DbError> {
    let tenant = tx.tenant();
    let scopes = &searched.scopes;
    let hashes: Vec<i64> = terms.0.iter().flatten().map(|hash| i64::from(*hash)).collect();
    let name = query.model.as_bytes();
    let dimensions = usize_to_sql(embedding_of(query).map_or(0, |embedding| embedding.values().len()));
    let counts =
        "SELECT coalesce(sum(greatest(texts, 0)), 0)::bigint, coalesce(sum(greatest(length, 0)), 0)::bigint,
          (SELECT model FROM neap.models WHERE tenant = $1 AND name = $3 AND dimensions = $4),
          (SELECT vectors FROM neap.tenants WHERE tenant = $1)
        FROM neap.counts WHERE tenant = $1 AND scope = ANY($2)";
    let frequencies = "SELECT hash, sum(texts)::bigint FROM neap.frequencies
        WHERE tenant = $1 AND scope = ANY($2) AND hash = ANY($3) GROUP BY hash";
    let embedded = "SELECT e.model, e.texts, CASE WHEN m.name = $3 AND m.dimensions = $4 THEN e.directions END
        FROM neap.embedded e JOIN neap.models m ON m.tenant = $1 AND m.model = e.model
        WHERE e.tenant = $1 AND e.scope = ANY($2)";
    let (counts, frequencies, embedded) = tokio::try_join!(
        biased;
        tx.query_one(counts, params![&tenant, scopes, &name, &dimensions]),
        tx.query(frequencies, params![&tenant, scopes, &hashes]),
        tx.query(embedded, params![&tenant, scopes, &name, &dimensions]),
    )?;
    let (texts, length): (i64, i64) = (counts.try_get(0)?, counts.try_get(1)?);
    let model: Option<i64> = counts.try_get(2)?;
    let last_vector: Option<i64> = counts.try_get(3)?;
    let mut by_hash: HashMap<i64, u64> = HashMap::new();
    for row in &frequencies {
        by_hash.insert(row.try_get(0)?, row.try_get::<_, i64>(1)?.max(0) as u64);
    }
    let (mut comparable, mut directions) = (0, Vec::new());
    for row in &embedded {
        let (of_model, texts): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        if query.embedding.is_none() || model == Some(of_model) {
            comparable += texts.max(0) as u64;
        }
        let sum: Option<&[u8]> = row.try_get(2)?;
        directions.extend(sum.and_then(MeanVector::from_bytes));
    }
    let text_count = texts as u64;
    let frequency = |hash: &Option<u32>| hash.and_then(|hash| by_hash.get(&hash.into()).copied()).unwrap_or(0);
    let proposed = Candidates {
        text_count,
        total_terms: length as u64,
        unembedded: text_count.saturating_sub(comparable),
        document_frequencies: terms.0.iter().map(frequency).collect(),
        mean_similarity: embedding_of(query)
            .filter(|_| model.is_some())
            .map_or(0.0, |embedding| MeanVector::mean_similarity(directions, embedding)),
        ..Candidates::default()
    };
    Ok((proposed, model.filter(|_| dimensions > 0), last_vector.unwrap_or(0)))
}

/// What may be among the nearest.
fn scan(vectors: &CachedVectors, query: &Query, searched: &Searched) -> Vec<i64> {
    let Some((loaded, embedding)) = vectors.as_ref().zip(embedding_of(query)) else { return Vec::new() };
    let admits = |entry: &VectorEntry| {
        query.filter.matches(entry.kind, entry.at)
            && searched.is_searched(entry.text)
            && searched.is_allowed(entry.text)
    };
    let is_unfiltered = searched.streams.is_none() && query.filter.matches_all();
    let filter: Option<VectorFilter<'_>> = if is_unfiltered { None } else { Some(&admits) };
    let scans: Vec<VectorScan<'_>> = loaded
        .in_scopes(&searched.scopes)
        .map(|index| index.scan_closest(embedding, query.limits.semantic_max, filter))
        .collect();
    scans.iter().for_each(VectorScan::run);
    scans.into_iter().flat_map(VectorScan::closest).collect()
}
