//! Spools events that a hook could not record in time, until a background process records them.
//!
//! Each event is one file, written and synced before the hook ends, with secrets masked unless the store's owner
//! turned that off. Files are recorded oldest first and then removed; recording one twice is harmless.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use neap_core::base::digest::Digest;
use neap_core::base::project_id::Place;
use neap_core::client::transcript::HookTranscript;
use neap_core::client::transcript::{PromptFingerprint, RecordBody, Transcript, TranscriptRecord};
use neap_core::client::{ContentBlock, HistoryItem, Speaker};
use neap_core::memory::Author;
use neap_engine::Engine;
use serde::{Deserialize, Serialize};

use super::error_log;
use super::task::{EventArrival, HookTask, open_engine};
use super::transcript::{TranscriptCursor, program_named};
use crate::background;
use crate::env::DataDir;
use crate::files;
use crate::settings::StoreSettings;

/// How long a background process retries; after that the next hook starts another.
const RETRY_FOR: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug, Serialize, Deserialize)]
struct SpooledEvent {
    program: String,
    session: String,
    source: String,
    author: Author,
    #[serde(default)]
    place: Place,
    transcript: Option<PathBuf>,
    came: EventArrival,
    unnamed: Option<PromptFingerprint>,
    parts: Vec<SpooledRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SpooledRecord {
    keys: Vec<Digest>,
    text: String,
    is_summary: bool,
}

fn spool_folder(data: &DataDir) -> PathBuf {
    data.hooks_folder().join("spool")
}

/// Spools what an event says that no transcript will contain; returns whether there was anything.
pub(super) fn enqueue(data: &DataDir, event: &HookTask) -> Result<bool, String> {
    let Some(hook_transcript) = event.untranscribed() else { return Ok(false) };
    // If the settings cannot be read, mask.
    let masking = StoreSettings::read(data).unwrap_or_default().masking();
    let HookTranscript { transcript, unkeyed_prompt: unnamed, at: _ } = hook_transcript;
    let part = |record: TranscriptRecord| {
        let (text, is_summary) = match record.body {
            RecordBody::Message(item) => (item.text(), false),
            RecordBody::Compacted(summary) => (summary, true),
        };
        SpooledRecord { keys: record.keys, text: masking.mask(&text).0.into_owned(), is_summary }
    };
    let spooled = SpooledEvent {
        program: event.program().as_str().to_owned(),
        session: event.session().to_owned(),
        source: transcript.source,
        author: transcript.author,
        place: transcript.place,
        transcript: event.transcript().map(PathBuf::from),
        came: event.arrival(),
        unnamed,
        parts: transcript.records.into_iter().map(part).collect(),
    };
    let name = format!("{:020}-{}.json", spooled.came.at.0.max(0), std::process::id());
    let bytes = serde_json::to_vec(&spooled).map_err(|error| error.to_string())?;
    let written = files::create_dir(&spool_folder(data))
        .and_then(|()| files::create_atomic(&spool_folder(data).join(name), &bytes));
    written.map(|()| true).map_err(|error| format!("the event could not be saved for later: {error}"))
}

pub(super) fn pending_files(data: &DataDir) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(spool_folder(data)) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    paths.sort();
    paths
}

/// Starts a background process, unless the spool is empty or one is running.
pub(super) fn spawn_recorder(data: &DataDir) {
    if pending_files(data).is_empty() || files::try_lock(&lock_file(data)).is_none() {
        return;
    }
    // If it cannot start, the next hook tries again.
    let _ = background::spawn(data, &["hook", "--catch-up"]);
}

fn lock_file(data: &DataDir) -> PathBuf {
    data.hooks_folder().join("spool.lock")
}

/// Records spooled events, retrying for [`RETRY_FOR`].
pub(super) fn catch_up(data: &DataDir) {
    let (began, mut fault) = (Instant::now(), None);
    // Loops, because hooks that spooled an event meanwhile saw the lock taken and started no process.
    while !pending_files(data).is_empty() && began.elapsed() < RETRY_FOR {
        let Some(_lock) = files::try_lock(&lock_file(data)) else { return };
        fault = open_and_record(data).err();
        if fault.is_some() {
            std::thread::sleep(PAUSE);
        }
    }
    if let Some(fault) = fault.filter(|_| !pending_files(data).is_empty()) {
        error_log::append(data, &format!("hook events not recorded yet: {}; {fault}", pending_files(data).len()));
    }
}

fn open_and_record(data: &DataDir) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let data = &runtime.block_on(data.clone().connected()).map_err(|failure| failure.to_string())?;
    let engine = open_engine(data, true)?;
    runtime.block_on(record_pending(data, &engine))
}

/// Records all spooled events; fails with the first error after trying each.
pub(super) async fn record_pending(data: &DataDir, engine: &Engine) -> Result<(), String> {
    let mut fault = Ok(());
    for path in pending_files(data) {
        match record_file(data, engine, &path).await {
            Ok(()) => files::remove(&path).map_err(|error| error.to_string())?,
            Err(error) => fault = fault.and(Err(error)),
        }
    }
    fault
}

async fn record_file(data: &DataDir, engine: &Engine, path: &Path) -> Result<(), String> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        // Another process recorded it.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    let spooled: SpooledEvent = match serde_json::from_slice(&bytes) {
        Ok(spooled) => spooled,
        // It stays unreadable: set it aside for a person instead of retrying.
        Err(error) => {
            let set_aside = path.with_extension("unreadable");
            error_log::append(
                data,
                &format!("cannot read a saved event, now kept as {}: {error}", set_aside.display()),
            );
            return files::rename(path, &set_aside).map_err(|error| error.to_string());
        }
    };
    let SpooledEvent { program: name, session, source, author, place, transcript, came, unnamed, parts } = spooled;
    let program = program_named(&name).ok_or_else(|| format!("'{name}' is not a program with hooks"))?;
    let mut cursor = transcript.map(|path| TranscriptCursor::of(data, program, &session, &path));
    let read = match &mut cursor {
        Some(cursor) => cursor.import_new(data, engine, &place).await,
        None => Ok(()),
    };
    let records = parts.into_iter().map(|SpooledRecord { keys, text, is_summary }| {
        let body = match is_summary {
            true => RecordBody::Compacted(text),
            false => RecordBody::Message(HistoryItem::uncounted(Speaker::User, vec![ContentBlock::Text(text)])),
        };
        TranscriptRecord { keys, at: Some(came.at), message_id: None, body }
    });
    let records = records.collect();
    let transcript = Transcript { session: program.session_id(&session), source, author, place, records };
    let seen = cursor.zip(unnamed.as_ref()).map(|(cursor, prompt)| cursor.count(prompt, came.position));
    let hook_transcript = HookTranscript { transcript, unkeyed_prompt: unnamed, at: came.at };
    engine
        .import_hook_event(&hook_transcript, seen.unwrap_or_default())
        .await
        .map_err(|error| error.to_string())?;
    read
}
