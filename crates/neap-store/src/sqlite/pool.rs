//! Connections that only read, a few, made when first needed.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Transaction};
use tokio::sync::Semaphore;

use super::connect::{Access, Place};
use super::fault::{Stop, named};
use crate::StoreError;

/// As many as can work at once, within these: each keeps what it has read.
const READERS: std::ops::RangeInclusive<usize> = 2..=4;

/// Idle connections, and permission to use one.
pub(super) struct Pool {
    place: Arc<Place>,
    idle: Mutex<Vec<(Access, Connection)>>,
    permits: Arc<Semaphore>,
}

impl Pool {
    pub(super) fn new(place: Arc<Place>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let readers = cores.clamp(*READERS.start(), *READERS.end());
        Self { place, idle: Mutex::default(), permits: Arc::new(Semaphore::new(readers)) }
    }

    /// Where the store is.
    pub(super) fn path(&self) -> &std::path::Path {
        &self.place.path
    }

    /// Reads on a thread that may wait for the disk, from one moment of the store.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = self.permits.clone().acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Failed("the store is closed".to_owned()))?;
        let pool = self.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let answer = pool.read_now(work);
            drop(permit);
            answer
        });
        reading.await.map_err(|e| StoreError::Failed(e.to_string()))?
    }

    /// The same on this thread.
    pub(super) fn read_now<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Stop>,
    ) -> Result<T, StoreError> {
        let access = self.place.access();
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // What was opened on a disk that could only be read may not see what is written now.
        let idle = idle.filter(|(opened_for, _)| *opened_for == access);
        let db = idle.map_or_else(|| self.place.reader(), |(_, db)| Ok(db))?;
        let answer = {
            let moment = db.unchecked_transaction().map_err(|e| named(&self.place.path, &e))?;
            work(&moment).map_err(|stop| stop.at(&self.place.path))
        };
        // A connection that failed is closed, never used again.
        if answer.is_ok() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((access, db));
        }
        answer
    }
}
