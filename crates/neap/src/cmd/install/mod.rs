//! `neap install`: hooks and the MCP server in an agent's own files. Shown first, asked for, and taken back by `--uninstall`.

mod agents;
mod diff;
mod edit;

use std::io::{BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use crate::cli::{InstallArgs, InstallFor};
use crate::out::{self, BOLD, DIM, Failure};
use crate::{files, outlook};
use agents::{Calls, targets};

/// A file that changes.
struct Change {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

pub(crate) fn run(
    data_dir: Option<&Path>,
    agent: &str,
    args: &InstallArgs,
    json: bool,
) -> Result<ExitCode, Failure> {
    let calls = Calls { program: std::env::current_exe()?, options: options(data_dir, agent)? };
    let mut changes = Vec::new();
    for target in targets(args.into, &calls)? {
        // Through a link the file is changed, not the link.
        let path = target.path.canonicalize().unwrap_or_else(|_| target.path.clone());
        let before = outlook::text_of(&path)?;
        let after = target.changed(before.as_deref(), &calls, !args.uninstall)?;
        if before != after {
            changes.push(Change { path, before, after });
        }
    }
    let applies = !args.print && !changes.is_empty();
    if !json {
        for change in &changes {
            out::piece(diff::shown(&change.path, change.before.as_deref(), change.after.as_deref()));
        }
    }
    if changes.is_empty() {
        tell(args, json, &changes, false)?;
        return Ok(ExitCode::SUCCESS);
    }
    if applies {
        if !args.yes && !is_agreed()? {
            out::line("nothing was changed");
            return Ok(ExitCode::SUCCESS);
        }
        changes.iter().try_for_each(apply)?;
    }
    tell(args, json, &changes, applies)?;
    Ok(ExitCode::SUCCESS)
}

/// What stands before a command, so that an agent finds the same data.
fn options(data_dir: Option<&Path>, agent: &str) -> Result<Vec<String>, Failure> {
    let mut options = Vec::new();
    if let Some(place) = data_dir {
        let place = std::path::absolute(place)?;
        options.extend(["--data-dir".to_owned(), place.to_string_lossy().into_owned()]);
    }
    if agent != "default" {
        options.extend(["--agent".to_owned(), agent.to_owned()]);
    }
    Ok(options)
}

fn is_agreed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(
            Failure::new("nobody is there to be asked").hint("--yes makes the change, --print only shows it")
        );
    }
    out::piece("Make this change? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn apply(change: &Change) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", change.path.display()));
    let folder = change.path.parent().unwrap_or(Path::new("."));
    match &change.after {
        Some(text) => files::create_dir(folder).and_then(|()| files::rewrite(&change.path, text.as_bytes())),
        None => files::remove(&change.path),
    }
    .map_err(failed)
}

fn tell(args: &InstallArgs, json: bool, changes: &[Change], applied: bool) -> Result<(), Failure> {
    if json {
        let files: Vec<_> =
            changes.iter().map(|change| json!({"path": change.path, "text": change.after})).collect();
        return out::json_line(&json!({"applied": applied, "changes": files}));
    }
    let verb = if args.uninstall { "taken out" } else { "installed" };
    match (changes.is_empty(), applied) {
        (true, _) if args.uninstall => out::line("nothing to take out"),
        (true, _) => out::line("installed already"),
        (false, false) => out::line(format!("{DIM}nothing was changed{DIM:#}")),
        (false, true) => {
            out::line(format!("{BOLD}{verb}{BOLD:#}; a running agent sees it when it is started again"));
            if args.into == InstallFor::Codex && !args.uninstall {
                out::line("Codex runs hooks only once you trust them: type /hooks in it");
            }
        }
    }
    Ok(())
}
