//! Writes one session's folder: appends what is new where possible, rewrites all of it otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use neap_core::base::ids::{EffortId, Seq, StreamId};
use neap_core::session::effort::Effort;
use neap_core::session::state::SessionState;

use super::cursor::Cursor;
use super::log_lines::LogLines;
use super::log_names::{LogNames, is_log_name};
use super::manifest::small_files;
use super::surplus::{SurplusLog, find_surplus};
use super::{
    AMBIENT_FILE, CURSOR_FILE, EFFORTS_DIR, EXPANDED_FILE, LOCK_FILE, MANIFEST_FILE, STATE_FILE, folder_error,
};
use crate::{Store, StoreError, StoredEvent, files};

const EVENTS_PER_READ: usize = 1_000;

/// Rewrites a session's folder under `root`; the same stream gives the same bytes, and an erased session has no
/// folder. A folder that has more than its stream is left alone: [`StoreError::Lost`].
pub async fn rewrite_folder(store: &dyn Store, root: &Path, session: &StreamId) -> Result<(), StoreError> {
    write_folder(store, root, session, false).await
}

/// Like [`rewrite_folder`], but appends what is new where the folder shows how far it is.
pub(super) async fn update(store: &dyn Store, root: &Path, session: &StreamId) -> Result<(), StoreError> {
    write_folder(store, root, session, true).await
}

async fn write_folder(
    store: &dyn Store,
    root: &Path,
    session: &StreamId,
    may_append: bool,
) -> Result<(), StoreError> {
    let Some((dir, _lock)) = lock_folder(store, root, session).await? else { return Ok(()) };
    let Some(state) = store.load(session).await? else { return Ok(()) };
    if state.head().scrubbed {
        return files::remove_dir(&dir).map_err(|e| folder_error(&dir, &e));
    }
    let cursor = if may_append { Cursor::read(&dir) } else { None };
    if let Some(cursor) = cursor.filter(|cursor| cursor.can_advance_to(&state)) {
        let new = read_log_lines(store, session, cursor.read_from, cursor.seq, state.seq()).await?;
        let opened = cursor.efforts.iter().chain(&new.opened);
        let known: BTreeSet<&EffortId> = opened.clone().collect();
        // A folder from before logs were numbered, or whose cursor lacks an effort, is rewritten.
        let has_numbers = state.efforts().all(|effort| known.contains(&effort.id));
        let names = LogNames::new(opened.cloned(), &state);
        if !new.needs_rewrite
            && has_numbers
            && undo_partial_append(&dir, &cursor, &names, &new).is_ok()
            && is_whole(&dir, &state, &names, &new)
        {
            let small = small_files(&state, &names)?;
            return append_new(&dir, &state, &names, cursor, &new, &small).map_err(|e| folder_error(&dir, &e));
        }
    }
    rewrite(store, &dir, session, &state).await
}

/// The session's directory, created if needed, and a lock on it: other processes may write views too.
pub(super) async fn lock_folder(
    store: &dyn Store,
    root: &Path,
    session: &StreamId,
) -> Result<Option<(PathBuf, std::fs::File)>, StoreError> {
    let dir = root.join(session.as_str());
    if !files::is_dir(&dir) && store.load(session).await?.is_none_or(|state| state.head().scrubbed) {
        return Ok(None); // Nothing to show, and nothing to remove.
    }
    let locked = files::refuse_link(&dir).and_then(|()| {
        let efforts = dir.join(EFFORTS_DIR);
        files::refuse_link(&efforts)?;
        files::create_dir(&efforts)?;
        files::lock(&dir.join(LOCK_FILE))
    });
    locked.map(|lock| Some((dir.clone(), lock))).map_err(|e| folder_error(&dir, &e))
}

/// Undoes a crashed append by truncating what will be appended again. Any other data at the end of a log is not
/// ours to cut, and is an error.
fn undo_partial_append(dir: &Path, cursor: &Cursor, names: &LogNames, new: &LogLines) -> io::Result<()> {
    let pending: BTreeMap<String, Vec<u8>> =
        new.ended().into_iter().map(|(scope, lines)| (names.scope_log_path(scope), lines)).collect();
    for (name, bytes) in &cursor.appending {
        let path = dir.join(checked_name(name)?);
        let lost = io::Error::from(io::ErrorKind::UnexpectedEof);
        match files::file_len(&path)? {
            Some(length) if length < *bytes => return Err(lost),
            Some(length) => {
                let tail = files::read_at(&path, *bytes, length - bytes)?;
                if !pending.get(name).is_some_and(|lines| lines.starts_with(&tail)) && !tail.is_empty() {
                    return Err(io::Error::from(io::ErrorKind::InvalidData));
                }
                files::truncate(&path, *bytes)?;
            }
            None if *bytes > 0 => return Err(lost),
            None => {}
        }
    }
    Ok(())
}

fn checked_name(name: &str) -> io::Result<&str> {
    if is_log_name(name) { Ok(name) } else { Err(io::Error::from(io::ErrorKind::InvalidInput)) }
}

/// Whether the folder still has every file that it had before these lines.
fn is_whole(dir: &Path, state: &SessionState, names: &LogNames, new: &LogLines) -> bool {
    let exists = |name: &str| matches!(files::file_len(&dir.join(name)), Ok(Some(_)));
    let Ok(logs) = list_logs(dir) else { return false };
    let opened: BTreeSet<&EffortId> = new.opened.iter().collect();
    let expected = |effort: &Effort| opened.contains(&effort.id) || logs.contains(&names.file_name(&effort.id));
    [AMBIENT_FILE, MANIFEST_FILE, EXPANDED_FILE, STATE_FILE].into_iter().all(exists)
        && state.efforts().all(expected)
}

fn list_logs(dir: &Path) -> io::Result<BTreeSet<String>> {
    Ok(files::list_dir(&dir.join(EFFORTS_DIR))?.into_iter().collect())
}

/// Lines of turns that ended after `after` and not after `until`.
pub(super) async fn read_log_lines(
    store: &dyn Store,
    session: &StreamId,
    read_from: Seq,
    after: Seq,
    until: Seq,
) -> Result<LogLines, StoreError> {
    let mut lines = LogLines::after(after);
    let mut from = read_from;
    while from <= until {
        let page = store.events(session, from, EVENTS_PER_READ).await?;
        let Some(last) = page.last().map(StoredEvent::seq) else { break };
        for stored in page.iter().take_while(|stored| stored.seq() <= until) {
            lines.add(stored);
        }
        from = last.next();
    }
    Ok(lines)
}

fn append_new(
    dir: &Path,
    state: &SessionState,
    names: &LogNames,
    mut cursor: Cursor,
    new: &LogLines,
    small: &BTreeMap<&'static str, Vec<u8>>,
) -> io::Result<()> {
    let ended = new.ended();
    if !ended.is_empty() {
        cursor.appending.clear();
        for scope in ended.keys() {
            let name = names.scope_log_path(scope);
            let size = files::file_len(&dir.join(&name))?.unwrap_or(0);
            cursor.appending.insert(name, size);
        }
        cursor.write(dir)?;
        for (scope, lines) in &ended {
            files::append(&dir.join(names.scope_log_path(scope)), lines)?;
        }
    }
    // An effort without messages has an empty log.
    for id in &new.opened {
        files::append(&dir.join(names.log_path(id)), b"")?;
    }
    for (name, content) in small {
        files::replace(&dir.join(name), content)?;
    }
    let current = Cursor::of(state, names);
    if current != cursor { current.write(dir) } else { Ok(()) }
}

pub(super) struct FolderContents {
    pub(super) files: BTreeMap<String, Vec<u8>>,
    names: LogNames,
    /// Lines of turns that were taken back: the stream has them, the folder does not.
    undone: Vec<u8>,
}

impl FolderContents {
    pub(super) fn surplus(&self, dir: &Path, state: &SessionState) -> Result<Vec<SurplusLog>, StoreError> {
        let is_behind = Cursor::read(dir).is_none_or(|cursor| !cursor.can_advance_to(state));
        find_surplus(dir, &self.files, &self.undone, is_behind).map_err(|e| folder_error(dir, &e))
    }
}

pub(super) async fn build_contents(
    store: &dyn Store,
    session: &StreamId,
    state: &SessionState,
) -> Result<FolderContents, StoreError> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::from([(AMBIENT_FILE.to_owned(), Vec::new())]);
    let all = read_log_lines(store, session, Seq(1), Seq(0), state.seq()).await?;
    let names = LogNames::new(all.opened.iter().cloned(), state);
    files.extend(state.efforts().map(|effort| (names.log_path(&effort.id), Vec::new())));
    files.extend(all.ended().into_iter().map(|(scope, lines)| (names.scope_log_path(scope), lines)));
    files.extend(small_files(state, &names)?.into_iter().map(|(name, content)| (name.to_owned(), content)));
    Ok(FolderContents { files, names, undone: all.undone })
}

async fn rewrite(
    store: &dyn Store,
    dir: &Path,
    session: &StreamId,
    state: &SessionState,
) -> Result<(), StoreError> {
    let contents = build_contents(store, session, state).await?;
    if let Some(first) = contents.surplus(dir, state)?.first() {
        let why = format!("the folder {} has more than the store: {first}", dir.display());
        return Err(StoreError::Lost { path: dir.to_owned(), why });
    }
    write_contents(dir, state, &contents)
}

pub(super) fn write_contents(
    dir: &Path,
    state: &SessionState,
    contents: &FolderContents,
) -> Result<(), StoreError> {
    // If this is interrupted, the missing cursor makes the next start rewrite the folder.
    let written = files::remove(&dir.join(CURSOR_FILE)).and_then(|()| {
        for (name, content) in &contents.files {
            files::replace(&dir.join(name), content)?;
        }
        contents.names.remove_legacy_logs(dir, &contents.files)?;
        Cursor::of(state, &contents.names).write(dir)
    });
    written.map_err(|e| folder_error(dir, &e))
}
