//! The new part of a transcript that an agent is writing, and what still waits to be read.
//!
//! How far it was read is a note, not truth: where the note is lost or wrong, more is read, and what is known is passed over.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use neap_core::transcript::{Program, Saying, Sayings};
use neap_engine::Engine;
use neap_model::transcript::read_more;
use neap_store::reading;
use serde::{Deserialize, Serialize};

use crate::env::DataDir;
use crate::files;

/// So much is read at once, in bytes; a single record may be longer.
const PIECE_BYTES: u64 = 1 << 20;
/// A longer record is passed over.
const RECORD_BYTES_MAX: u64 = 64 << 20;

/// A transcript, and how far it was read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Cursor {
    program: String,
    session: String,
    path: PathBuf,
    offset: u64,
    /// Prompts without an id that were read so far.
    #[serde(default)]
    sayings: Sayings,
}

impl Cursor {
    /// Where a transcript was left; its beginning, if nothing is known of it.
    pub(super) fn of(data: &DataDir, program: Program, session: &str, path: &Path) -> Self {
        let fresh = Self {
            program: program.as_str().to_owned(),
            session: session.to_owned(),
            path: path.to_owned(),
            offset: 0,
            sayings: Sayings::default(),
        };
        let noted =
            files::read_note(&fresh.place(data)).and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        noted.filter(|noted| noted.path == fresh.path).unwrap_or(fresh)
    }

    /// Takes in what is new, piece by piece, each noted.
    pub(super) async fn take_in(&mut self, data: &DataDir, engine: &Engine) -> Result<(), String> {
        let Some(program) = program(&self.program) else { return Ok(()) };
        // What is no file may never end, or never begin.
        let Ok(Some(mut file)) = reading::open(&self.path) else { return Ok(()) };
        let length = file.metadata().map_err(|error| error.to_string())?.len();
        if length < self.offset {
            // Another file by the same name.
            (self.offset, self.sayings) = (0, Sayings::default());
        }
        while self.offset < length {
            let Some((text, bytes)) = piece(&mut file, self.offset).map_err(|error| error.to_string())? else {
                break;
            };
            let read = read_more(program, &self.session, &text, self.offset, &mut self.sayings);
            for transcript in read.transcripts {
                engine.take_in(&transcript).await.map_err(|error| error.to_string())?;
            }
            self.offset += bytes;
            self.note(data);
        }
        Ok(())
    }

    /// How often a prompt stands in it before a place, as far as it was read.
    pub(super) fn seen(&self, saying: &Saying, place: u64) -> u64 {
        self.sayings.before(saying, place)
    }

    /// Notes how far it was read.
    fn note(&self, data: &DataDir) {
        let _ = serde_json::to_vec(self).map(|bytes| files::note(&self.place(data), &bytes));
    }

    /// Notes that there may be more to read.
    pub(super) fn wait(&self, data: &DataDir) {
        let place = data.hooks().join("waiting").join(self.name());
        let _ = serde_json::to_vec(self).map(|bytes| files::note(&place, &bytes));
    }

    fn place(&self, data: &DataDir) -> PathBuf {
        data.hooks().join("cursors").join(self.name())
    }

    /// A name that is safe for a file.
    fn name(&self) -> String {
        let program = program(&self.program).unwrap_or(Program::ClaudeCode);
        let key = program.key(&["cursor", &self.session, &self.path.to_string_lossy()]);
        format!("{}-{}.json", program.session(&self.session), key.short())
    }
}

/// What waits since conversations ended.
pub(super) fn waiting(data: &DataDir) -> Vec<(PathBuf, Cursor)> {
    let Ok(entries) = std::fs::read_dir(data.hooks().join("waiting")) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let read = |path: PathBuf| Some((path.clone(), serde_json::from_slice(&files::read_note(&path)?).ok()?));
    paths.into_iter().filter_map(read).collect()
}

/// The program of such a name.
pub(super) fn program(name: &str) -> Option<Program> {
    [Program::ClaudeCode, Program::Codex].into_iter().find(|program| program.as_str() == name)
}

/// Whole lines from a place on, and how many bytes they are; none if the line there has no end yet.
fn piece(file: &mut File, offset: u64) -> std::io::Result<Option<(String, u64)>> {
    let mut bytes = Vec::new();
    let mut max = PIECE_BYTES;
    loop {
        file.seek(SeekFrom::Start(offset + bytes.len() as u64))?;
        let read = file.take(max - bytes.len() as u64).read_to_end(&mut bytes)?;
        if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
            bytes.truncate(end + 1);
            let length = bytes.len() as u64;
            return Ok(Some((String::from_utf8_lossy(&bytes).into_owned(), length)));
        }
        if read == 0 {
            return Ok(None);
        }
        if max >= RECORD_BYTES_MAX {
            return Ok(Some((String::new(), bytes.len() as u64)));
        }
        max *= 4;
    }
}
