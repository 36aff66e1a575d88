//! What is to be changed in one agent's files, and the change itself.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::agents::config_files;
use super::before::{BeforeInstall, FileBefore};
use super::command::NeapCommand;
use crate::cli::InstallTarget;
use crate::files;
use crate::out::Failure;

/// Claude Code keeps more than its settings in one file.
const FILE_BYTES_MAX: u64 = 64 << 20;

pub(super) struct Plan {
    pub(super) agent: InstallTarget,
    pub(super) changes: Vec<FileChange>,
    /// What to know of each file from now on.
    known: Vec<(PathBuf, Option<FileBefore>)>,
}

pub(super) struct FileChange {
    pub(super) path: PathBuf,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

impl Plan {
    /// `taken`: files that other agents' plans change already; a link may make one of two.
    pub(super) fn new(
        agent: InstallTarget,
        command: &NeapCommand,
        known: &BeforeInstall,
        installs: bool,
        taken: &mut BTreeSet<PathBuf>,
    ) -> Result<Self, Failure> {
        let mut plan = Self { agent, changes: Vec::new(), known: Vec::new() };
        for file in config_files(agent, command)? {
            let path = real_path(&file.path)?;
            if taken.contains(&path) {
                continue;
            }
            let before = read_text(&path)?;
            let has_neap = before.as_deref().is_some_and(|text| file.has_neap(text));
            if !installs && !has_neap {
                continue;
            }
            let after = file.updated_text(before.as_deref(), known.get(&path), command, installs)?;
            if !installs {
                plan.known.push((path.clone(), None));
            } else if !has_neap {
                plan.known.push((path.clone(), Some(file.before(before.as_deref()))));
            }
            if before != after {
                check_writable(&path)?;
                plan.changes.push(FileChange { path, before, after });
            }
        }
        taken.extend(plan.changes.iter().map(|change| change.path.clone()));
        Ok(plan)
    }

    pub(super) fn remember(&self, known: &mut BeforeInstall) {
        self.known.iter().for_each(|(path, before)| known.set(path, before.clone()));
    }

    pub(super) fn apply(&self) -> Result<(), Failure> {
        // Somebody may have written while a person was asked: then nothing of it is lost.
        for change in &self.changes {
            if read_text(&change.path)? != change.before {
                return Err(Failure::new(format!("{} was changed meanwhile", change.path.display()))
                    .hint("nothing was written to it; run the command again"));
            }
        }
        self.changes.iter().try_for_each(FileChange::apply)
    }
}

impl FileChange {
    fn apply(&self) -> Result<(), Failure> {
        let failed =
            |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", self.path.display()));
        let folder = self.path.parent().unwrap_or(Path::new("."));
        match &self.after {
            Some(text) => {
                files::create_dir(folder).and_then(|()| files::replace_keeping_mode(&self.path, text.as_bytes()))
            }
            None => files::remove(&self.path),
        }
        .map_err(failed)
    }
}

/// Follows a link instead of replacing it.
pub(super) fn real_path(path: &Path) -> Result<PathBuf, Failure> {
    match path.canonicalize() {
        Ok(path) => Ok(path),
        Err(_) if path.is_symlink() => Err(Failure::new(format!("{} is a link to nothing", path.display()))
            .hint("nothing was changed; create the file that it names, or remove the link")),
        Err(_) => Ok(path.to_owned()),
    }
}

/// A file that its owner made read-only was not meant to be written by programs.
fn check_writable(path: &Path) -> Result<(), Failure> {
    let is_read_only = |metadata: Metadata| metadata.permissions().readonly();
    if std::fs::metadata(path).is_ok_and(is_read_only) {
        return Err(Failure::new(format!("{} is read-only", path.display()))
            .hint("nothing was changed; make it writable, or change it by hand as `--print` shows"));
    }
    Ok(())
}

pub(super) fn read_text(path: &Path) -> Result<Option<String>, Failure> {
    files::read_text(path, FILE_BYTES_MAX, "nothing was changed; add Neap to it by hand")
}
