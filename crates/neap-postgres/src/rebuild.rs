//! Rebuilds a session's derived rows in one transaction.

use std::collections::BTreeMap;

use neap_core::base::ids::StreamId;
use neap_core::recall::TextKey;
use neap_store::Finding;
use neap_store::backend::counts::{CountChanges, SESSIONS_SCOPE};
use neap_store::backend::derived::{Derived, Folded};
use neap_store::backend::examine::losses;
use neap_store::backend::prepared_commit::{HeadRow, PreparedMemory};
use neap_store::backend::rowids;

use crate::cards::{self, CardBatch};
use crate::commit::{lock_tenant, message_rowid};
use crate::counts::CountBatch;
use crate::db_error::DbError;
use crate::derived_rows::{EffortBatch, ExchangeBatch, Lanes, TurnBatch, mark_undone, numbers, put_withheld};
use crate::events::{fold_stream, stream_number};
use crate::heads::HeadColumns;
use crate::memories::MemoryBatch;
use crate::repair;
use crate::sql::{params, to_sql};
use crate::tx::{Statement, Tx};
use crate::vectors::{VectorBatch, scope_sums, stored_texts};

pub(crate) async fn rebuild(tx: Tx, session: &StreamId) -> Result<Vec<Finding>, DbError> {
    let (_, last_vector) = lock_tenant(&tx).await?;
    let Some(stream) = stream_number(&tx, session).await? else { return Ok(Vec::new()) };
    let folded: Folded = fold_stream(&tx, stream).await?;
    let last_vector = write_rows(&tx, session, stream, &folded.derived, last_vector).await?;
    repair::repair(&tx, last_vector).await?;
    tx.commit().await?;
    Ok(losses(session, &folded))
}

/// The scope in which a stream's texts are counted.
pub(crate) fn count_scope(session: &StreamId, stream: i64) -> i64 {
    if session.agent().is_some() { stream } else { SESSIONS_SCOPE }
}

/// Replaces everything derived from a stream. The tenant must be locked; returns its last row of embeddings.
pub(crate) async fn write_rows(
    tx: &Tx,
    session: &StreamId,
    stream: i64,
    derived: &Derived,
    last_vector: i64,
) -> Result<i64, DbError> {
    let scope = count_scope(session, stream);
    let mut counts = CountChanges::default();
    for (_, row) in cards::of_stream(tx, stream).await? {
        counts.count(scope, &row.terms, row.length, -1);
    }
    let embedded = texts_with_vectors(tx, stream).await?;
    let stored = stored_texts(tx, stream, &embedded, &Vec::new()).await?;
    let sums = scope_sums(tx, scope).await?;
    clear(tx, stream, scope).await?;

    let mut efforts: Vec<_> = derived.efforts.iter().collect();
    efforts.sort_by_key(|(id, _)| derived.effort_order.get(*id).copied().unwrap_or(u64::MAX));
    let mut bodies = Vec::with_capacity(efforts.len());
    for (_, effort) in &efforts {
        bodies.push(serde_json::to_string(effort)?);
    }
    let (mut effort_batch, mut effort_rowids) = (EffortBatch::default(), BTreeMap::new());
    for (nth, ((id, _), body)) in efforts.iter().zip(&bodies).enumerate() {
        let text = rowids::effort_rowid(stream, nth as i64);
        effort_batch.push(text, id.as_str(), body);
        effort_rowids.insert((*id).clone(), text);
    }
    let (mut exchanges, mut lanes) = (ExchangeBatch::default(), Lanes::new());
    derived.exchanges.values().for_each(|row| exchanges.push(row, &mut lanes));
    let (mut turn_ids, mut links) = (TurnBatch::turn_ids(), TurnBatch::links());
    derived.turn_ids.iter().for_each(|(id, turn)| turn_ids.push(id.as_bytes(), *turn));
    derived.links.iter().for_each(|(digest, turn)| links.push(digest.bytes(), *turn));
    let (withheld, undone) = (numbers(&derived.withheld_turns), numbers(&derived.undone_turns));
    let mut prepared = Vec::with_capacity(derived.memories.len());
    for stored in derived.memories.values() {
        prepared.push(PreparedMemory::new(&stored.memory, stored.due)?);
    }
    let history = derived.history.iter().flat_map(|(id, seqs)| seqs.iter().map(|seq| (*id, to_sql(seq.0))));
    let history: Vec<_> = history.collect();
    let memories = MemoryBatch::of(stream, &prepared, &[], &history);

    let (mut card_batch, mut vectors) = (CardBatch::default(), VectorBatch::new(last_vector, sums));
    let mut new_cards = BTreeMap::new();
    for (key, row) in &derived.cards {
        let text = match key {
            TextKey::Message(seq) => message_rowid(stream, *seq),
            TextKey::Effort(id) => effort_rowids.get(id).copied(),
            TextKey::Memory(id) => {
                let memory = prepared.iter().find(|memory| memory.id == *id);
                memory.map(|memory| rowids::memory_rowid(stream, *id, memory.tier))
            }
        };
        let words = derived.texts.get(key).map_or("", String::as_str);
        if let Some(text) = text {
            card_batch.push(text, row, row.nth, words);
            counts.count(scope, &row.terms, row.length, 1);
            new_cards.insert(text, row);
        }
    }
    for text in embedded.iter().filter(|text| !new_cards.contains_key(text)) {
        vectors.sync(&[*text], &stored, None);
    }
    for (text, row) in &new_cards {
        vectors.sync(&[*text], &stored, Some((*text, row)));
    }

    let tenant = tx.tenant().to_owned();
    let (tenant, name) = (&tenant.as_str(), session.as_str());
    let counts = CountBatch::of(&counts);
    let head = HeadRow::new(&derived.head)?;
    let (effort_count, messages) = (efforts.len() as i64, to_sql(derived.message_count));
    let head = HeadColumns::new(&head, to_sql(derived.head.seq.0), effort_count, messages);
    let mut statements: Vec<Statement<'_>> = head.write(tenant, &stream, &name, false);
    statements.extend(effort_batch.put(tenant, &stream));
    statements.extend(exchanges.insert(tenant, &stream));
    statements.extend(turn_ids.insert(tenant, &stream));
    statements.extend(links.insert(tenant, &stream));
    statements.extend(memories.write(tenant, &stream));
    statements.extend(put_withheld(tenant, &stream, &withheld));
    statements.extend(mark_undone(tenant, &stream, &undone));
    statements.extend(card_batch.insert(tenant, &stream, &scope));
    statements.extend(counts.write(tenant));
    let last_vector = vectors.last_id;
    statements.extend(vectors.write(tenant, &scope));
    for statement in statements {
        tx.execute(statement.0, statement.1).await?;
    }
    Ok(last_vector)
}

async fn texts_with_vectors(tx: &Tx, stream: i64) -> Result<Vec<i64>, DbError> {
    let (first, last) = rowids::text_range(stream);
    let sql = "SELECT text FROM neap.vector_index
        WHERE tenant = $1 AND text BETWEEN $2 AND $3 AND signs IS NOT NULL";
    let rows = tx.query(sql, params![&tx.tenant(), &first, &last]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Removes everything derived from a stream except its row and its embeddings.
async fn clear(tx: &Tx, stream: i64, scope: i64) -> Result<(), DbError> {
    let (first, last) = rowids::text_range(stream);
    let tenant = tx.tenant();
    // By range, so that also postings go that no card names.
    let postings = "DELETE FROM neap.postings WHERE tenant = $1 AND scope = $2 AND text BETWEEN $3 AND $4";
    tx.execute(postings, params![&tenant, &scope, &first, &last]).await?;
    for table in ["cards", "memories", "unembedded"] {
        let sql = format!("DELETE FROM neap.{table} WHERE tenant = $1 AND text BETWEEN $2 AND $3");
        tx.execute(&sql, params![&tenant, &first, &last]).await?;
    }
    for table in ["efforts", "exchanges", "turn_ids", "withheld", "links", "memory_events"] {
        let sql = format!("DELETE FROM neap.{table} WHERE tenant = $1 AND stream = $2");
        tx.execute(&sql, params![&tenant, &stream]).await?;
    }
    Ok(())
}
