//! What a hook had no time to record, or could not: kept in the data folder until a process that no agent waits for records it.
//!
//! A file for each event, whole and on disk before the hook ends, without secrets unless the store's owner wants them. Whoever records them does so one after the other, oldest
//! first, and removes what is recorded; what is recorded twice is known.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use neap_core::hook::Told;
use neap_core::ingest::{Block, Digest, Item, Speaker};
use neap_core::memory::Author;
use neap_core::tokens::Tokens;
use neap_core::transcript::{Record, Saying, Transcript, What};
use neap_engine::Engine;
use serde::{Deserialize, Serialize};

use super::faults;
use super::transcript::{Cursor, program};
use super::work::{Came, Event, engine};
use crate::env::DataDir;
use crate::files;
use crate::settings::StoreSettings;

/// For so long a process tries to record what waits; after that the next hook has another begin.
const TRIES_FOR: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

/// An event that waits.
#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    program: String,
    session: String,
    source: String,
    /// Whose words it tells.
    author: Author,
    transcript: Option<PathBuf>,
    came: Came,
    unnamed: Option<Saying>,
    parts: Vec<Part>,
}

/// What it told.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    keys: Vec<Digest>,
    text: String,
    is_summary: bool,
}

fn folder(data: &DataDir) -> PathBuf {
    data.hooks().join("spool")
}

/// Keeps an event, if it tells anything that no transcript will.
pub(super) fn put(data: &DataDir, event: &Event) -> Result<bool, String> {
    let Some(told) = event.told() else { return Ok(false) };
    // Where that cannot be read, nothing is kept that the owner may not want to be.
    let masking = StoreSettings::read(data).unwrap_or_default().masking();
    let Told { transcript, unnamed, at: _ } = told;
    let part = |record: Record| {
        let (text, is_summary) = match record.what {
            What::Said(item) => (item.text(), false),
            What::Compacted(summary) => (summary, true),
        };
        Part { keys: record.keys, text: masking.text(&text).0.into_owned(), is_summary }
    };
    let waiting = Waiting {
        program: event.program().as_str().to_owned(),
        session: event.session().to_owned(),
        source: transcript.source,
        author: transcript.author,
        transcript: event.transcript().map(PathBuf::from),
        came: event.came(),
        unnamed,
        parts: transcript.records.into_iter().map(part).collect(),
    };
    let name = format!("{:020}-{}.json", waiting.came.at.0.max(0), std::process::id());
    let bytes = serde_json::to_vec(&waiting).map_err(|error| error.to_string())?;
    let kept =
        files::create_dir(&folder(data)).and_then(|()| files::create_whole(&folder(data).join(name), &bytes));
    kept.map(|()| true).map_err(|error| format!("it cannot be kept for later: {error}"))
}

/// The files of events that wait, oldest first.
pub(super) fn waiting(data: &DataDir) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder(data)) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    paths.sort();
    paths
}

/// Has what waits recorded by a process of its own, unless nothing does or one is at it.
pub(super) fn start(data: &DataDir, arguments: &[std::ffi::OsString]) {
    if waiting(data).is_empty() || files::try_lock(&lock(data)).is_none() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    command.args(arguments).args(["hook", "--catch-up"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Whoever ends the agent's hooks, and all that they began, does not mean this one.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // Where it cannot begin, the next hook tries again.
    let _ = command.spawn();
}

fn lock(data: &DataDir) -> PathBuf {
    data.hooks().join("spool.lock")
}

/// Records what waits, for as long as it may take.
pub(super) fn catch_up(data: &DataDir) {
    let (began, mut fault) = (Instant::now(), None);
    // Who came while the last one was being recorded saw that somebody is at it.
    while !waiting(data).is_empty() && began.elapsed() < TRIES_FOR {
        let Some(_held) = files::try_lock(&lock(data)) else { return };
        fault = record_all(data).err();
        if fault.is_some() {
            std::thread::sleep(PAUSE);
        }
    }
    if let Some(fault) = fault.filter(|_| !waiting(data).is_empty()) {
        faults::note(data, &format!("{} of hooks not recorded yet: {fault}", waiting(data).len()));
    }
}

fn record_all(data: &DataDir) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let engine = engine(data, true)?;
    runtime.block_on(record_waiting(data, &engine))
}

/// Records what waits with a store that is open; fails with what went wrong first, after all were tried.
pub(super) async fn record_waiting(data: &DataDir, engine: &Engine) -> Result<(), String> {
    let mut fault = Ok(());
    for path in waiting(data) {
        match record(data, engine, &path).await {
            Ok(()) => files::remove(&path).map_err(|error| error.to_string())?,
            Err(why) => fault = fault.and(Err(why)),
        }
    }
    fault
}

async fn record(data: &DataDir, engine: &Engine, path: &Path) -> Result<(), String> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        // Somebody else was there first.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    let waiting: Waiting = match serde_json::from_slice(&bytes) {
        Ok(waiting) => waiting,
        // Nothing will make it readable: it is kept for a person, and nobody tries again.
        Err(error) => {
            let kept = path.with_extension("unreadable");
            faults::note(
                data,
                &format!("an event that waited cannot be read and is kept as {}: {error}", kept.display()),
            );
            return files::rotate(path, &kept).map_err(|error| error.to_string());
        }
    };
    let Waiting { program: name, session, source, author, transcript, came, unnamed, parts } = waiting;
    let program = program(&name).ok_or_else(|| format!("'{name}' is no program that has hooks"))?;
    let mut cursor = transcript.map(|path| Cursor::of(data, program, &session, &path));
    let read = match &mut cursor {
        Some(cursor) => cursor.take_in(data, engine).await,
        None => Ok(()),
    };
    let records = parts.into_iter().map(|Part { keys, text, is_summary }| {
        let what = match is_summary {
            true => What::Compacted(text),
            false => {
                let blocks = vec![Block::Text(text)].into();
                What::Said(Item { speaker: Speaker::User, blocks, tokens: Tokens::ZERO, marks: 0 })
            }
        };
        Record { keys, at: Some(came.at), message: None, what }
    });
    let records = records.collect();
    let transcript = Transcript { session: program.session(&session), source, author, records };
    let seen = cursor.zip(unnamed.as_ref()).map_or(0, |(cursor, saying)| cursor.seen(saying, came.position));
    let told = Told { transcript, unnamed, at: came.at };
    engine.take_in_told(&told, seen).await.map_err(|error| error.to_string())?;
    read
}
