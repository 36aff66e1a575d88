//! Reads a session folder that another tool wrote. Its content is untrusted, and never changed.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::{Component, Path, PathBuf};

use neap_core::base::ids::{EffortId, Stamp};
use neap_core::base::message::Role;
use neap_core::session::effort::EffortStatus;
use neap_core::session::import::{ImportedEffort, ImportedFolder, ImportedLine};
use serde::Deserialize;
use serde_json::Value;

use super::{AMBIENT_FILE, EFFORTS_DIR, EXPANDED_FILE, MANIFEST_FILE, STATE_FILE};
use crate::bounded_lines::{BoundedLine, BoundedLines, LINE_BYTES_MAX};
use crate::files;

/// Larger manifests are refused unread: a few lines of YAML can expand to gigabytes.
const MANIFEST_BYTES_MAX: u64 = 16 << 20;
const LOG_BYTES_MAX: u64 = 1 << 30;

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// The folder has none of a session's files.
    #[error("{} is not a session folder", .0.display())]
    NotASession(PathBuf),
    #[error("{} cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
}

/// Reads a folder; damaged parts are left out and noted.
pub fn read_folder(path: &Path) -> Result<ImportedFolder, ImportError> {
    let unreadable = |e: std::io::Error| ImportError::Unreadable { path: path.to_owned(), why: e.to_string() };
    if !path.is_dir() {
        return Err(ImportError::NotAFolder(path.to_owned()));
    }
    let dir = files::resolve(path).map_err(unreadable)?;
    let mut reader = FolderReader { dir, folder: ImportedFolder::default(), read: BTreeSet::new() };
    let logs = files::list_dir(&reader.dir.join(EFFORTS_DIR)).unwrap_or_default();
    let manifest = reader.read(MANIFEST_FILE, MANIFEST_BYTES_MAX)?;
    let ambient = reader.read_lines(AMBIENT_FILE)?;
    if manifest.is_none() && ambient.is_none() && logs.is_empty() {
        return Err(ImportError::NotASession(path.to_owned()));
    }
    reader.folder.ambient = ambient.unwrap_or_default();
    for entry in reader.entries(manifest.as_deref()) {
        reader.read_effort(&entry)?;
    }
    reader.read_unlisted(&logs)?;
    reader.read_counts()?;
    Ok(reader.folder)
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    efforts: Option<Vec<Value>>,
}

struct FolderReader {
    /// Canonical, without links and dots.
    dir: PathBuf,
    folder: ImportedFolder,
    /// Logs that belong to an effort of the manifest.
    read: BTreeSet<String>,
}

impl FolderReader {
    fn note(&mut self, note: String) {
        self.folder.notes.push(note);
    }

    /// `None` if the file does not exist or is a link out of the folder.
    fn find(&mut self, name: &str) -> Option<PathBuf> {
        let resolved = files::resolve(&self.dir.join(name)).ok()?;
        if !resolved.starts_with(&self.dir) {
            self.note(format!("{name} points outside the folder and was skipped"));
            return None;
        }
        Some(resolved)
    }

    fn read(&mut self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, ImportError> {
        let Some(path) = self.find(name) else { return Ok(None) };
        files::read(&path, bytes_max).map_err(|e| ImportError::Unreadable { path, why: e.to_string() })
    }

    fn entries(&mut self, manifest: Option<&[u8]>) -> Vec<Value> {
        let Some(manifest) = manifest else { return Vec::new() };
        let text = String::from_utf8_lossy(manifest);
        if text.trim().is_empty() {
            return Vec::new();
        }
        match serde_saphyr::from_str::<Manifest>(&text) {
            Ok(manifest) => manifest.efforts.unwrap_or_default(),
            Err(e) => {
                self.note(format!("{MANIFEST_FILE} cannot be parsed: {}", first_line(&e.to_string())));
                Vec::new()
            }
        }
    }

    fn read_effort(&mut self, entry: &Value) -> Result<(), ImportError> {
        let name = match entry.get("id") {
            Some(Value::String(name)) => name.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => {
                self.note(format!("an entry of {MANIFEST_FILE} has no id and was skipped"));
                return Ok(());
            }
        };
        let Ok(id) = EffortId::from_name(&name) else {
            self.note(format!("{name:?} cannot be an effort's id and was skipped"));
            return Ok(());
        };
        if self.folder.efforts.iter().any(|effort| effort.id == id) {
            self.note(format!("{name:?} is in {MANIFEST_FILE} twice; only the first was imported"));
            return Ok(());
        }
        let status = match text_field(entry, "status") {
            Some("concluded") => EffortStatus::Concluded,
            Some("open") => EffortStatus::Open,
            other => {
                self.note(format!("{name:?} has the status {other:?} and was imported as open"));
                EffortStatus::Open
            }
        };
        let log = self.log_path(entry, &name, &id);
        self.read.insert(log.clone());
        let lines = self.read_lines(&log)?.unwrap_or_default();
        self.folder.efforts.push(ImportedEffort {
            id,
            active: entry.get("active").and_then(Value::as_bool).unwrap_or(false),
            summary: text_field(entry, "summary").map(str::to_owned).filter(|summary| !summary.trim().is_empty()),
            created: text_field(entry, "created").and_then(parse_stamp),
            updated: text_field(entry, "updated").and_then(parse_stamp),
            name,
            status,
            lines,
        });
        Ok(())
    }

    /// A path from the manifest is used only if it stays inside the folder.
    fn log_path(&mut self, entry: &Value, name: &str, id: &EffortId) -> String {
        if let Some(given) = text_field(entry, "raw_file") {
            if is_inside(given) && self.dir.join(given).is_file() {
                return given.to_owned();
            }
            if !is_inside(given) {
                self.note(format!("{name:?} names a log outside the folder, which was not read"));
            }
        }
        let by_name = format!("{EFFORTS_DIR}/{name}.jsonl");
        let plain = !name.contains(['/', '\\', '\0']) && is_inside(&by_name);
        if plain && self.dir.join(&by_name).is_file() { by_name } else { format!("{EFFORTS_DIR}/{id}.jsonl") }
    }

    /// Logs that the manifest does not name become open efforts, so that their messages are not lost.
    fn read_unlisted(&mut self, logs: &[String]) -> Result<(), ImportError> {
        let known: BTreeSet<EffortId> = self.folder.efforts.iter().map(|effort| effort.id.clone()).collect();
        for file in logs {
            let Some(stem) = file.strip_suffix(".jsonl") else { continue };
            let log = format!("{EFFORTS_DIR}/{file}");
            if self.read.contains(&log) {
                continue;
            }
            // The lines of a numbered log name its effort.
            let name = &self.effort_in_log(&log).unwrap_or_else(|| stem.to_owned());
            let Ok(id) = EffortId::from_name(name) else { continue };
            if known.contains(&id) || self.folder.efforts.iter().any(|effort| effort.id == id) {
                continue;
            }
            let Some(lines) = self.read_lines(&log)?.filter(|lines| !lines.is_empty()) else { continue };
            self.note(format!("{log} is not in {MANIFEST_FILE} and was imported as an open effort"));
            self.folder.efforts.push(ImportedEffort {
                id,
                name: name.to_owned(),
                status: EffortStatus::Open,
                active: false,
                summary: None,
                created: lines.first().and_then(|line| line.ts),
                updated: lines.last().and_then(|line| line.ts),
                lines,
            });
        }
        Ok(())
    }

    fn effort_in_log(&self, log: &str) -> Option<String> {
        let path = files::resolve(&self.dir.join(log)).ok().filter(|path| path.starts_with(&self.dir))?;
        let mut lines = BoundedLines::new(BufReader::new(files::open_regular(&path).ok()??), LINE_BYTES_MAX);
        let first = lines.find_map(|line| match line {
            Ok(BoundedLine::Whole(raw)) if raw.iter().all(u8::is_ascii_whitespace) => None,
            Ok(BoundedLine::Whole(raw)) => Some(raw),
            Ok(BoundedLine::TooLong { .. }) | Err(_) => Some(Vec::new()),
        })?;
        let value: Value = serde_json::from_slice(&first).ok()?;
        text_field(&value, "effort").map(str::to_owned)
    }

    /// `None` if there is no such file. Lines that are too long or cannot be parsed are left out and noted.
    fn read_lines(&mut self, name: &str) -> Result<Option<Vec<ImportedLine>>, ImportError> {
        let Some(path) = self.find(name) else { return Ok(None) };
        let unreadable = |e: std::io::Error| ImportError::Unreadable { path: path.clone(), why: e.to_string() };
        let Some(file) = files::open_regular(&path).map_err(unreadable)? else { return Ok(None) };
        if file.metadata().map_err(unreadable)?.len() > LOG_BYTES_MAX {
            let why = format!("it is longer than {} MiB", LOG_BYTES_MAX >> 20);
            return Err(ImportError::Unreadable { path, why });
        }
        let (mut lines, mut unparsed, mut long) = (Vec::new(), Vec::new(), Vec::new());
        for (at, found) in BoundedLines::new(BufReader::new(file), LINE_BYTES_MAX).enumerate() {
            match found.map_err(unreadable)? {
                BoundedLine::Whole(raw) if raw.iter().all(u8::is_ascii_whitespace) => {}
                BoundedLine::Whole(raw) => match parse_line(&raw) {
                    Some(line) => lines.push(line),
                    None => unparsed.push(at + 1),
                },
                BoundedLine::TooLong { .. } => long.push(at + 1),
            }
        }
        let too_long = format!("are longer than {} MiB", LINE_BYTES_MAX >> 20);
        for (skipped, why) in [(unparsed, "cannot be parsed"), (long, too_long.as_str())] {
            if let Some(first) = skipped.first() {
                let count = skipped.len();
                self.note(format!("{name}: {count} lines {why} and were skipped (first: line {first})"));
            }
        }
        Ok(Some(lines))
    }

    /// The turn count, and when efforts were last referenced. Expansions are transient and not imported.
    fn read_counts(&mut self) -> Result<(), ImportError> {
        let json = |bytes: Option<Vec<u8>>| bytes.and_then(|b| serde_json::from_slice::<Value>(&b).ok());
        let state = json(self.read(STATE_FILE, MANIFEST_BYTES_MAX)?);
        self.folder.turn_count = state.and_then(|state| state.get("turn_count")?.as_u64());
        let Some(expanded) = json(self.read(EXPANDED_FILE, MANIFEST_BYTES_MAX)?) else { return Ok(()) };
        for table in ["summary_last_referenced_turn", "last_referenced_turn"] {
            let Some(turns) = expanded.get(table).and_then(Value::as_object) else { continue };
            for (name, turn) in turns {
                if let (Ok(id), Some(turn)) = (EffortId::from_name(name), turn.as_u64()) {
                    let latest = self.folder.last_referenced.entry(id).or_default();
                    *latest = turn.max(*latest);
                }
            }
        }
        Ok(())
    }
}

fn text_field<'a>(entry: &'a Value, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(Value::as_str)
}

/// Whether a relative path cannot climb out lexically; links are checked when the file is read.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && !path.contains('\\') && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn parse_line(raw: &[u8]) -> Option<ImportedLine> {
    let value: Value = serde_json::from_slice(raw).ok()?;
    let role: Role = serde_json::from_value(value.get("role")?.clone()).ok()?;
    let content = match value.get("content") {
        Some(Value::String(content)) => content.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
            other.to_string()
        }
    };
    Some(ImportedLine { role, content, ts: text_field(&value, "ts").and_then(parse_stamp) })
}

/// A time in ISO 8601; UTC if it has no zone.
fn parse_stamp(text: &str) -> Option<Stamp> {
    let civil = || {
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        jiff::tz::TimeZone::UTC.to_timestamp(civil).ok()
    };
    let at: Option<jiff::Timestamp> = text.parse().ok().or_else(civil);
    at.map(|at| Stamp(at.as_millisecond()))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
