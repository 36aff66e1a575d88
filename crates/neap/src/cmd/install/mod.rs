//! `neap install`: adds hooks and the MCP server to an agent's own files, after showing the change and asking.

mod agents;
mod before;
mod diff;
mod json_edit;

use std::io::{BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use crate::cli::{InstallArgs, InstallTarget};
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure};
use crate::{agent_profile, files};
use agents::{NeapCommand, config_files};
use before::{BeforeInstall, FileBefore};

struct FileChange {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

pub(crate) fn run(
    data: &DataDir,
    data_dir: Option<&Path>,
    agent: &str,
    args: &InstallArgs,
    json: bool,
) -> Result<ExitCode, Failure> {
    let command = NeapCommand { program: std::env::current_exe()?, options: global_options(data_dir, agent)? };
    let mut changes = Vec::new();
    let mut known = BeforeInstall::load(data);
    for target in config_files(args.into, &command)? {
        // Follows a symlink instead of replacing it.
        let path = target.path.canonicalize().unwrap_or_else(|_| target.path.clone());
        let before = agent_profile::read_text(&path)?;
        let has_neap = before.as_deref().is_some_and(|text| target.has_neap(text));
        if args.uninstall && !has_neap {
            continue;
        }
        let after = target.updated_text(before.as_deref(), known.get(&path), &command, !args.uninstall)?;
        if args.uninstall {
            known.set(&path, None);
        } else if !has_neap {
            known.set(&path, Some(FileBefore::new(before.as_deref(), &target.containers())));
        }
        if before != after {
            changes.push(FileChange { path, before, after });
        }
    }
    let applies = !args.print && !changes.is_empty();
    if !json {
        for change in &changes {
            out::print_text(diff::render(&change.path, change.before.as_deref(), change.after.as_deref()));
        }
    }
    if changes.is_empty() {
        print_result(args, json, &changes, false)?;
        return Ok(ExitCode::SUCCESS);
    }
    if applies {
        if !args.yes && !is_confirmed()? {
            out::print_line("nothing was changed");
            return Ok(ExitCode::SUCCESS);
        }
        // First what is needed to take it back.
        if !args.uninstall {
            known.save(data)?;
        }
        changes.iter().try_for_each(apply)?;
        if args.uninstall {
            known.save(data)?;
        }
    }
    print_result(args, json, &changes, applies)?;
    Ok(ExitCode::SUCCESS)
}

/// Global options with which the agent finds the same data.
fn global_options(data_dir: Option<&Path>, agent: &str) -> Result<Vec<String>, Failure> {
    let mut options = Vec::new();
    if let Some(path) = data_dir {
        let path = std::path::absolute(path)?;
        options.extend(["--data-dir".to_owned(), path.to_string_lossy().into_owned()]);
    }
    if agent != "default" {
        options.extend(["--agent".to_owned(), agent.to_owned()]);
    }
    Ok(options)
}

fn is_confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::new("cannot ask for confirmation: standard input is not a terminal")
            .hint("--yes makes the change, --print only shows it"));
    }
    out::print_text("Make this change? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn apply(change: &FileChange) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", change.path.display()));
    let folder = change.path.parent().unwrap_or(Path::new("."));
    match &change.after {
        Some(text) => {
            files::create_dir(folder).and_then(|()| files::replace_keeping_mode(&change.path, text.as_bytes()))
        }
        None => files::remove(&change.path),
    }
    .map_err(failed)
}

fn print_result(args: &InstallArgs, json: bool, changes: &[FileChange], applied: bool) -> Result<(), Failure> {
    if json {
        let files: Vec<_> =
            changes.iter().map(|change| json!({"path": change.path, "text": change.after})).collect();
        return out::print_json(&json!({"applied": applied, "changes": files}));
    }
    let verb = if args.uninstall { "removed" } else { "installed" };
    match (changes.is_empty(), applied) {
        (true, _) if args.uninstall => out::print_line("nothing to remove"),
        (true, _) => out::print_line("already installed"),
        (false, false) => out::print_line(format!("{DIM}nothing was changed{DIM:#}")),
        (false, true) => {
            out::print_line(format!("{BOLD}{verb}{BOLD:#}; restart a running agent to apply it"));
            if args.into == InstallTarget::Codex && !args.uninstall {
                out::print_line("Codex runs hooks only once you trust them: type /hooks in Codex");
            }
        }
    }
    Ok(())
}
