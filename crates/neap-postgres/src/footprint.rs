//! Bytes that a tenant's rows take. Reads every event, a page at a time.

use neap_core::base::ids::StreamId;
use neap_store::StoredEvent;
use neap_store::footprint::{Footprint, message_bytes};

use crate::db_error::DbError;
use crate::events::for_each;
use crate::heads::streams;
use crate::sql::params;
use crate::tx::Tx;

/// Estimated overhead of a row and of its entry in the primary key.
const ROW: i64 = 64;

pub(crate) async fn footprint(tx: &Tx, session: Option<&StreamId>) -> Result<Footprint, DbError> {
    let mut sum = Footprint { file: on_disk(tx).await?, ..Footprint::default() };
    for (stream, id, _) in streams(tx).await? {
        if session.is_some_and(|wanted| *wanted != id) {
            continue;
        }
        for_each(tx, stream, |stored| {
            if let StoredEvent::Whole(recorded) = stored {
                sum.said += message_bytes(&recorded.event);
            }
        })
        .await?;
        sum.events += bytes(tx, EVENTS, stream).await?;
        sum.derived += bytes(tx, DERIVED, stream).await?;
        sum.index += bytes(tx, INDEX, stream).await?;
    }
    Ok(sum)
}

const EVENTS: &str = "SELECT coalesce(sum($3 + octet_length(kind) + octet_length(body)), 0)::bigint
    FROM neap.events WHERE tenant = $1 AND stream = $2";

const DERIVED: &str = "SELECT (
      (SELECT coalesce(sum($3 + octet_length(name) + octet_length(head)), 0) FROM neap.sessions
       WHERE tenant = $1 AND stream = $2)
      + (SELECT coalesce(sum($3 + octet_length(id) + octet_length(body)), 0) FROM neap.efforts
         WHERE tenant = $1 AND stream = $2)
      + (SELECT coalesce(sum($3 + octet_length(scope)), 0) FROM neap.exchanges WHERE tenant = $1 AND stream = $2)
      + (SELECT coalesce(sum($3 + octet_length(turn_id)), 0) FROM neap.turn_ids WHERE tenant = $1 AND stream = $2)
      + (SELECT coalesce(sum($3 + octet_length(digest)), 0) FROM neap.links WHERE tenant = $1 AND stream = $2)
      + (SELECT coalesce(sum($3 + octet_length(body)), 0) FROM neap.memories WHERE tenant = $1 AND stream = $2)
      + (SELECT count(*) * $3 FROM neap.memory_events WHERE tenant = $1 AND stream = $2)
    )::bigint";

/// Cards, with a posting for each of their terms, and embeddings.
const INDEX: &str = "SELECT (
      (SELECT coalesce(sum($3 + coalesce(octet_length(who), 0) + octet_length(terms)
          + octet_length(terms) / 5 * ($3 + 8)), 0)
       FROM neap.cards WHERE tenant = $1 AND stream = $2)
      + (SELECT coalesce(sum(2 * $3 + coalesce(octet_length(i.signs), 0) + coalesce(octet_length(v.vector), 0)), 0)
         FROM neap.vector_index i LEFT JOIN neap.vectors v ON v.tenant = $1 AND v.text = i.text
         WHERE i.tenant = $1 AND i.text BETWEEN $2 << 32 AND ($2 << 32) + 4294967295)
    )::bigint";

async fn bytes(tx: &Tx, sql: &str, stream: i64) -> Result<u64, DbError> {
    let sum: i64 = tx.query_one(sql, params![&tx.tenant(), &stream, &ROW]).await?.try_get(0)?;
    Ok(sum.max(0) as u64)
}

/// Tables and indexes, of all tenants.
async fn on_disk(tx: &Tx) -> Result<u64, DbError> {
    let sql = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'neap' AND c.relkind = 'r'";
    let sum: i64 = tx.query_one(sql, Vec::new()).await?.try_get(0)?;
    Ok(sum.max(0) as u64)
}
