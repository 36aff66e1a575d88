//! Reads a session from its derived rows, or from the stream itself if they are damaged.

use neap_core::base::ids::{Seq, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::session::effort::Effort;
use neap_core::session::state::{SessionHead, SessionState};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::db_error::DbError;
use super::memories;
use super::reader::StreamReader;
use neap_store::backend::derived::{Fold, Folded};
use neap_store::backend::event_row;
use neap_store::backend::rowids;
use neap_store::backend::scope_column::parse_scope;
use neap_store::{AgentInfo, SessionInfo, StoredEvent};

pub(super) fn load(db: &Connection, session: &StreamId) -> Result<Option<SessionState>, DbError> {
    let Some(stream) = super::events::stream_number(db, session.as_str())? else { return Ok(None) };
    let parts = stored_parts(db, stream)?;
    let at_end = super::events::last_seq(db, stream)?;
    match parts {
        Some((head, efforts)) if head.seq == at_end => Ok(Some(SessionState::from_parts(head, efforts))),
        // The rows are lost or behind; the stream has everything.
        Some(_) | None => Ok(Some(fold_stream(db, stream)?.derived.state())),
    }
}

/// `None` unless all parts can be read.
fn stored_parts(db: &Connection, stream: i64) -> rusqlite::Result<Option<(SessionHead, Vec<Effort>)>> {
    let head = head(db, stream)?;
    let (first, last) = rowids::effort_range(stream);
    let mut statement = db.prepare_cached("SELECT body, sum FROM efforts WHERE text BETWEEN ? AND ?")?;
    let efforts: rusqlite::Result<Vec<Option<Effort>>> =
        statement.query_map([first, last], |row| Ok(checked_json(row, 0)))?.collect();
    Ok(head.zip(efforts?.into_iter().collect()))
}

pub(super) fn head(db: &Connection, stream: i64) -> rusqlite::Result<Option<SessionHead>> {
    db.prepare_cached("SELECT head, sum FROM sessions WHERE stream = ?")?
        .query_row([stream], |row| Ok(checked_json(row, 0)))
}

/// The head, or what the stream says where that is lost or behind.
pub(super) fn current_head(db: &Connection, session: &StreamId) -> Result<Option<SessionHead>, DbError> {
    let Some(stream) = super::events::stream_number(db, session.as_str())? else { return Ok(None) };
    let at_end = super::events::last_seq(db, stream)?;
    match head(db, stream)? {
        Some(head) if head.seq == at_end => Ok(Some(head)),
        Some(_) | None => Ok(Some(fold_stream(db, stream)?.derived.head)),
    }
}

/// A JSON column, if it parses and matches the checksum in the next column (none in older formats).
pub(super) fn checked_json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> Option<T> {
    let bytes = row.get_ref(column).ok()?.as_bytes().ok()?;
    let sum: Option<i64> = row.get(column + 1).ok()?;
    event_row::checked_json(bytes, sum)
}

pub(super) fn fold_stream(db: &Connection, stream: i64) -> rusqlite::Result<Folded> {
    let mut fold = Fold::default();
    StreamReader::new(db, stream).for_each(|stored| fold.add(stored))?;
    Ok(fold.finish())
}

pub(super) fn events(
    db: &Connection,
    session: &StreamId,
    from: Seq,
    max: usize,
) -> Result<Vec<StoredEvent>, DbError> {
    let Some(stream) = super::events::stream_number(db, session.as_str())? else { return Ok(Vec::new()) };
    Ok(StreamReader::new(db, stream).between(from, Seq(u64::MAX), max)?)
}

/// `None` while the turn is in flight.
pub(super) fn scope_of(db: &Connection, stream: i64, turn: TurnNo) -> rusqlite::Result<Option<Scope>> {
    let name: Option<String> = db
        .prepare_cached("SELECT scope FROM exchanges WHERE stream = ? AND turn = ? LIMIT 1")?
        .query_row(params![stream, turn.0 as i64], |row| row.get(0))
        .optional()?;
    Ok(name.as_deref().and_then(parse_scope))
}

/// Every session's and agent's stream, by id. One with an invalid name is left out.
pub(super) fn streams(db: &Connection) -> rusqlite::Result<Vec<(i64, StreamId)>> {
    let mut statement = db.prepare_cached("SELECT stream, name FROM sessions ORDER BY name")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    let mut streams = Vec::new();
    for row in rows {
        let (stream, name) = row?;
        streams.extend(StreamId::parse(&name).ok().map(|id| (stream, id)));
    }
    Ok(streams)
}

pub(super) fn last_seqs(db: &Connection) -> Result<Vec<(StreamId, Seq)>, DbError> {
    let streams = streams(db)?.into_iter();
    streams.map(|(stream, id)| Ok((id, super::events::last_seq(db, stream)?))).collect()
}

pub(super) fn sessions(db: &rusqlite::Transaction<'_>) -> Result<Vec<SessionInfo>, DbError> {
    let mut sessions = Vec::new();
    for (stream, id) in streams(db)? {
        let Some(id) = id.session() else { continue };
        let head = head_or_fold(db, stream)?;
        let (first, last) = rowids::effort_range(stream);
        let efforts: i64 = db
            .prepare_cached("SELECT count(*) FROM efforts WHERE text BETWEEN ? AND ?")?
            .query_row([first, last], |row| row.get(0))?;
        sessions.push(SessionInfo::new(id, &head, efforts as u64));
    }
    Ok(sessions)
}

pub(super) fn agents(db: &rusqlite::Transaction<'_>) -> Result<Vec<AgentInfo>, DbError> {
    let mut agents = Vec::new();
    for (stream, id) in streams(db)? {
        if let Some(agent) = id.agent() {
            agents.push(AgentInfo::new(agent, &head_or_fold(db, stream)?, memories::count(db, stream)?));
        }
    }
    Ok(agents)
}

fn head_or_fold(db: &Connection, stream: i64) -> rusqlite::Result<SessionHead> {
    match head(db, stream)? {
        Some(head) => Ok(head),
        None => Ok(fold_stream(db, stream)?.derived.head),
    }
}

pub(super) fn last_seq(db: &Connection, session: &StreamId) -> Result<Seq, DbError> {
    let Some(stream) = super::events::stream_number(db, session.as_str())? else { return Ok(Seq(0)) };
    Ok(super::events::last_seq(db, stream)?)
}

pub(super) fn turn_by_id(db: &Connection, session: &StreamId, turn_id: &str) -> Result<Option<TurnNo>, DbError> {
    let Some(stream) = super::events::stream_number(db, session.as_str())? else { return Ok(None) };
    let turn: Option<i64> = db
        .prepare_cached("SELECT turn FROM turn_ids WHERE stream = ? AND turn_id = ?")?
        .query_row(params![stream, turn_id], |row| row.get(0))
        .optional()?;
    Ok(turn.map(|turn| TurnNo(turn as u64)))
}

pub(super) fn turn_span(db: &Connection, session: &StreamId, turn: TurnNo) -> Result<Option<(Seq, Seq)>, DbError> {
    let Some(stream) = super::events::stream_number(db, session.as_str())? else { return Ok(None) };
    let span: Option<(i64, i64)> = db
        .prepare_cached("SELECT first_seq, last_seq FROM exchanges WHERE stream = ? AND turn = ? LIMIT 1")?
        .query_row(params![stream, turn.0 as i64], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(span.map(|(first, last)| (Seq(first as u64), Seq(last as u64))))
}
