//! What the folders beside a store know, for whoever finds the store without it.

use std::io;
use std::path::Path;

use neap_core::ids::Stamp;

use super::{AMBIENT_FILE, CURSOR_FILE, EFFORTS_DIR};
use crate::files;

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
fn holds_something(dir: &Path) -> io::Result<bool> {
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
