//! Rebuilds a session's folder in place if that loses nothing, beside it otherwise.

use std::path::{Path, PathBuf};

use neap_core::base::ids::{Stamp, StreamId};

use super::folder_state::has_content;
use super::surplus::SurplusLog;
use super::view_writer::{self, FolderContents};
use super::{EFFORTS_DIR, compact_timestamp, folder_error};
use crate::{Finding, SessionInfo, Severity, Store, StoreError, files};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderRebuild {
    InPlace,
    /// The folder has more than its stream and is unchanged; the stream's view is in another folder.
    Beside {
        folder: PathBuf,
        /// Logs with lines that the stream lacks.
        surplus: Vec<SurplusLog>,
    },
    /// The folder had more than its stream. It was renamed, and a new one has taken its place.
    SetAside {
        kept: PathBuf,
        surplus: Vec<SurplusLog>,
    },
}

/// Rebuilds a session's folder under `root`. A folder that has more than its stream is never overwritten: the view
/// is written beside it, or with `sets_aside` the folder is renamed first.
pub async fn rebuild(
    store: &dyn Store,
    root: &Path,
    session: &StreamId,
    now: Stamp,
    sets_aside: bool,
) -> Result<FolderRebuild, StoreError> {
    let Some((dir, lock)) = view_writer::lock_folder(store, root, session).await? else {
        return Ok(FolderRebuild::InPlace);
    };
    let Some(state) = store.load(session).await? else { return Ok(FolderRebuild::InPlace) };
    let failed = |path: &Path, error: std::io::Error| folder_error(path, &error);
    if state.head().scrubbed {
        files::remove_dir(&dir).map_err(|e| failed(&dir, e))?;
        return Ok(FolderRebuild::InPlace);
    }
    let contents = view_writer::build_contents(store, session, &state).await?;
    let surplus = contents.surplus(&dir, &state)?;
    if surplus.is_empty() {
        view_writer::write_contents(&dir, &state, &contents)?;
        return Ok(FolderRebuild::InPlace);
    }
    if sets_aside {
        let kept = free_path(root, &format!("{session}.aside-{}", compact_timestamp(now)));
        files::rename(&dir, &kept).map_err(|e| failed(&dir, e))?;
        // The lock moved with the folder, along with anyone waiting for it.
        drop(lock);
        files::create_dir(&dir.join(EFFORTS_DIR)).map_err(|e| failed(&dir, e))?;
        view_writer::write_contents(&dir, &state, &contents)?;
        return Ok(FolderRebuild::SetAside { kept, surplus });
    }
    let folder = match find_earlier_rebuild(root, session, &contents) {
        Some(folder) => folder,
        None => {
            let folder = free_path(root, &format!("{session}.rebuilt-{}", compact_timestamp(now)));
            files::create_dir(&folder.join(EFFORTS_DIR)).map_err(|e| failed(&folder, e))?;
            view_writer::write_contents(&folder, &state, &contents)?;
            folder
        }
    };
    Ok(FolderRebuild::Beside { folder, surplus })
}

/// The folder of an earlier rebuild with the same content.
fn find_earlier_rebuild(root: &Path, session: &StreamId, contents: &FolderContents) -> Option<PathBuf> {
    let start = format!("{session}.rebuilt-");
    let names = files::list_dir(root).ok()?.into_iter().filter(|name| name.starts_with(&start));
    let is_same = |dir: &PathBuf| {
        let same = |(name, content): (&String, &Vec<u8>)| {
            files::read(&dir.join(name), content.len() as u64).is_ok_and(|found| found.as_ref() == Some(content))
        };
        contents.files.iter().all(same)
    };
    names.map(|name| root.join(name)).find(is_same)
}

fn free_path(root: &Path, name: &str) -> PathBuf {
    let mut names = std::iter::once(name.to_owned()).chain((2_u64..).map(|n| format!("{name}-{n}")));
    let is_free = |path: &PathBuf| matches!(files::file_len(path), Ok(None));
    names.find_map(|name| Some(root.join(name)).filter(is_free)).unwrap_or_else(|| root.join(name))
}

/// Folders under `root` with content of no session in the store.
pub fn unknown_folders(root: &Path, sessions: &[SessionInfo]) -> std::io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for name in files::list_dir(root)? {
        let dir = root.join(&name);
        if !files::is_dir(&dir) || !has_content(&dir)? {
            continue;
        }
        let path = dir.display();
        let (severity, session, what) = match StreamId::parse(&name) {
            Ok(id) if sessions.iter().any(|info| info.session == id) => continue,
            Ok(id) => {
                let what = format!(
                    "{path} has the messages of a session that the store does not have; `neap session import` \
                     imports it"
                );
                (Severity::Damaged, Some(id), what)
            }
            // Written or renamed by a rebuild, or put there by someone.
            Err(_) => (Severity::Note, None, format!("{path} belongs to no session, and no command writes to it")),
        };
        findings.push(Finding { severity, session, what });
    }
    Ok(findings)
}
