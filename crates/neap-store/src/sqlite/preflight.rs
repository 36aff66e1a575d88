//! Whether the files of a store belong together, looked at before SQLite opens them: it would discard a log that does not fit its
//! database, and nobody could tell any more what was lost. Reads, and changes nothing.
//!
//! A log fits if it is of the same store, begins no later than one commit after the database file, and ends no earlier than
//! it. Both together must know what the marker knows. All of that takes one page and the log, whatever the size of the store.

use std::path::{Path, PathBuf};

use neap_core::ids::Stamp;
use rusqlite::{Connection, OpenFlags};

use super::connect::{beside, immutable_uri, is_ours};
use super::mark::{self, Mark};
use super::progress::{self, Progress};
use super::wal::Log;
use crate::folder::{self, Folders};
use crate::{StoreError, files};

/// Others may write while the files are read: what does not fit is looked at again.
const LOOKS_MAX: usize = 5;
const HEADER_BYTES: u64 = 100;

/// What is wrong with the files of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// In a sentence, with paths, counts and times.
    pub why: String,
    /// Whether the log belongs to the database, so that both together can be salvaged.
    pub can_be_salvaged: bool,
    /// Files whose removal leaves a store that can be opened, or a place for a new one.
    pub(super) in_the_way: Vec<PathBuf>,
}

/// Fails if what is there knows more than a store that would be opened, or made, here.
pub(super) fn check(database: &Path, folders: Option<&Path>) -> Result<(), StoreError> {
    let found = misfit(database, folders).map_err(|e| unreadable(database, &e))?;
    found.map_or(Ok(()), |Misfit { why, .. }| Err(StoreError::Lost { path: database.to_owned(), why }))
}

/// What does not fit.
pub(super) fn misfit(database: &Path, folders: Option<&Path>) -> std::io::Result<Option<Misfit>> {
    for _ in 0..LOOKS_MAX {
        let seen = Seen::look(database)?;
        let found = match seen.judge() {
            None if seen.is_empty => of_folders(database, folders)?,
            judged => judged,
        };
        // Whoever writes at the same time changes one of these between two looks.
        if found.is_none() || Seen::look(database)? == seen {
            return Ok(found);
        }
    }
    // What others keep writing to is in use, and fits.
    Ok(None)
}

/// What the files say.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    database: PathBuf,
    /// There is no database, or nothing in it.
    is_empty: bool,
    /// What is there is no store of ours, or cannot be told from others: whoever opens it says so.
    is_alien: bool,
    exists: bool,
    /// What the database file says, without its log.
    in_file: Option<Progress>,
    log: Option<SeenLog>,
    mark: Option<Mark>,
}

/// What a log says.
#[derive(Debug, PartialEq, Eq)]
struct SeenLog {
    bytes: u64,
    is_understood: bool,
    /// Whether the frames can be read nevertheless.
    has_frames: bool,
    /// The first transaction that says how far it is.
    first: Option<Progress>,
    /// The last one that SQLite reads.
    last: Option<Progress>,
    /// The furthest that any whole frame says.
    furthest: Option<Progress>,
    /// The first frame that is not what was written.
    damaged: Option<u64>,
    /// The page that says it.
    page: Option<u32>,
}

impl Seen {
    fn look(database: &Path) -> std::io::Result<Self> {
        // The log first: a checkpoint that comes between raises what the file says, which is what fits.
        let log = SeenLog::look(&beside(database, "-wal"))?;
        let mark = Mark::read(database);
        let header = files::read_start(database, HEADER_BYTES)?;
        let is_empty = header.as_ref().is_none_or(Vec::is_empty);
        let is_alien = !is_empty && header.as_deref().is_some_and(|header| !is_ours(database, header));
        let pages = log.iter().filter_map(|log| log.page).chain(mark.map(|mark| mark.page));
        let mut in_file = None;
        for page in pages {
            in_file = in_file.or(in_page(database, header.as_deref().unwrap_or_default(), page)?);
        }
        if in_file.is_none() && mark.is_some() && !is_empty {
            // Erasing writes the file anew, and the page may be another since the marker was written.
            in_file = ask(database);
        }
        Ok(Self {
            database: database.to_owned(),
            is_empty,
            is_alien,
            exists: header.is_some(),
            in_file,
            log,
            mark,
        })
    }

    fn judge(&self) -> Option<Misfit> {
        if self.is_alien {
            return None;
        }
        let (wal, marker) = (beside(&self.database, "-wal"), mark::place(&self.database));
        let Self { database, in_file, log, mark, .. } = self;
        let name = database.display();
        let sides = || vec![wal.clone(), beside(database, "-shm")];
        if self.is_empty {
            let known = mark.filter(|mark| mark.progress.events > 0);
            let log_holds = log.as_ref().map(|log| told_log(&wal, log));
            let mark_says = known.map(|mark| told_mark(&marker, &mark));
            let knows: Vec<String> = log_holds.into_iter().chain(mark_says).collect();
            if knows.is_empty() {
                return None;
            }
            let state = if self.exists { "is empty" } else { "is missing" };
            let why = format!("{name} {state}, but {}", knows.join(", and "));
            let in_the_way = [sides(), vec![marker, database.clone()]].concat();
            return Some(Misfit { why, can_be_salvaged: log.is_some(), in_the_way });
        }
        let without_log = |why: String| {
            let in_the_way = [sides(), vec![marker.clone()]].concat();
            Some(Misfit { why, can_be_salvaged: false, in_the_way })
        };
        if let Some(log) = log {
            if !log.is_understood && log.bytes > 32 {
                let why =
                    format!("{} cannot be understood; {name} alone has {}", told_log(&wal, log), told(*in_file));
                return without_log(why).map(|misfit| Misfit { can_be_salvaged: log.has_frames, ..misfit });
            }
            if let (Some(first), Some(file)) = (log.first, *in_file) {
                let says = |known: Progress| told(Some(known));
                if first.store != file.store {
                    let why = format!(
                        "{} is the log of another store: {name} has {}, the log's store {}",
                        wal.display(),
                        says(file),
                        says(first)
                    );
                    return without_log(why);
                }
                if first.commits > file.commits + 1 {
                    let why = format!(
                        "{name} is older than its log: the file has {}, {} begins with {}",
                        says(file),
                        wal.display(),
                        says(first)
                    );
                    return without_log(why);
                }
                if log.last.unwrap_or(first).commits < file.commits {
                    // SQLite would put older pages in the place of newer ones.
                    let last = says(log.last.unwrap_or(first));
                    let (wal, file) = (wal.display(), says(file));
                    let Some(frame) = log.damaged else {
                        let why =
                            format!("{wal} is older than its database: it ends with {last}, {name} has {file}");
                        return without_log(why);
                    };
                    let why = format!(
                        "{wal} is damaged at frame {}: up to there it has {last}, {name} has {file}",
                        frame + 1
                    );
                    return without_log(why).map(|misfit| Misfit { can_be_salvaged: true, ..misfit });
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
                    told(Some(visible)),
                    told(Some(furthest))
                );
                let in_the_way = [sides(), vec![marker]].concat();
                return Some(Misfit { why, can_be_salvaged: true, in_the_way });
            }
        }
        let visible = log.as_ref().and_then(|log| log.last).max_by_commits(*in_file);
        let mark = (*mark)?;
        let is_behind = match visible {
            Some(visible) if visible.store != mark.progress.store => {
                let why = format!(
                    "{name} is another store than the one that was last here: it has {}; {}",
                    told(Some(visible)),
                    told_mark(&marker, &mark)
                );
                return Some(Misfit { why, can_be_salvaged: false, in_the_way: vec![marker] });
            }
            Some(visible) => visible.commits < mark.progress.commits,
            None => mark.progress.events > 0,
        };
        let gone = if log.is_none() { format!(" (there is no {})", wal.display()) } else { String::new() };
        let why = || {
            format!(
                "{name} has lost what was written last: it has {}{gone}, but {}",
                told(visible),
                told_mark(&marker, &mark)
            )
        };
        let can_be_salvaged = log.as_ref().is_some_and(|log| log.damaged.is_some());
        is_behind.then(|| Misfit { why: why(), can_be_salvaged, in_the_way: vec![marker.clone()] })
    }
}

trait MaxByCommits {
    fn max_by_commits(self, other: Self) -> Self;
}

impl MaxByCommits for Option<Progress> {
    /// The one that is further.
    fn max_by_commits(self, other: Self) -> Self {
        self.into_iter().chain(other).max_by_key(|progress| progress.commits)
    }
}

impl SeenLog {
    fn look(path: &Path) -> std::io::Result<Option<Self>> {
        let Some(log) = Log::open(path)? else { return Ok(None) };
        let mut seen = Self {
            bytes: log.bytes,
            is_understood: log.has_whole_header,
            has_frames: log.header.is_some(),
            first: None,
            last: None,
            furthest: None,
            damaged: None,
            page: None,
        };
        // What the transaction says that is being read; it counts once its last frame is there.
        let mut open = None;
        log.frames(|frame| {
            if !frame.is_reached {
                seen.damaged = seen.damaged.or(Some(frame.number));
            }
            if frame.is_whole
                && let Some(found) = Progress::in_page(frame.data)
            {
                (open, seen.page) = (Some(found), Some(frame.page));
            }
            if frame.is_commit
                && let Some(found) = open.take()
            {
                seen.furthest = seen.furthest.max_by_commits(Some(found));
                if frame.is_reached {
                    seen.first = seen.first.or(Some(found));
                    seen.last = Some(found);
                }
            }
            true
        })?;
        Ok(Some(seen))
    }
}

/// What a page of the database file says.
fn in_page(database: &Path, header: &[u8], page: u32) -> std::io::Result<Option<Progress>> {
    let Some(size) = header.get(16..18).map(|two| u16::from_be_bytes([two[0], two[1]])) else { return Ok(None) };
    // A size of 65,536 is written as 1.
    let size = if size == 1 { 65_536 } else { u64::from(size) };
    let bytes = files::read_at(database, size * u64::from(page.saturating_sub(1)), size)?;
    Ok(Progress::in_page(&bytes))
}

/// What SQLite finds in the database file alone.
fn ask(database: &Path) -> Option<Progress> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(immutable_uri(database), flags).ok()?;
    progress::read(&db).ok().flatten()
}

/// Session folders beside an empty database.
fn of_folders(database: &Path, folders: Option<&Path>) -> std::io::Result<Option<Misfit>> {
    let Some(root) = folders else { return Ok(None) };
    let Some(Folders { sessions, changed, newest }) = folder::look(root)? else { return Ok(None) };
    let state = if files::size(database)?.is_some() { "is empty" } else { "is missing" };
    let why = format!(
        "{} {state}, but {} has the folders of {sessions} sessions, the newest of them '{newest}', changed {}",
        database.display(),
        root.display(),
        moment(changed)
    );
    let in_the_way = vec![database.to_owned(), root.to_owned()];
    Ok(Some(Misfit { why, can_be_salvaged: false, in_the_way }))
}

fn told_log(wal: &Path, log: &SeenLog) -> String {
    let known = log.last.map_or_else(String::new, |last| format!(" up to {}", told(Some(last))));
    let changed = files::changed(wal).map_or_else(String::new, |at| format!(", last changed {}", moment(at)));
    format!("{} has {} bytes{known}{changed}", wal.display(), log.bytes)
}

fn told_mark(marker: &Path, mark: &Mark) -> String {
    format!("{} says that the store had {}", marker.display(), told(Some(mark.progress)))
}

fn told(progress: Option<Progress>) -> String {
    match progress {
        Some(Progress { commits, events, at, .. }) if events > 0 => {
            format!("{events} events in {commits} commits, the last at {}", moment(at))
        }
        Some(Progress { commits, events, .. }) => format!("{events} events in {commits} commits"),
        None => "no record of its commits".to_owned(),
    }
}

fn moment(at: Stamp) -> String {
    folder::iso(at)
}

/// An error of the file system as one of the store.
pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unreadable { path: path.to_owned(), why: error.to_string() }
}
