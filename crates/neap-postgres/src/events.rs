//! The events of a stream, checked against their checksum on every read.

use neap_core::base::ids::{Seq, StreamId};
use neap_core::session::event::Event;
use neap_core::session::event::RecordedEvent;
use neap_store::StoredEvent;
use neap_store::backend::derived::{Fold, Folded};
use neap_store::backend::event_row::{EventRow, parse_row};
use tokio_postgres::Row;

use crate::db_error::DbError;
use crate::sql::{params, to_sql, usize_to_sql};
use crate::tx::{Statement, Tx};

/// Events read at once where all are.
const PAGE: usize = 1_024;

pub(crate) async fn stream_number(tx: &Tx, name: &StreamId) -> Result<Option<i64>, DbError> {
    let sql = "SELECT stream FROM neap.sessions WHERE tenant = $1 AND name = $2";
    let row = tx.query_opt(sql, params![&tx.tenant(), &name.as_str()]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Events between two `seq`s, inclusive, at most `max`.
pub(crate) async fn between(
    tx: &Tx,
    stream: i64,
    first: Seq,
    last: Seq,
    max: usize,
) -> Result<Vec<StoredEvent>, DbError> {
    let sql = "SELECT seq, at, sum, body FROM neap.events
        WHERE tenant = $1 AND stream = $2 AND seq BETWEEN $3 AND $4 ORDER BY seq LIMIT $5";
    let (first, last, max) = (to_sql(first.0), to_sql(last.0), usize_to_sql(max));
    let rows = tx.query(sql, params![&tx.tenant(), &stream, &first, &last, &max]).await?;
    rows.iter().map(|row| event(row, 0)).collect()
}

pub(crate) async fn events(tx: &Tx, name: &StreamId, from: Seq, max: usize) -> Result<Vec<StoredEvent>, DbError> {
    let sql = "SELECT seq, at, sum, body FROM neap.events
        WHERE tenant = $1 AND stream = (SELECT stream FROM neap.sessions WHERE tenant = $1 AND name = $2)
          AND seq >= $3 ORDER BY seq LIMIT $4";
    let (from, max) = (to_sql(from.0), usize_to_sql(max));
    let rows = tx.query(sql, params![&tx.tenant(), &name.as_str(), &from, &max]).await?;
    rows.iter().map(|row| event(row, 0)).collect()
}

/// Newest first. Of each kind no more than `max` rows are read.
pub(crate) async fn of_kinds(
    tx: &Tx,
    name: &StreamId,
    kinds: &[&str],
    before: Option<Seq>,
    max: usize,
) -> Result<Vec<StoredEvent>, DbError> {
    // Repeats the condition of the partial index, without which it would not be used.
    let sql = "SELECT e.seq, e.at, e.sum, e.body FROM neap.sessions s
        CROSS JOIN (SELECT DISTINCT unnest($3::text[]) AS kind) k
        CROSS JOIN LATERAL (
          (SELECT seq, at, sum, body FROM neap.events
           WHERE tenant = $1 AND stream = s.stream AND kind = k.kind AND seq < $4
             AND kind NOT IN ('turn_started', 'turn_completed', 'efforts_referenced')
           ORDER BY seq DESC LIMIT $5)
          UNION ALL
          (SELECT seq, at, sum, body FROM neap.events
           WHERE k.kind IN ('turn_started', 'turn_completed', 'efforts_referenced')
             AND tenant = $1 AND stream = s.stream AND kind = k.kind AND seq < $4
           ORDER BY seq DESC LIMIT $5)
        ) e
        WHERE s.tenant = $1 AND s.name = $2 ORDER BY e.seq DESC LIMIT $5";
    let (kinds, before, max) = (kinds.to_vec(), before.map_or(i64::MAX, |seq| to_sql(seq.0)), usize_to_sql(max));
    let rows = tx.query(sql, params![&tx.tenant(), &name.as_str(), &kinds, &before, &max]).await?;
    rows.iter().map(|row| event(row, 0)).collect()
}

/// The columns from `column` on: seq, at, sum, body.
pub(crate) fn event(row: &Row, column: usize) -> Result<StoredEvent, DbError> {
    let seq: i64 = row.try_get(column)?;
    let (at, sum): (i64, i64) = (row.try_get(column + 1)?, row.try_get(column + 2)?);
    let body: &[u8] = row.try_get(column + 3)?;
    Ok(match parse_row(seq, at, sum, body) {
        Ok(recorded) => StoredEvent::Whole(recorded),
        Err(why) => StoredEvent::Damaged { seq: Seq(seq as u64), why },
    })
}

/// Reads the whole stream, a page at a time.
pub(crate) async fn fold_stream(tx: &Tx, stream: i64) -> Result<Folded, DbError> {
    let mut fold = Fold::default();
    for_each(tx, stream, |stored| fold.add(stored)).await?;
    Ok(fold.finish())
}

pub(crate) async fn for_each(tx: &Tx, stream: i64, mut each: impl FnMut(StoredEvent)) -> Result<(), DbError> {
    let mut from = Seq(0);
    loop {
        let page = between(tx, stream, from, Seq(u64::MAX), PAGE).await?;
        let Some(last) = page.last().map(StoredEvent::seq) else { return Ok(()) };
        let is_last = page.len() < PAGE;
        page.into_iter().for_each(&mut each);
        if is_last {
            return Ok(());
        }
        from = last.next();
    }
}

/// New events of one stream, as columns.
#[derive(Default)]
pub(crate) struct EventBatch<'a> {
    seqs: Vec<i64>,
    times: Vec<i64>,
    kinds: Vec<&'a str>,
    sums: Vec<i64>,
    bodies: Vec<&'a [u8]>,
}

impl<'a> EventBatch<'a> {
    pub(crate) fn of(rows: impl IntoIterator<Item = &'a EventRow>) -> Self {
        let mut batch = Self::default();
        for row in rows {
            batch.seqs.push(row.seq);
            batch.times.push(row.at);
            batch.kinds.push(row.kind);
            batch.sums.push(row.checksum.into());
            batch.bodies.push(row.body.as_bytes());
        }
        batch
    }

    pub(crate) fn insert(&'a self, tenant: &'a &'a str, stream: &'a i64) -> Statement<'a> {
        let sql = "INSERT INTO neap.events(tenant, stream, seq, at, kind, sum, body)
            SELECT $1, $2, * FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bytea[])";
        Statement(sql, params![tenant, stream, &self.seqs, &self.times, &self.kinds, &self.sums, &self.bodies])
    }
}

/// Overwrites events, keeping their times, also damaged ones. Returns how many there were.
pub(crate) async fn replace(tx: &Tx, stream: i64, changed: &[(Seq, Event)]) -> Result<u64, DbError> {
    let seqs: Vec<i64> = changed.iter().map(|(seq, _)| to_sql(seq.0)).collect();
    let sql = "SELECT seq, at FROM neap.events WHERE tenant = $1 AND stream = $2 AND seq = ANY($3) ORDER BY seq";
    let found = tx.query(sql, params![&tx.tenant(), &stream, &seqs]).await?;
    let (mut rows, mut changed) = (Vec::new(), changed.iter());
    for row in &found {
        let (seq, at): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let Some((seq, event)) = changed.find(|(known, _)| to_sql(known.0) == seq) else { continue };
        let at = neap_core::base::ids::Stamp(at);
        rows.push(EventRow::new(&RecordedEvent { seq: *seq, at, event: event.clone() })?);
    }
    let batch = EventBatch::of(&rows);
    let sql = "UPDATE neap.events e SET kind = q.kind, sum = q.sum, body = q.body
        FROM unnest($3::bigint[], $4::text[], $5::bigint[], $6::bytea[]) q(seq, kind, sum, body)
        WHERE e.tenant = $1 AND e.stream = $2 AND e.seq = q.seq";
    tx.execute(sql, params![&tx.tenant(), &stream, &batch.seqs, &batch.kinds, &batch.sums, &batch.bodies]).await
}
