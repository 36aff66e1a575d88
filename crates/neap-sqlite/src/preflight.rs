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
        let (wal, marker_path) = (sibling_path(&self.database, "-wal"), marker::marker_path(&self.database));
        let Self { database, in_file, log, marker, .. } = self;
        let name = database.display();
        let sides = || vec![wal.clone(), sibling_path(database, "-shm")];
        if self.is_empty {
            let known = marker.filter(|marker| marker.progress.events > 0);
            let from_log = log.as_ref().map(|log| describe_wal(&wal, log));
            let from_marker = known.map(|marker| describe_marker(&marker_path, &marker));
            let evidence: Vec<String> = from_log.into_iter().chain(from_marker).collect();
            if evidence.is_empty() {
                return None;
            }
            let state = if self.exists { "is empty" } else { "is missing" };
            let why = format!("{name} {state}, but {}", evidence.join(", and "));
            let to_set_aside = [sides(), vec![marker_path, database.clone()]].concat();
            return Some(FileMismatch { why, can_be_salvaged: log.is_some(), to_set_aside });
        }
        let without_log = |why: String| {
            let to_set_aside = [sides(), vec![marker_path.clone()]].concat();
            Some(FileMismatch { why, can_be_salvaged: false, to_set_aside })
        };
        if let Some(log) = log {
            if !log.is_understood && log.bytes > 32 {
                let why = format!(
                    "{} cannot be parsed; {name} alone has {}",
                    describe_wal(&wal, log),
                    describe_progress(*in_file)
                );
                return without_log(why)
                    .map(|mismatch| FileMismatch { can_be_salvaged: log.has_frames, ..mismatch });
            }
            if let (Some(first), Some(file)) = (log.first, *in_file) {
                let describe = |known: StoreProgress| describe_progress(Some(known));
                if first.store != file.store {
                    let why = format!(
                        "{} is the log of another store: {name} has {}, the log's store {}",
                        wal.display(),
                        describe(file),
                        describe(first)
                    );
                    return without_log(why);
                }
                if first.commits > file.commits + 1 {
                    let why = format!(
                        "{name} is older than its log: the file has {}, {} begins with {}",
                        describe(file),
                        wal.display(),
                        describe(first)
                    );
                    return without_log(why);
                }
                if log.last.unwrap_or(first).commits < file.commits {
                    // SQLite would replace newer pages with older ones.
                    let last = describe(log.last.unwrap_or(first));
                    let (wal, file) = (wal.display(), describe(file));
                    let Some(frame) = log.damaged else {
                        let why =
                            format!("{wal} is older than its database: it ends with {last}, {name} has {file}");
                        return without_log(why);
                    };
                    let why = format!(
                        "{wal} is damaged at frame {}: up to there it has {last}, {name} has {file}",
                        frame + 1
                    );
                    return without_log(why).map(|mismatch| FileMismatch { can_be_salvaged: true, ..mismatch });
                }
            }
            let visible = log.last.or(*in_file);
            if let (Some(frame), Some(furthest), Some(visible)) = (log.damaged, log.furthest, visible)
                && furthest.commits >= visible.commits + 2
            {
                let why = format!(
                    "{} is damaged at frame {}: without what follows the store has {}, with it {}",
                    wal.display(),
                    frame + 1,
                    describe_progress(Some(visible)),
                    describe_progress(Some(furthest))
                );
                let to_set_aside = [sides(), vec![marker_path]].concat();
                return Some(FileMismatch { why, can_be_salvaged: true, to_set_aside });
            }
        }
        let visible = log.as_ref().and_then(|log| log.last).max_by_commits(*in_file);
        let marker = (*marker)?;
        let is_behind = match visible {
            Some(visible) if visible.store != marker.progress.store => {
                let why = format!(
                    "{name} is not the store that was here last: it has {}; {}",
                    describe_progress(Some(visible)),
                    describe_marker(&marker_path, &marker)
                );
                return Some(FileMismatch { why, can_be_salvaged: false, to_set_aside: vec![marker_path] });
            }
            Some(visible) => visible.commits < marker.progress.commits,
            None => marker.progress.events > 0,
        };
        let missing_log = if log.is_none() { format!(" (there is no {})", wal.display()) } else { String::new() };
        let why = || {
            format!(
                "{name} has lost what was written last: it has {}{missing_log}, but {}",
                describe_progress(visible),
                describe_marker(&marker_path, &marker)
            )
        };
        let can_be_salvaged = log.as_ref().is_some_and(|log| log.damaged.is_some());
        is_behind.then(|| FileMismatch { why: why(), can_be_salvaged, to_set_aside: vec![marker_path.clone()] })
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
