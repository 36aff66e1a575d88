//! Salvages a store that SQLite cannot read, or not completely: each page is read separately, so damage to one
//! costs only what is on it. The result is a new store; the damaged one is only read.

mod gather;
mod page_rows;
mod pages;

use std::path::Path;

use neap_core::base::ids::{SessionId, Stamp, StreamId};
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::db_error::store_error;
use super::{progress, read, rebuild, schema};
use gather::{Gathered, SalvageError, gather};
use neap_store::backend::examine::losses;
use neap_store::{Finding, Severity, StoreError, files};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvaged {
    /// Each session's or agent's stream, and how many of its events are undamaged.
    pub streams: Vec<(StreamId, u64)>,
    pub findings: Vec<Finding>,
}

/// Shows what could be salvaged of a store; changes nothing.
pub fn survey(database: &Path) -> Result<Salvaged, StoreError> {
    let sql = |e: rusqlite::Error| store_error(database, &e);
    // A database without a name is temporary.
    let mut db = Connection::open("").map_err(sql)?;
    salvage_into(database, &mut db).map_err(|failed| salvage_error(database, failed))
}

/// Writes what is undamaged in a store into a new one; fails if `into` exists. The old one is only read.
pub fn salvage(database: &Path, into: &Path) -> Result<Salvaged, StoreError> {
    files::create_new(into).map_err(|e| {
        files::io_store_error(into, &e, |path| StoreError::Unreadable { path, why: e.to_string() })
    })?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(into, flags).map_err(|e| store_error(into, &e))?;
    salvage_into(database, &mut db).map_err(|failed| salvage_error(into, failed))
}

fn salvage_error(path: &Path, failed: SalvageError) -> StoreError {
    match failed {
        SalvageError::Reading(error) => StoreError::Unreadable { path: path.to_owned(), why: error.to_string() },
        SalvageError::Writing(error) => store_error(path, &error),
    }
}

fn salvage_into(database: &Path, db: &mut Connection) -> Result<Salvaged, SalvageError> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    schema::create_tables(&transaction)?;
    let gathered = gather(database, &transaction)?;
    let mut salvaged = Salvaged { streams: Vec::new(), findings: wal_findings(gathered.damaged_frames) };
    for stream in streams(&transaction)? {
        let id = session_name(&gathered, &transaction, stream)?;
        let packed: i64 = transaction.query_row(
            "SELECT coalesce(max(last_seq), 0) FROM blocks WHERE stream = ?",
            [stream],
            |row| row.get(0),
        )?;
        transaction.execute(
            "INSERT INTO sessions(stream, name, texts, head, cold) VALUES (?, ?, 0, '', ?)",
            params![stream, id.as_str(), packed],
        )?;
        let folded = read::fold_stream(&transaction, stream)?;
        match rebuild::write_rows(&transaction, stream, &folded.derived) {
            Ok(()) => {}
            Err(super::db_error::DbError::Sql(error)) => return Err(error.into()),
            Err(super::db_error::DbError::Refused(error)) => {
                return Err(SalvageError::Reading(std::io::Error::other(error)));
            }
        }
        salvaged.findings.extend(losses(&id, &folded));
        salvaged.streams.push((id, count_events(&transaction, stream)?));
    }
    progress::initialize(&transaction)?;
    transaction.commit()?;
    Ok(salvaged)
}

fn streams(db: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut statement = db.prepare("SELECT stream FROM events UNION SELECT stream FROM blocks ORDER BY stream")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// If the name is unknown or already taken, makes one up.
fn session_name(gathered: &Gathered, db: &Connection, stream: i64) -> Result<StreamId, SalvageError> {
    let found = gathered.name(db, stream)?;
    if let Some(id) = found
        && super::events::stream_number(db, id.as_str())?.is_none()
    {
        return Ok(id);
    }
    SessionId::from_name(&format!("salvaged {stream}"))
        .map(StreamId::from)
        .map_err(|e| SalvageError::Reading(std::io::Error::other(e)))
}

fn count_events(db: &Connection, stream: i64) -> rusqlite::Result<u64> {
    let count: i64 = db.query_row(
        "SELECT (SELECT count(*) FROM events WHERE stream = ?1)
              + (SELECT coalesce(sum(last_seq - first_seq + 1), 0) FROM blocks WHERE stream = ?1)",
        [stream],
        |row| row.get(0),
    )?;
    Ok(count as u64)
}

fn wal_findings(damaged_frames: u64) -> Vec<Finding> {
    let what = format!("{damaged_frames} frames of the log are damaged; their pages are read as they were before");
    let finding = Finding { severity: Severity::Damaged, session: None, what };
    (damaged_frames > 0).then_some(finding).into_iter().collect()
}

/// The name for the folder of a salvage made now.
pub fn folder_name(now: Stamp) -> String {
    format!("salvaged-{}", neap_store::folder::compact_timestamp(now))
}
