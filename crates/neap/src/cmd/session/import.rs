//! `neap session import`: imports a session folder or an export.

use std::path::Path;
use std::process::ExitCode;

use neap_core::base::ids::SessionId;
use neap_core::session::event::RecordedEvent;
use neap_core::session::import::ImportedFolder;
use neap_engine::{Clock, Engine, EngineError, ImportEventsError, Imported, SystemClock};
use neap_store::bounded_lines::{self, LINE_BYTES_MAX, json_lines};
use neap_store::folder;

use crate::app;
use crate::cli::SessionImportArgs;
use crate::env::DataDir;
use crate::files;
use crate::out::{self, BOLD, DIM, Failure};

pub(super) async fn run(data: &DataDir, args: &SessionImportArgs, json: bool) -> Result<ExitCode, Failure> {
    let path = args.path.as_path();
    let id = args.session.as_deref().map(app::parse_session_id).transpose()?;
    if !path.exists() {
        return Err(Failure::new(format!("{} does not exist", path.display()))
            .hint("name a session folder, or a file written by `neap session export`"));
    }
    let engine = app::engine_builder(data)?.build();
    let imported = if path.is_dir() {
        import_folder(data, &engine, path, id).await?
    } else {
        import_export(&engine, path, id).await?
    };
    engine.flush().await;
    if json {
        out::print_json(&imported)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Imported { session, turns, efforts, masked, notes } = &imported;
    out::print_line(format!(
        "imported {BOLD}{session}{BOLD:#}: {}, {}; the originals are untouched",
        out::count(*turns, "turn"),
        out::count(*efforts, "effort")
    ));
    if *masked > 0 {
        out::print_line(format!("{} masked", out::count(*masked, "secret")));
    }
    for note in notes {
        out::print_line(format!("{DIM}note:{DIM:#} {}", out::escape_control(note)));
    }
    out::print_line(format!("{DIM}continue with{DIM:#} neap chat --session {session}"));
    Ok(ExitCode::SUCCESS)
}

async fn import_folder(
    data: &DataDir,
    engine: &Engine,
    path: &Path,
    id: Option<SessionId>,
) -> Result<Imported, Failure> {
    let read = folder::read_folder(path).map_err(|error| {
        Failure::new(error.to_string()).hint("a session folder has manifest.yaml, raw.jsonl and efforts/")
    })?;
    let name =
        path.canonicalize()?.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let id = match id {
        Some(id) => id,
        None => app::parse_session_id(&name)?,
    };
    let own_folder = data.sessions_folder().join(id.as_str());
    if own_folder.canonicalize().is_ok_and(|own_folder| path.canonicalize().is_ok_and(|path| path == own_folder)) {
        return restore_lost(engine, &read, &own_folder, &id).await;
    }
    Ok(engine.import(&read, path, &id).await?)
}

/// Imports the folder of a session that the store has lost. Renames it first, since the new session takes its
/// name.
async fn restore_lost(
    engine: &Engine,
    read: &ImportedFolder,
    own_folder: &Path,
    id: &SessionId,
) -> Result<Imported, Failure> {
    if engine.sessions().await?.iter().any(|info| info.session == *id && !info.scrubbed) {
        return Err(EngineError::SessionExists(id.clone()).into());
    }
    let now = folder::compact_timestamp(SystemClock.now());
    let renamed = own_folder.with_file_name(format!("{id}.imported-{now}"));
    files::rename_no_clobber(own_folder, &renamed).map_err(|error| {
        Failure::new(format!("cannot rename {}: {error}", own_folder.display())).hint("nothing was imported")
    })?;
    let mut imported = engine.import(read, &renamed, id).await?;
    imported.notes.push(format!("the folder is now {}", renamed.display()));
    Ok(imported)
}

async fn import_export(engine: &Engine, path: &Path, id: Option<SessionId>) -> Result<Imported, Failure> {
    let file = bounded_lines::open_input(path).map_err(|error| {
        Failure::new(format!("cannot read {}: {error}", path.display()))
            .hint("name a session folder, or a file written by `neap session export`")
    })?;
    let events = json_lines(file, LINE_BYTES_MAX).map(|(at, event)| {
        event.map_err(|error| {
            Failure::new(format!("line {at} of {}: {error}", path.display()))
                .hint("only files written by `neap session export` can be imported")
        })
    });
    let events = events.collect::<Result<Vec<RecordedEvent>, Failure>>()?;
    engine.import_events(events, id).await.map_err(|error| match error {
        ImportEventsError::Engine(error) => error.into(),
        ImportEventsError::NoSessionCreated | ImportEventsError::InvalidEvents(_) => {
            Failure::new(error.to_string()).hint("only files written by `neap session export` can be imported")
        }
    })
}
