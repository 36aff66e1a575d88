//! The upgrade of older formats, step by step.

use rusqlite::Connection;

use super::schema::{
    BLOCKS, CARDS, CHECKSUMMED_TABLES, COUNTED, EXCHANGES, FORMAT_WITH_BLOCKS, FORMAT_WITH_CARDS,
    FORMAT_WITH_LINKS, FORMAT_WITH_MEMORIES, FORMAT_WITH_PROGRESS, FORMAT_WITH_TASKS, FORMAT_WITH_UNDO,
    FORMAT_WITH_VECTOR_INDEX, KINDS, LINKS, MEMORIES, SHELVES, VECTORS, format, has_checksums, has_table,
};
use super::{derived_rows, log, progress, rebuild, task, vectors};

/// Upgrades an older database, inside the caller's transaction.
pub(super) fn upgrade(db: &Connection) -> rusqlite::Result<()> {
    // First, because later steps write such rows. Existing rows have no checksum until they change.
    for table in CHECKSUMMED_TABLES {
        if has_table(db, table)? && !has_checksums(db, table)? {
            db.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN sum INTEGER"))?;
        }
    }
    if format(db)? == 1 {
        db.execute_batch(
            "ALTER TABLE sessions ADD COLUMN cold INTEGER NOT NULL DEFAULT 0;
             DROP INDEX exchanges_by_turn;
             ALTER TABLE exchanges RENAME TO exchanges_1;",
        )?;
        db.execute_batch(KINDS)?;
        db.execute_batch(EXCHANGES)?;
        let mut old = db.prepare(
            "SELECT turn, scope, first_seq, last_seq, at, tokens, stream FROM exchanges_1 ORDER BY stream, last_seq",
        )?;
        let mut rows = old.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(exchange) = log::exchange_row(row)? {
                derived_rows::put_exchange(db, row.get(6)?, &exchange)?;
            }
        }
        drop(rows);
        drop(old);
        db.execute_batch("DROP TABLE exchanges_1")?;
        db.pragma_update(None, "user_version", 2)?;
    }
    if format(db)? < FORMAT_WITH_MEMORIES {
        db.execute_batch(MEMORIES)?;
        db.pragma_update(None, "user_version", FORMAT_WITH_MEMORIES)?;
    }
    if format(db)? < FORMAT_WITH_BLOCKS {
        db.execute_batch(BLOCKS)?;
        // Rows that were packed one by one become blocks as their session continues.
        db.execute_batch("UPDATE sessions SET cold = 0")?;
        db.pragma_update(None, "user_version", FORMAT_WITH_BLOCKS)?;
    }
    if format(db)? < FORMAT_WITH_TASKS {
        db.execute_batch(SHELVES)?;
        db.execute_batch(&format!("INSERT INTO shelves {COUNTED}"))?;
        task::backfill_tasks(db)?;
        db.pragma_update(None, "user_version", FORMAT_WITH_TASKS)?;
    }
    if format(db)? < FORMAT_WITH_CARDS {
        db.execute_batch(CARDS)?;
        db.execute_batch(VECTORS)?;
        rebuild::reindex_all(db)?;
        db.pragma_update(None, "user_version", FORMAT_WITH_CARDS)?;
    }
    if format(db)? < FORMAT_WITH_LINKS {
        // Older versions recorded no client histories.
        db.execute_batch(LINKS)?;
        db.pragma_update(None, "user_version", FORMAT_WITH_LINKS)?;
    }
    if format(db)? < FORMAT_WITH_UNDO {
        // No table changes; the number keeps older versions from misreading turns that were taken back.
        db.pragma_update(None, "user_version", FORMAT_WITH_UNDO)?;
    }
    if format(db)? < FORMAT_WITH_PROGRESS {
        db.execute_batch(&progress::TABLE.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))?;
        progress::initialize(db)?;
        db.pragma_update(None, "user_version", FORMAT_WITH_PROGRESS)?;
    }
    if format(db)? < FORMAT_WITH_VECTOR_INDEX {
        if !has_table(db, "vector_index")? {
            db.execute_batch("ALTER TABLE vectors RENAME TO vectors_9; DROP TABLE embedded;")?;
            db.execute_batch(VECTORS)?;
            vectors::take_over(db, "vectors_9")?;
            db.execute_batch("DROP TABLE vectors_9")?;
        }
        db.pragma_update(None, "user_version", FORMAT_WITH_VECTOR_INDEX)?;
    }
    Ok(())
}
