//! Checkpoints: commits in the WAL are durable; from time to time its pages are copied into the database file and
//! it restarts. Copying waits for the disk, so a second thread does most of it and the writer only the rest.

use rusqlite::Connection;

/// Uncopied pages in the WAL that make a checkpoint due.
const WAITING_PAGES_MIN: i64 = 1_000;
/// Pages in the WAL, approximately, from which the writer copies the rest itself: if it kept appending while the
/// background thread copies, the WAL would never restart.
const WAL_PAGES_MAX: i64 = 4_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckpointDue {
    Nothing,
    /// Can run while others write.
    Background,
    /// The WAL must restart: the writer copies the rest itself before its next job.
    OnWriter,
}

pub(super) fn check_due(db: &Connection) -> rusqlite::Result<CheckpointDue> {
    let pages = db.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?;
    let (in_wal, copied) = query_pages(pages)?;
    Ok(decide(in_wal, copied))
}

fn decide(in_wal: i64, copied: i64) -> CheckpointDue {
    if in_wal - copied >= WAITING_PAGES_MIN {
        if in_wal >= 2 * WAL_PAGES_MAX { CheckpointDue::OnWriter } else { CheckpointDue::Background }
    } else if in_wal >= WAL_PAGES_MAX && in_wal > copied {
        CheckpointDue::OnWriter
    } else {
        CheckpointDue::Nothing
    }
}

/// Copies pages as far as no reader needs what they would overwrite. Blocks nobody.
pub(super) fn run_passive(db: &Connection) -> rusqlite::Result<()> {
    query_pages(db.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?).map(|_| ())
}

/// Pages in the WAL, and how many of them are copied.
fn query_pages(mut checkpoint: rusqlite::CachedStatement<'_>) -> rusqlite::Result<(i64, i64)> {
    checkpoint.query_row([], |row| Ok((row.get(1)?, row.get(2)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_copied_aside_and_begins_anew_when_little_is_left() {
        for (in_wal, copied, due) in [
            (0, 0, CheckpointDue::Nothing),
            (-1, -1, CheckpointDue::Nothing),
            (999, 0, CheckpointDue::Nothing),
            (1_000, 0, CheckpointDue::Background),
            (1_999, 1_000, CheckpointDue::Nothing),
            (2_000, 1_000, CheckpointDue::Background),
            (4_000, 3_000, CheckpointDue::Background),
            (4_000, 3_001, CheckpointDue::OnWriter),
            (4_000, 4_000, CheckpointDue::Nothing),
            (8_000, 0, CheckpointDue::OnWriter),
        ] {
            assert_eq!(decide(in_wal, copied), due, "{in_wal} {copied}");
        }
    }

    /// The pragmas' meaning is SQLite's: NOOP copies nothing, PASSIVE copies all if nobody reads.
    #[test]
    fn looking_copies_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let db = Connection::open(dir.path().join("db")).expect("a database");
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(x)")
            .expect("t");
        let look =
            || query_pages(db.prepare_cached("PRAGMA wal_checkpoint(NOOP)").expect("known")).expect("a row");
        let (in_wal, copied) = look();
        assert!(in_wal > 0 && copied == 0, "{in_wal} {copied}");
        assert_eq!(check_due(&db), Ok(CheckpointDue::Nothing));
        run_passive(&db).expect("nobody reads");
        assert_eq!(look(), (in_wal, in_wal));
    }
}
