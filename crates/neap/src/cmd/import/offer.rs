//! The offer of a first chat: to import what other programs kept on this machine. It is made once, and only to a
//! person at a terminal.

use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use neap_model::transcript::Program;

use super::report::ImportReport;
use super::{default_path, files, import_files, program_of};
use crate::cli::ImportSource;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};
use crate::{app, files as disk};

/// The programs whose conversations have a usual place: the name for people, and the argument of `neap import`.
const PROGRAMS: [(&str, &str, ImportSource); 2] =
    [("Claude Code", "claude-code", ImportSource::ClaudeCode), ("Codex", "codex", ImportSource::Codex)];

struct FoundProgram {
    name: &'static str,
    argument: &'static str,
    program: Program,
    path: PathBuf,
    files: Vec<files::TranscriptFile>,
    sessions: u64,
    bytes: u64,
}

/// Offers the import if nothing is stored yet and nobody was asked before.
pub(crate) async fn offer_once(data: &DataDir) -> Result<(), Failure> {
    let is_person = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !is_person || data.import_offer_file().exists() || has_sessions(data).await? {
        return Ok(());
    }
    let found: Vec<FoundProgram> = PROGRAMS.into_iter().filter_map(find_program).collect();
    if found.is_empty() {
        return Ok(());
    }
    out::print_line(format!("{BOLD}Found on this machine{BOLD:#}"));
    let row = |one: &FoundProgram| {
        let path = format!("{DIM}{}{DIM:#}", out::escape_control(&one.path.to_string_lossy()));
        vec![format!("  {}", one.name), out::count(one.sessions, "conversation"), size(one.bytes), path]
    };
    out::print_text(out::table(
        &["  program", "what", "size", "where"],
        &found.iter().map(row).collect::<Vec<_>>(),
    ));
    out::print_line("Import them? They stay on this machine, and secrets in them are masked.");
    out::print_text("[Y/n] ");
    let mut answer = String::new();
    if std::io::stdin().lock().read_line(&mut answer)? == 0 {
        // No answer: the next chat asks again.
        out::print_line("");
        return Ok(());
    }
    disk::create_dir(data.root()).and_then(|()| disk::replace(&data.import_offer_file(), b"asked\n"))?;
    if !matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes") {
        let later: Vec<String> = found.iter().map(|one| format!("`neap import {}`", one.argument)).collect();
        out::print_line(format!("{DIM}Not imported. Later:{DIM:#} {}\n", later.join(", ")));
        return Ok(());
    }
    import(data, &found).await
}

async fn has_sessions(data: &DataDir) -> Result<bool, Failure> {
    if !app::has_store(data)? {
        return Ok(false);
    }
    Ok(app::read_engine(data)?.sessions().await?.iter().any(|info| info.turns.0 > 0))
}

fn find_program((name, argument, from): (&'static str, &'static str, ImportSource)) -> Option<FoundProgram> {
    let (path, program) = (default_path(from).filter(|path| path.exists())?, program_of(from)?);
    // What cannot be read is not offered.
    let files = files::find(program, std::slice::from_ref(&path)).ok().filter(|files| !files.is_empty())?;
    let mut names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let sessions = names.len() as u64;
    let bytes = files.iter().filter_map(|file| file.path.metadata().ok()).map(|metadata| metadata.len()).sum();
    Some(FoundProgram { name, argument, program, path, files, sessions, bytes })
}

async fn import(data: &DataDir, found: &[FoundProgram]) -> Result<(), Failure> {
    let mut report = ImportReport::default();
    let engine = app::engine_builder(data)?.build();
    for one in found {
        import_files(Some(&engine), one.program, &one.files, &mut report).await?;
    }
    engine.flush().await;
    out::print_line(format!(
        "Imported {}: {}, {}. Ask, for example: What did I work on last week?",
        out::count(report.sessions.len() as u64, "conversation"),
        out::count(report.turns, "turn"),
        out::count(report.efforts, "effort"),
    ));
    if report.has_failed() {
        let places = thousands(report.unreadable.len() as u64 + report.left.damaged);
        out::print_line(format!("{DIM}{places} places could not be read; `neap import` lists them.{DIM:#}"));
    }
    out::print_line("");
    Ok(())
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        1_000_000..10_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{} MB", thousands(bytes / 1_000_000)),
    }
}
