//! Writing one session's folder: the new part of it where that is enough, all of it otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use neap_core::effort::Effort;
use neap_core::ids::{EffortId, Seq, SessionId};
use neap_core::state::SessionState;

use super::cursor::Cursor;
use super::lines::Lines;
use super::manifest::small_files;
use super::names::{LogNames, is_ours};
use super::surplus::{Surplus, surplus};
use super::{AMBIENT_FILE, CURSOR_FILE, EFFORTS_DIR, EXPANDED_FILE, LOCK_FILE, MANIFEST_FILE, STATE_FILE, named};
use crate::{Store, StoreError, Stored, files};

const EVENTS_PER_READ: usize = 1_000;

/// Makes a session's folder anew, under `root`. The same stream gives the same bytes. An erased session has none. A folder that
/// says more than the stream is left as it is: [`StoreError::Lost`].
pub async fn write_all(store: &dyn Store, root: &Path, session: &SessionId) -> Result<(), StoreError> {
    let Some((dir, _lock)) = enter(store, root, session).await? else { return Ok(()) };
    let Some(state) = store.load(session).await? else { return Ok(()) };
    if state.head().scrubbed {
        return files::remove_dir(&dir).map_err(|e| named(&dir, &e));
    }
    rewrite(store, &dir, session, &state).await
}

/// Brings a session's folder up to date, under `root`.
pub(super) async fn update(store: &dyn Store, root: &Path, session: &SessionId) -> Result<(), StoreError> {
    let Some((dir, _lock)) = enter(store, root, session).await? else { return Ok(()) };
    let Some(state) = store.load(session).await? else { return Ok(()) };
    if state.head().scrubbed {
        return files::remove_dir(&dir).map_err(|e| named(&dir, &e));
    }
    if let Some(cursor) = Cursor::read(&dir).filter(|cursor| cursor.leads_to(&state)) {
        let new = lines(store, session, cursor.read_from, cursor.seq, state.seq()).await?;
        let opened = cursor.efforts.iter().chain(&new.opened);
        let known: BTreeSet<&EffortId> = opened.clone().collect();
        // A folder of before logs were numbered is written anew, and so is one that lost count.
        let has_numbers = state.efforts().all(|effort| known.contains(&effort.id));
        let names = LogNames::new(opened.cloned(), &state);
        if !new.is_less
            && has_numbers
            && undo(&dir, &cursor, &names, &new).is_ok()
            && is_whole(&dir, &state, &names, &new)
        {
            let small = small_files(&state, &names)?;
            return extend(&dir, &state, &names, cursor, &new, &small).map_err(|e| named(&dir, &e));
        }
    }
    rewrite(store, &dir, session, &state).await
}

/// The session's own directory, made if need be, and the right to change it: other processes may have views too.
pub(super) async fn enter(
    store: &dyn Store,
    root: &Path,
    session: &SessionId,
) -> Result<Option<(PathBuf, std::fs::File)>, StoreError> {
    let dir = root.join(session.as_str());
    if !files::is_dir(&dir) && store.load(session).await?.is_none_or(|state| state.head().scrubbed) {
        return Ok(None); // Nothing to show, and nothing to remove.
    }
    let entered = files::refuse_link(&dir).and_then(|()| {
        let efforts = dir.join(EFFORTS_DIR);
        files::refuse_link(&efforts)?;
        files::create_dir(&efforts)?;
        files::lock(&dir.join(LOCK_FILE))
    });
    entered.map(|lock| Some((dir.clone(), lock))).map_err(|e| named(&dir, &e))
}

/// Undoes what a crash left of an append: what will be appended again. Anything else at the end of a log is not ours to cut.
fn undo(dir: &Path, cursor: &Cursor, names: &LogNames, new: &Lines) -> io::Result<()> {
    let again: BTreeMap<String, Vec<u8>> =
        new.ended().into_iter().map(|(scope, said)| (names.file_of(scope), said)).collect();
    for (name, bytes) in &cursor.appending {
        let path = dir.join(checked(name)?);
        let lost = io::Error::from(io::ErrorKind::UnexpectedEof);
        match files::size(&path)? {
            Some(now) if now < *bytes => return Err(lost),
            Some(now) => {
                let tail = files::read_at(&path, *bytes, now - bytes)?;
                if !again.get(name).is_some_and(|said| said.starts_with(&tail)) && !tail.is_empty() {
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

fn checked(name: &str) -> io::Result<&str> {
    if is_ours(name) { Ok(name) } else { Err(io::Error::from(io::ErrorKind::InvalidInput)) }
}

/// Whether every file is there that a folder before these lines had.
fn is_whole(dir: &Path, state: &SessionState, names: &LogNames, new: &Lines) -> bool {
    let there = |name: &str| matches!(files::size(&dir.join(name)), Ok(Some(_)));
    let Ok(logs) = logs(dir) else { return false };
    let opened: BTreeSet<&EffortId> = new.opened.iter().collect();
    let expected = |effort: &Effort| opened.contains(&effort.id) || logs.contains(&names.name(&effort.id));
    [AMBIENT_FILE, MANIFEST_FILE, EXPANDED_FILE, STATE_FILE].into_iter().all(there)
        && state.efforts().all(expected)
}

fn logs(dir: &Path) -> io::Result<BTreeSet<String>> {
    Ok(files::names(&dir.join(EFFORTS_DIR))?.into_iter().collect())
}

/// Lines of turns that ended after one event and not after another.
pub(super) async fn lines(
    store: &dyn Store,
    session: &SessionId,
    read_from: Seq,
    after: Seq,
    until: Seq,
) -> Result<Lines, StoreError> {
    let mut lines = Lines::after(after);
    let mut from = read_from;
    while from <= until {
        let page = store.events(session, from, EVENTS_PER_READ).await?;
        let Some(last) = page.last().map(seq_of) else { break };
        for stored in page.iter().take_while(|stored| seq_of(stored) <= until) {
            lines.add(stored);
        }
        from = last.next();
    }
    Ok(lines)
}

fn seq_of(stored: &Stored) -> Seq {
    match stored {
        Stored::Event(recorded) => recorded.seq,
        Stored::Damaged { seq, .. } => *seq,
    }
}

/// Adds what is new.
fn extend(
    dir: &Path,
    state: &SessionState,
    names: &LogNames,
    mut cursor: Cursor,
    new: &Lines,
    small: &BTreeMap<&'static str, Vec<u8>>,
) -> io::Result<()> {
    let ended = new.ended();
    if !ended.is_empty() {
        cursor.appending.clear();
        for scope in ended.keys() {
            let name = names.file_of(scope);
            let size = files::size(&dir.join(&name))?.unwrap_or(0);
            cursor.appending.insert(name, size);
        }
        cursor.write(dir)?;
        for (scope, said) in &ended {
            files::append(&dir.join(names.file_of(scope)), said)?;
        }
    }
    // An effort that nothing was said in yet has an empty log.
    for id in &new.opened {
        files::append(&dir.join(names.file(id)), b"")?;
    }
    for (name, content) in small {
        files::replace(&dir.join(name), content)?;
    }
    let now = Cursor::of(state, names);
    if now != cursor { now.write(dir) } else { Ok(()) }
}

/// A folder as the stream gives it.
pub(super) struct Contents {
    /// Every file, by name.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// How its logs are named.
    names: LogNames,
    /// Lines of turns that were taken back: the stream has them, the folder does not.
    taken_back: Vec<u8>,
}

impl Contents {
    /// Lines that a folder has and the stream does not.
    pub(super) fn surplus(&self, dir: &Path, state: &SessionState) -> Result<Vec<Surplus>, StoreError> {
        let is_behind = Cursor::read(dir).is_none_or(|cursor| !cursor.leads_to(state));
        surplus(dir, &self.files, &self.taken_back, is_behind).map_err(|e| named(dir, &e))
    }
}

/// A session's folder as it would be written.
pub(super) async fn contents(
    store: &dyn Store,
    session: &SessionId,
    state: &SessionState,
) -> Result<Contents, StoreError> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::from([(AMBIENT_FILE.to_owned(), Vec::new())]);
    let all = lines(store, session, Seq(1), Seq(0), state.seq()).await?;
    let names = LogNames::new(all.opened.iter().cloned(), state);
    files.extend(state.efforts().map(|effort| (names.file(&effort.id), Vec::new())));
    files.extend(all.ended().into_iter().map(|(scope, said)| (names.file_of(scope), said)));
    files.extend(small_files(state, &names)?.into_iter().map(|(name, content)| (name.to_owned(), content)));
    Ok(Contents { files, names, taken_back: all.taken_back })
}

async fn rewrite(
    store: &dyn Store,
    dir: &Path,
    session: &SessionId,
    state: &SessionState,
) -> Result<(), StoreError> {
    let contents = contents(store, session, state).await?;
    if let Some(first) = contents.surplus(dir, state)?.first() {
        let why = format!("the folder {} says more than the store: {first}", dir.display());
        return Err(StoreError::Lost { path: dir.to_owned(), why });
    }
    put(dir, state, &contents)
}

/// Puts every file of a folder in place.
pub(super) fn put(dir: &Path, state: &SessionState, contents: &Contents) -> Result<(), StoreError> {
    // Without a cursor the folder is made anew at the next start, should this one not finish.
    let written = files::remove(&dir.join(CURSOR_FILE)).and_then(|()| {
        for (name, content) in &contents.files {
            files::replace(&dir.join(name), content)?;
        }
        contents.names.remove_older(dir, &contents.files)?;
        Cursor::of(state, &contents.names).write(dir)
    });
    written.map_err(|e| named(dir, &e))
}
