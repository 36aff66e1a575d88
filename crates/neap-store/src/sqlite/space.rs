//! The embeddings of one model, held in memory: read when they are first asked for, then followed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use neap_core::ids::Stamp;
use neap_core::recall::Embedding;
use rusqlite::{Connection, params};

use super::cards;
use crate::card::numbered_kind;
use crate::near::{Of, Vectors};
use crate::numbers;

/// What a store holds.
#[derive(Default)]
pub(super) struct Space(RwLock<Option<Loaded>>);

/// The embeddings of one model.
pub(super) struct Loaded {
    model: i64,
    /// Up to where changes are known.
    last: i64,
    dimensions: usize,
    /// By where texts are counted: sessions' together, each agent's for itself.
    scopes: BTreeMap<i64, Vectors>,
}

impl Space {
    /// How many embeddings are held, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let sizes = known.iter().flat_map(|loaded| loaded.scopes.values()).map(Vectors::size);
        sizes.fold((0, 0), |(a, b), (entries, bytes)| (a + entries, b + bytes))
    }

    /// Looks at a model's embeddings as they are now.
    pub(super) fn look<T>(
        &self,
        db: &Connection,
        model: i64,
        dimensions: usize,
        look: impl FnOnce(&Loaded) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let last: Option<i64> =
            db.prepare_cached("SELECT max(id) FROM vectors")?.query_row([], |row| row.get(0))?;
        let last = last.unwrap_or(0);
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = known.as_ref().filter(|loaded| loaded.model == model && loaded.last >= last) {
            return look(loaded);
        }
        drop(known);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let loaded = match &mut *known {
            Some(loaded) if loaded.model == model => loaded,
            other => other.insert(Loaded { model, last: 0, dimensions, scopes: BTreeMap::new() }),
        };
        let followed = loaded.follow(db);
        if followed.is_err() {
            // What is half followed is not trusted.
            *known = None;
        }
        followed?;
        let known = RwLockWriteGuard::downgrade(known);
        match known.as_ref() {
            Some(loaded) => look(loaded),
            None => Err(rusqlite::Error::QueryReturnedNoRows),
        }
    }
}

impl Loaded {
    /// Those of some scopes.
    pub(super) fn of(&self, scopes: &[i64]) -> impl Iterator<Item = &Vectors> {
        scopes.iter().filter_map(|scope| self.scopes.get(scope))
    }

    /// How near those of the texts are that have an embedding here.
    pub(super) fn near(&self, meant: &Embedding, texts: impl Iterator<Item = i64>) -> HashMap<i64, f64> {
        let mut by_scope: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for text in texts {
            // No session has the number of an agent's stream.
            let stream = numbers::stream_of(text);
            let scope = if self.scopes.contains_key(&stream) { stream } else { cards::SESSIONS };
            by_scope.entry(scope).or_default().push(text);
        }
        let of_scope = |(scope, texts): (i64, Vec<i64>)| Some(self.scopes.get(&scope)?.near(meant, &texts));
        by_scope.into_iter().filter_map(of_scope).flatten().collect()
    }

    /// Reads what changed.
    fn follow(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let agents = cards::agents(db)?;
        let mut statement = db.prepare_cached(
            "SELECT id, text, kind, at, vector, model = ?2 FROM vectors
             WHERE id > ?1 ORDER BY id",
        )?;
        let mut rows = statement.query(params![self.last, self.model])?;
        while let Some(row) = rows.next()? {
            let (id, text): (i64, i64) = (row.get(0)?, row.get(1)?);
            let stream = numbers::stream_of(text);
            let scope = if agents.binary_search(&stream).is_ok() { stream } else { cards::SESSIONS };
            let vectors = self.scopes.entry(scope).or_insert_with(|| Vectors::new(self.dimensions));
            let kind = numbered_kind(row.get(2)?);
            let (bytes, is_ours) = (row.get_ref(4)?.as_blob_or_null()?, row.get::<_, bool>(5)?);
            match (kind, bytes) {
                (Some(kind), Some(bytes)) if is_ours => {
                    vectors.put(Of { text, kind, at: Stamp(row.get(3)?) }, bytes);
                }
                (Some(_) | None, Some(_) | None) => vectors.remove(text),
            }
            self.last = id;
        }
        Ok(())
    }
}
