//! What survives a crash: memory that is handed on, or a database file that is opened again.

use std::io;
use std::sync::Arc;

use neap_store::{MemStore, SqliteStore, Store, StoreError};
use tempfile::TempDir;

use crate::plant::{Plant, PlantedStore};

/// Which kind of store a run uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// In memory.
    #[default]
    Memory,
    /// A database file in a temporary folder.
    Sqlite,
}

/// The part of a run that outlives its processes.
pub struct Disk {
    kept: Kept,
    plant: Option<Plant>,
}

enum Kept {
    Memory(Arc<MemStore>),
    Sqlite(TempDir),
}

impl Disk {
    /// An empty one.
    pub fn new(backend: Backend, plant: Option<Plant>) -> io::Result<Self> {
        let kept = match backend {
            Backend::Memory => Kept::Memory(Arc::new(MemStore::new())),
            Backend::Sqlite => Kept::Sqlite(TempDir::with_prefix("neap-sim")?),
        };
        Ok(Self { kept, plant })
    }

    /// Opens it, as a new process does.
    pub fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        let store: Arc<dyn Store> = match &self.kept {
            Kept::Memory(store) => store.clone(),
            Kept::Sqlite(folder) => Arc::new(SqliteStore::open(&folder.path().join("sim.db"))?),
        };
        Ok(match self.plant {
            Some(plant) => Arc::new(PlantedStore::new(store, plant)),
            None => store,
        })
    }
}
