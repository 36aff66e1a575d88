//! `neap session import`: a folder made by another tool, or an export of our own.

use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use neap_core::event::Recorded;
use neap_core::ids::SessionId;
use neap_core::import::ImportedFolder;
use neap_engine::{Clock, Engine, EngineError, ExportError, Imported, SystemClock};
use neap_store::folder;
use neap_store::reading::{self, LINE_BYTES_MAX, Line, Lines};

use crate::app;
use crate::cli::ImportArgs;
use crate::env::DataDir;
use crate::files;
use crate::out::{self, BOLD, DIM, Failure};

pub(super) async fn run(data: &DataDir, args: &ImportArgs, json: bool) -> Result<ExitCode, Failure> {
    let path = args.path.as_path();
    let id = args.session.as_deref().map(app::session_id).transpose()?;
    if !path.exists() {
        return Err(Failure::new(format!("there is nothing at {}", path.display()))
            .hint("name a session folder, or a file written by `neap session export`"));
    }
    let engine = app::engine(data)?.build();
    let imported =
        if path.is_dir() { folder(data, &engine, path, id).await? } else { export(&engine, path, id).await? };
    engine.flush().await;
    if json {
        out::json_line(&imported)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Imported { session, turns, efforts, masked, notes } = &imported;
    out::line(format!(
        "imported {BOLD}{session}{BOLD:#}: {}, {}; the originals are untouched",
        out::count(*turns, "turn"),
        out::count(*efforts, "effort")
    ));
    if *masked > 0 {
        out::line(format!("{} masked", out::count(*masked, "secret")));
    }
    for note in notes {
        out::line(format!("{DIM}note:{DIM:#} {}", out::clean(note)));
    }
    out::line(format!("{DIM}go on with{DIM:#} neap chat --session {session}"));
    Ok(ExitCode::SUCCESS)
}

async fn folder(data: &DataDir, engine: &Engine, path: &Path, id: Option<SessionId>) -> Result<Imported, Failure> {
    let read = folder::read_folder(path).map_err(|error| {
        Failure::new(error.to_string()).hint("a session folder has manifest.yaml, raw.jsonl and efforts/")
    })?;
    let name =
        path.canonicalize()?.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let id = match id {
        Some(id) => id,
        None => app::session_id(&name)?,
    };
    let own = data.sessions().join(id.as_str());
    if own.canonicalize().is_ok_and(|own| path.canonicalize().is_ok_and(|path| path == own)) {
        return take_back(engine, &read, &own, &id).await;
    }
    Ok(engine.import(&read, path, &id).await?)
}

/// Takes in the folder of a session that the store has lost. The new session's folder takes its place, so it gets another name first.
async fn take_back(
    engine: &Engine,
    read: &ImportedFolder,
    own: &Path,
    id: &SessionId,
) -> Result<Imported, Failure> {
    if engine.sessions().await?.iter().any(|info| info.session == *id && !info.scrubbed) {
        return Err(EngineError::SessionExists(id.clone()).into());
    }
    let now = folder::compact(SystemClock.now());
    let kept = own.with_file_name(format!("{id}.imported-{now}"));
    files::set_aside(own, &kept).map_err(|error| {
        Failure::new(format!("cannot rename {}: {error}", own.display())).hint("nothing was imported")
    })?;
    let mut imported = engine.import(read, &kept, id).await?;
    imported.notes.push(format!("the folder is now {}", kept.display()));
    Ok(imported)
}

async fn export(engine: &Engine, path: &Path, id: Option<SessionId>) -> Result<Imported, Failure> {
    let mut events: Vec<Recorded> = Vec::new();
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format!("cannot read {}: {error}", path.display()))
            .hint("name a session folder, or a file written by `neap session export`")
    };
    let file = reading::open(path).map_err(|error| failed(&error))?;
    let file = BufReader::new(file.ok_or_else(|| failed(&"there is no such file"))?);
    for (at, line) in Lines::new(file, LINE_BYTES_MAX).enumerate() {
        let wrong = |error: String| {
            Failure::new(format!("line {} of {}: {error}", at + 1, path.display()))
                .hint("only files written by `neap session export` can be imported")
        };
        let line = match line.map_err(|error| wrong(error.to_string()))? {
            Line::Whole(line) => line,
            Line::TooLong { bytes } => {
                return Err(wrong(format!("it has {bytes} bytes; {LINE_BYTES_MAX} is the most")));
            }
        };
        events.push(serde_json::from_slice(line.trim_ascii_end()).map_err(|error| wrong(error.to_string()))?);
    }
    engine.import_events(events, id).await.map_err(|error| match error {
        ExportError::Engine(error) => error.into(),
        ExportError::NoBeginning | ExportError::Impossible(_) => {
            Failure::new(error.to_string()).hint("only files written by `neap session export` can be imported")
        }
    })
}
