//! Checks that the files of a store belong together, before SQLite opens them: it would discard a WAL that does
//! not fit its database, and nobody could tell what was lost. Changes nothing.
//!
//! A WAL fits if it is of the same store, begins no later than one commit after the database file, and ends no
//! earlier than it. Both together must have what the marker has. This reads one page and the WAL, whatever the
//! store's size.

use std::path::{Path, PathBuf};

use neap_core::base::ids::Stamp;
use rusqlite::{Connection, OpenFlags};

use super::connect::{immutable_uri, is_store_header, sibling_path};
use super::marker::{self, Marker};
use super::progress::{self, StoreProgress};
use super::wal::WalFile;
use neap_store::folder::{self, FolderSurvey};
use neap_store::{StoreError, files};

/// Others may write while the files are read, so a mismatch is checked again.
const ATTEMPTS_MAX: usize = 5;
const HEADER_BYTES: u64 = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMismatch {
    pub why: String,
    /// Whether the WAL belongs to the database, so that both together can be salvaged.
    pub can_be_salvaged: bool,
    /// Files whose removal leaves a store that can be opened, or room for a new one.
    pub(super) to_set_aside: Vec<PathBuf>,
}

/// Fails if other files have more than the store that would be opened or created here.
pub(super) fn check(database: &Path, folders: Option<&Path>) -> Result<(), StoreError> {
    let found = find_mismatch(database, folders).map_err(|e| unreadable(database, &e))?;
    found.map_or(Ok(()), |FileMismatch { why, .. }| Err(StoreError::Lost { path: database.to_owned(), why }))
}

pub(super) fn find_mismatch(database: &Path, folders: Option<&Path>) -> std::io::Result<Option<FileMismatch>> {
    for _ in 0..ATTEMPTS_MAX {
        let state = FileState::read(database)?;
        let found = match state.mismatch() {
            None if state.is_empty => folder_mismatch(database, folders)?,
            mismatch => mismatch,
        };
        // Anyone writing meanwhile changes one of these between the two reads.
        if found.is_none() || FileState::read(database)? == state {
            return Ok(found);
        }
    }
    // Files that keep changing are in use, so they fit.
    Ok(None)
}

#[derive(Debug, PartialEq, Eq)]
struct FileState {
    database: PathBuf,
    /// There is no database, or it is empty.
    is_empty: bool,
    /// Not a store of ours, or not recognisable as one: opening it reports that.
    is_foreign: bool,
    exists: bool,
    /// The progress in the database file, without its WAL.
    in_file: Option<StoreProgress>,
    log: Option<WalState>,
    marker: Option<Marker>,
}

#[derive(Debug, PartialEq, Eq)]
struct WalState {
    bytes: u64,
    is_understood: bool,
    /// Whether its frames can be read although its header is damaged.
    has_frames: bool,
    /// The first transaction with a progress row.
    first: Option<StoreProgress>,
    /// The last one that SQLite would read.
    last: Option<StoreProgress>,
    /// The furthest progress in any whole frame.
    furthest: Option<StoreProgress>,
    /// The first damaged frame.
    damaged: Option<u64>,
    /// The database page with the progress row.
    page: Option<u32>,
}

impl FileState {
    fn read(database: &Path) -> std::io::Result<Self> {
        // Read the WAL first: a checkpoint in between only advances the file, which still fits.
        let log = WalState::read(&sibling_path(database, "-wal"))?;
        let marker = Marker::read(database);
        let header = files::read_start(database, HEADER_BYTES)?;
        let is_empty = header.as_ref().is_none_or(Vec::is_empty);
        let is_foreign = !is_empty && header.as_deref().is_some_and(|header| !is_store_header(database, header));
        let pages = log.iter().filter_map(|log| log.page).chain(marker.map(|marker| marker.page));
        let mut in_file = None;
        for page in pages {
            in_file = in_file.or(progress_in_page(database, header.as_deref().unwrap_or_default(), page)?);
        }
        if in_file.is_none() && marker.is_some() && !is_empty {
            // An erasure vacuums the file, so the page may have moved since the marker was written.
            in_file = progress_by_sqlite(database);
        }
        Ok(Self {
            database: database.to_owned(),
            is_empty,
            is_foreign,
            exists: header.is_some(),
            in_file,
            log,
            marker,
        })
    }

    fn mismatch(&self) -> Option<FileMismatch> {
        if self.is_foreign {
            return None;
        }
        if self.is_empty {
            return self.empty_mismatch();
        }
        self.log.as_ref().and_then(|log| self.wal_mismatch(log)).or_else(|| self.marker_mismatch())
    }

    fn wal_path(&self) -> PathBuf {
        sibling_path(&self.database, "-wal")
    }

    /// A mismatch that ends once the files beside the database are set aside.
    fn without_log(&self, why: String, can_be_salvaged: bool) -> Option<FileMismatch> {
        let to_set_aside =
            vec![self.wal_path(), sibling_path(&self.database, "-shm"), marker::marker_path(&self.database)];
        Some(FileMismatch { why, can_be_salvaged, to_set_aside })
    }

    /// There is no database, but something beside it that knows of one.
    fn empty_mismatch(&self) -> Option<FileMismatch> {
        let marker_path = marker::marker_path(&self.database);
        let known = self.marker.filter(|marker| marker.progress.events > 0);
        let from_log = self.log.as_ref().map(|log| describe_wal(&self.wal_path(), log));
        let from_marker = known.map(|marker| describe_marker(&marker_path, &marker));
        let evidence: Vec<String> = from_log.into_iter().chain(from_marker).collect();
        if evidence.is_empty() {
            return None;
        }
        let state = if self.exists { "is empty" } else { "is missing" };
        let why = format!("{} {state}, but {}", self.database.display(), evidence.join(", and "));
        let mut mismatch = self.without_log(why, self.log.is_some())?;
        mismatch.to_set_aside.push(self.database.clone());
        Some(mismatch)
    }

    /// The log belongs to another store, to another time of this one, or is damaged.
    fn wal_mismatch(&self, log: &WalState) -> Option<FileMismatch> {
        let (name, wal) = (self.database.display(), self.wal_path());
        if !log.is_understood && log.bytes > 32 {
            let (log_text, alone) = (describe_wal(&wal, log), describe_progress(self.in_file));
            return self
                .without_log(format!("{log_text} cannot be parsed; {name} alone has {alone}"), log.has_frames);
        }
        let wal = wal.display();
        let describe = |known: StoreProgress| describe_progress(Some(known));
        if let (Some(first), Some(file)) = (log.first, self.in_file) {
            let (last, file_text, first_text) = (log.last.unwrap_or(first), describe(file), describe(first));
            if first.store != file.store {
                let why = format!(
                    "{wal} is the log of another store: {name} has {file_text}, the log's store {first_text}"
                );
                return self.without_log(why, false);
            }
            if first.commits > file.commits + 1 {
                let why = format!(
                    "{name} is older than its log: the file has {file_text}, {wal} begins with {first_text}"
                );
                return self.without_log(why, false);
            }
            // SQLite would replace newer pages with older ones.
            if last.commits < file.commits {
                let last = describe(last);
                let why = match log.damaged {
                    None => {
                        format!("{wal} is older than its database: it ends with {last}, {name} has {file_text}")
                    }
                    Some(frame) => format!(
                        "{wal} is damaged at frame {}: up to there it has {last}, {name} has {file_text}",
                        frame + 1
                    ),
                };
                return self.without_log(why, log.damaged.is_some());
            }
        }
        let (frame, furthest, visible) = (log.damaged?, log.furthest?, log.last.or(self.in_file)?);
        if furthest.commits < visible.commits + 2 {
            return None;
        }
        let why = format!(
            "{wal} is damaged at frame {}: without what follows the store has {}, with it {}",
            frame + 1,
            describe(visible),
            describe(furthest)
        );
        self.without_log(why, true)
    }

    /// The marker knows of more than the store has, or of another store.
    fn marker_mismatch(&self) -> Option<FileMismatch> {
        let (name, marker, marker_path) =
            (self.database.display(), self.marker?, marker::marker_path(&self.database));
        let visible = self.log.as_ref().and_then(|log| log.last).max_by_commits(self.in_file);
        let (has, knows) = (describe_progress(visible), describe_marker(&marker_path, &marker));
        let to_set_aside = vec![marker_path];
        let is_behind = match visible {
            Some(visible) if visible.store != marker.progress.store => {
                let why = format!("{name} is not the store that was here last: it has {has}; {knows}");
                return Some(FileMismatch { why, can_be_salvaged: false, to_set_aside });
            }
            Some(visible) => visible.commits < marker.progress.commits,
            None => marker.progress.events > 0,
        };
        let missing_log = match self.log {
            None => format!(" (there is no {})", self.wal_path().display()),
            Some(_) => String::new(),
        };
        let why = format!("{name} has lost what was written last: it has {has}{missing_log}, but {knows}");
        let can_be_salvaged = self.log.as_ref().is_some_and(|log| log.damaged.is_some());
        is_behind.then_some(FileMismatch { why, can_be_salvaged, to_set_aside })
    }
}

trait MaxByCommits {
    fn max_by_commits(self, other: Self) -> Self;
}

impl MaxByCommits for Option<StoreProgress> {
    fn max_by_commits(self, other: Self) -> Self {
        self.into_iter().chain(other).max_by_key(|progress| progress.commits)
    }
}

impl WalState {
    fn read(path: &Path) -> std::io::Result<Option<Self>> {
        let Some(log) = WalFile::open(path)? else { return Ok(None) };
        let mut state = Self {
            bytes: log.bytes,
            is_understood: log.has_whole_header,
            has_frames: log.header.is_some(),
            first: None,
            last: None,
            furthest: None,
            damaged: None,
            page: None,
        };
        // The progress of the transaction being read; it counts once its last frame is there.
        let mut pending = None;
        log.frames(|frame| {
            if !frame.is_reached {
                state.damaged = state.damaged.or(Some(frame.number));
            }
            if frame.is_whole
                && let Some(found) = StoreProgress::find_in_page(frame.data)
            {
                (pending, state.page) = (Some(found), Some(frame.page));
            }
            if frame.is_commit
                && let Some(found) = pending.take()
            {
                state.furthest = state.furthest.max_by_commits(Some(found));
                if frame.is_reached {
                    state.first = state.first.or(Some(found));
                    state.last = Some(found);
                }
            }
            true
        })?;
        Ok(Some(state))
    }
}

fn progress_in_page(database: &Path, header: &[u8], page: u32) -> std::io::Result<Option<StoreProgress>> {
    let Some(size) = header.get(16..18).map(|two| u16::from_be_bytes([two[0], two[1]])) else { return Ok(None) };
    // A page size of 65,536 is stored as 1.
    let size = if size == 1 { 65_536 } else { u64::from(size) };
    let bytes = files::read_at(database, size * u64::from(page.saturating_sub(1)), size)?;
    Ok(StoreProgress::find_in_page(&bytes))
}

/// The progress that SQLite finds in the database file alone.
fn progress_by_sqlite(database: &Path) -> Option<StoreProgress> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(immutable_uri(database), flags).ok()?;
    progress::read(&db).ok().flatten()
}

fn folder_mismatch(database: &Path, folders: Option<&Path>) -> std::io::Result<Option<FileMismatch>> {
    let Some(root) = folders else { return Ok(None) };
    let Some(FolderSurvey { sessions, changed, newest }) = folder::survey_folders(root)? else { return Ok(None) };
    let state = if files::file_len(database)?.is_some() { "is empty" } else { "is missing" };
    let why = format!(
        "{} {state}, but {} has the folders of {sessions} sessions, the newest of them '{newest}', changed {}",
        database.display(),
        root.display(),
        timestamp(changed)
    );
    let to_set_aside = vec![database.to_owned(), root.to_owned()];
    Ok(Some(FileMismatch { why, can_be_salvaged: false, to_set_aside }))
}

fn describe_wal(wal: &Path, log: &WalState) -> String {
    let known = log.last.map_or_else(String::new, |last| format!(" up to {}", describe_progress(Some(last))));
    let changed =
        files::modified_at(wal).map_or_else(String::new, |at| format!(", last changed {}", timestamp(at)));
    format!("{} has {} bytes{known}{changed}", wal.display(), log.bytes)
}

fn describe_marker(path: &Path, marker: &Marker) -> String {
    format!("{} says that the store had {}", path.display(), describe_progress(Some(marker.progress)))
}

fn describe_progress(progress: Option<StoreProgress>) -> String {
    match progress {
        Some(StoreProgress { commits, events, at, .. }) if events > 0 => {
            format!("{events} events in {commits} commits, the last at {}", timestamp(at))
        }
        Some(StoreProgress { commits, events, .. }) => format!("{events} events in {commits} commits"),
        None => "no record of its commits".to_owned(),
    }
}

fn timestamp(at: Stamp) -> String {
    folder::iso_timestamp(at)
}

pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unreadable { path: path.to_owned(), why: error.to_string() }
}
