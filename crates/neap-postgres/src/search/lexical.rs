//! Proposes texts by their terms: the rarest first, each whole as far as the visits allow.

use std::collections::BTreeMap;

use neap_core::recall::{Candidates, Query};
use neap_store::backend::candidates::{TermSearch, Visit, by_score};
use neap_store::backend::card::{QueryTerms, term_hash};

use super::searched::Searched;
use super::{Found, read_cards};
use crate::db_error::DbError;
use crate::sql::{params, usize_to_sql};
use crate::tx::Tx;

/// Terms that are looked up at once.
const BATCH: usize = 16;

/// The cards of the best texts.
pub(super) async fn by_terms(
    tx: &Tx,
    query: &Query,
    terms: &QueryTerms,
    searched: &Searched,
    counted: &Candidates,
) -> Result<Found, DbError> {
    let Query { filter, limits, .. } = query;
    let mut visits = TermSearch {
        terms: &query.terms,
        texts_with: &counted.document_frequencies,
        texts: counted.text_count,
        is_narrow: filter.is_narrow(),
        visits_max: limits.visits_max,
    }
    .visits();
    loop {
        let next = visits.next(BATCH);
        if next.is_empty() {
            break;
        }
        for found in postings(tx, &next, searched).await? {
            visits.add(found);
        }
    }
    let mut scores = visits.scores;
    scores.sort_unstable_by(by_score);
    let mut scores = scores.into_iter().map(|(text, _)| text as i64);
    let mut chosen = Found::new();
    // Where the filter refuses some, more are read.
    while chosen.len() < limits.lexical_max {
        let texts: Vec<i64> = scores.by_ref().take(limits.lexical_max - chosen.len()).collect();
        if texts.is_empty() {
            break;
        }
        let cards = read_cards(tx, &texts, terms).await?;
        chosen.extend(cards.into_iter().filter(|(_, found)| filter.matches(found.card.kind, found.card.at)));
    }
    Ok(chosen)
}

/// For each term the sorted rowids of the searched texts with it.
async fn postings(tx: &Tx, terms: &[(&str, Visit)], searched: &Searched) -> Result<Vec<Vec<u64>>, DbError> {
    let hashes: Vec<i64> = terms.iter().map(|(term, _)| term_hash(term).into()).collect();
    let words: Vec<&str> = terms.iter().map(|(term, _)| *term).collect();
    let maxima: Vec<i64> = terms
        .iter()
        .map(|(_, visit)| match visit {
            Visit::All => i64::MAX,
            Visit::Newest(max) => usize_to_sql(*max),
        })
        .collect();
    let sql = "SELECT q.nth, p.text
        FROM unnest($2::bigint[], $3::text[], $4::bigint[]) WITH ORDINALITY q(hash, term, max, nth)
        CROSS JOIN LATERAL (
          SELECT p.text FROM unnest($5::bigint[], $6::bigint[], $7::bigint[]) r(scope, first, last)
          CROSS JOIN LATERAL (
            SELECT text FROM neap.postings
            WHERE tenant = $1 AND scope = r.scope AND hash = q.hash AND term = q.term
              AND text BETWEEN r.first AND r.last
              AND ($8::bigint[] IS NULL OR text >> 32 = ANY($8))
              AND ($9::bigint[] IS NULL OR text = ANY($9))
            ORDER BY text DESC LIMIT q.max
          ) p ORDER BY p.text DESC LIMIT q.max
        ) p";
    let (tenant, ranges) = (tx.tenant(), &searched.ranges);
    let params = params![
        &tenant, &hashes, &words, &maxima, &ranges.scopes, &ranges.firsts, &ranges.lasts, &ranges.streams,
        &searched.allowed,
    ];
    let mut found: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
    for row in tx.query(sql, params).await? {
        found.entry(row.try_get(0)?).or_default().push(row.try_get::<_, i64>(1)? as u64);
    }
    let mut by_term = Vec::with_capacity(terms.len());
    for nth in 1..=terms.len() as i64 {
        let mut texts = found.remove(&nth).unwrap_or_default();
        texts.sort_unstable();
        by_term.push(texts);
    }
    Ok(by_term)
}
