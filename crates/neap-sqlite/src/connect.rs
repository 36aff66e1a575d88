//! Finds or creates a store and connects to it. Never changes a file that turns out not to be ours.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{db_error, migrations, preflight, schema};
use neap_store::{StoreError, files};

/// Older versions lose committed pages when two connections checkpoint at once.
const SQLITE_VERSION_MIN: i32 = 3_051_003;
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const BUSY_PAUSE: Duration = Duration::from_millis(5);
const WAL_BYTES_KEPT: i64 = 64 << 20;
/// Page cache per connection: a searching reader uses much of the file, the writer only what it writes next.
const READER_CACHE_KIB: i64 = 32 << 10;
const WRITER_CACHE_KIB: i64 = 2 << 10;
const STATEMENTS_CACHED: usize = 64;
const HEADER_BYTES: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Full,
    ReadOnly,
    /// Read-only, beside an existing WAL and its index, which stay unchanged.
    Untouched,
    /// Read-only, and not even a lock file can be created beside the database.
    Immutable,
}

/// How long a process uses a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenMode {
    /// Checkpoints on close: passively, and completely if it is the last process.
    LongLived,
    /// Closes without a checkpoint: the WAL stays for the next process.
    Brief,
}

#[derive(Debug)]
pub(super) struct StoreLocation {
    pub(super) path: PathBuf,
    /// A disk that was read-only may become writable while the store is open.
    access: Mutex<Access>,
    pub(super) mode: OpenMode,
    lock_wait: Duration,
    /// Holds copies that are read in place of the original files, until dropped.
    _copy: Option<tempfile::TempDir>,
}

impl StoreLocation {
    /// Opens a store for examination: creates or changes no file, not even beside it.
    pub(super) fn examine(path: &Path) -> Result<Self, StoreError> {
        check_sqlite()?;
        let unreadable = |e: std::io::Error| StoreError::Unreadable { path: path.to_owned(), why: e.to_string() };
        let header = files::read_start(path, HEADER_BYTES).map_err(unreadable)?.unwrap_or_default();
        check_header(path, &header)?;
        let has_content =
            |end| files::file_len(&sibling_path(path, end)).map(|size| size.is_some_and(|bytes| bytes > 0));
        let (has_wal, has_index) =
            (has_content("-wal").map_err(unreadable)?, has_content("-shm").map_err(unreadable)?);
        let location = |path: &Path, access, copy| Self {
            path: path.to_owned(),
            access: Mutex::new(access),
            mode: OpenMode::Brief,
            lock_wait: BUSY_TIMEOUT,
            _copy: copy,
        };
        let location = match (has_wal, has_index) {
            (false, _) => location(path, Access::Immutable, None),
            (true, true) => location(path, Access::Untouched, None),
            // Reading a WAL needs an index, which SQLite would create beside it; so read copies of both files.
            (true, false) => {
                let copy = files::copy_to_temp(&[path, &sibling_path(path, "-wal")]).map_err(unreadable)?;
                let copied = path.file_name().map_or_else(|| path.to_owned(), |name| copy.path().join(name));
                location(&copied, Access::ReadOnly, Some(copy))
            }
        };
        location.open().map(|_| location)
    }

    /// Opens the store, creating it if there is none. Returns the connection used, if it can write.
    pub(super) fn find_or_create(
        path: &Path,
        folders: Option<&Path>,
        mode: OpenMode,
        lock_wait: Duration,
    ) -> Result<(Self, Option<Connection>), StoreError> {
        check_sqlite()?;
        let unreadable = |e: std::io::Error| StoreError::Unreadable { path: path.to_owned(), why: e.to_string() };
        let header = files::read_start(path, HEADER_BYTES).map_err(unreadable)?;
        if let Some(header) = header.as_deref().filter(|header| !header.is_empty()) {
            check_header(path, header)?;
        }
        preflight::check(path, folders)?;
        if header.is_none_or(|header| header.is_empty()) {
            create_file(path)?;
        }
        let location = |access| StoreLocation {
            path: path.to_owned(),
            access: Mutex::new(access),
            mode,
            lock_wait,
            _copy: None,
        };
        let mut error = None;
        for access in [Access::Full, Access::ReadOnly, Access::Immutable] {
            // An immutable database would silently ignore what is in the WAL.
            if access == Access::Immutable
                && !matches!(files::file_len(&sibling_path(path, "-wal")), Ok(None | Some(0)))
            {
                break;
            }
            match location(access).open() {
                Ok(db) => return Ok((location(access), db)),
                Err(e @ (StoreError::ReadOnly { .. } | StoreError::Unreadable { .. })) => {
                    error.get_or_insert(e);
                }
                Err(
                    e @ (StoreError::Newer { .. }
                    | StoreError::Lost { .. }
                    | StoreError::Full { .. }
                    | StoreError::Busy { .. }
                    | StoreError::Conflict { .. }
                    | StoreError::DuplicateTurn { .. }
                    | StoreError::Database { .. }
                    | StoreError::Failed(_)),
                ) => return Err(e),
            }
        }
        Err(error.unwrap_or_else(|| StoreError::ReadOnly { path: path.to_owned() }))
    }

    pub(super) fn access(&self) -> Access {
        *self.access.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn writer(&self) -> Result<Connection, StoreError> {
        if self.access() != Access::Full {
            return self.regain_access();
        }
        let db = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        self.prepare_writer(&db).map_err(|e| db_error::store_error(&self.path, &e))?;
        Ok(db)
    }

    fn regain_access(&self) -> Result<Connection, StoreError> {
        let Self { path, access: _, mode, lock_wait, _copy: _ } = self;
        let access = Mutex::new(Access::Full);
        let full = StoreLocation { path: path.clone(), access, mode: *mode, lock_wait: *lock_wait, _copy: None };
        match full.try_open() {
            Ok(Some(db)) => {
                *self.access.lock().unwrap_or_else(PoisonError::into_inner) = Access::Full;
                Ok(db)
            }
            Ok(None) | Err(StoreError::Unreadable { .. }) => Err(StoreError::ReadOnly { path: path.clone() }),
            Err(error) => Err(error),
        }
    }

    pub(super) fn reader(&self) -> Result<Connection, StoreError> {
        let db = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        if self.access() != Access::Full {
            schema::emulate_current_format(&db).map_err(|e| db_error::store_error(&self.path, &e))?;
        }
        Ok(db)
    }

    /// Configures a connection for writing, once its file is known to be a store.
    fn prepare_writer(&self, db: &Connection) -> rusqlite::Result<()> {
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "FULL")?;
        // The writer never checkpoints on commit: see `checkpoint`.
        db.pragma_update(None, "wal_autocheckpoint", 0)?;
        db.pragma_update(None, "secure_delete", "ON")?;
        db.pragma_update(None, "journal_size_limit", WAL_BYTES_KEPT)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, self.mode == OpenMode::Brief).map(|_| ())
    }

    fn connect(&self, flags: OpenFlags) -> Result<Connection, StoreError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let by_uri =
            |end: &str| Connection::open_with_flags(uri(&self.path) + end, flags | OpenFlags::SQLITE_OPEN_URI);
        let opened = match self.access() {
            Access::Full | Access::ReadOnly => Connection::open_with_flags(&self.path, flags),
            Access::Untouched => by_uri("?readonly_shm=1"),
            Access::Immutable => by_uri("?immutable=1"),
        };
        let set_up = opened.and_then(|db| {
            // Closing must not change a damaged file. `prepare_writer` allows the checkpoint again for a good file
            // of a long-lived process.
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            db.busy_timeout(self.lock_wait)?;
            let cache =
                if flags.contains(OpenFlags::SQLITE_OPEN_READ_ONLY) { READER_CACHE_KIB } else { WRITER_CACHE_KIB };
            db.pragma_update(None, "cache_size", -cache)?;
            db.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
            // Otherwise SQLite replans a statement for each bound value if there is a partial index.
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            Ok(db)
        });
        set_up.map_err(|e| db_error::store_error(&self.path, &e))
    }

    /// Retries while another process creates or upgrades the store: SQLite's busy handler does not cover that.
    fn open(&self) -> Result<Option<Connection>, StoreError> {
        let began = Instant::now();
        loop {
            match self.try_open() {
                Err(StoreError::Busy { .. }) if began.elapsed() < BUSY_TIMEOUT => {
                    std::thread::sleep(BUSY_PAUSE);
                }
                opened => return opened,
            }
        }
    }

    fn try_open(&self) -> Result<Option<Connection>, StoreError> {
        if self.access() != Access::Full {
            return self.check_format(&self.reader()?).map(|()| None);
        }
        let mut db = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let sql = |e: rusqlite::Error| db_error::store_error(&self.path, &e);
        // SQLite opens what it may not write as well, and says so only when something is written.
        if db.is_readonly("main").map_err(sql)? {
            return Err(StoreError::ReadOnly { path: self.path.clone() });
        }
        let pages: i64 = db.query_row("PRAGMA page_count", [], |row| row.get(0)).map_err(sql)?;
        if pages == 0 {
            // In one transaction before WAL mode, so that the file is never half initialised.
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
            let pages: i64 = transaction.query_row("PRAGMA page_count", [], |row| row.get(0)).map_err(sql)?;
            let format: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(sql)?;
            if pages <= 1 && format == 0 {
                schema::create(&transaction).map_err(sql)?;
            }
            transaction.commit().map_err(sql)?;
        }
        self.check_format(&db)?;
        self.prepare_writer(&db).map_err(sql)?;
        if schema::format(&db).map_err(sql)? < schema::FORMAT {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
            migrations::upgrade(&transaction).map_err(sql)?;
            transaction.commit().map_err(sql)?;
        }
        Ok(Some(db))
    }

    fn check_format(&self, db: &Connection) -> Result<(), StoreError> {
        let pragma = |name| {
            db.pragma_query_value(None, name, |row| row.get::<_, i64>(0))
                .map_err(|e| db_error::store_error(&self.path, &e))
        };
        check_ids(&self.path, pragma("application_id")?, pragma("user_version")?)?;
        // Parses every table definition, so that damage to one is noticed before anything is written.
        let tables = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        tables.map(|_| ()).map_err(|e| db_error::store_error(&self.path, &e))
    }
}

fn create_file(path: &Path) -> Result<(), StoreError> {
    let created = path.parent().map_or(Ok(()), |parent| {
        if parent.as_os_str().is_empty() || parent.is_dir() { Ok(()) } else { files::create_dir(parent) }
    });
    created
        .and_then(|()| files::create_private(path))
        .map_err(|e| files::io_store_error(path, &e, |path| StoreError::Unreadable { path, why: e.to_string() }))
}

/// A file that SQLite keeps beside the database.
pub(super) fn sibling_path(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Checks the first bytes ourselves: letting SQLite open another program's file could change it.
fn check_header(path: &Path, header: &[u8]) -> Result<(), StoreError> {
    let number = |at: usize| header.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
    let (Some(format), Some(application)) = (number(60), number(68)) else {
        return Err(not_a_store(path, "it is not a database"));
    };
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(not_a_store(path, "it is not a database"));
    }
    if application == 0 && matches!(files::file_len(&sibling_path(path, "-journal")), Ok(Some(_))) {
        return Ok(()); // Perhaps ours, killed during creation: SQLite rolls that back.
    }
    check_ids(path, i64::from(application), i64::from(format))
}

/// Format numbers never get this high: a larger one is damage, and the rest of the file can be salvaged.
const FORMAT_PLAUSIBLE_MAX: i64 = 10_000;

/// Whether a file begins as a store of any format.
pub(super) fn is_store_header(path: &Path, header: &[u8]) -> bool {
    matches!(check_header(path, header), Ok(()) | Err(StoreError::Newer { .. }))
}

fn check_ids(path: &Path, application: i64, format: i64) -> Result<(), StoreError> {
    if application != i64::from(schema::APPLICATION_ID) {
        return Err(not_a_store(path, "it is the database of another program"));
    }
    if format > FORMAT_PLAUSIBLE_MAX {
        return Err(not_a_store(path, "the number of its format is damaged"));
    }
    if format > schema::FORMAT {
        return Err(StoreError::Newer { path: path.to_owned(), found: format, supported: schema::FORMAT });
    }
    Ok(())
}

fn not_a_store(path: &Path, why: &str) -> StoreError {
    StoreError::Unreadable { path: path.to_owned(), why: why.to_owned() }
}

fn check_sqlite() -> Result<(), StoreError> {
    if rusqlite::version_number() < SQLITE_VERSION_MIN {
        return Err(StoreError::Failed(format!("SQLite {} can lose data", rusqlite::version())));
    }
    Ok(())
}

/// A URI that tells SQLite that nobody writes to the file.
pub(super) fn immutable_uri(path: &Path) -> String {
    uri(path) + "?immutable=1"
}

fn uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}
