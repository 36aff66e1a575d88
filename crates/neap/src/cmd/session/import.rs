//! `neap session import`: a folder made by another tool, or an export of our own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;

use neap_core::event::Recorded;
use neap_core::ids::SessionId;
use neap_engine::{Engine, ExportError, Imported};
use neap_store::folder;

use crate::app;
use crate::cli::ImportArgs;
use crate::env::DataDir;
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
        if path.is_dir() { folder(&engine, path, id).await? } else { export(&engine, path, id).await? };
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

async fn folder(engine: &Engine, path: &Path, id: Option<SessionId>) -> Result<Imported, Failure> {
    let read = folder::read_folder(path).map_err(|error| {
        Failure::new(error.to_string()).hint("a session folder has manifest.yaml, raw.jsonl and efforts/")
    })?;
    let name =
        path.canonicalize()?.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let id = match id {
        Some(id) => id,
        None => app::session_id(&name)?,
    };
    Ok(engine.import(&read, path, &id).await?)
}

async fn export(engine: &Engine, path: &Path, id: Option<SessionId>) -> Result<Imported, Failure> {
    let mut events: Vec<Recorded> = Vec::new();
    for (at, line) in BufReader::new(std::fs::File::open(path)?).lines().enumerate() {
        let wrong = |error: String| {
            Failure::new(format!("line {} of {}: {error}", at + 1, path.display()))
                .hint("only files written by `neap session export` can be imported")
        };
        let line = line.map_err(|error| wrong(error.to_string()))?;
        events.push(serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?);
    }
    engine.import_events(events, id).await.map_err(|error| match error {
        ExportError::Engine(error) => error.into(),
        ExportError::NoBeginning | ExportError::Impossible(_) => {
            Failure::new(error.to_string()).hint("only files written by `neap session export` can be imported")
        }
    })
}
