//! What the folders beside a store know: enough to notice a store that has lost it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use neap_core::ids::{Seq, SessionId, Stamp};
use neap_core::state::SessionState;

use super::cursor::Cursor;
use super::{AMBIENT_FILE, CURSOR_FILE, EFFORTS_DIR};
use crate::{Finding, SessionInfo, Severity, Store, StoreError, files};

/// Folders that hold something of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    /// How many.
    pub(crate) sessions: u64,
    /// When the newest of them changed.
    pub(crate) changed: Stamp,
    /// The newest.
    pub(crate) newest: String,
}

/// Looks under `root`; none if no folder there holds anything.
pub(crate) fn look(root: &Path) -> io::Result<Option<Folders>> {
    let mut found: Option<Folders> = None;
    for name in files::names(root)? {
        let dir = root.join(&name);
        if !files::is_dir(&dir) || !holds_something(&dir)? {
            continue;
        }
        let changed = [CURSOR_FILE, AMBIENT_FILE].iter().filter_map(|file| files::changed(&dir.join(file))).max();
        let changed = changed.or_else(|| files::changed(&dir)).unwrap_or(Stamp(0));
        let sessions = found.as_ref().map_or(0, |found| found.sessions) + 1;
        let is_newer = found.as_ref().is_none_or(|found| found.changed <= changed);
        found = match found {
            Some(found) if !is_newer => Some(Folders { sessions, ..found }),
            Some(_) | None => Some(Folders { sessions, changed, newest: name }),
        };
    }
    Ok(found)
}

/// Whether anything was said in a session's folder.
pub(super) fn holds_something(dir: &Path) -> io::Result<bool> {
    let is_long = |path: &Path| Ok::<bool, io::Error>(files::size(path)?.is_some_and(|bytes| bytes > 0));
    if is_long(&dir.join(AMBIENT_FILE))? {
        return Ok(true);
    }
    let efforts = dir.join(EFFORTS_DIR);
    for name in files::names(&efforts)? {
        if is_long(&efforts.join(name))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How far one session's folder has come. To be read before the session is: then a folder that other processes keep current is never ahead.
pub(crate) struct Shown(Option<Cursor>);

impl Shown {
    /// Reads it, under `root`.
    pub(crate) fn read(root: &Path, session: &SessionId) -> Self {
        Self(Cursor::read(&root.join(session.as_str())))
    }

    /// Fails if the folder shows events that the store does not have.
    pub(crate) fn check(
        &self,
        root: &Path,
        session: &SessionId,
        state: Option<&SessionState>,
    ) -> Result<(), StoreError> {
        let stored = state.map(|state| state.head()).map(|head| Stored {
            created: head.created,
            seq: head.seq,
            is_erased: head.scrubbed,
        });
        let why = self.0.as_ref().and_then(|cursor| ahead(root, session, cursor, stored));
        why.map_or(Ok(()), |why| Err(StoreError::Lost { path: root.join(session.as_str()), why }))
    }
}

/// How far all folders have come.
pub(crate) struct AllShown(BTreeMap<SessionId, Cursor>);

impl AllShown {
    /// Reads it, under `root`.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let ids = files::names(root)?.into_iter().filter_map(|name| SessionId::parse(&name).ok());
        Ok(Self(ids.filter_map(|id| Cursor::read(&root.join(id.as_str())).map(|cursor| (id, cursor))).collect()))
    }

    /// Sessions whose folders show events that the store does not have, and what each shows.
    pub(crate) fn ahead(&self, root: &Path, sessions: &[SessionInfo]) -> Vec<(SessionId, String)> {
        let known: BTreeMap<&SessionId, Stored> = sessions
            .iter()
            .map(|info| {
                (&info.session, Stored { created: info.created, seq: info.events, is_erased: info.scrubbed })
            })
            .collect();
        let told = |(id, cursor): (&SessionId, &Cursor)| {
            ahead(root, id, cursor, known.get(id).copied()).map(|why| (id.clone(), why))
        };
        self.0.iter().filter_map(told).collect()
    }
}

/// Which sessions have folders that show more than the store has: what the store has lost, or another store's folders.
pub async fn newer_folders(store: &dyn Store, root: &Path) -> Result<Vec<Finding>, StoreError> {
    let shown = AllShown::read(root).map_err(|e| super::named(root, &e))?;
    let sessions = store.sessions().await?;
    let finding = |(id, what)| Finding { severity: Severity::Damaged, session: Some(id), what };
    Ok(shown.ahead(root, &sessions).into_iter().map(finding).collect())
}

#[derive(Clone, Copy)]
struct Stored {
    created: Stamp,
    seq: Seq,
    is_erased: bool,
}

fn ahead(root: &Path, session: &SessionId, cursor: &Cursor, stored: Option<Stored>) -> Option<String> {
    let dir = root.join(session.as_str());
    let shows = format!("{} shows session '{session}' up to event {}", dir.display(), cursor.seq);
    match stored {
        Some(Stored { is_erased: true, .. }) => None,
        Some(Stored { created, seq, .. }) if created == cursor.created => (seq < cursor.seq).then(|| {
            format!("{shows}, but the store has it only up to event {seq}: the rest is in the folder alone")
        }),
        Some(Stored { created, .. }) => Some(format!(
            "{shows}, begun {}, but the session of that name in the store was begun {}",
            super::iso(cursor.created),
            super::iso(created)
        )),
        None => Some(format!("{shows}, but the store does not have that session")),
    }
}
