//! Tenants, keys and the audit log, in a small database of their own beside the stores.

mod rows;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use neap_core::base::access::{KeyId, KeyRecord, TenantName, TenantRecord};
use neap_core::base::ids::Stamp;
use neap_store::access::{AccessStore, AuditEntry, AuditQuery, KeyChange};
use neap_store::{StoreError, files};
use rusqlite::{Connection, TransactionBehavior};

use super::db_error::store_error;

/// "NeaA" in ASCII: marks the file as ours.
const APPLICATION_ID: i64 = 0x4e65_6141;
const FORMAT: i64 = 1;
const LOCK_WAIT: Duration = Duration::from_secs(5);

const TABLES: &str = "
CREATE TABLE tenants(
  name TEXT PRIMARY KEY,
  created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE keys(
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  tenant_created INTEGER NOT NULL,
  label TEXT NOT NULL,
  scope TEXT NOT NULL,
  agent TEXT,
  limits TEXT NOT NULL,
  secret BLOB NOT NULL,
  former BLOB,
  former_until INTEGER,
  created INTEGER NOT NULL,
  expires INTEGER,
  revoked INTEGER,
  last_used INTEGER
) WITHOUT ROWID;
CREATE TABLE audit(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  tenant TEXT,
  key TEXT,
  what TEXT NOT NULL,
  ids TEXT NOT NULL,
  outcome TEXT NOT NULL
);
CREATE INDEX audit_by_time ON audit(at);
";

/// Reads and writes have a connection each, so that a key is looked up while the audit log is written.
pub struct SqliteAccess {
    path: PathBuf,
    reader: Arc<Mutex<Connection>>,
    writer: Arc<Mutex<Connection>>,
}

impl SqliteAccess {
    /// `None` if there is no such file: nobody has configured a tenant or a key.
    pub fn open_existing(path: &Path) -> Result<Option<Self>, StoreError> {
        match files::file_len(path) {
            Ok(None) => Ok(None),
            Ok(Some(_)) => Self::open(path).map(Some),
            Err(error) => Err(StoreError::Unreadable { path: path.to_owned(), why: error.to_string() }),
        }
    }

    /// Creates the file if there is none.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let created = path.parent().map_or(Ok(()), files::create_dir).and_then(|()| files::create_private(path));
        created.map_err(|error| {
            files::io_store_error(path, &error, |path| StoreError::Unreadable { path, why: error.to_string() })
        })?;
        let sql = |error: rusqlite::Error| store_error(path, &error);
        let mut writer = Connection::open(path).map_err(sql)?;
        writer.busy_timeout(LOCK_WAIT).map_err(sql)?;
        check(path, &mut writer)?;
        writer.pragma_update(None, "journal_mode", "WAL").map_err(sql)?;
        writer.pragma_update(None, "synchronous", "FULL").map_err(sql)?;
        writer.pragma_update(None, "secure_delete", "ON").map_err(sql)?;
        let reader = Connection::open(path).map_err(sql)?;
        reader.busy_timeout(LOCK_WAIT).map_err(sql)?;
        reader.pragma_update(None, "query_only", "ON").map_err(sql)?;
        let share = |db| Arc::new(Mutex::new(db));
        Ok(Self { path: path.to_owned(), reader: share(reader), writer: share(writer) })
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (db, path) = (self.reader.clone(), self.path.clone());
        run(move || {
            let db = db.lock().unwrap_or_else(PoisonError::into_inner);
            read(&db).map_err(|error| store_error(&path, &error))
        })
        .await
    }

    /// In one transaction.
    async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (db, path) = (self.writer.clone(), self.path.clone());
        run(move || {
            let mut db = db.lock().unwrap_or_else(PoisonError::into_inner);
            let written = db.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|transaction| {
                let written = write(&transaction)?;
                transaction.commit()?;
                Ok(written)
            });
            written.map_err(|error| store_error(&path, &error))
        })
        .await
    }
}

async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())))
}

/// Makes the tables in an empty file; refuses one that is not ours, or newer.
fn check(path: &Path, db: &mut Connection) -> Result<(), StoreError> {
    let sql = |error: rusqlite::Error| store_error(path, &error);
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    let number = |name: &str| transaction.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(sql);
    let tables: i64 =
        transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(sql)?;
    if tables == 0 {
        transaction.execute_batch(TABLES).map_err(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
        transaction.pragma_update(None, "user_version", FORMAT).map_err(sql)?;
    } else if number("application_id")? != APPLICATION_ID {
        let why = "it is the database of another program".to_owned();
        return Err(StoreError::Unreadable { path: path.to_owned(), why });
    } else if number("user_version")? > FORMAT {
        let found = number("user_version")?;
        return Err(StoreError::Newer { path: path.to_owned(), found, supported: FORMAT });
    }
    transaction.commit().map_err(sql)
}

#[async_trait]
impl AccessStore for SqliteAccess {
    async fn tenants(&self) -> Result<Vec<TenantRecord>, StoreError> {
        self.read(rows::tenants).await
    }

    async fn add_tenant(&self, tenant: &TenantRecord) -> Result<bool, StoreError> {
        let tenant = tenant.clone();
        self.write(move |db| rows::add_tenant(db, &tenant)).await
    }

    async fn remove_tenant(&self, name: &TenantName) -> Result<bool, StoreError> {
        let name = name.clone();
        self.write(move |db| rows::remove_tenant(db, &name)).await
    }

    async fn keys(&self, tenant: Option<&TenantName>) -> Result<Vec<KeyRecord>, StoreError> {
        let tenant = tenant.cloned();
        self.read(move |db| rows::keys(db, tenant.as_ref())).await
    }

    async fn key(&self, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        let id = id.clone();
        self.read(move |db| rows::key(db, &id)).await
    }

    async fn add_key(&self, key: &KeyRecord) -> Result<bool, StoreError> {
        let key = key.clone();
        self.write(move |db| rows::add_key(db, &key)).await
    }

    async fn change_key(&self, id: &KeyId, change: KeyChange) -> Result<bool, StoreError> {
        let id = id.clone();
        self.write(move |db| rows::change_key(db, &id, change)).await
    }

    async fn append_audit(&self, entries: &[AuditEntry]) -> Result<(), StoreError> {
        let entries = entries.to_vec();
        self.write(move |db| rows::append_audit(db, &entries)).await
    }

    async fn audit(&self, query: &AuditQuery) -> Result<Vec<(u64, AuditEntry)>, StoreError> {
        let query = query.clone();
        self.read(move |db| rows::audit(db, &query)).await
    }

    async fn prune_audit(&self, before: Stamp) -> Result<u64, StoreError> {
        self.write(move |db| db.execute("DELETE FROM audit WHERE at < ?1", [before.0]).map(|rows| rows as u64))
            .await
    }
}
