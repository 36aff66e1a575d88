//! Finding a store, or making one, and connecting to it. Nothing is changed in what turns out not to be ours.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{fault, preflight, schema};
use crate::{StoreError, files};

/// Older ones lose committed pages when two connections checkpoint at once.
const SQLITE_VERSION_MIN: i32 = 3_051_003;
/// How long to wait for another process.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const BUSY_PAUSE: Duration = Duration::from_millis(5);
const WAL_BYTES_KEPT: i64 = 64 << 20;
/// What a connection keeps of the file: one that searches wants much of it, one that writes what it writes next.
const READER_CACHE_KIB: i64 = 32 << 10;
const WRITER_CACHE_KIB: i64 = 2 << 10;
const STATEMENTS_CACHED: usize = 64;
const HEADER_BYTES: u64 = 100;

/// How a store may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Read and written.
    Full,
    /// Read only.
    ReadOnly,
    /// Read only, beside a log and its index that are there and stay as they are.
    Untouched,
    /// Read only, and not even a lock can be left beside the file.
    Immutable,
}

/// How long a process stays with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stay {
    /// Until its work is done: whoever is the last to leave copies the log of writes into the file.
    Whole,
    /// For a moment: the log stays beside the file, for whoever comes next.
    Brief,
}

/// Where a store is.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// A disk that could only be read may be writable again while the store is open.
    access: Mutex<Access>,
    pub(super) stay: Stay,
    /// How long a connection waits for another process's lock.
    lock_wait: Duration,
    /// Where the files are that are read in place of others, until this is dropped.
    _copy: Option<tempfile::TempDir>,
}

impl Place {
    /// A store to be looked at: no file is made or changed, also none beside it.
    pub(super) fn examine(path: &Path) -> Result<Self, StoreError> {
        check_sqlite()?;
        let unreadable = |e: std::io::Error| StoreError::Unreadable { path: path.to_owned(), why: e.to_string() };
        let header = files::read_start(path, HEADER_BYTES).map_err(unreadable)?.unwrap_or_default();
        check_header(path, &header)?;
        let is_there = |end| files::size(&beside(path, end)).map(|size| size.is_some_and(|bytes| bytes > 0));
        let (has_log, has_index) = (is_there("-wal").map_err(unreadable)?, is_there("-shm").map_err(unreadable)?);
        let place = |path: &Path, access, copy| Self {
            path: path.to_owned(),
            access: Mutex::new(access),
            stay: Stay::Brief,
            lock_wait: BUSY_TIMEOUT,
            _copy: copy,
        };
        let place = match (has_log, has_index) {
            (false, _) => place(path, Access::Immutable, None),
            (true, true) => place(path, Access::Untouched, None),
            // To read a log takes an index, which SQLite would make beside it: so both are read elsewhere.
            (true, false) => {
                let copy = files::copy_of(&[path, &beside(path, "-wal")]).map_err(unreadable)?;
                let copied = path.file_name().map_or_else(|| path.to_owned(), |name| copy.path().join(name));
                place(&copied, Access::ReadOnly, Some(copy))
            }
        };
        place.open().map(|_| place)
    }

    /// Looks at what is there; makes a store where there is nothing. Gives the connection that looked, if it can write. `folders` is where
    /// the store's session folders are, if it has any.
    pub(super) fn find(
        path: &Path,
        folders: Option<&Path>,
        stay: Stay,
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
            make_room(path)?;
        }
        let place =
            |access| Place { path: path.to_owned(), access: Mutex::new(access), stay, lock_wait, _copy: None };
        let mut error = None;
        for access in [Access::Full, Access::ReadOnly, Access::Immutable] {
            // What is in the log of writes would be passed over in silence.
            if access == Access::Immutable && !matches!(files::size(&beside(path, "-wal")), Ok(None | Some(0))) {
                break;
            }
            match place(access).open() {
                Ok(db) => return Ok((place(access), db)),
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
                    | StoreError::Failed(_)),
                ) => return Err(e),
            }
        }
        Err(error.unwrap_or_else(|| StoreError::ReadOnly { path: path.to_owned() }))
    }

    /// How the store may be used, as far as that is known.
    pub(super) fn access(&self) -> Access {
        *self.access.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that writes.
    pub(super) fn writer(&self) -> Result<Connection, StoreError> {
        if self.access() != Access::Full {
            return self.regain_access();
        }
        let db = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        self.prepare_writer(&db).map_err(|e| fault::named(&self.path, &e))?;
        Ok(db)
    }

    /// Opens for writing what could only be read before.
    fn regain_access(&self) -> Result<Connection, StoreError> {
        let Self { path, access: _, stay, lock_wait, _copy: _ } = self;
        let access = Mutex::new(Access::Full);
        let full = Place { path: path.clone(), access, stay: *stay, lock_wait: *lock_wait, _copy: None };
        match full.try_open() {
            Ok(Some(db)) => {
                *self.access.lock().unwrap_or_else(PoisonError::into_inner) = Access::Full;
                Ok(db)
            }
            Ok(None) | Err(StoreError::Unreadable { .. }) => Err(StoreError::ReadOnly { path: path.clone() }),
            Err(error) => Err(error),
        }
    }

    /// A connection that only reads.
    pub(super) fn reader(&self) -> Result<Connection, StoreError> {
        let db = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        if self.access() != Access::Full {
            schema::stand_in(&db).map_err(|e| fault::named(&self.path, &e))?;
        }
        Ok(db)
    }

    /// Lets a connection write, whose file was seen to be a store.
    fn prepare_writer(&self, db: &Connection) -> rusqlite::Result<()> {
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "FULL")?;
        // Not by whoever commits: see `checkpoint`.
        db.pragma_update(None, "wal_autocheckpoint", 0)?;
        db.pragma_update(None, "secure_delete", "ON")?;
        db.pragma_update(None, "journal_size_limit", WAL_BYTES_KEPT)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, self.stay == Stay::Brief).map(|_| ())
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
            // What turns out to be damaged is left as it is: see `prepare_writer`.
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            db.busy_timeout(self.lock_wait)?;
            let cache =
                if flags.contains(OpenFlags::SQLITE_OPEN_READ_ONLY) { READER_CACHE_KIB } else { WRITER_CACHE_KIB };
            db.pragma_update(None, "cache_size", -cache)?;
            db.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
            // Else SQLite plans a statement anew for each value that is bound to it, where an index is for a part of the rows.
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            Ok(db)
        });
        set_up.map_err(|e| fault::named(&self.path, &e))
    }

    /// Opens it; while others make the same file what it is to be, SQLite does not wait by itself.
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
        let sql = |e: rusqlite::Error| fault::named(&self.path, &e);
        let pages: i64 = db.query_row("PRAGMA page_count", [], |row| row.get(0)).map_err(sql)?;
        if pages == 0 {
            // In one transaction before WAL begins, so that the file is never ours by half.
            let making = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
            let pages: i64 = making.query_row("PRAGMA page_count", [], |row| row.get(0)).map_err(sql)?;
            let known: i64 = making.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(sql)?;
            if pages <= 1 && known == 0 {
                schema::create(&making).map_err(sql)?;
            }
            making.commit().map_err(sql)?;
        }
        self.check_format(&db)?;
        self.prepare_writer(&db).map_err(sql)?;
        if schema::format(&db).map_err(sql)? < schema::FORMAT {
            let upgrading = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
            schema::upgrade(&upgrading).map_err(sql)?;
            upgrading.commit().map_err(sql)?;
        }
        Ok(Some(db))
    }

    fn check_format(&self, db: &Connection) -> Result<(), StoreError> {
        let pragma = |name| {
            db.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(|e| fault::named(&self.path, &e))
        };
        check(&self.path, pragma("application_id")?, pragma("user_version")?)?;
        // Reads every definition: where one is damaged, that is seen before anything is written.
        let tables = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        tables.map(|_| ()).map_err(|e| fault::named(&self.path, &e))
    }
}

/// A place for a new file: private, in a directory that is there.
fn make_room(path: &Path) -> Result<(), StoreError> {
    let made = path.parent().map_or(Ok(()), |parent| {
        if parent.as_os_str().is_empty() || parent.is_dir() { Ok(()) } else { files::create_dir(parent) }
    });
    made.and_then(|()| files::create_private(path))
        .map_err(|e| files::named(path, &e, |path| StoreError::Unreadable { path, why: e.to_string() }))
}

/// A file that SQLite keeps beside the database.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Looks at the file's own first bytes: to let SQLite open another program's file could change it.
fn check_header(path: &Path, header: &[u8]) -> Result<(), StoreError> {
    let number = |at: usize| header.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
    let (Some(format), Some(application)) = (number(60), number(68)) else {
        return Err(alien(path, "it is not a database"));
    };
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(alien(path, "it is not a database"));
    }
    if application == 0 && matches!(files::size(&beside(path, "-journal")), Ok(Some(_))) {
        return Ok(()); // Perhaps ours, killed while it was made: SQLite will undo that.
    }
    check(path, i64::from(application), i64::from(format))
}

/// No version will have so many formats: a larger number is damage, and what else is in the file can be salvaged.
const FORMAT_PLAUSIBLE_MAX: i64 = 10_000;

/// Whether a file begins as a store does, of whatever format.
pub(super) fn is_ours(path: &Path, header: &[u8]) -> bool {
    matches!(check_header(path, header), Ok(()) | Err(StoreError::Newer { .. }))
}

fn check(path: &Path, application: i64, format: i64) -> Result<(), StoreError> {
    if application != i64::from(schema::APPLICATION_ID) {
        return Err(alien(path, "it is the database of another program"));
    }
    if format > FORMAT_PLAUSIBLE_MAX {
        return Err(alien(path, "the number of its format is damaged"));
    }
    if format > schema::FORMAT {
        return Err(StoreError::Newer { path: path.to_owned(), found: format, supported: schema::FORMAT });
    }
    Ok(())
}

fn alien(path: &Path, why: &str) -> StoreError {
    StoreError::Unreadable { path: path.to_owned(), why: why.to_owned() }
}

/// Fails where SQLite is older than the first that loses nothing.
fn check_sqlite() -> Result<(), StoreError> {
    if rusqlite::version_number() < SQLITE_VERSION_MIN {
        return Err(StoreError::Failed(format!("SQLite {} can lose data", rusqlite::version())));
    }
    Ok(())
}

/// The path as a URI that tells SQLite that nobody writes there.
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
