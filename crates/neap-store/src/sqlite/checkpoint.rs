//! What is in the log of writes is durable; from time to time it is copied into the file, and the log begins anew.
//! That waits for the disk, so it is done beside the thread that writes, which does no more than the last bit.

use rusqlite::Connection;

/// Pages in the log that wait to be copied, before they are.
const WAITING_PAGES_MIN: i64 = 1_000;
/// Pages in the log at most, about: someone who never pauses adds to it while it is copied, so it would not begin anew.
const LOG_PAGES_MAX: i64 = 4_000;

/// What is to be done about the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing yet.
    Nothing,
    /// It can be copied, while others write.
    Copy,
    /// It must begin anew: what is left is copied before anyone writes.
    BeginAnew,
}

/// Looks at the log.
pub(super) fn due(db: &Connection) -> rusqlite::Result<Due> {
    let pages = db.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?;
    let (in_log, copied) = one(pages)?;
    Ok(judge(in_log, copied))
}

fn judge(in_log: i64, copied: i64) -> Due {
    if in_log - copied >= WAITING_PAGES_MIN {
        if in_log >= 2 * LOG_PAGES_MAX { Due::BeginAnew } else { Due::Copy }
    } else if in_log >= LOG_PAGES_MAX && in_log > copied {
        Due::BeginAnew
    } else {
        Due::Nothing
    }
}

/// Copies what is in the log, as far as nobody still needs what it would overwrite. Nobody waits for it.
pub(super) fn copy(db: &Connection) -> rusqlite::Result<()> {
    one(db.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?).map(|_| ())
}

/// Pages in the log, and how many of them are in the file as well.
fn one(mut checkpoint: rusqlite::CachedStatement<'_>) -> rusqlite::Result<(i64, i64)> {
    checkpoint.query_row([], |row| Ok((row.get(1)?, row.get(2)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_copied_aside_and_begins_anew_when_little_is_left() {
        for (in_log, copied, due) in [
            (0, 0, Due::Nothing),
            (-1, -1, Due::Nothing),
            (999, 0, Due::Nothing),
            (1_000, 0, Due::Copy),
            (1_999, 1_000, Due::Nothing),
            (2_000, 1_000, Due::Copy),
            (4_000, 3_000, Due::Copy),
            (4_000, 3_001, Due::BeginAnew),
            (4_000, 4_000, Due::Nothing),
            (8_000, 0, Due::BeginAnew),
        ] {
            assert_eq!(judge(in_log, copied), due, "{in_log} {copied}");
        }
    }

    /// What the pragmas mean is SQLite's: looking copies nothing, copying copies all where nobody reads.
    #[test]
    fn looking_copies_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let db = Connection::open(dir.path().join("db")).expect("a database");
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(x)")
            .expect("t");
        let look = || one(db.prepare_cached("PRAGMA wal_checkpoint(NOOP)").expect("known")).expect("a row");
        let (in_log, copied) = look();
        assert!(in_log > 0 && copied == 0, "{in_log} {copied}");
        assert_eq!(due(&db), Ok(Due::Nothing));
        copy(&db).expect("nobody reads");
        assert_eq!(look(), (in_log, in_log));
    }
}
