//! Making a session's folder anew where that loses nothing, and beside it where it would.

use std::path::{Path, PathBuf};

use neap_core::ids::{SessionId, Stamp};

use super::known::holds_something;
use super::surplus::Surplus;
use super::view::{self, Contents};
use super::{EFFORTS_DIR, compact, named};
use crate::{Finding, SessionInfo, Severity, Store, StoreError, files};

/// What came of a rebuild of one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rebuilt {
    /// The folder shows what the stream says.
    InPlace,
    /// The folder says more than the stream and is as it was; what the stream says is in another folder.
    Beside {
        /// The other folder.
        folder: PathBuf,
        /// The logs that say more.
        surplus: Vec<Surplus>,
    },
    /// The folder said more than the stream. It has another name now, and the new one stands in its place.
    SetAside {
        /// Where the old one is.
        kept: PathBuf,
        /// The logs that say more.
        surplus: Vec<Surplus>,
    },
}

/// Makes a session's folder anew, under `root`. One that says more than the stream is never written over: what the stream says is written
/// beside it; or, if a person wants to go on without the rest, the folder is renamed first (`sets_aside`).
pub async fn rebuild(
    store: &dyn Store,
    root: &Path,
    session: &SessionId,
    now: Stamp,
    sets_aside: bool,
) -> Result<Rebuilt, StoreError> {
    let Some((dir, lock)) = view::enter(store, root, session).await? else { return Ok(Rebuilt::InPlace) };
    let Some(state) = store.load(session).await? else { return Ok(Rebuilt::InPlace) };
    let failed = |path: &Path, error: std::io::Error| named(path, &error);
    if state.head().scrubbed {
        files::remove_dir(&dir).map_err(|e| failed(&dir, e))?;
        return Ok(Rebuilt::InPlace);
    }
    let contents = view::contents(store, session, &state).await?;
    let surplus = contents.surplus(&dir, &state)?;
    if surplus.is_empty() {
        view::put(&dir, &state, &contents)?;
        return Ok(Rebuilt::InPlace);
    }
    if sets_aside {
        let kept = free(root, &format!("{session}.aside-{}", compact(now)));
        files::rename(&dir, &kept).map_err(|e| failed(&dir, e))?;
        // The lock went with the folder, and so did whoever waited for it.
        drop(lock);
        files::create_dir(&dir.join(EFFORTS_DIR)).map_err(|e| failed(&dir, e))?;
        view::put(&dir, &state, &contents)?;
        return Ok(Rebuilt::SetAside { kept, surplus });
    }
    let folder = match earlier(root, session, &contents) {
        Some(folder) => folder,
        None => {
            let folder = free(root, &format!("{session}.rebuilt-{}", compact(now)));
            files::create_dir(&folder.join(EFFORTS_DIR)).map_err(|e| failed(&folder, e))?;
            view::put(&folder, &state, &contents)?;
            folder
        }
    };
    Ok(Rebuilt::Beside { folder, surplus })
}

/// A folder that an earlier rebuild left and that says the same.
fn earlier(root: &Path, session: &SessionId, contents: &Contents) -> Option<PathBuf> {
    let start = format!("{session}.rebuilt-");
    let names = files::names(root).ok()?.into_iter().filter(|name| name.starts_with(&start));
    let is_same = |dir: &PathBuf| {
        let same = |(name, content): (&String, &Vec<u8>)| {
            files::read(&dir.join(name), content.len() as u64).is_ok_and(|found| found.as_ref() == Some(content))
        };
        contents.files.iter().all(same)
    };
    names.map(|name| root.join(name)).find(is_same)
}

/// A path under `root` that nothing has yet.
fn free(root: &Path, name: &str) -> PathBuf {
    let mut names = std::iter::once(name.to_owned()).chain((2_u64..).map(|n| format!("{name}-{n}")));
    let is_free = |path: &PathBuf| matches!(files::size(path), Ok(None));
    names.find_map(|name| Some(root.join(name)).filter(is_free)).unwrap_or_else(|| root.join(name))
}

/// Folders under `root` that hold something of no session in the store.
pub fn unknown_folders(root: &Path, sessions: &[SessionInfo]) -> std::io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for name in files::names(root)? {
        let dir = root.join(&name);
        if !files::is_dir(&dir) || !holds_something(&dir)? {
            continue;
        }
        let path = dir.display();
        let (severity, session, what) = match SessionId::parse(&name) {
            Ok(id) if sessions.iter().any(|info| info.session == id) => continue,
            Ok(id) => {
                let what = format!(
                    "{path} holds what was said in a session that the store does not have; `neap session import` takes it in"
                );
                (Severity::Damaged, Some(id), what)
            }
            // What a rebuild wrote or renamed, or what somebody put there.
            Err(_) => {
                (Severity::Note, None, format!("{path} is the folder of no session, and no command writes to it"))
            }
        };
        findings.push(Finding { severity, session, what });
    }
    Ok(findings)
}
