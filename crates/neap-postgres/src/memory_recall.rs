//! Recall of memories by terms or by time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use neap_core::base::ids::StreamId;
use neap_core::memory::{RecallRequest, RecallResponse};
use neap_store::backend::candidates::is_term;
use neap_store::backend::card::term_hash;
use neap_store::backend::memory_recall::{
    KindCounts, SearchTier, best_candidates, hits_by_kind, kind_limits, texts_with, time_span,
};
use neap_store::backend::rowids;

use crate::db_error::DbError;
use crate::events::stream_number;
use crate::memories::{load_rows, memory_rowids};
use crate::sql::{params, usize_to_sql};
use crate::tx::Tx;

pub(crate) async fn recall(tx: &Tx, name: &StreamId, request: &RecallRequest) -> Result<RecallResponse, DbError> {
    let Some(stream) = stream_number(tx, name).await? else {
        return Ok(RecallResponse {
            document_frequencies: vec![0; request.terms.len()],
            ..RecallResponse::default()
        });
    };
    let limits = kind_limits(request);
    let tiers = SearchTier::searched_by(request);
    let (first, last) = time_span(request);
    let (mut shelves, mut maxima) = (Vec::new(), Vec::new());
    for (kind, max) in &limits {
        for tier in tiers {
            shelves.push(rowids::shelf(stream, *kind, *tier));
            maxima.push(usize_to_sql(*max));
        }
    }
    let counts = "SELECT shelf, count(*) FROM neap.memories
        WHERE tenant = $1 AND shelf = ANY($2) AND at BETWEEN $3 AND $4 GROUP BY shelf";
    let tenant = tx.tenant();
    let of_counts = params![&tenant, &shelves, &first, &last];
    if request.terms.is_empty() {
        let newest = "SELECT m.at, m.text FROM unnest($2::bigint[], $3::bigint[]) q(shelf, max)
            CROSS JOIN LATERAL (SELECT at, text FROM neap.memories
              WHERE tenant = $1 AND shelf = q.shelf AND at BETWEEN $4 AND $5
              ORDER BY at DESC, text DESC LIMIT q.max) m";
        let of_newest = params![&tenant, &shelves, &maxima, &first, &last];
        let (counted, newest) =
            tokio::try_join!(biased; tx.query(counts, of_counts), tx.query(newest, of_newest))?;
        let mut text_count = 0;
        for row in &counted {
            text_count += row.try_get::<_, i64>(1)? as u64;
        }
        let mut found = Vec::new();
        for row in &newest {
            let (at, text): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            found.extend(rowids::memory_at_rowid(text).map(|(id, _)| (at, id, text)));
        }
        found.sort_unstable_by_key(|(at, id, _)| (id.kind(), Reverse((*at, *id))));
        let of_kinds = found.chunk_by(|(_, a, _), (_, b, _)| a.kind() == b.kind());
        let taken = of_kinds.flat_map(|chunk| {
            let max = chunk.first().and_then(|(_, id, _)| limits.get(&id.kind())).copied().unwrap_or(0);
            chunk.iter().take(max).map(|(_, _, text)| *text)
        });
        let memories = load_rows(tx, &taken.collect()).await?;
        return Ok(RecallResponse { memories, text_count, ..RecallResponse::default() });
    }
    let is_bounded = request.from.is_some() || request.until.is_some();
    let within_time = "SELECT shelf, text FROM neap.memories
        WHERE tenant = $1 AND shelf = ANY($2) AND at BETWEEN $3 AND $4 AND $5 ORDER BY text";
    let of_within = params![&tenant, &shelves, &first, &last, &is_bounded];
    let (counted, hits, within_time) = tokio::try_join!(
        biased;
        tx.query(counts, of_counts),
        texts_by_term(tx, stream, &request.terms, rowids::searched_range(stream, tiers)),
        tx.query(within_time, of_within),
    )?;
    let mut searched: KindCounts = limits.keys().map(|kind| (*kind, 0)).collect();
    for row in &counted {
        let (shelf, count): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let of_shelf =
            limits.keys().find(|kind| tiers.iter().any(|tier| rowids::shelf(stream, **kind, *tier) == shelf));
        if let Some(of_kind) = of_shelf.and_then(|kind| searched.get_mut(kind)) {
            *of_kind += count as u64;
        }
    }
    let mut within: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    if is_bounded {
        within.extend(shelves.iter().map(|shelf| (*shelf, Vec::new())));
    }
    for row in &within_time {
        within.entry(row.try_get(0)?).or_default().push(row.try_get(1)?);
    }
    let by_kind = hits_by_kind(stream, &limits, tiers, &hits, &within);
    let found = best_candidates(&by_kind, &searched, &limits);
    let found = found.into_iter().flat_map(|id| memory_rowids(stream, id)).collect();
    Ok(RecallResponse {
        memories: load_rows(tx, &found).await?,
        text_count: searched.values().sum(),
        document_frequencies: texts_with(&by_kind, request.terms.len()),
        ..RecallResponse::default()
    })
}

/// For each term, the rowids within a range that have it, sorted.
async fn texts_by_term(
    tx: &Tx,
    scope: i64,
    terms: &[String],
    (first, last): (i64, i64),
) -> Result<Vec<Vec<u64>>, DbError> {
    let (mut places, mut hashes, mut words) = (Vec::new(), Vec::new(), Vec::new());
    for (place, term) in terms.iter().enumerate().filter(|(_, term)| is_term(term)) {
        places.push(place as i64);
        hashes.push(i64::from(term_hash(term)));
        words.push(term.as_str());
    }
    let sql = "SELECT q.place, p.text FROM unnest($3::bigint[], $4::bigint[], $5::text[]) q(place, hash, term)
        JOIN neap.postings p ON p.tenant = $1 AND p.scope = $2 AND p.hash = q.hash AND p.term = q.term
          AND p.text BETWEEN $6 AND $7
        ORDER BY q.place, p.text";
    let tenant = tx.tenant();
    let params = params![&tenant, &scope, &places, &hashes, &words, &first, &last];
    let mut all = vec![Vec::new(); terms.len()];
    for row in tx.query(sql, params).await? {
        let (place, text): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        all[place as usize].push(text as u64);
    }
    Ok(all)
}
