//! Finds the project that a folder is in, by reading what git wrote there; runs no git.
//!
//! A repository is known by its remote, so that its clones, worktrees and branches are one project; without a remote,
//! by its own folder. A folder outside repositories is no project.

use std::path::{Path, PathBuf};

use neap_core::base::project_id::ProjectId;
use neap_core::memory::MemoryDraft;
use neap_core::recall::ProjectFilter;
use neap_engine::ProjectFinder;

use crate::env::{self, NEAP_PROJECT};
use crate::out::{self, Failure};

/// Repositories that are clones of others on this machine, one behind the other.
const LOCAL_REMOTES_MAX: usize = 4;
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// What a person writes for no project, and for all.
const NO_PROJECT: &str = "none";
const ALL_PROJECTS: &str = "all";

/// What a person said of the project, or where they work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// In `--project`.
    Project(ProjectId),
    NoProject,
    AllProjects,
    /// Nothing: the environment's, else the working directory's.
    Here(Option<ProjectId>),
}

impl Asked {
    pub(crate) fn of(argument: Option<&str>) -> Result<Self, Failure> {
        match argument.map(str::trim) {
            None | Some("") => Ok(Self::Here(here()?)),
            Some(NO_PROJECT) => Ok(Self::NoProject),
            Some(ALL_PROJECTS) => Ok(Self::AllProjects),
            Some(name) => parse(name).map(Self::Project),
        }
    }

    /// Where a question is asked.
    pub(crate) fn filter(self) -> Option<ProjectFilter> {
        match self {
            Self::Project(project) => Some(ProjectFilter::Only(project)),
            Self::Here(project) => project.map(ProjectFilter::First),
            Self::NoProject | Self::AllProjects => None,
        }
    }

    /// Assigns a memory: what a person said counts, else what it says and where they work.
    pub(crate) fn assign(self, draft: MemoryDraft) -> MemoryDraft {
        match self {
            Self::Project(project) => MemoryDraft { project: Some(project), ..draft },
            Self::Here(project) => draft.recorded_in(project.as_ref()),
            Self::NoProject | Self::AllProjects => draft,
        }
    }

    /// The project that something new belongs to.
    pub(crate) fn project(&self) -> Option<ProjectId> {
        match self {
            Self::Project(project) => Some(project.clone()),
            Self::Here(project) => project.clone(),
            Self::NoProject | Self::AllProjects => None,
        }
    }
}

fn parse(name: &str) -> Result<ProjectId, Failure> {
    ProjectId::from_name(name).map_err(|error| {
        Failure::new(format!("cannot use '{}' as a project's name: {error}", out::escape_control(name)))
            .hint("use letters and digits; `none` means no project, `all` every project")
    })
}

/// The project of this process.
fn here() -> Result<Option<ProjectId>, Failure> {
    Ok(match from_environment()? {
        Some(project) => project,
        None => std::env::current_dir().ok().and_then(|folder| of_folder(&folder)),
    })
}

/// What the environment says; `Some(None)` if it says that there is none.
pub(crate) fn from_environment() -> Result<Option<Option<ProjectId>>, Failure> {
    match env::var(NEAP_PROJECT).as_deref().map(str::trim) {
        None | Some("") => Ok(None),
        Some(NO_PROJECT) => Ok(Some(None)),
        Some(name) => parse(name).map(|project| Some(Some(project))),
    }
}

/// Finds projects on this machine.
pub(crate) struct GitFolders;

impl ProjectFinder for GitFolders {
    fn project_of(&self, folder: &Path) -> Option<ProjectId> {
        of_folder(folder)
    }
}

pub(crate) fn of_folder(folder: &Path) -> Option<ProjectId> {
    of_folder_within(folder, LOCAL_REMOTES_MAX)
}

fn of_folder_within(folder: &Path, remotes_left: usize) -> Option<ProjectId> {
    let common = common_directory(&folder.canonicalize().ok()?)?;
    match remote_of(&common).map(|url| Remote::parse(&url)) {
        Some(Remote::Elsewhere(place)) => ProjectId::from_name(&place).ok(),
        Some(Remote::Here(path)) if remotes_left > 0 => {
            let path = working_folder(&common).join(path);
            of_folder_within(&path, remotes_left - 1).or_else(|| of_repository(&common))
        }
        Some(Remote::Here(_)) | None => of_repository(&common),
    }
}

/// A repository without a remote: its folder's name, and a digest of where it is.
fn of_repository(common: &Path) -> Option<ProjectId> {
    let folder = working_folder(common);
    let name = folder.file_name()?.to_string_lossy().into_owned();
    let name = name.strip_suffix(".git").unwrap_or(&name);
    ProjectId::of_folder(name, &folder.to_string_lossy()).ok()
}

/// The folder that holds `.git`, or the repository itself if it is bare.
fn working_folder(common: &Path) -> &Path {
    let is_inside = common.file_name().is_some_and(|name| name == ".git");
    common.parent().filter(|_| is_inside).unwrap_or(common)
}

/// The directory that all worktrees of a repository share, for a folder inside one.
fn common_directory(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find_map(|folder| {
        let dot_git = folder.join(".git");
        if dot_git.is_dir() {
            return Some(dot_git);
        }
        if is_bare(folder) {
            return Some(folder.to_owned());
        }
        let pointer = out_of_file(&dot_git)?;
        let git_directory = folder.join(pointer.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
        match out_of_file(&git_directory.join("commondir")) {
            Some(shared) => git_directory.join(shared.trim()).canonicalize().ok(),
            // A submodule's, or a repository whose directory is elsewhere.
            None => Some(git_directory),
        }
    })
}

fn is_bare(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
}

fn out_of_file(path: &Path) -> Option<String> {
    let is_readable = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= CONFIG_BYTES_MAX);
    is_readable
        .then(|| std::fs::read(path).ok())
        .flatten()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The address of `origin`, else of the only remote.
fn remote_of(common: &Path) -> Option<String> {
    let config = out_of_file(&common.join("config"))?;
    let (mut section, mut remotes) = (None, Vec::<(String, String)>::new());
    for line in config.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            let name = head.strip_prefix("remote \"").and_then(|rest| rest.split_once("\"]"));
            section = name.map(|(name, _)| name.to_owned());
        } else if let (Some(name), Some((key, value))) = (&section, line.split_once('='))
            && key.trim().eq_ignore_ascii_case("url")
            && remotes.iter().all(|(known, _)| known != name)
        {
            remotes.push((name.clone(), value.trim().trim_matches('"').to_owned()));
        }
    }
    let origin = remotes.iter().position(|(name, _)| name == "origin");
    let at = origin.or_else(|| (remotes.len() == 1).then_some(0))?;
    Some(remotes.swap_remove(at).1)
}

#[derive(Debug, PartialEq, Eq)]
enum Remote {
    /// Host and path, without whoever connects and how.
    Elsewhere(String),
    /// A repository of this machine.
    Here(PathBuf),
}

impl Remote {
    fn parse(url: &str) -> Self {
        if let Some(path) = url.strip_prefix("file://") {
            return Self::Here(path.into());
        }
        let (host, path) = match url.split_once("://") {
            Some((_, rest)) => rest.split_once('/').unwrap_or((rest, "")),
            None => match url.split_once(':') {
                // A path may have a colon behind its first slash.
                Some((host, path)) if !host.contains('/') => (host, path),
                Some(_) | None => return Self::Here(url.into()),
            },
        };
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let host = host.split_once(':').map_or(host, |(host, _port)| host);
        let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        Self::Elsewhere(format!("{host}/{path}"))
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "repositories of tests")]
#[path = "project_tests.rs"]
mod tests;
