//! Reads part of a log from either end; costs as much as it returns.

use std::sync::Arc;

use neap_core::base::ids::{Seq, Stamp, StreamId, TurnNo};
use neap_core::base::tokens::Tokens;
use neap_core::session::log::{Log, LogRequest, ReadFrom};
use neap_core::session::project::ExchangeRow;
use rusqlite::{CachedStatement, Connection, Row, Rows, params};

use super::db_error::DbError;
use super::derived_rows::to_sql;
use super::reader::StreamReader;
use super::{events, schema};
use neap_store::backend::exchange::exchange;
use neap_store::backend::scope_column::{parse_scope, scope_name};

const ROW: &str =
    "SELECT turn, scope, first_seq, last_seq, at, tokens FROM exchanges WHERE stream = ?1 AND scope = ?2";

pub(super) fn log(db: &Connection, session: &StreamId, request: &LogRequest) -> Result<Log, DbError> {
    let Some(stream) = events::stream_number(db, session.as_str())? else { return Ok(Log::default()) };
    let mut rows = rows(db, stream, request)?;
    if request.from == ReadFrom::Newest {
        rows.reverse();
    }
    let mut reader = StreamReader::new(db, stream);
    let mut exchanges = Vec::with_capacity(rows.len());
    for row in &rows {
        let stored = reader.between(row.first_seq, row.last_seq, usize::MAX)?;
        exchanges.push(Arc::new(exchange(row.turn, row.at, stored)));
    }
    Ok(Log::new(exchanges))
}

/// The rows of the requested exchanges, in reading order.
fn rows(db: &Connection, stream: i64, request: &LogRequest) -> rusqlite::Result<Vec<ExchangeRow>> {
    let LogRequest { scope, turns: (first, last), from, tokens_max, exchanges_max } = request;
    let scope = scope_name(scope);
    let mut statements = lanes(db, stream, scope, *from)?;
    let mut lanes = Vec::with_capacity(statements.len());
    for (lane, statement) in statements.iter_mut().enumerate() {
        let range = params![stream, scope, lane as i64, to_sql(first.0), to_sql(last.0)];
        let mut rows = statement.query(range)?;
        let next = next(&mut rows)?;
        lanes.push((rows, next));
    }
    let mut tokens = Tokens::ZERO;
    let mut found = Vec::new();
    while tokens < *tokens_max && found.len() < *exchanges_max {
        let heads = lanes.iter_mut().filter(|(_, next)| next.is_some());
        let lane = match from {
            ReadFrom::Newest => heads.max_by_key(|(_, next)| next.as_ref().map(|row| row.last_seq)),
            ReadFrom::Oldest => heads.min_by_key(|(_, next)| next.as_ref().map(|row| row.turn)),
        };
        let Some((rows, head)) = lane else { break };
        let Some(row) = std::mem::replace(head, next(rows)?) else { break };
        tokens += row.tokens;
        found.push(row);
    }
    Ok(found)
}

fn lanes<'a>(
    db: &'a Connection,
    stream: i64,
    scope: &str,
    from: ReadFrom,
) -> rusqlite::Result<Vec<CachedStatement<'a>>> {
    let end = match from {
        ReadFrom::Newest => "DESC",
        ReadFrom::Oldest => "ASC",
    };
    if schema::format(db)? == 1 {
        // An old store that cannot be upgraded: its log is scanned from the end.
        let order = match from {
            ReadFrom::Newest => "last_seq",
            ReadFrom::Oldest => "turn",
        };
        let query = format!("{ROW} AND ?3 = 0 AND turn BETWEEN ?4 AND ?5 ORDER BY {order} {end}");
        return Ok(vec![db.prepare_cached(&query)?]);
    }
    let last: Option<i64> = db
        .prepare_cached("SELECT max(lane) FROM exchanges WHERE stream = ? AND scope = ?")?
        .query_row(params![stream, scope], |row| row.get(0))?;
    let query = format!("{ROW} AND lane = ?3 AND turn BETWEEN ?4 AND ?5 ORDER BY turn {end}");
    (0..=last.unwrap_or(-1)).map(|_| db.prepare_cached(&query)).collect()
}

fn next(rows: &mut Rows<'_>) -> rusqlite::Result<Option<ExchangeRow>> {
    while let Some(row) = rows.next()? {
        if let Some(row) = exchange_row(row)? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Columns: turn, scope, first and last event, time, tokens. `None` if the scope is invalid.
pub(super) fn exchange_row(row: &Row<'_>) -> rusqlite::Result<Option<ExchangeRow>> {
    let number = |at| row.get::<_, i64>(at).map(|n| n as u64);
    let Some(scope) = parse_scope(&row.get::<_, String>(1)?) else { return Ok(None) };
    Ok(Some(ExchangeRow {
        turn: TurnNo(number(0)?),
        scope,
        first_seq: Seq(number(2)?),
        last_seq: Seq(number(3)?),
        at: Stamp(row.get(4)?),
        tokens: Tokens(number(5)?),
    }))
}
