//! What the folders beside a store show: enough to notice that the store has lost events.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use neap_core::base::ids::{Seq, Stamp, StreamId};
use neap_core::session::state::SessionState;

use super::cursor::Cursor;
use super::{AMBIENT_FILE, CURSOR_FILE, EFFORTS_DIR};
use crate::{Finding, SessionInfo, Severity, Store, StoreError, files};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderSurvey {
    pub sessions: u64,
    /// When the newest folder changed.
    pub changed: Stamp,
    pub newest: String,
}

/// `None` if no folder under `root` has content.
pub fn survey_folders(root: &Path) -> io::Result<Option<FolderSurvey>> {
    let mut found: Option<FolderSurvey> = None;
    for name in files::list_dir(root)? {
        let dir = root.join(&name);
        if !files::is_dir(&dir) || !has_content(&dir)? {
            continue;
        }
        let changed =
            [CURSOR_FILE, AMBIENT_FILE].iter().filter_map(|file| files::modified_at(&dir.join(file))).max();
        let changed = changed.or_else(|| files::modified_at(&dir)).unwrap_or(Stamp(0));
        let sessions = found.as_ref().map_or(0, |found| found.sessions) + 1;
        let is_newer = found.as_ref().is_none_or(|found| found.changed <= changed);
        found = match found {
            Some(found) if !is_newer => Some(FolderSurvey { sessions, ..found }),
            Some(_) | None => Some(FolderSurvey { sessions, changed, newest: name }),
        };
    }
    Ok(found)
}

/// Whether any log in a session's folder is not empty.
pub(super) fn has_content(dir: &Path) -> io::Result<bool> {
    let is_not_empty = |path: &Path| Ok::<bool, io::Error>(files::file_len(path)?.is_some_and(|bytes| bytes > 0));
    if is_not_empty(&dir.join(AMBIENT_FILE))? {
        return Ok(true);
    }
    let efforts = dir.join(EFFORTS_DIR);
    for name in files::list_dir(&efforts)? {
        if is_not_empty(&efforts.join(name))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Read it before the session: then a folder that other processes keep up to date is never ahead.
pub struct FolderCursor(Option<Cursor>);

impl FolderCursor {
    pub fn read(root: &Path, session: &StreamId) -> Self {
        Self(Cursor::read(&root.join(session.as_str())))
    }

    /// Fails if the folder shows events that the store does not have.
    pub fn check(&self, root: &Path, session: &StreamId, state: Option<&SessionState>) -> Result<(), StoreError> {
        let stored = state.map(|state| state.head()).map(|head| StoredHead {
            created: head.created,
            seq: head.seq,
            is_erased: head.scrubbed,
        });
        let why = self.0.as_ref().and_then(|cursor| ahead_reason(root, session, cursor, stored));
        why.map_or(Ok(()), |why| Err(StoreError::Lost { path: root.join(session.as_str()), why }))
    }
}

pub struct FolderCursors(BTreeMap<StreamId, Cursor>);

impl FolderCursors {
    pub fn read(root: &Path) -> io::Result<Self> {
        let ids = files::list_dir(root)?.into_iter().filter_map(|name| StreamId::parse(&name).ok());
        Ok(Self(ids.filter_map(|id| Cursor::read(&root.join(id.as_str())).map(|cursor| (id, cursor))).collect()))
    }

    /// Sessions whose folders show events that the store does not have, with the reason.
    pub fn sessions_ahead(&self, root: &Path, sessions: &[SessionInfo]) -> Vec<(StreamId, String)> {
        let known: BTreeMap<&StreamId, StoredHead> = sessions
            .iter()
            .map(|info| {
                (&*info.session, StoredHead { created: info.created, seq: info.events, is_erased: info.scrubbed })
            })
            .collect();
        let ahead = |(id, cursor): (&StreamId, &Cursor)| {
            ahead_reason(root, id, cursor, known.get(id).copied()).map(|why| (id.clone(), why))
        };
        self.0.iter().filter_map(ahead).collect()
    }
}

/// Sessions whose folders show more than the store: it lost events, or the folders are another store's.
pub async fn newer_folders(store: &dyn Store, root: &Path) -> Result<Vec<Finding>, StoreError> {
    let cursors = FolderCursors::read(root).map_err(|e| super::folder_error(root, &e))?;
    let sessions = store.sessions().await?;
    let finding = |(id, what)| Finding { severity: Severity::Damaged, session: Some(id), what };
    Ok(cursors.sessions_ahead(root, &sessions).into_iter().map(finding).collect())
}

#[derive(Clone, Copy)]
struct StoredHead {
    created: Stamp,
    seq: Seq,
    is_erased: bool,
}

fn ahead_reason(root: &Path, session: &StreamId, cursor: &Cursor, stored: Option<StoredHead>) -> Option<String> {
    let dir = root.join(session.as_str());
    let shows = format!("{} shows session '{session}' up to event {}", dir.display(), cursor.seq);
    match stored {
        Some(StoredHead { is_erased: true, .. }) => None,
        Some(StoredHead { created, seq, .. }) if created == cursor.created => (seq < cursor.seq).then(|| {
            format!("{shows}, but the store has it only up to event {seq}: the rest is in the folder alone")
        }),
        Some(StoredHead { created, .. }) => Some(format!(
            "{shows}, begun {}, but the session of that name in the store was begun {}",
            super::iso_timestamp(cursor.created),
            super::iso_timestamp(created)
        )),
        None => Some(format!("{shows}, but the store does not have that session")),
    }
}
