//! The progress of a store: one row on a page of its own, which every commit writes.
//!
//! So the identity and commit count of the database file, its WAL and the marker file can each be read from raw
//! bytes, before SQLite opens anything: it would discard a WAL that does not fit its database.

use memchr::memmem;
use neap_core::base::ids::Stamp;
use rusqlite::{Connection, OptionalExtension};

/// Marks the row in the bytes of a page. JSON escapes its control characters, so no stored text contains it.
const MAGIC: &[u8; 16] = b"neap progress\x01\x02\x03";
const STORE_BYTES: usize = 16;
const BODY_BYTES: usize = MAGIC.len() + STORE_BYTES + 3 * 8 + 4;

pub(super) const TABLE: &str = "
CREATE TABLE progress(
  one INTEGER PRIMARY KEY,
  body BLOB NOT NULL
);
";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreProgress {
    /// Random: two stores never share it, copies of one store do.
    pub(super) store: [u8; STORE_BYTES],
    /// Transactions so far. Never decreases, not even by an erasure.
    pub(super) commits: u64,
    /// Events added so far. Never decreases either.
    pub(super) events: u64,
    pub(super) at: Stamp,
}

impl StoreProgress {
    fn encode(&self) -> Vec<u8> {
        let mut body = MAGIC.to_vec();
        body.extend_from_slice(&self.store);
        body.extend_from_slice(&self.commits.to_le_bytes());
        body.extend_from_slice(&self.events.to_le_bytes());
        body.extend_from_slice(&self.at.0.to_le_bytes());
        let sum = crc32fast::hash(&body);
        body.extend_from_slice(&sum.to_le_bytes());
        body
    }

    fn decode(body: &[u8]) -> Option<Self> {
        let body = body.get(..BODY_BYTES)?;
        let (plain, sum) = body.split_at(BODY_BYTES - 4);
        if crc32fast::hash(plain).to_le_bytes() != sum || !plain.starts_with(MAGIC) {
            return None;
        }
        let (store, numbers) = plain[MAGIC.len()..].split_at(STORE_BYTES);
        let number = |at: usize| numbers.get(at * 8..at * 8 + 8)?.try_into().ok().map(u64::from_le_bytes);
        Some(Self {
            store: store.try_into().ok()?,
            commits: number(0)?,
            events: number(1)?,
            at: Stamp(number(2)? as i64),
        })
    }

    /// Finds the row in the bytes of a page; `None` if it is only half written.
    pub(super) fn find_in_page(page: &[u8]) -> Option<Self> {
        memmem::find_iter(page, MAGIC).filter_map(|at| Self::decode(&page[at..])).max_by_key(|found| found.commits)
    }
}

/// Gives a store its identity, if it has none.
pub(super) fn initialize(db: &Connection) -> rusqlite::Result<()> {
    if read(db)?.is_some() {
        return Ok(());
    }
    let random: Vec<u8> = db.query_row("SELECT randomblob(?)", [STORE_BYTES as i64], |row| row.get(0))?;
    let mut store = [0; STORE_BYTES];
    store.copy_from_slice(&random);
    let (events, at) = count_existing(db)?;
    write(db, &StoreProgress { store, commits: 1, events, at })
}

fn count_existing(db: &Connection) -> rusqlite::Result<(u64, Stamp)> {
    let (events, at): (i64, i64) = db.query_row(
        "SELECT (SELECT count(*) FROM events) + (SELECT coalesce(sum(last_seq - first_seq + 1), 0) FROM blocks),
                (SELECT coalesce(max(at), 0) FROM events)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok((events as u64, Stamp(at)))
}

/// Counts a transaction, inside it. Returns the progress once it is committed.
pub(super) fn advance(db: &Connection, events: u64, at: Option<Stamp>) -> rusqlite::Result<Option<StoreProgress>> {
    // Damage to this row must not block writes; `neap store doctor` reports it.
    let Some(current) = read(db)? else { return Ok(None) };
    let next = StoreProgress {
        commits: current.commits + 1,
        events: current.events + events,
        at: at.map_or(current.at, |at| at.max(current.at)),
        ..current
    };
    write(db, &next)?;
    Ok(Some(next))
}

/// `None` if the store's format is older or the row is damaged.
pub(super) fn read(db: &Connection) -> rusqlite::Result<Option<StoreProgress>> {
    let body = db
        .prepare_cached("SELECT body FROM progress WHERE one = 1")?
        .query_row([], |row| Ok(row.get_ref(0)?.as_blob().ok().and_then(StoreProgress::decode)))
        .optional()?;
    Ok(body.flatten())
}

fn write(db: &Connection, progress: &StoreProgress) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR REPLACE INTO progress(one, body) VALUES (1, ?)")?.execute([progress.encode()])?;
    Ok(())
}

/// The page with the row, where [`StoreProgress::find_in_page`] finds it without SQLite.
pub(super) fn root_page(db: &Connection) -> rusqlite::Result<u32> {
    db.prepare_cached("SELECT rootpage FROM sqlite_master WHERE name = 'progress'")?
        .query_row([], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_among_other_bytes_and_only_when_whole() {
        let progress = StoreProgress { store: [7; STORE_BYTES], commits: 3, events: 12, at: Stamp(-5) };
        let mut page = vec![0xAA; 4096];
        assert_eq!(StoreProgress::find_in_page(&page), None);
        page[100..100 + BODY_BYTES].copy_from_slice(&progress.encode());
        assert_eq!(StoreProgress::find_in_page(&page), Some(progress));
        for bit in 0..BODY_BYTES * 8 {
            let mut flipped = page.clone();
            flipped[100 + bit / 8] ^= 1 << (bit % 8);
            assert_eq!(StoreProgress::find_in_page(&flipped), None, "bit {bit}");
        }
        assert_eq!(StoreProgress::find_in_page(&progress.encode()[..BODY_BYTES - 1]), None);
    }
}
