//! Reads part of a log from either end; costs as much as it returns.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use neap_core::base::ids::{Seq, Stamp, StreamId, TurnNo};
use neap_core::base::tokens::Tokens;
use neap_core::session::log::{Log, LogRequest, ReadFrom};
use neap_core::session::project::ExchangeRow;
use neap_store::StoredEvent;
use neap_store::backend::exchange::exchange;
use neap_store::backend::scope_column::{parse_scope, scope_name};
use tokio_postgres::Row;

use crate::db_error::DbError;
use crate::events::event;
use crate::sql::{params, to_sql, usize_to_sql};
use crate::tx::Tx;

/// Rows that are read of each lane at first; four times as many if they do not suffice.
const LANE_ROWS: usize = 32;

pub(crate) async fn log(tx: &Tx, name: &StreamId, request: &LogRequest) -> Result<Log, DbError> {
    let mut limit = LANE_ROWS.min(request.exchanges_max);
    let (stream, mut rows) = loop {
        let (stream, lanes) = lanes(tx, name, request, limit).await?;
        match merge(lanes, request, limit) {
            Some(rows) => break (stream, rows),
            None => limit = limit.saturating_mul(4),
        }
    };
    if request.from == ReadFrom::Newest {
        rows.reverse();
    }
    let mut events = events(tx, stream, &rows).await?;
    let build = |(nth, row): (usize, &ExchangeRow)| {
        let stored = events.remove(&(nth as i64 + 1)).unwrap_or_default();
        Arc::new(exchange(row.turn, row.at, stored))
    };
    Ok(Log::new(rows.iter().enumerate().map(build)))
}

type Lanes = Vec<VecDeque<ExchangeRow>>;

/// Up to `limit` rows of each lane, from the requested end.
async fn lanes(tx: &Tx, name: &StreamId, request: &LogRequest, limit: usize) -> Result<(i64, Lanes), DbError> {
    let LogRequest { scope, turns: (first, last), from, .. } = request;
    let end = match from {
        ReadFrom::Newest => "DESC",
        ReadFrom::Oldest => "ASC",
    };
    let sql = format!(
        "SELECT s.stream, l.lane, x.turn, x.scope, x.first_seq, x.last_seq, x.at, x.tokens
         FROM neap.sessions s
         CROSS JOIN LATERAL generate_series(0, (SELECT coalesce(max(lane), -1) FROM neap.exchanges
           WHERE tenant = $1 AND stream = s.stream AND scope = $3)) l(lane)
         CROSS JOIN LATERAL (SELECT turn, scope, first_seq, last_seq, at, tokens FROM neap.exchanges
           WHERE tenant = $1 AND stream = s.stream AND scope = $3 AND lane = l.lane AND turn BETWEEN $4 AND $5
           ORDER BY turn {end} LIMIT $6) x
         WHERE s.tenant = $1 AND s.name = $2 ORDER BY l.lane, x.turn {end}"
    );
    let (scope, first, last, limit) = (scope_name(scope), to_sql(first.0), to_sql(last.0), usize_to_sql(limit));
    let (tenant, name) = (tx.tenant(), name.as_str());
    let params = params![&tenant, &name, &scope, &first, &last, &limit];
    let (mut lanes, mut stream) = (Lanes::new(), 0);
    for row in tx.query(&sql, params).await? {
        stream = row.try_get(0)?;
        let lane: i64 = row.try_get(1)?;
        if lane as usize >= lanes.len() {
            lanes.resize_with(lane as usize + 1, VecDeque::new);
        }
        lanes[lane as usize].extend(exchange_row(&row, 2)?);
    }
    Ok((stream, lanes))
}

/// The requested exchanges, from the requested end; `None` if more rows must be read to tell.
fn merge(mut lanes: Lanes, request: &LogRequest, limit: usize) -> Option<Vec<ExchangeRow>> {
    let LogRequest { from, tokens_max, exchanges_max, .. } = request;
    let may_have_more: Vec<bool> = lanes.iter().map(|lane| lane.len() >= limit).collect();
    let (mut found, mut tokens) = (Vec::new(), Tokens::ZERO);
    while tokens < *tokens_max && found.len() < *exchanges_max {
        if lanes.iter().zip(&may_have_more).any(|(lane, may_have_more)| lane.is_empty() && *may_have_more) {
            return None;
        }
        let heads = lanes.iter_mut().filter(|lane| !lane.is_empty());
        let lane = match from {
            ReadFrom::Newest => heads.max_by_key(|lane| lane.front().map(|row| row.last_seq)),
            ReadFrom::Oldest => heads.min_by_key(|lane| lane.front().map(|row| row.turn)),
        };
        let Some(row) = lane.and_then(VecDeque::pop_front) else { break };
        tokens += row.tokens;
        found.push(row);
    }
    Some(found)
}

/// The events of exchanges, by their place from 1.
async fn events(tx: &Tx, stream: i64, rows: &[ExchangeRow]) -> Result<BTreeMap<i64, Vec<StoredEvent>>, DbError> {
    if rows.is_empty() {
        return Ok(BTreeMap::new());
    }
    let firsts: Vec<i64> = rows.iter().map(|row| to_sql(row.first_seq.0)).collect();
    let lasts: Vec<i64> = rows.iter().map(|row| to_sql(row.last_seq.0)).collect();
    let sql = "SELECT q.nth, e.seq, e.at, e.sum, e.body
        FROM unnest($3::bigint[], $4::bigint[]) WITH ORDINALITY q(first, last, nth)
        JOIN neap.events e ON e.tenant = $1 AND e.stream = $2 AND e.seq BETWEEN q.first AND q.last
        ORDER BY q.nth, e.seq";
    let mut events: BTreeMap<i64, Vec<StoredEvent>> = BTreeMap::new();
    for row in tx.query(sql, params![&tx.tenant(), &stream, &firsts, &lasts]).await? {
        events.entry(row.try_get(0)?).or_default().push(event(&row, 1)?);
    }
    Ok(events)
}

/// Columns from `column` on: turn, scope, first and last event, time, tokens. `None` if the scope is invalid.
pub(crate) fn exchange_row(row: &Row, column: usize) -> Result<Option<ExchangeRow>, DbError> {
    let number = |at: usize| row.try_get::<_, i64>(column + at).map(|n| n as u64);
    let Some(scope) = parse_scope(row.try_get(column + 1)?) else { return Ok(None) };
    Ok(Some(ExchangeRow {
        turn: TurnNo(number(0)?),
        scope,
        first_seq: Seq(number(2)?),
        last_seq: Seq(number(3)?),
        at: Stamp(row.try_get(column + 4)?),
        tokens: Tokens(number(5)?),
    }))
}
