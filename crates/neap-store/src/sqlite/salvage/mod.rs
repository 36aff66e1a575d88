//! Reading a store that SQLite cannot, or not all of it: every page is looked at by itself, so that damage to one costs what is on it and
//! nothing else. What is found goes into a new store; the damaged one is only read.

mod gather;
mod pages;
mod record;

use std::path::Path;

use neap_core::ids::{SessionId, Stamp};
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::fault::named;
use super::{progress, read, rebuild, schema};
use crate::examine::losses;
use crate::{Finding, Severity, StoreError, files};
use gather::{Failed, Gathered, gather};

/// What was found in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvaged {
    /// Each session or agent's stream, and how many of its events are whole.
    pub streams: Vec<(SessionId, u64)>,
    /// What is known to be lost.
    pub findings: Vec<Finding>,
}

/// Looks at what could be salvaged of a store; changes nothing.
pub fn survey(database: &Path) -> Result<Salvaged, StoreError> {
    let sql = |e: rusqlite::Error| named(database, &e);
    // A database without a name is SQLite's own, and gone afterwards.
    let mut db = Connection::open("").map_err(sql)?;
    fill(database, &mut db).map_err(|failed| failure(database, failed))
}

/// Writes what is whole in a store into a new one, at a place where there is none. The old one is only read.
pub fn salvage(database: &Path, into: &Path) -> Result<Salvaged, StoreError> {
    files::create_new(into)
        .map_err(|e| files::named(into, &e, |path| StoreError::Unreadable { path, why: e.to_string() }))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(into, flags).map_err(|e| named(into, &e))?;
    fill(database, &mut db).map_err(|failed| failure(into, failed))
}

fn failure(path: &Path, failed: Failed) -> StoreError {
    match failed {
        Failed::Reading(error) => StoreError::Unreadable { path: path.to_owned(), why: error.to_string() },
        Failed::Writing(error) => named(path, &error),
    }
}

fn fill(database: &Path, db: &mut Connection) -> Result<Salvaged, Failed> {
    let all = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    schema::create_tables(&all)?;
    let gathered = gather(database, &all)?;
    let mut salvaged = Salvaged { streams: Vec::new(), findings: of_log(gathered.damaged_frames) };
    for stream in streams(&all)? {
        let id = name(&gathered, &all, stream)?;
        let packed: i64 =
            all.query_row("SELECT coalesce(max(last_seq), 0) FROM blocks WHERE stream = ?", [stream], |row| {
                row.get(0)
            })?;
        all.execute(
            "INSERT INTO sessions(stream, name, texts, head, cold) VALUES (?, ?, 0, '', ?)",
            params![stream, id.as_str(), packed],
        )?;
        let folded = read::fold(&all, stream)?;
        match rebuild::write(&all, stream, &folded.derived) {
            Ok(()) => {}
            Err(super::fault::Stop::Sql(error)) => return Err(error.into()),
            Err(super::fault::Stop::Refused(error)) => return Err(Failed::Reading(std::io::Error::other(error))),
        }
        salvaged.findings.extend(losses(&id, &folded));
        salvaged.streams.push((id, count(&all, stream)?));
    }
    progress::begin(&all)?;
    all.commit()?;
    Ok(salvaged)
}

/// The streams that something was found of.
fn streams(db: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut statement = db.prepare("SELECT stream FROM events UNION SELECT stream FROM blocks ORDER BY stream")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// The name that a stream's session gets: where two claim one, or nothing says it, one is made.
fn name(gathered: &Gathered, db: &Connection, stream: i64) -> Result<SessionId, Failed> {
    let found = gathered.name(db, stream)?;
    if let Some(id) = found
        && super::events::stream(db, id.as_str())?.is_none()
    {
        return Ok(id);
    }
    SessionId::from_name(&format!("salvaged {stream}")).map_err(|e| Failed::Reading(std::io::Error::other(e)))
}

fn count(db: &Connection, stream: i64) -> rusqlite::Result<u64> {
    let count: i64 = db.query_row(
        "SELECT (SELECT count(*) FROM events WHERE stream = ?1)
              + (SELECT coalesce(sum(last_seq - first_seq + 1), 0) FROM blocks WHERE stream = ?1)",
        [stream],
        |row| row.get(0),
    )?;
    Ok(count as u64)
}

fn of_log(damaged_frames: u64) -> Vec<Finding> {
    let what = format!("{damaged_frames} frames of the log are damaged; their pages are read as they were before");
    let finding = Finding { severity: Severity::Damaged, session: None, what };
    (damaged_frames > 0).then_some(finding).into_iter().collect()
}

/// What the folder of a salvage is called that is made now.
pub fn folder_name(now: Stamp) -> String {
    format!("salvaged-{}", crate::folder::compact(now))
}
