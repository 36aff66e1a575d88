//! Recall of memories by terms or by time, with one query per term whatever the kinds.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use neap_core::base::ids::StreamId;
use neap_core::memory::{MemoryKind, RecallRequest, RecallResponse};
use rusqlite::{Connection, params};

use super::db_error::DbError;
use super::derived_rows::to_sql;
use super::memories;
use neap_store::backend::candidates::is_term;
use neap_store::backend::memory_recall::{
    KindCounts, SearchTier, best_candidates, hits_by_kind, kind_limits, texts_with, time_span,
};
use neap_store::backend::rowids;

pub(super) fn recall(
    db: &Connection,
    stream: &StreamId,
    request: &RecallRequest,
) -> Result<RecallResponse, DbError> {
    let Some(stream) = memories::agent_stream(db, stream)? else {
        return Ok(RecallResponse {
            document_frequencies: vec![0; request.terms.len()],
            ..RecallResponse::default()
        });
    };
    let limits = kind_limits(request);
    let tiers = SearchTier::searched_by(request);
    let span = time_span(request);
    let is_bounded = request.from.is_some() || request.until.is_some();
    let mut searched = KindCounts::new();
    for kind in limits.keys() {
        let mut of_kind = 0;
        for tier in tiers {
            let shelf = rowids::shelf(stream, *kind, *tier);
            of_kind += if is_bounded { count_within(db, shelf, span)? } else { memories::shelf_count(db, shelf)? };
        }
        searched.insert(*kind, of_kind);
    }
    let text_count = searched.values().sum();
    if request.terms.is_empty() {
        let mut newest = Vec::new();
        for (kind, max) in limits {
            newest.extend(newest_of(db, stream, kind, tiers, span, max)?);
        }
        let memories = memories::load_rows(db, newest)?;
        return Ok(RecallResponse { memories, text_count, ..RecallResponse::default() });
    }
    let mut hits = texts_by_term(db, &request.terms, rowids::searched_range(stream, tiers))?;
    hits.iter_mut().for_each(|texts| texts.sort_unstable());
    let mut within = BTreeMap::new();
    if is_bounded {
        for (kind, tier) in limits.keys().flat_map(|kind| tiers.iter().map(move |tier| (*kind, *tier))) {
            let shelf = rowids::shelf(stream, kind, tier);
            within.insert(shelf, texts_within(db, shelf, span)?);
        }
    }
    let by_kind = hits_by_kind(stream, &limits, tiers, &hits, &within);
    let mut found = Vec::new();
    for id in best_candidates(&by_kind, &searched, &limits) {
        found.extend(memories::rowid_of(db, stream, id)?);
    }
    let memories = memories::load_rows(db, found)?;
    let document_frequencies = texts_with(&by_kind, request.terms.len());
    Ok(RecallResponse { memories, text_count, document_frequencies, ..RecallResponse::default() })
}

fn count_within(db: &Connection, shelf: i64, (first, last): (i64, i64)) -> rusqlite::Result<u64> {
    let count: i64 = db
        .prepare_cached("SELECT count(*) FROM memories WHERE shelf = ? AND at BETWEEN ? AND ?")?
        .query_row([shelf, first, last], |row| row.get(0))?;
    Ok(count as u64)
}

fn texts_within(db: &Connection, shelf: i64, (first, last): (i64, i64)) -> rusqlite::Result<Vec<i64>> {
    db.prepare_cached("SELECT text FROM memories WHERE shelf = ? AND at BETWEEN ? AND ? ORDER BY text")?
        .query_map([shelf, first, last], |row| row.get(0))?
        .collect()
}

/// The rowids of the newest memories of a kind, newest first.
fn newest_of(
    db: &Connection,
    stream: i64,
    kind: MemoryKind,
    tiers: &[SearchTier],
    (first, last): (i64, i64),
    max: usize,
) -> rusqlite::Result<Vec<i64>> {
    let mut found = Vec::new();
    for tier in tiers {
        let shelf = rowids::shelf(stream, kind, *tier);
        let mut statement = db.prepare_cached(
            "SELECT at, text FROM memories WHERE shelf = ? AND at BETWEEN ? AND ?
             ORDER BY at DESC, text DESC LIMIT ?",
        )?;
        let mut rows = statement.query(params![shelf, first, last, to_sql(max as u64)])?;
        while let Some(row) = rows.next()? {
            let (at, text): (i64, i64) = (row.get(0)?, row.get(1)?);
            found.push((at, text - rowids::shelf_rowid_range(shelf).0, text));
        }
    }
    found.sort_unstable_by_key(|(at, number, _)| Reverse((*at, *number)));
    found.truncate(max);
    Ok(found.into_iter().map(|(_, _, text)| text).collect())
}

/// For each term, the rowids within a range that have it.
fn texts_by_term(db: &Connection, terms: &[String], (first, last): (i64, i64)) -> rusqlite::Result<Vec<Vec<u64>>> {
    let mut statement =
        db.prepare_cached("SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?")?;
    let mut all = Vec::with_capacity(terms.len());
    for term in terms {
        let mut texts = Vec::new();
        if is_term(term) {
            // Quoted, any word is a plain term, also `near` and `or`.
            let mut rows = statement.query(params![format!("\"{term}\""), first, last])?;
            while let Some(row) = rows.next()? {
                texts.push(row.get::<_, i64>(0)? as u64);
            }
        }
        all.push(texts);
    }
    Ok(all)
}
