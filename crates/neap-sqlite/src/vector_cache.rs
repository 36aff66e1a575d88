//! The sign bits of one model's embeddings, in memory: loaded on first use, then refreshed incrementally.

use std::collections::{BTreeMap, HashSet};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use neap_core::base::ids::Stamp;
use rusqlite::{Connection, params};

use super::cards;
use neap_store::backend::card::kind_from_number;
use neap_store::backend::rowids;
use neap_store::vectors::{VectorEntry, VectorIndex};

#[derive(Default)]
pub(super) struct VectorCache(RwLock<Option<LoadedVectors>>);

pub(super) struct LoadedVectors {
    model: i64,
    /// The last row of `vector_index` that was read.
    last: i64,
    dimensions: usize,
    /// By counting scope: sessions together, each agent separately.
    scopes: BTreeMap<i64, VectorIndex>,
}

impl VectorCache {
    pub(super) fn size(&self) -> (usize, usize) {
        let guard = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let indexes = guard.iter().flat_map(|loaded| loaded.scopes.values());
        indexes.fold((0, 0), |(texts, bytes), index| (texts + index.text_count(), bytes + index.bytes()))
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
            other => other.insert(LoadedVectors { model, last: 0, dimensions, scopes: BTreeMap::new() }),
        };
        let refreshed = loaded.refresh(db);
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

impl LoadedVectors {
    pub(super) fn in_scopes(&self, scopes: &[i64]) -> impl Iterator<Item = &VectorIndex> {
        scopes.iter().filter_map(|scope| self.scopes.get(scope))
    }

    fn refresh(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let agents = cards::agent_streams(db)?;
        self.remove_replaced(db)?;
        let mut statement = db.prepare_cached(
            "SELECT id, text, kind, at, iif(model = ?2, signs, NULL) FROM vector_index
             WHERE id > ?1 ORDER BY id",
        )?;
        let mut rows = statement.query(params![self.last, self.model])?;
        while let Some(row) = rows.next()? {
            let (id, text): (i64, i64) = (row.get(0)?, row.get(1)?);
            let stream = rowids::stream_of(text);
            let scope = if agents.binary_search(&stream).is_ok() { stream } else { cards::SESSIONS_SCOPE };
            let index = self.scopes.entry(scope).or_insert_with(|| VectorIndex::new(self.dimensions));
            let kind = kind_from_number(row.get(2)?);
            if let (Some(kind), Some(signs)) = (kind, row.get_ref(4)?.as_blob_or_null()?) {
                index.push(VectorEntry { text, kind, at: Stamp(row.get(3)?) }, signs);
            }
            self.last = id;
        }
        Ok(())
    }
    /// Every text has one row, so what is left of it in the index is older.
    fn remove_replaced(&mut self, db: &Connection) -> rusqlite::Result<()> {
        if self.scopes.is_empty() {
            return Ok(());
        }
        let mut statement = db.prepare_cached("SELECT text FROM vector_index WHERE id > ? AND replaces")?;
        let replaced: HashSet<i64> =
            statement.query_map([self.last], |row| row.get(0))?.collect::<Result<_, _>>()?;
        if !replaced.is_empty() {
            self.scopes.values_mut().for_each(|index| index.remove_all(&replaced));
        }
        Ok(())
    }
}
