//! The row of each session and agent, and its efforts; the stream itself where they are damaged or behind.

use std::collections::BTreeMap;

use neap_core::base::ids::{Seq, StreamId, TurnNo};
use neap_core::session::effort::Effort;
use neap_core::session::state::{SessionHead, SessionState};
use neap_store::backend::event_row::{body_checksum, checked_json};
use neap_store::backend::prepared_commit::HeadRow;
use neap_store::{AgentInfo, SessionInfo};
use tokio_postgres::Row;

use crate::db_error::DbError;
use crate::events::fold_stream;
use crate::sql::{params, to_sql};
use crate::tx::{Statement, Tx};

/// A session's row, as columns.
pub(crate) struct HeadColumns<'a> {
    body: &'a [u8],
    sum: i64,
    project: Option<&'a str>,
    seq: i64,
    efforts: i64,
    messages: i64,
}

impl<'a> HeadColumns<'a> {
    pub(crate) fn new(head: &'a HeadRow, seq: i64, efforts: i64, messages: i64) -> Self {
        let project = head.project.as_ref().map(|project| project.as_str());
        Self { body: head.body.as_bytes(), sum: body_checksum(&head.body).into(), project, seq, efforts, messages }
    }

    pub(crate) fn write(
        &'a self,
        tenant: &'a &'a str,
        stream: &'a i64,
        name: &'a &'a str,
        is_new: bool,
    ) -> Vec<Statement<'a>> {
        let Self { body, sum, project, seq, efforts, messages } = self;
        if !is_new {
            let sql =
                "UPDATE neap.sessions SET seq = $3, efforts = $4, messages = $5, head = $6, sum = $7, project = $8
                WHERE tenant = $1 AND stream = $2";
            let params = params![tenant, stream, seq, efforts, messages, body, sum, project];
            return vec![Statement(sql, params)];
        }
        let sql = "INSERT INTO neap.sessions(tenant, stream, seq, efforts, messages, head, sum, project, name)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let params = params![tenant, stream, seq, efforts, messages, body, sum, project, name];
        let count = "UPDATE neap.tenants SET streams = $2 WHERE tenant = $1";
        vec![Statement(count, params![tenant, stream]), Statement(sql, params)]
    }
}

/// The rowids of these efforts, of those that there are.
pub(crate) async fn effort_rowids(
    tx: &Tx,
    stream: i64,
    ids: &Vec<&str>,
) -> Result<BTreeMap<String, i64>, DbError> {
    let sql = "SELECT id, text FROM neap.efforts WHERE tenant = $1 AND stream = $2 AND id = ANY($3)";
    let rows = tx.query(sql, params![&tx.tenant(), &stream, ids]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Columns: stream, seq, head, sum.
const HEADS: &str = "SELECT stream, seq, head, sum FROM neap.sessions WHERE tenant = $1 AND name = $2";

fn stored_head(row: &Row) -> Result<Option<SessionHead>, DbError> {
    Ok(checked_json(row.try_get(2)?, Some(row.try_get(3)?)))
}

pub(crate) async fn load(tx: &Tx, name: &StreamId) -> Result<Option<SessionState>, DbError> {
    let sql =
        "SELECT e.body, e.sum FROM neap.efforts e JOIN neap.sessions s ON s.tenant = $1 AND s.stream = e.stream
        WHERE e.tenant = $1 AND s.name = $2 AND e.text BETWEEN s.stream << 32 AND (s.stream << 32) + 2147483647";
    let (tenant, name) = (tx.tenant(), name.as_str());
    let (head, efforts) = tokio::try_join!(
        biased;
        tx.query_opt(HEADS, params![&tenant, &name]),
        tx.query(sql, params![&tenant, &name]),
    )?;
    let Some(row) = head else { return Ok(None) };
    let (stream, seq): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let efforts: Option<Vec<Effort>> = efforts
        .iter()
        .map(|row| Ok(checked_json(row.try_get(0)?, Some(row.try_get(1)?))))
        .collect::<Result<_, DbError>>()?;
    match stored_head(&row)?.zip(efforts) {
        Some((head, efforts)) if to_sql(head.seq.0) == seq => Ok(Some(SessionState::from_parts(head, efforts))),
        // The rows are lost or behind; the stream has everything.
        Some(_) | None => Ok(Some(fold_stream(tx, stream).await?.derived.state())),
    }
}

/// The head, or what the stream says where that is lost or behind.
pub(crate) async fn current_head(tx: &Tx, name: &StreamId) -> Result<Option<SessionHead>, DbError> {
    let Some(row) = tx.query_opt(HEADS, params![&tx.tenant(), &name.as_str()]).await? else { return Ok(None) };
    head_or_fold(tx, &row).await.map(Some)
}

async fn head_or_fold(tx: &Tx, row: &Row) -> Result<SessionHead, DbError> {
    let (stream, seq): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    match stored_head(row)? {
        Some(head) if to_sql(head.seq.0) == seq => Ok(head),
        Some(_) | None => Ok(fold_stream(tx, stream).await?.derived.head),
    }
}

pub(crate) async fn last_seq(tx: &Tx, name: &StreamId) -> Result<Seq, DbError> {
    let sql = "SELECT seq FROM neap.sessions WHERE tenant = $1 AND name = $2";
    let row = tx.query_opt(sql, params![&tx.tenant(), &name.as_str()]).await?;
    let seq: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
    Ok(Seq(seq.unwrap_or(0) as u64))
}

/// Every session's and agent's stream with its last `seq`, by id. One with an invalid name is left out.
pub(crate) async fn streams(tx: &Tx) -> Result<Vec<(i64, StreamId, Seq)>, DbError> {
    let sql = "SELECT stream, name, seq FROM neap.sessions WHERE tenant = $1 ORDER BY name";
    let mut streams = Vec::new();
    for row in tx.query(sql, params![&tx.tenant()]).await? {
        let Ok(id) = StreamId::parse(row.try_get(1)?) else { continue };
        streams.push((row.try_get(0)?, id, Seq(row.try_get::<_, i64>(2)? as u64)));
    }
    Ok(streams)
}

/// Columns as [`HEADS`], then the name and how many efforts or memories there are.
const LISTED: &str = "SELECT s.stream, s.seq, s.head, s.sum, s.name,
      (SELECT count(*) FROM neap.efforts e WHERE e.tenant = $1
         AND e.text BETWEEN s.stream << 32 AND (s.stream << 32) + 2147483647)
      + (SELECT count(*) FROM neap.memories m WHERE m.tenant = $1
         AND m.text BETWEEN s.stream << 32 AND (s.stream << 32) + 2147483647)
    FROM neap.sessions s WHERE s.tenant = $1 ORDER BY s.name";

pub(crate) async fn sessions(tx: &Tx) -> Result<Vec<SessionInfo>, DbError> {
    let mut sessions = Vec::new();
    for row in tx.query(LISTED, params![&tx.tenant()]).await? {
        let Some(id) = StreamId::parse(row.try_get(4)?).ok().and_then(|id| id.session()) else { continue };
        let efforts: i64 = row.try_get(5)?;
        sessions.push(SessionInfo::new(id, &head_or_fold(tx, &row).await?, efforts as u64));
    }
    Ok(sessions)
}

pub(crate) async fn agents(tx: &Tx) -> Result<Vec<AgentInfo>, DbError> {
    let mut agents = Vec::new();
    for row in tx.query(LISTED, params![&tx.tenant()]).await? {
        let Some(id) = StreamId::parse(row.try_get(4)?).ok().and_then(|id| id.agent()) else { continue };
        let memories: i64 = row.try_get(5)?;
        agents.push(AgentInfo::new(id, &head_or_fold(tx, &row).await?, memories as u64));
    }
    Ok(agents)
}

pub(crate) async fn turn_by_id(tx: &Tx, name: &StreamId, turn_id: &str) -> Result<Option<TurnNo>, DbError> {
    let sql = "SELECT i.turn FROM neap.sessions s
        JOIN neap.turn_ids i ON i.tenant = $1 AND i.stream = s.stream AND i.digest = sha256($3)
        WHERE s.tenant = $1 AND s.name = $2";
    let row = tx.query_opt(sql, params![&tx.tenant(), &name.as_str(), &turn_id.as_bytes()]).await?;
    Ok(row.map(|row| row.try_get::<_, i64>(0)).transpose()?.map(|turn| TurnNo(turn as u64)))
}

pub(crate) async fn turn_span(tx: &Tx, name: &StreamId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, DbError> {
    let sql = "SELECT x.first_seq, x.last_seq FROM neap.sessions s
        JOIN neap.exchanges x ON x.tenant = $1 AND x.stream = s.stream AND x.turn = $3
        WHERE s.tenant = $1 AND s.name = $2 LIMIT 1";
    let row = tx.query_opt(sql, params![&tx.tenant(), &name.as_str(), &to_sql(turn.0)]).await?;
    let Some(row) = row else { return Ok(None) };
    let (first, last): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok(Some((Seq(first as u64), Seq(last as u64))))
}
