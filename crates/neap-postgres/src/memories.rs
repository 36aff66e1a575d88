//! An agent's memories as rows. The rowid is that of the memory's text, so it encodes agent, kind and search tier; a
//! memory whose search tier changes (superseded, inactive, retired) moves to another rowid.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use neap_core::base::ids::{Seq, Stamp, StreamId};
use neap_core::memory::{Memory, MemoryEvent, MemoryId, MemoryKind};
use neap_core::session::event::Event;
use neap_store::StoredEvent;
use neap_store::backend::event_row::{body_checksum, checked_json};
use neap_store::backend::memory_recall::SearchTier;
use neap_store::backend::prepared_commit::PreparedMemory;
use neap_store::backend::rowids;

use crate::db_error::DbError;
use crate::events::{self, event, stream_number};
use crate::sql::{params, usize_to_sql};
use crate::tx::{Statement, Tx};

/// All rowids that a memory may have.
pub(crate) fn memory_rowids(stream: i64, id: MemoryId) -> [i64; 3] {
    SearchTier::ALL.map(|tier| rowids::memory_rowid(stream, id, tier))
}

/// Changed memories of one agent, as columns.
#[derive(Default)]
pub(crate) struct MemoryBatch<'a> {
    ids: Vec<MemoryId>,
    replaced: Vec<i64>,
    texts: Vec<i64>,
    shelves: Vec<i64>,
    times: Vec<i64>,
    dues: Vec<Option<i64>>,
    bodies: Vec<&'a [u8]>,
    sums: Vec<i64>,
    event_ids: Vec<i64>,
    event_seqs: Vec<i64>,
}

impl<'a> MemoryBatch<'a> {
    pub(crate) fn of(
        stream: i64,
        memories: &'a [PreparedMemory],
        erased: &[MemoryId],
        events: &[(MemoryId, i64)],
    ) -> Self {
        let mut batch = Self::default();
        for id in erased.iter().copied().chain(memories.iter().map(|memory| memory.id)) {
            if !batch.ids.contains(&id) {
                batch.ids.push(id);
                batch.replaced.extend(memory_rowids(stream, id));
            }
        }
        for memory in memories {
            let PreparedMemory { id, tier, at, due, body } = memory;
            batch.texts.push(rowids::memory_rowid(stream, *id, *tier));
            batch.shelves.push(rowids::shelf(stream, id.kind(), *tier));
            batch.times.push(at.0);
            batch.dues.push(due.map(|due| due.0));
            batch.bodies.push(body.as_bytes());
            batch.sums.push(body_checksum(body).into());
        }
        for (id, seq) in events {
            batch.event_ids.push(rowids::memory_number(*id));
            batch.event_seqs.push(*seq);
        }
        batch
    }

    /// Each changed or erased memory, once.
    pub(crate) fn ids(&self) -> &[MemoryId] {
        &self.ids
    }

    pub(crate) fn write(&'a self, tenant: &'a &'a str, stream: &'a i64) -> Vec<Statement<'a>> {
        let mut statements = Vec::new();
        if !self.replaced.is_empty() {
            let sql = "DELETE FROM neap.memories WHERE tenant = $1 AND text = ANY($2)";
            statements.push(Statement(sql, params![tenant, &self.replaced]));
        }
        if !self.texts.is_empty() {
            let sql = "INSERT INTO neap.memories(tenant, stream, text, shelf, at, due, body, sum)
                SELECT $1, $2, * FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[],
                  $8::bigint[])";
            let Self { texts, shelves, times, dues, bodies, sums, .. } = self;
            let params = params![tenant, stream, texts, shelves, times, dues, bodies, sums];
            statements.push(Statement(sql, params));
        }
        if !self.event_ids.is_empty() {
            let sql = "INSERT INTO neap.memory_events(tenant, stream, memory, seq)
                SELECT $1, $2, * FROM unnest($3::bigint[], $4::bigint[]) ON CONFLICT DO NOTHING";
            statements.push(Statement(sql, params![tenant, stream, &self.event_ids, &self.event_seqs]));
        }
        statements
    }
}

/// In this order. A damaged row is read from its last event; if that is damaged too, it is left out.
pub(crate) async fn load_rows(tx: &Tx, texts: &Vec<i64>) -> Result<Vec<Memory>, DbError> {
    let found = by_rowid(tx, texts).await?;
    Ok(texts.iter().filter_map(|text| found.get(text).cloned()).collect())
}

pub(crate) async fn by_rowid(tx: &Tx, texts: &Vec<i64>) -> Result<BTreeMap<i64, Memory>, DbError> {
    let mut found = BTreeMap::new();
    if texts.is_empty() {
        return Ok(found);
    }
    let sql = "SELECT text, body, sum FROM neap.memories WHERE tenant = $1 AND text = ANY($2)";
    for row in tx.query(sql, params![&tx.tenant(), texts]).await? {
        let text = row.try_get(0)?;
        let memory = match checked_json(row.try_get(1)?, Some(row.try_get(2)?)) {
            Some(memory) => Some(memory),
            None => from_last_event(tx, text).await?,
        };
        found.extend(memory.map(|memory| (text, memory)));
    }
    Ok(found)
}

async fn from_last_event(tx: &Tx, text: i64) -> Result<Option<Memory>, DbError> {
    let Some((id, _)) = rowids::memory_at_rowid(text) else { return Ok(None) };
    let last = history_of(tx, rowids::stream_of(text), id).await?.pop();
    let Some(StoredEvent::Whole(recorded)) = last else { return Ok(None) };
    Ok(if let Event::Memory(MemoryEvent::Changed { memory, .. }) = recorded.event { Some(*memory) } else { None })
}

pub(crate) async fn memories(tx: &Tx, name: &StreamId, ids: &[MemoryId]) -> Result<Vec<Memory>, DbError> {
    let Some(stream) = stream_number(tx, name).await? else { return Ok(Vec::new()) };
    // At most one of its rowids is there.
    load_rows(tx, &ids.iter().flat_map(|id| memory_rowids(stream, *id)).collect()).await
}

pub(crate) async fn list(
    tx: &Tx,
    name: &StreamId,
    kind: Option<MemoryKind>,
    before: Option<MemoryId>,
    max: usize,
) -> Result<Vec<Memory>, DbError> {
    let Some(stream) = stream_number(tx, name).await? else { return Ok(Vec::new()) };
    let end = match before {
        Some(id) => match written_at(tx, stream, id).await? {
            Some(at) => Some((at, id)),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let (mut shelves, mut times, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for kind in MemoryKind::ALL.into_iter().filter(|candidate| kind.is_none_or(|kind| kind == *candidate)) {
        for tier in SearchTier::ALL {
            let shelf = rowids::shelf(stream, kind, tier);
            let (at, text) = rowids::page_end(shelf, kind, end);
            shelves.push(shelf);
            times.push(at);
            texts.push(text);
        }
    }
    let sql = "SELECT m.at, m.text FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) q(shelf, at, text)
        CROSS JOIN LATERAL (SELECT at, text FROM neap.memories
          WHERE tenant = $1 AND shelf = q.shelf AND (at, text) <= (q.at, q.text)
          ORDER BY at DESC, text DESC LIMIT $5) m";
    let limit = usize_to_sql(max);
    let mut found = Vec::new();
    for row in tx.query(sql, params![&tx.tenant(), &shelves, &times, &texts, &limit]).await? {
        let (at, text): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        found.extend(rowids::memory_at_rowid(text).map(|(id, _)| (at, id, text)));
    }
    found.sort_unstable_by_key(|(at, id, _)| Reverse((*at, *id)));
    found.truncate(max);
    load_rows(tx, &found.into_iter().map(|(_, _, text)| text).collect()).await
}

/// When a memory was created; if it was erased, the time of its first event.
async fn written_at(tx: &Tx, stream: i64, id: MemoryId) -> Result<Option<i64>, DbError> {
    let sql = "SELECT at FROM neap.memories WHERE tenant = $1 AND text = ANY($2)";
    let texts = memory_rowids(stream, id).to_vec();
    if let Some(row) = tx.query_opt(sql, params![&tx.tenant(), &texts]).await? {
        return Ok(Some(row.try_get(0)?));
    }
    let first = history_of(tx, stream, id).await?.into_iter().next();
    Ok(first.and_then(StoredEvent::whole).map(|recorded| recorded.at.0))
}

pub(crate) async fn due(tx: &Tx, name: &StreamId, now: Stamp, max: usize) -> Result<Vec<Memory>, DbError> {
    let Some(stream) = stream_number(tx, name).await? else { return Ok(Vec::new()) };
    let sql = "SELECT due, text FROM neap.memories
        WHERE tenant = $1 AND stream = $2 AND due IS NOT NULL AND due <= $3";
    let mut found = Vec::new();
    for row in tx.query(sql, params![&tx.tenant(), &stream, &now.0]).await? {
        let (due, text): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        found.extend(rowids::memory_at_rowid(text).map(|(id, _)| (due, id, text)));
    }
    found.sort_unstable();
    found.truncate(max);
    load_rows(tx, &found.into_iter().map(|(_, _, text)| text).collect()).await
}

pub(crate) async fn event_seqs(tx: &Tx, stream: i64, id: MemoryId) -> Result<Vec<Seq>, DbError> {
    let sql = "SELECT seq FROM neap.memory_events WHERE tenant = $1 AND stream = $2 AND memory = $3 ORDER BY seq";
    let rows = tx.query(sql, params![&tx.tenant(), &stream, &rowids::memory_number(id)]).await?;
    rows.iter().map(|row| Ok(Seq(row.try_get::<_, i64>(0)? as u64))).collect()
}

pub(crate) async fn history(tx: &Tx, name: &StreamId, id: MemoryId) -> Result<Vec<StoredEvent>, DbError> {
    let Some(stream) = events::stream_number(tx, name).await? else { return Ok(Vec::new()) };
    history_of(tx, stream, id).await
}

async fn history_of(tx: &Tx, stream: i64, id: MemoryId) -> Result<Vec<StoredEvent>, DbError> {
    let sql = "SELECT e.seq, e.at, e.sum, e.body FROM neap.memory_events m
        JOIN neap.events e ON e.tenant = $1 AND e.stream = $2 AND e.seq = m.seq
        WHERE m.tenant = $1 AND m.stream = $2 AND m.memory = $3 ORDER BY m.seq";
    let rows = tx.query(sql, params![&tx.tenant(), &stream, &rowids::memory_number(id)]).await?;
    rows.iter().map(|row| event(row, 0)).collect()
}
