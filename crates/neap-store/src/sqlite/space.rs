//! The embeddings of one model, held in memory: read when they are first asked for, then followed.

use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use neap_core::ids::Stamp;
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
    /// Of texts of sessions.
    pub(super) sessions: Vectors,
    /// Of what agents know.
    pub(super) agents: Vectors,
}

impl Space {
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
            other => {
                let (sessions, agents) = (Vectors::new(dimensions), Vectors::new(dimensions));
                other.insert(Loaded { model, last: 0, sessions, agents })
            }
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
            let is_agents = agents.binary_search(&numbers::stream_of(text)).is_ok();
            let vectors = if is_agents { &mut self.agents } else { &mut self.sessions };
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
