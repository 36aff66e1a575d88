//! `neap import`: imports conversations of other programs as sessions. Importing again adds only what is new.

mod embedding;
mod files;
mod json_array;
mod offer;
mod report;

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use neap_engine::{Engine, EngineError, ImportedTranscript};
use neap_model::transcript::Program;
use neap_model::transcript::read;
use neap_store::bounded_lines::{self, BoundedLine, BoundedLines, LINE_BYTES_MAX};
use neap_store::folder;

use crate::agent_folders;
use crate::app;
use crate::cli::{ConversationImportArgs, ImportSource};
use crate::env::DataDir;
use crate::out::Failure;
use crate::progress;
pub(crate) use embedding::embed_waiting;
use json_array::{ELEMENT_BYTES_MAX, Element, Elements};
pub(crate) use offer::offer_once;
use report::ImportReport;

/// Lines are imported in chunks of about this size.
const CHUNK_BYTES: usize = 8 << 20;
const READ_BYTES: usize = 256 << 10;

pub(crate) async fn run(data: &DataDir, args: &ConversationImportArgs, json: bool) -> Result<ExitCode, Failure> {
    let ConversationImportArgs { from, paths, dry_run, wait } = args;
    let paths = match (paths.as_slice(), default_path(*from)) {
        ([], Some(default)) if default.exists() => vec![default],
        ([], Some(default)) => return report::print_nothing(&default, json),
        ([], None) => {
            return Err(Failure::new("there is no path to import from")
                .hint("name a file or folder after the source, e.g. `neap import chatgpt conversations.json`"));
        }
        (named, _) => named.to_vec(),
    };
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        return Err(Failure::new(format!("{} does not exist", missing.display()))
            .hint("name a file, or a folder to search"));
    }
    let mut report = ImportReport { dry_run: *dry_run, ..ImportReport::default() };
    // Without a store everything is new, and a dry run creates none.
    let engine = match (dry_run, app::has_store(data)?) {
        (false, _) => Some(app::engine_builder(data)?.build()),
        (true, true) => Some(app::read_engine(data)?),
        (true, false) => None,
    };
    match program_of(*from) {
        Some(program) => {
            let files = files::find(program, &paths)?;
            import_files(engine.as_ref(), program, &files, &mut report).await?;
        }
        None => {
            for path in &paths {
                import_folder(engine.as_ref(), path, &mut report).await?;
            }
        }
    }
    if let Some(engine) = engine.filter(|_| !dry_run) {
        engine.flush().await;
        match wait {
            true => embedding::embed_new(&engine, report.new).await?,
            false => report.embedding = embedding::start_in_background(data)?,
        }
    }
    report.print(json)?;
    Ok(if report.has_failed() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn default_path(from: ImportSource) -> Option<PathBuf> {
    match from {
        ImportSource::ClaudeCode => Some(agent_folders::claude()?.join("projects")),
        ImportSource::Codex => Some(agent_folders::codex()?.join("sessions")),
        ImportSource::Chatgpt | ImportSource::ClaudeAi | ImportSource::Folder => None,
    }
}

fn program_of(from: ImportSource) -> Option<Program> {
    match from {
        ImportSource::ClaudeCode => Some(Program::ClaudeCode),
        ImportSource::Codex => Some(Program::Codex),
        ImportSource::Chatgpt => Some(Program::ChatGpt),
        ImportSource::ClaudeAi => Some(Program::ClaudeAi),
        ImportSource::Folder => None,
    }
}

async fn import_files(
    engine: Option<&Engine>,
    program: Program,
    files: &[files::TranscriptFile],
    report: &mut ImportReport,
) -> Result<(), Failure> {
    for (at, file) in files.iter().enumerate() {
        progress::show("importing", at as u64, files.len() as u64);
        import_file(engine, program, file, report).await?;
    }
    progress::show("importing", files.len() as u64, files.len() as u64);
    Ok(())
}

/// Imports a file chunk by chunk; reports what cannot be read and continues.
async fn import_file(
    engine: Option<&Engine>,
    program: Program,
    file: &files::TranscriptFile,
    report: &mut ImportReport,
) -> Result<(), Failure> {
    let opened = match bounded_lines::open_regular(&file.path) {
        Ok(Some(opened)) => BufReader::with_capacity(READ_BYTES, opened),
        Ok(None) => {
            report.unreadable.push(format!("{}: the file is gone", file.path.display()));
            return Ok(());
        }
        Err(error) => {
            report.unreadable.push(format!("{}: {error}", file.path.display()));
            return Ok(());
        }
    };
    report.files += 1;
    let located = |problem: String| format!("{}, {problem}", file.path.display());
    match program {
        Program::ClaudeCode | Program::Codex => {
            let mut chunk = Vec::new();
            for (at, line) in BoundedLines::new(opened, LINE_BYTES_MAX).enumerate() {
                match line {
                    Ok(BoundedLine::Whole(line)) => chunk.extend_from_slice(&line),
                    Ok(BoundedLine::TooLong { bytes }) => {
                        report.unreadable.push(located(format!("line {}: it has {bytes} bytes", at + 1)));
                    }
                    Err(error) => {
                        report.unreadable.push(located(error.to_string()));
                        break;
                    }
                }
                if chunk.len() >= CHUNK_BYTES {
                    import_chunk(engine, program, file, std::mem::take(&mut chunk), report).await?;
                }
            }
            import_chunk(engine, program, file, chunk, report).await
        }
        Program::ChatGpt | Program::ClaudeAi => {
            for (at, element) in Elements::new(opened, ELEMENT_BYTES_MAX).enumerate() {
                match element {
                    Ok(Element::Whole(element)) => {
                        let list = [b"[".as_slice(), &element, b"]"].concat();
                        import_chunk(engine, program, file, list, report).await?;
                    }
                    Ok(Element::TooLong { bytes }) => {
                        report.unreadable.push(located(format!("conversation {}: it has {bytes} bytes", at + 1)));
                    }
                    Ok(Element::NotAList) => report.left.damaged += 1,
                    Err(error) => {
                        report.unreadable.push(located(error.to_string()));
                        break;
                    }
                }
            }
            Ok(())
        }
    }
}

async fn import_chunk(
    engine: Option<&Engine>,
    program: Program,
    file: &files::TranscriptFile,
    chunk: Vec<u8>,
    report: &mut ImportReport,
) -> Result<(), Failure> {
    // Valid UTF-8 is not copied.
    let text =
        String::from_utf8(chunk).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let read = read(program, &file.name, &text);
    drop(text);
    report.left.add(&read.skipped);
    for transcript in &read.transcripts {
        let imported = match engine {
            None => ImportedTranscript::all_new(transcript),
            Some(engine) if report.dry_run => engine.preview_transcript(transcript).await?,
            Some(engine) => engine.import_transcript(transcript).await?,
        };
        report.add(imported);
    }
    Ok(())
}

async fn import_folder(engine: Option<&Engine>, path: &Path, report: &mut ImportReport) -> Result<(), Failure> {
    let read = folder::read_folder(path).map_err(|error| {
        Failure::new(error.to_string()).hint("a session folder has manifest.yaml, raw.jsonl and efforts/")
    })?;
    let name =
        path.canonicalize()?.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let session = app::parse_session_id(&name)?;
    let lines = (read.ambient.len() + read.efforts.iter().map(|effort| effort.lines.len()).sum::<usize>()) as u64;
    report.files += 1;
    let outcome = |new: u64, turns: u64, efforts: u64, masked: u64| ImportedTranscript {
        session: session.clone(),
        new,
        known: lines - new,
        turns,
        efforts,
        masked,
    };
    let Some(engine) = engine else {
        report.add(outcome(lines, 0, 0, 0));
        return Ok(());
    };
    if report.dry_run {
        let is_known = engine.attach(&session).await.is_ok();
        report.add(outcome(if is_known { 0 } else { lines }, 0, 0, 0));
        return Ok(());
    }
    match engine.import(&read, path, &session).await {
        Ok(imported) => {
            report.notes.extend(imported.notes);
            report.add(outcome(lines, imported.turns, imported.efforts, imported.masked));
        }
        // A folder is imported whole, once.
        Err(EngineError::SessionExists(_)) => report.add(outcome(0, 0, 0, 0)),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
