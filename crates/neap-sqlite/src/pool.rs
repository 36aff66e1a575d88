//! A small pool of read-only connections, opened on demand.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Transaction};
use tokio::sync::Semaphore;

use super::connect::{Access, StoreLocation};
use super::db_error::{DbError, store_error};
use neap_store::StoreError;

/// One per core within these bounds: each has its own page cache.
const READERS: std::ops::RangeInclusive<usize> = 2..=4;

pub(super) struct ReaderPool {
    location: Arc<StoreLocation>,
    /// Of a store that can be written.
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl ReaderPool {
    pub(super) fn new(location: Arc<StoreLocation>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let readers = cores.clamp(*READERS.start(), *READERS.end());
        Self { location, idle: Mutex::default(), permits: Arc::new(Semaphore::new(readers)) }
    }

    pub(super) fn path(&self) -> &std::path::Path {
        &self.location.path
    }

    /// Runs `work` on one snapshot of the store, on a thread that may block.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, DbError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = self.permits.clone().acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Failed("the store is closed".to_owned()))?;
        let pool = self.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let result = pool.read_now(work);
            drop(permit);
            result
        });
        reading.await.map_err(|e| StoreError::Failed(e.to_string()))?
    }

    /// Like [`read`](Self::read), on this thread.
    pub(super) fn read_now<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, DbError>,
    ) -> Result<T, StoreError> {
        let access = self.location.access();
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let db = idle.map_or_else(|| self.location.reader(), Ok)?;
        let result = {
            let snapshot = db.unchecked_transaction().map_err(|e| store_error(&self.location.path, &e))?;
            work(&snapshot).map_err(|stop| stop.into_store_error(&self.location.path))
        };
        // A failed connection is closed, not reused. One that was opened on a read-only disk may not see what is written
        // later, and as long as it is open, SQLite lets nobody in this process write.
        if result.is_ok() && access == Access::Full {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
        }
        result
    }
}
