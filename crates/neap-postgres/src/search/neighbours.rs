//! Finds texts by position: beside other texts, at the start or at the end of a session.

use std::collections::HashMap;

use neap_core::base::ids::Seq;
use neap_core::recall::{Candidate, NeighbourQuery, Query, TextKey};
use neap_store::backend::card::QueryTerms;

use super::{FOUND_JOINS, Found, embedding_of, found_card, found_columns, to_candidates};
use crate::db_error::DbError;
use crate::sql::{params, to_sql, usize_to_sql};
use crate::tx::Tx;
use crate::vectors::{model_number, similarities};

/// No stream has this many events: see [`neap_store::backend::rowids`].
const SEQ_END: u64 = 1 << 31;

pub(super) async fn neighbours(
    tx: &Tx,
    query: &Query,
    around: &NeighbourQuery,
) -> Result<Vec<Candidate>, DbError> {
    let found = find(tx, &QueryTerms::of(query), around).await?;
    let Some(embedding) = embedding_of(query) else { return Ok(to_candidates(found, &HashMap::new())) };
    let Some(model) = model_number(tx, &query.model, embedding.values().len()).await? else {
        return Ok(to_candidates(found, &HashMap::new()));
    };
    let similarities = similarities(tx, embedding, model, &found.keys().copied().collect()).await?;
    Ok(to_candidates(found, &similarities))
}

async fn find(tx: &Tx, terms: &QueryTerms, around: &NeighbourQuery) -> Result<Found, DbError> {
    let NeighbourQuery { texts, distance, openings, latest } = around;
    let (mut names, mut seqs) = (Vec::new(), Vec::new());
    // Only messages have a position.
    for id in texts {
        if let TextKey::Message(Seq(seq)) = id.key
            && seq < SEQ_END
        {
            names.push(id.stream.as_str());
            seqs.push(to_sql(seq));
        }
    }
    let openings: Vec<&str> = openings.iter().map(|id| id.as_str()).collect();
    let (name, max) = latest.as_ref().map_or(("", 0), |(id, max)| (id.as_str(), usize_to_sql(*max)));
    let columns = found_columns();
    let sql = format!(
        "WITH given AS (
           SELECT c.stream, c.text, c.nth FROM unnest($2::text[], $3::bigint[]) q(name, seq)
           JOIN neap.sessions s ON s.tenant = $1 AND s.name = q.name
           JOIN neap.cards c ON c.tenant = $1 AND c.text = (s.stream << 32) + 2147483648 + q.seq
         ), chosen AS (
           SELECT n.text FROM given g JOIN neap.cards n ON n.tenant = $1 AND n.stream = g.stream AND n.nth > 0
             AND n.nth BETWEEN g.nth - $4 AND g.nth + $4
           WHERE g.nth > 0 AND NOT EXISTS (SELECT 1 FROM given WHERE text = n.text)
           UNION
           SELECT n.text FROM neap.sessions s JOIN neap.cards n ON n.tenant = $1 AND n.stream = s.stream AND n.nth = 1
           WHERE s.tenant = $1 AND s.name = ANY($5)
           UNION
           SELECT n.text FROM neap.sessions s CROSS JOIN LATERAL (
             SELECT text FROM neap.cards WHERE tenant = $1 AND stream = s.stream AND nth > 0
             ORDER BY nth DESC LIMIT $7) n
           WHERE s.tenant = $1 AND s.name = $6
         )
         SELECT {columns} FROM chosen q JOIN neap.cards c ON c.tenant = $1 AND c.text = q.text {FOUND_JOINS}"
    );
    let distance = to_sql(*distance).min(i64::from(u32::MAX));
    let tenant = tx.tenant();
    let params = params![&tenant, &names, &seqs, &distance, &openings, &name, &max];
    let rows = tx.query(&sql, params).await?;
    rows.iter().filter_map(|row| found_card(row, terms).transpose()).collect()
}
