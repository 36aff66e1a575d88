//! Reads the new part of a transcript that an agent is still writing.
//!
//! The stored position is a hint: if it is lost or wrong, more is read, and known records are skipped.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use neap_core::base::project_id::Place;
use neap_core::client::transcript::{PromptFingerprint, PromptOccurrences, TranscriptCount};
use neap_engine::Engine;
use neap_model::transcript::Program;
use neap_model::transcript::read_appended;
use neap_store::bounded_lines;
use serde::{Deserialize, Serialize};

use crate::env::DataDir;
use crate::files;

/// Bytes read at once; a single record may be longer.
const CHUNK_BYTES: u64 = 1 << 20;
/// Longer records are skipped.
const RECORD_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TranscriptCursor {
    program: String,
    session: String,
    path: PathBuf,
    offset: u64,
    /// Prompts without an id read so far.
    #[serde(default)]
    sayings: PromptOccurrences,
}

impl TranscriptCursor {
    /// The saved position; the beginning if none is saved.
    pub(super) fn of(data: &DataDir, program: Program, session: &str, path: &Path) -> Self {
        let fresh = Self {
            program: program.as_str().to_owned(),
            session: session.to_owned(),
            path: path.to_owned(),
            offset: 0,
            sayings: PromptOccurrences::default(),
        };
        let saved = files::read_best_effort(&fresh.cursor_file(data))
            .and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        saved.filter(|saved| saved.path == fresh.path).unwrap_or(fresh)
    }

    /// Imports what is new, chunk by chunk, saving the position after each.
    pub(super) async fn import_new(
        &mut self,
        data: &DataDir,
        engine: &Engine,
        place: &Place,
    ) -> Result<(), String> {
        let Some(program) = program_named(&self.program) else { return Ok(()) };
        // A pipe or device might block forever.
        let Ok(Some(mut file)) = bounded_lines::open_regular(&self.path) else { return Ok(()) };
        let length = file.metadata().map_err(|error| error.to_string())?.len();
        if length < self.offset {
            // The file was replaced.
            (self.offset, self.sayings) = (0, PromptOccurrences::default());
        }
        while self.offset < length {
            let Some((text, bytes)) =
                read_whole_lines(&mut file, self.offset).map_err(|error| error.to_string())?
            else {
                break;
            };
            let read = read_appended(program, &self.session, &text, self.offset, &mut self.sayings);
            for mut transcript in read.transcripts {
                if *place != Place::Unknown {
                    transcript.place.clone_from(place);
                }
                engine.import_transcript(&transcript).await.map_err(|error| error.to_string())?;
            }
            self.offset += bytes;
            self.save(data);
        }
        Ok(())
    }

    /// How often a prompt occurs before a position, and as far as read.
    pub(super) fn count(&self, prompt: &PromptFingerprint, position: u64) -> TranscriptCount {
        self.sayings.count(prompt, position)
    }

    fn save(&self, data: &DataDir) {
        let _ = serde_json::to_vec(self).map(|bytes| files::write_best_effort(&self.cursor_file(data), &bytes));
    }

    /// Notes that there may be more to read.
    pub(super) fn save_pending(&self, data: &DataDir) {
        let path = data.hooks_folder().join("waiting").join(self.file_name());
        let _ = serde_json::to_vec(self).map(|bytes| files::write_best_effort(&path, &bytes));
    }

    fn cursor_file(&self, data: &DataDir) -> PathBuf {
        data.hooks_folder().join("cursors").join(self.file_name())
    }

    fn file_name(&self) -> String {
        let program = program_named(&self.program).unwrap_or(Program::ClaudeCode);
        let key = program.record_key(&["cursor", &self.session, &self.path.to_string_lossy()]);
        format!("{}-{}.json", program.session_id(&self.session), key.short_hex())
    }
}

/// Transcripts noted at the end of their conversations.
pub(super) fn pending_cursors(data: &DataDir) -> Vec<(PathBuf, TranscriptCursor)> {
    let Ok(entries) = std::fs::read_dir(data.hooks_folder().join("waiting")) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let read =
        |path: PathBuf| Some((path.clone(), serde_json::from_slice(&files::read_best_effort(&path)?).ok()?));
    paths.into_iter().filter_map(read).collect()
}

pub(super) fn program_named(name: &str) -> Option<Program> {
    [Program::ClaudeCode, Program::Codex].into_iter().find(|program| program.as_str() == name)
}

/// Whole lines from `offset` on and their length in bytes; `None` if the line there is incomplete.
fn read_whole_lines(file: &mut File, offset: u64) -> std::io::Result<Option<(String, u64)>> {
    let mut bytes = Vec::new();
    let mut max = CHUNK_BYTES;
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
