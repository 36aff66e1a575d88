//! What survives a crash: a shared in-memory store, or a database file that is reopened.

use std::io;
use std::sync::Arc;

use neap_sqlite::SqliteStore;
use neap_store::{MemStore, Store, StoreError};
use tempfile::TempDir;

use crate::plant::{Plant, PlantedStore};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    #[default]
    Memory,
    Sqlite,
}

pub struct Disk {
    contents: DiskContents,
    plant: Option<Plant>,
}

enum DiskContents {
    Memory(Arc<MemStore>),
    Sqlite(TempDir),
}

impl Disk {
    pub fn new(backend: Backend, plant: Option<Plant>) -> io::Result<Self> {
        let contents = match backend {
            Backend::Memory => DiskContents::Memory(Arc::new(MemStore::new())),
            Backend::Sqlite => DiskContents::Sqlite(TempDir::with_prefix("neap-sim")?),
        };
        Ok(Self { contents, plant })
    }

    /// Opens it, as a new process does.
    pub fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        let store: Arc<dyn Store> = match &self.contents {
            DiskContents::Memory(store) => store.clone(),
            DiskContents::Sqlite(folder) => Arc::new(SqliteStore::open(&folder.path().join("sim.db"))?),
        };
        Ok(match self.plant {
            Some(plant) => Arc::new(PlantedStore::new(store, plant)),
            None => store,
        })
    }
}
