//! Runs a search from candidates to texts on one snapshot.

mod candidates;
mod lexical;
mod neighbours;
mod searched;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use neap_core::base::project_id::ProjectId;
use neap_core::recall::{Candidate, Candidates, Query, RankedResults, RankedSearch, TextId};
use neap_store::StoreError;
use neap_store::backend::card::{QueryCard, QueryTerms};
use tokio::runtime::Handle;
use tokio_postgres::Row;

use crate::cards::{COLUMN_COUNT, COLUMNS, query_card};
use crate::db_error::DbError;
use crate::sql::params;
use crate::texts::{text_id, texts};
use crate::tx::Tx;
use crate::vector_cache::VectorCache;

use candidates::find_candidates;

pub(crate) async fn propose(tx: Tx, cache: Arc<VectorCache>, query: &Query) -> Result<Candidates, DbError> {
    let query = query.clone();
    on_thread(tx, move |runtime, tx| runtime.block_on(find_candidates(tx, &cache, &query))).await
}

pub(crate) async fn search(
    tx: Tx,
    cache: Arc<VectorCache>,
    request: &RankedSearch,
) -> Result<RankedResults, DbError> {
    let request = request.clone();
    let rank = move |runtime: &Handle, tx: &Tx| {
        request.run(
            |query| runtime.block_on(find_candidates(tx, &cache, query)),
            |around| runtime.block_on(neighbours::neighbours(tx, &request.query, around)),
            |ids| runtime.block_on(texts(tx, ids)),
        )
    };
    on_thread(tx, rank).await
}

/// Scans and ranks on a thread of its own, which waits for what the database answers.
async fn on_thread<T: Send + 'static>(
    tx: Tx,
    work: impl FnOnce(&Handle, &Tx) -> Result<T, DbError> + Send + 'static,
) -> Result<T, DbError> {
    let runtime = Handle::current();
    let working = tokio::task::spawn_blocking(move || {
        let result = work(&runtime, &tx)?;
        tx.end();
        Ok(result)
    });
    working.await.map_err(|e| StoreError::Failed(e.to_string()))?
}

struct FoundCard {
    card: QueryCard,
    id: TextId,
    project: Option<ProjectId>,
}

type Found = BTreeMap<i64, FoundCard>;

/// What every statement that reads [`FoundCard`]s selects and joins: of a table `c`.
fn found_columns() -> String {
    format!("{COLUMNS}, s.name, s.project, e.id")
}

const FOUND_JOINS: &str = "JOIN neap.sessions s ON s.tenant = $1 AND s.stream = c.stream
    LEFT JOIN neap.efforts e ON e.tenant = $1 AND e.text = c.text";

fn found_card(row: &Row, terms: &QueryTerms) -> Result<Option<(i64, FoundCard)>, DbError> {
    let Some((text, card)) = query_card(row, terms)? else { return Ok(None) };
    let effort: Option<&str> = row.try_get(COLUMN_COUNT + 2)?;
    let Some(id) = text_id(text, row.try_get(COLUMN_COUNT)?, effort) else { return Ok(None) };
    let project: Option<&str> = row.try_get(COLUMN_COUNT + 1)?;
    let project = project.and_then(|project| ProjectId::parse(project).ok());
    Ok(Some((text, FoundCard { card, id, project })))
}

/// The cards of these texts; texts without a card are left out.
async fn read_cards(tx: &Tx, texts: &Vec<i64>, terms: &QueryTerms) -> Result<Found, DbError> {
    if texts.is_empty() {
        return Ok(Found::new());
    }
    let columns = found_columns();
    let sql = format!(
        "SELECT {columns} FROM unnest($2::bigint[]) q(text)
         JOIN neap.cards c ON c.tenant = $1 AND c.text = q.text {FOUND_JOINS}"
    );
    let rows = tx.query(&sql, params![&tx.tenant(), texts]).await?;
    rows.iter().filter_map(|row| found_card(row, terms).transpose()).collect()
}

/// Converts cards to candidates, ordered by id.
fn to_candidates(found: Found, similarities: &HashMap<i64, f64>) -> Vec<Candidate> {
    let candidate = |(text, found): (i64, FoundCard)| {
        let FoundCard { card, id, project } = found;
        Candidate { project, ..card.card(id, similarities.get(&text).copied()) }
    };
    let mut candidates: Vec<Candidate> = found.into_iter().map(candidate).collect();
    candidates.sort_by(|a, b| a.id.cmp(&b.id));
    candidates
}

/// A query's embedding can only be compared with those of its model.
fn embedding_of(query: &Query) -> Option<&neap_core::recall::Embedding> {
    query.embedding.as_ref().filter(|embedding| !embedding.values().is_empty())
}
