//! The embeddings of one model, in memory: loaded on first use, then refreshed incrementally.

use std::collections::{BTreeMap, HashMap};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use neap_core::base::ids::Stamp;
use neap_core::recall::Embedding;
use rusqlite::{Connection, params};

use super::cards;
use crate::card::kind_from_number;
use crate::rowids;
use crate::vectors::{VectorEntry, VectorIndex};

#[derive(Default)]
pub(super) struct VectorCache(RwLock<Option<LoadedVectors>>);

pub(super) struct LoadedVectors {
    model: i64,
    /// The last row of `vectors` that was read.
    last: i64,
    dimensions: usize,
    /// By counting scope: sessions together, each agent separately.
    scopes: BTreeMap<i64, VectorIndex>,
}

impl VectorCache {
    pub(super) fn size(&self) -> (usize, usize) {
        let guard = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let sizes = guard.iter().flat_map(|loaded| loaded.scopes.values()).map(VectorIndex::size);
        sizes.fold((0, 0), |(a, b), (entries, bytes)| (a + entries, b + bytes))
    }

    /// Passes a model's current embeddings to `visit`.
    pub(super) fn with_vectors<T>(
        &self,
        db: &Connection,
        model: i64,
        dimensions: usize,
        visit: impl FnOnce(&LoadedVectors) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let last: Option<i64> =
            db.prepare_cached("SELECT max(id) FROM vectors")?.query_row([], |row| row.get(0))?;
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

    /// The similarity of each text that has an embedding here.
    pub(super) fn similarities(&self, query: &Embedding, texts: impl Iterator<Item = i64>) -> HashMap<i64, f64> {
        let mut by_scope: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for text in texts {
            // No session shares its number with an agent's stream.
            let stream = rowids::stream_of(text);
            let scope = if self.scopes.contains_key(&stream) { stream } else { cards::SESSIONS_SCOPE };
            by_scope.entry(scope).or_default().push(text);
        }
        let of_scope =
            |(scope, texts): (i64, Vec<i64>)| Some(self.scopes.get(&scope)?.similarities(query, &texts));
        by_scope.into_iter().filter_map(of_scope).flatten().collect()
    }

    fn refresh(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let agents = cards::agent_streams(db)?;
        let mut statement = db.prepare_cached(
            "SELECT id, text, kind, at, vector, model = ?2 FROM vectors
             WHERE id > ?1 ORDER BY id",
        )?;
        let mut rows = statement.query(params![self.last, self.model])?;
        while let Some(row) = rows.next()? {
            let (id, text): (i64, i64) = (row.get(0)?, row.get(1)?);
            let stream = rowids::stream_of(text);
            let scope = if agents.binary_search(&stream).is_ok() { stream } else { cards::SESSIONS_SCOPE };
            let vectors = self.scopes.entry(scope).or_insert_with(|| VectorIndex::new(self.dimensions));
            let kind = kind_from_number(row.get(2)?);
            let (bytes, is_own_model) = (row.get_ref(4)?.as_blob_or_null()?, row.get::<_, bool>(5)?);
            match (kind, bytes) {
                (Some(kind), Some(bytes)) if is_own_model => {
                    vectors.put(VectorEntry { text, kind, at: Stamp(row.get(3)?) }, bytes);
                }
                (Some(_) | None, Some(_) | None) => vectors.remove(text),
            }
            self.last = id;
        }
        Ok(())
    }
}
