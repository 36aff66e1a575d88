//! Erases a session or one memory: the only places where history changes. A tombstone stays. The rows are deleted or
//! overwritten; what Postgres keeps of them in its files, its log and in backups is the server's affair.

use neap_core::base::ids::{Stamp, StreamId};
use neap_core::memory::MemoryId;
use neap_core::session::event::{RecordedEvent, SessionEvent};
use neap_core::session::state::SessionHead;
use neap_store::backend::counts::CountChanges;
use neap_store::backend::event_row::EventRow;
use neap_store::backend::memory_erasure::{MemoryErasure, PlannedErasure};
use neap_store::backend::prepared_commit::HeadRow;

use crate::cards::CardRemovals;
use crate::commit::lock_tenant;
use crate::counts::CountBatch;
use crate::db_error::DbError;
use crate::events::{self, EventBatch, fold_stream, stream_number};
use crate::heads::{self, HeadColumns};
use crate::memories::{MemoryBatch, event_seqs, memory_rowids};
use crate::rebuild::write_rows;
use crate::repair;
use crate::sql::{params, to_sql};
use crate::tx::Tx;
use crate::vectors::{VectorBatch, scope_sums, stored_texts};

/// Returns how many events were erased.
pub(crate) async fn scrub(tx: Tx, session: &StreamId, now: Stamp) -> Result<u64, DbError> {
    let (_, last_vector) = lock_tenant(&tx).await?;
    let Some(stream) = stream_number(&tx, session).await? else { return Ok(0) };
    let head = heads::current_head(&tx, session).await?;
    if head.is_some_and(|head| head.scrubbed && head.stream.is_none()) {
        return Ok(0);
    }
    let last = heads::last_seq(&tx, session).await?;
    let tenant = tx.tenant().to_owned();
    let sql = "DELETE FROM neap.events WHERE tenant = $1 AND stream = $2";
    let erased = tx.execute(sql, params![&tenant.as_str(), &stream]).await?;
    let event = SessionEvent::Scrubbed { events: erased }.into();
    append(&tx, stream, &RecordedEvent { seq: last.next(), at: now, event }).await?;
    let folded = fold_stream(&tx, stream).await?;
    let last_vector = write_rows(&tx, session, stream, &folded.derived, last_vector).await?;
    repair::repair(&tx, last_vector).await?;
    tx.commit().await?;
    Ok(erased)
}

async fn append(tx: &Tx, stream: i64, recorded: &RecordedEvent) -> Result<(), DbError> {
    let row = EventRow::new(recorded)?;
    let batch = EventBatch::of([&row]);
    let tenant = tx.tenant();
    let statement = batch.insert(&tenant, &stream);
    tx.execute(statement.0, statement.1).await.map(|_| ())
}

/// Returns how many events were overwritten.
pub(crate) async fn erase_memory(tx: Tx, name: &StreamId, id: MemoryId, now: Stamp) -> Result<u64, DbError> {
    let (_, last_vector) = lock_tenant(&tx).await?;
    let Some(stream) = stream_number(&tx, name).await? else { return Ok(0) };
    let last = heads::last_seq(&tx, name).await?;
    let mut erasure = MemoryErasure::new(id, event_seqs(&tx, stream, id).await?);
    events::for_each(&tx, stream, |stored| erasure.add(stored)).await?;
    let Some(PlannedErasure { changed, tombstone, head }) = erasure.finish(last, now) else { return Ok(0) };
    let changed: Vec<_> = changed.into_iter().collect();
    let erased = events::replace(&tx, stream, &changed).await?;
    if erased == 0 {
        return Ok(0);
    }
    append(&tx, stream, &tombstone).await?;
    let head = match head {
        Some(head) => head,
        None => fold_stream(&tx, stream).await?.derived.head,
    };
    remove(&tx, name, stream, id, to_sql(tombstone.seq.0), &head, last_vector).await?;
    tx.commit().await?;
    Ok(erased)
}

/// Removes what is derived of a memory, and writes its agent's row.
async fn remove(
    tx: &Tx,
    name: &StreamId,
    stream: i64,
    id: MemoryId,
    seq: i64,
    head: &SessionHead,
    last_vector: i64,
) -> Result<(), DbError> {
    let texts = memory_rowids(stream, id);
    let stored = stored_texts(tx, stream, &texts.to_vec(), &Vec::new()).await?;
    let (mut removals, mut counts) = (CardRemovals::default(), CountChanges::default());
    for (text, stored) in &stored {
        if let Some((terms, length)) = &stored.card {
            removals.push(*text, terms);
            counts.count(stream, terms, *length, -1);
        }
    }
    let mut vectors = VectorBatch::new(last_vector, scope_sums(tx, stream).await?);
    vectors.sync(&texts, &stored, None);
    let row = HeadRow::new(head)?;
    let head = HeadColumns::new(&row, seq, 0, 0);
    let history = [(id, seq)];
    let memories = MemoryBatch::of(stream, &[], &[id], &history);
    let counts = CountBatch::of(&counts);
    let (tenant, name) = (tx.tenant(), name.as_str());
    let mut statements = head.write(&tenant, &stream, &name, false);
    statements.extend(memories.write(&tenant, &stream));
    statements.extend(removals.delete(&tenant, &stream));
    statements.extend(counts.write(&tenant));
    statements.extend(vectors.write(&tenant, &stream));
    for statement in statements {
        tx.execute(statement.0, statement.1).await?;
    }
    Ok(())
}
