//! The sign bits of one model's embeddings of one tenant, in memory: loaded on first use, then refreshed
//! incrementally.

use std::collections::HashSet;
use std::sync::Arc;

use neap_core::base::ids::Stamp;
use neap_store::vectors::{LoadedVectors, VectorRow};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::db_error::DbError;
use crate::sql::params;
use crate::tx::Tx;

/// Rows that are read at once.
const PAGE: i64 = 20_000;

#[derive(Default)]
pub(crate) struct VectorCache(Arc<RwLock<Option<LoadedVectors>>>);

pub(crate) type CachedVectors = OwnedRwLockReadGuard<Option<LoadedVectors>>;

impl VectorCache {
    /// A model's embeddings, up to the tenant's row `last` at least.
    pub(crate) async fn load(
        &self,
        tx: &Tx,
        model: i64,
        dimensions: usize,
        last: i64,
    ) -> Result<CachedVectors, DbError> {
        let guard = self.0.clone().read_owned().await;
        if guard.as_ref().is_some_and(|loaded| loaded.model == model && loaded.last >= last) {
            return Ok(guard);
        }
        drop(guard);
        let mut guard = self.0.clone().write_owned().await;
        let loaded = match &mut *guard {
            Some(loaded) if loaded.model == model => loaded,
            other => other.insert(LoadedVectors::new(model, dimensions)),
        };
        while loaded.last < last {
            refresh(loaded, tx, last).await?;
        }
        Ok(OwnedRwLockWriteGuard::downgrade(guard))
    }

    /// Embeddings in memory, and their bytes.
    pub(crate) async fn size(&self) -> (usize, usize) {
        self.0.read().await.as_ref().map_or((0, 0), LoadedVectors::size)
    }
}

/// Reads the next page. Nothing is awaited between the changes, so a dropped future leaves a whole cache.
async fn refresh(loaded: &mut LoadedVectors, tx: &Tx, last: i64) -> Result<(), DbError> {
    let sql = "SELECT id, scope, text, kind, at, replaces, CASE WHEN model = $4 THEN signs END
        FROM neap.vector_index WHERE tenant = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $5";
    let tenant = tx.tenant();
    let params = params![&tenant, &loaded.last, &last, &loaded.model, &PAGE];
    let rows = tx.query(sql, params).await?;
    let mut replaced = HashSet::new();
    for row in &rows {
        if row.try_get(5)? {
            replaced.insert(row.try_get(2)?);
        }
    }
    if !loaded.is_empty() {
        loaded.remove_all(&replaced);
    }
    for row in &rows {
        let (id, scope, text) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let (kind, at) = (row.try_get(3)?, Stamp(row.try_get(4)?));
        loaded.push(&VectorRow { id, scope, text, kind, at, signs: row.try_get(6)? });
    }
    if (rows.len() as i64) < PAGE {
        loaded.last = last;
    }
    Ok(())
}
