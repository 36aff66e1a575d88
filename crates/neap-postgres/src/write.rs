//! Commits with their second attempts: where it is certain that the first left nothing, or left everything.

use neap_core::base::ids::Seq;
use neap_store::backend::prepared_commit::PreparedCommit;
use neap_store::{DatabaseFault, StoreError};

use crate::commit;
use crate::db_error::DbError;
use crate::sql::{params, to_sql};
use crate::store::PostgresStore;

/// Attempts in all.
const TRIES: usize = 4;

pub(crate) async fn commit(store: &PostgresStore, prepared: &PreparedCommit) -> Result<(), DbError> {
    let mut is_unknown = false;
    for _ in 1..TRIES {
        match attempt(store, prepared).await {
            Err(error) if error.is_retryable() => {}
            // The connection broke: it may have been committed. The next attempt waits for the tenant's lock, so for
            // the end of the last one.
            Err(error) if error.is_lost_connection() => is_unknown = true,
            Err(DbError::Refused(StoreError::Conflict { .. } | StoreError::DuplicateTurn { .. }))
                if is_unknown && is_recorded(store, prepared).await? =>
            {
                return Ok(());
            }
            result => return result,
        }
    }
    match attempt(store, prepared).await {
        Err(error) if is_unknown && error.is_lost_connection() => {
            let why = "the connection broke in a commit, and no other could be made to see whether it was written";
            Err(DatabaseFault::Unreachable(why.to_owned()).into())
        }
        result => result,
    }
}

async fn attempt(store: &PostgresStore, prepared: &PreparedCommit) -> Result<(), DbError> {
    commit::write(store.begin_write().await?, prepared).await
}

/// Whether the stream has these very events where the commit would have put them.
async fn is_recorded(store: &PostgresStore, prepared: &PreparedCommit) -> Result<bool, DbError> {
    let tx = store.begin_read().await?;
    let sql = "SELECT e.at, e.body FROM neap.sessions s
        JOIN neap.events e ON e.tenant = $1 AND e.stream = s.stream AND e.seq > $3 AND e.seq <= $4
        WHERE s.tenant = $1 AND s.name = $2 ORDER BY e.seq";
    let Seq(first) = prepared.expected;
    let (first, last) = (to_sql(first), to_sql(first) + prepared.events.len() as i64);
    let rows = tx.query(sql, params![&tx.tenant(), &prepared.stream.as_str(), &first, &last]).await?;
    let mut is_same = rows.len() == prepared.events.len();
    for (row, event) in rows.iter().zip(&prepared.events) {
        let (at, body): (i64, &[u8]) = (row.try_get(0)?, row.try_get(1)?);
        is_same &= at == event.at && body == event.body.as_bytes();
    }
    tx.end();
    Ok(is_same)
}
