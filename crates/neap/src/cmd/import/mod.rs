//! `neap import`: conversations that other programs kept, made to sessions. Twice takes in nothing twice.

mod array;
mod files;
mod told;

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use neap_core::transcript::Program;
use neap_engine::{Engine, EngineError, Taken};
use neap_model::transcript::read;
use neap_store::folder;
use neap_store::reading::{self, LINE_BYTES_MAX, Line, Lines};

use crate::app;
use crate::cli::{ImportFrom, TakeInArgs};
use crate::env::{self, DataDir};
use crate::out::Failure;
use crate::progress::Progress;
use array::{ELEMENT_BYTES_MAX, Element, Elements};
use told::Told;

/// Lines are taken in together up to so many bytes.
const PIECE_BYTES: usize = 8 << 20;
const READ_BYTES: usize = 256 << 10;

pub(crate) async fn run(data: &DataDir, args: &TakeInArgs, json: bool) -> Result<ExitCode, Failure> {
    let TakeInArgs { from, paths, dry_run } = args;
    let paths = match (paths.as_slice(), usual(*from)) {
        ([], Some(usual)) if usual.exists() => vec![usual],
        ([], Some(usual)) => return told::nothing(&usual, json),
        ([], None) => {
            return Err(Failure::new("say what to import").hint(
                "name the file or the folder after the kind, e.g. `neap import chatgpt conversations.json`",
            ));
        }
        (named, _) => named.to_vec(),
    };
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        return Err(Failure::new(format!("there is nothing at {}", missing.display()))
            .hint("name a file, or a folder that is looked through"));
    }
    let mut told = Told { dry_run: *dry_run, ..Told::default() };
    // Without a store everything is new, and looking makes none.
    let engine = match (dry_run, app::has_store(data)?) {
        (false, _) => Some(app::engine(data)?.build()),
        (true, true) => Some(app::reader(data)?),
        (true, false) => None,
    };
    match program(*from) {
        Some(program) => {
            let files = files::find(program, &paths)?;
            let bar = Progress::new("importing", files.len());
            for file in &files {
                take_file(engine.as_ref(), program, file, &mut told).await?;
                bar.step();
            }
            bar.end();
        }
        None => {
            for path in &paths {
                take_folder(engine.as_ref(), path, &mut told).await?;
            }
        }
    }
    if let Some(engine) = engine.filter(|_| !dry_run) {
        index(&engine, told.new).await?;
        engine.flush().await;
    }
    told.print(json)?;
    Ok(ExitCode::SUCCESS)
}

/// Where a program usually keeps them.
fn usual(from: ImportFrom) -> Option<PathBuf> {
    match from {
        ImportFrom::ClaudeCode => Some(env::claude_folder()?.join("projects")),
        ImportFrom::Codex => Some(env::codex_folder()?.join("sessions")),
        ImportFrom::Chatgpt | ImportFrom::ClaudeAi | ImportFrom::Folder => None,
    }
}

fn program(from: ImportFrom) -> Option<Program> {
    match from {
        ImportFrom::ClaudeCode => Some(Program::ClaudeCode),
        ImportFrom::Codex => Some(Program::Codex),
        ImportFrom::Chatgpt => Some(Program::ChatGpt),
        ImportFrom::ClaudeAi => Some(Program::ClaudeAi),
        ImportFrom::Folder => None,
    }
}

/// Takes in one file, a piece after the other; what cannot be read is told, and the rest is read all the same.
async fn take_file(
    engine: Option<&Engine>,
    program: Program,
    file: &files::File,
    told: &mut Told,
) -> Result<(), Failure> {
    let opened = match reading::open(&file.path) {
        Ok(Some(opened)) => BufReader::with_capacity(READ_BYTES, opened),
        Ok(None) => {
            told.unreadable.push(format!("{}: it is gone", file.path.display()));
            return Ok(());
        }
        Err(error) => {
            told.unreadable.push(format!("{}: {error}", file.path.display()));
            return Ok(());
        }
    };
    told.files += 1;
    let too_long = |what: String| format!("{}, {what}", file.path.display());
    match program {
        Program::ClaudeCode | Program::Codex => {
            let mut piece = Vec::new();
            for (at, line) in Lines::new(opened, LINE_BYTES_MAX).enumerate() {
                match line {
                    Ok(Line::Whole(line)) => piece.extend_from_slice(&line),
                    Ok(Line::TooLong { bytes }) => {
                        told.unreadable.push(too_long(format!("line {}: it has {bytes} bytes", at + 1)));
                    }
                    Err(error) => {
                        told.unreadable.push(too_long(error.to_string()));
                        break;
                    }
                }
                if piece.len() >= PIECE_BYTES {
                    take_piece(engine, program, file, std::mem::take(&mut piece), told).await?;
                }
            }
            take_piece(engine, program, file, piece, told).await
        }
        Program::ChatGpt | Program::ClaudeAi => {
            for (at, element) in Elements::new(opened, ELEMENT_BYTES_MAX).enumerate() {
                match element {
                    Ok(Element::Whole(element)) => {
                        let list = [b"[".as_slice(), &element, b"]"].concat();
                        take_piece(engine, program, file, list, told).await?;
                    }
                    Ok(Element::TooLong { bytes }) => {
                        told.unreadable.push(too_long(format!("conversation {}: it has {bytes} bytes", at + 1)));
                    }
                    Ok(Element::NoList) => told.left.damaged += 1,
                    Err(error) => {
                        told.unreadable.push(too_long(error.to_string()));
                        break;
                    }
                }
            }
            Ok(())
        }
    }
}

/// Takes in whole lines, or a list of conversations.
async fn take_piece(
    engine: Option<&Engine>,
    program: Program,
    file: &files::File,
    piece: Vec<u8>,
    told: &mut Told,
) -> Result<(), Failure> {
    // Text that is text already is not copied.
    let text =
        String::from_utf8(piece).unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned());
    let read = read(program, &file.name, &text);
    drop(text);
    told.left.add(&read.left);
    for transcript in &read.transcripts {
        let taken = match engine {
            None => Taken::all_new(transcript),
            Some(engine) if told.dry_run => engine.look_at(transcript).await?,
            Some(engine) => engine.take_in(transcript).await?,
        };
        told.add(taken);
    }
    Ok(())
}

async fn take_folder(engine: Option<&Engine>, path: &Path, told: &mut Told) -> Result<(), Failure> {
    let read = folder::read_folder(path).map_err(|error| {
        Failure::new(error.to_string()).hint("a session folder has manifest.yaml, raw.jsonl and efforts/")
    })?;
    let name =
        path.canonicalize()?.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let session = app::session_id(&name)?;
    let lines = (read.ambient.len() + read.efforts.iter().map(|effort| effort.lines.len()).sum::<usize>()) as u64;
    told.files += 1;
    let known = |new: u64, turns: u64, efforts: u64, masked: u64| Taken {
        session: session.clone(),
        new,
        known: lines - new,
        turns,
        efforts,
        masked,
    };
    let Some(engine) = engine else {
        told.add(known(lines, 0, 0, 0));
        return Ok(());
    };
    if told.dry_run {
        let is_known = engine.attach(&session).await.is_ok();
        told.add(known(if is_known { 0 } else { lines }, 0, 0, 0));
        return Ok(());
    }
    match engine.import(&read, path, &session).await {
        Ok(imported) => {
            told.notes.extend(imported.notes);
            told.add(known(lines, imported.turns, imported.efforts, imported.masked));
        }
        // A folder is taken in whole, once.
        Err(EngineError::SessionExists(_)) => told.add(known(0, 0, 0, 0)),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Has what is new embedded, so that it is found by meaning as well as by words.
async fn index(engine: &Engine, new: u64) -> Result<(), Failure> {
    let bar = Progress::new("indexing", usize::try_from(new).unwrap_or(usize::MAX));
    let mut done = 0;
    loop {
        let some = engine.index_some().await?;
        if some == 0 {
            break;
        }
        for _ in 0..some.min(usize::try_from(new).unwrap_or(usize::MAX).saturating_sub(done)) {
            bar.step();
        }
        done += some;
    }
    bar.end();
    Ok(())
}
