//! The sign bits of one model's embeddings, in memory: loaded on first use, then refreshed incrementally.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use neap_core::base::ids::Stamp;
use rusqlite::{Connection, params};

use super::cards;
use neap_store::backend::rowids;
use neap_store::vectors::{LoadedVectors, VectorRow};

#[derive(Default)]
pub(super) struct VectorCache(RwLock<Option<LoadedVectors>>);

impl VectorCache {
    pub(super) fn size(&self) -> (usize, usize) {
        let guard = self.0.read().unwrap_or_else(PoisonError::into_inner);
        guard.as_ref().map_or((0, 0), LoadedVectors::size)
    }

    /// Passes the index of a model's current embeddings to `visit`.
    pub(super) fn with_vectors<T>(
        &self,
        db: &Connection,
        model: i64,
        dimensions: usize,
        visit: impl FnOnce(&LoadedVectors) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let last: Option<i64> =
            db.prepare_cached("SELECT max(id) FROM vector_index")?.query_row([], |row| row.get(0))?;
        let last = last.unwrap_or(0);
        let guard = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = guard.as_ref().filter(|loaded| loaded.model == model && loaded.last >= last) {
            return visit(loaded);
        }
        drop(guard);
        let mut guard = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let loaded = match &mut *guard {
            Some(loaded) if loaded.model == model => loaded,
            other => other.insert(LoadedVectors::new(model, dimensions)),
        };
        let refreshed = refresh(loaded, db);
        if refreshed.is_err() {
            // A half refreshed cache is not trusted.
            *guard = None;
        }
        refreshed?;
        let guard = RwLockWriteGuard::downgrade(guard);
        match guard.as_ref() {
            Some(loaded) => visit(loaded),
            None => Err(rusqlite::Error::QueryReturnedNoRows),
        }
    }
}

fn refresh(loaded: &mut LoadedVectors, db: &Connection) -> rusqlite::Result<()> {
    let agents = cards::agent_streams(db)?;
    remove_replaced(loaded, db)?;
    let mut statement = db.prepare_cached(
        "SELECT id, text, kind, at, iif(model = ?2, signs, NULL) FROM vector_index
         WHERE id > ?1 ORDER BY id",
    )?;
    let mut rows = statement.query(params![loaded.last, loaded.model])?;
    while let Some(row) = rows.next()? {
        let text: i64 = row.get(1)?;
        let stream = rowids::stream_of(text);
        let scope = if agents.binary_search(&stream).is_ok() { stream } else { cards::SESSIONS_SCOPE };
        let (id, kind, at) = (row.get(0)?, row.get(2)?, Stamp(row.get(3)?));
        loaded.push(&VectorRow { id, scope, text, kind, at, signs: row.get_ref(4)?.as_blob_or_null()? });
    }
    Ok(())
}

fn remove_replaced(loaded: &mut LoadedVectors, db: &Connection) -> rusqlite::Result<()> {
    if loaded.is_empty() {
        return Ok(());
    }
    let mut statement = db.prepare_cached("SELECT text FROM vector_index WHERE id > ? AND replaces")?;
    let replaced: HashSet<i64> =
        statement.query_map([loaded.last], |row| row.get(0))?.collect::<Result<_, _>>()?;
    loaded.remove_all(&replaced);
    Ok(())
}
