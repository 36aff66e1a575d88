//! Reading a session folder that another tool made. Nothing in it is trusted, nothing in it is changed.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::{Component, Path, PathBuf};

use neap_core::effort::EffortStatus;
use neap_core::ids::{EffortId, Stamp};
use neap_core::import::{ImportedEffort, ImportedFolder, Line};
use neap_core::message::Role;
use serde::Deserialize;
use serde_json::Value;

use super::{AMBIENT_FILE, EFFORTS_DIR, EXPANDED_FILE, MANIFEST_FILE, STATE_FILE};
use crate::files;
use crate::reading::{LINE_BYTES_MAX, Line as Found, Lines};

/// Larger manifests are refused unread: a few lines of YAML can unfold to gigabytes.
const MANIFEST_BYTES_MAX: u64 = 16 << 20;
const LOG_BYTES_MAX: u64 = 1 << 30;

/// A folder that cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// There is no such directory.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// It has none of a session's files.
    #[error("{} is not a session folder", .0.display())]
    NotASession(PathBuf),
    /// A file of it cannot be read.
    #[error("{} cannot be read: {why}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// Reads a folder. What is damaged in it is left out and noted.
pub fn read_folder(path: &Path) -> Result<ImportedFolder, ImportError> {
    let unreadable = |e: std::io::Error| ImportError::Unreadable { path: path.to_owned(), why: e.to_string() };
    if !path.is_dir() {
        return Err(ImportError::NotAFolder(path.to_owned()));
    }
    let dir = files::resolve(path).map_err(unreadable)?;
    let mut reader = Reader { dir, folder: ImportedFolder::default(), read: BTreeSet::new() };
    let logs = files::names(&reader.dir.join(EFFORTS_DIR)).unwrap_or_default();
    let manifest = reader.read(MANIFEST_FILE, MANIFEST_BYTES_MAX)?;
    let ambient = reader.lines(AMBIENT_FILE)?;
    if manifest.is_none() && ambient.is_none() && logs.is_empty() {
        return Err(ImportError::NotASession(path.to_owned()));
    }
    reader.folder.ambient = ambient.unwrap_or_default();
    for entry in reader.entries(manifest.as_deref()) {
        reader.effort(&entry)?;
    }
    reader.unlisted(&logs)?;
    reader.counts()?;
    Ok(reader.folder)
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    efforts: Option<Vec<Value>>,
}

struct Reader {
    /// Without links and dots.
    dir: PathBuf,
    folder: ImportedFolder,
    /// Logs that were read for an effort of the manifest.
    read: BTreeSet<String>,
}

impl Reader {
    fn note(&mut self, note: String) {
        self.folder.notes.push(note);
    }

    /// Where a file inside the folder is; none if there is none, or if it is a link that leads out.
    fn find(&mut self, name: &str) -> Option<PathBuf> {
        let resolved = files::resolve(&self.dir.join(name)).ok()?;
        if !resolved.starts_with(&self.dir) {
            self.note(format!("{name} leads out of the folder and was left out"));
            return None;
        }
        Some(resolved)
    }

    /// A small file inside the folder.
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
                self.note(format!("{MANIFEST_FILE} cannot be understood: {}", first_line(&e.to_string())));
                Vec::new()
            }
        }
    }

    fn effort(&mut self, entry: &Value) -> Result<(), ImportError> {
        let name = match entry.get("id") {
            Some(Value::String(name)) => name.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => {
                self.note(format!("an entry of {MANIFEST_FILE} has no id and was left out"));
                return Ok(());
            }
        };
        let Ok(id) = EffortId::from_name(&name) else {
            self.note(format!("{name:?} cannot be an effort's id and was left out"));
            return Ok(());
        };
        if self.folder.efforts.iter().any(|effort| effort.id == id) {
            self.note(format!("{name:?} is in {MANIFEST_FILE} twice; the first was taken"));
            return Ok(());
        }
        let status = match text(entry, "status") {
            Some("concluded") => EffortStatus::Concluded,
            Some("open") => EffortStatus::Open,
            other => {
                self.note(format!("{name:?} has the status {other:?} and was taken as open"));
                EffortStatus::Open
            }
        };
        let log = self.log_of(entry, &name, &id);
        self.read.insert(log.clone());
        let lines = self.lines(&log)?.unwrap_or_default();
        self.folder.efforts.push(ImportedEffort {
            id,
            active: entry.get("active").and_then(Value::as_bool).unwrap_or(false),
            summary: text(entry, "summary").map(str::to_owned).filter(|summary| !summary.trim().is_empty()),
            created: text(entry, "created").and_then(stamp),
            updated: text(entry, "updated").and_then(stamp),
            name,
            status,
            lines,
        });
        Ok(())
    }

    /// Where an effort's log is. A path from the manifest counts only if it stays inside.
    fn log_of(&mut self, entry: &Value, name: &str, id: &EffortId) -> String {
        if let Some(given) = text(entry, "raw_file") {
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

    /// Logs that the manifest does not name: what was said in them is not lost.
    fn unlisted(&mut self, logs: &[String]) -> Result<(), ImportError> {
        let known: BTreeSet<EffortId> = self.folder.efforts.iter().map(|effort| effort.id.clone()).collect();
        for file in logs {
            let Some(stem) = file.strip_suffix(".jsonl") else { continue };
            let log = format!("{EFFORTS_DIR}/{file}");
            if self.read.contains(&log) {
                continue;
            }
            // A numbered log says whose it is.
            let name = &self.effort_of(&log).unwrap_or_else(|| stem.to_owned());
            let Ok(id) = EffortId::from_name(name) else { continue };
            if known.contains(&id) || self.folder.efforts.iter().any(|effort| effort.id == id) {
                continue;
            }
            let Some(lines) = self.lines(&log)?.filter(|lines| !lines.is_empty()) else { continue };
            self.note(format!("{log} is not in {MANIFEST_FILE} and was taken as an open effort"));
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

    /// The effort that a log's first line names.
    fn effort_of(&self, log: &str) -> Option<String> {
        let path = files::resolve(&self.dir.join(log)).ok().filter(|path| path.starts_with(&self.dir))?;
        let mut lines = Lines::new(BufReader::new(files::open(&path).ok()??), LINE_BYTES_MAX);
        let first = lines.find_map(|line| match line {
            Ok(Found::Whole(raw)) if raw.iter().all(u8::is_ascii_whitespace) => None,
            Ok(Found::Whole(raw)) => Some(raw),
            Ok(Found::TooLong { .. }) | Err(_) => Some(Vec::new()),
        })?;
        let value: Value = serde_json::from_slice(&first).ok()?;
        text(&value, "effort").map(str::to_owned)
    }

    /// The lines of a log, one at a time; none if there is no such file. What is too long or cannot be understood is left out and noted.
    fn lines(&mut self, name: &str) -> Result<Option<Vec<Line>>, ImportError> {
        let Some(path) = self.find(name) else { return Ok(None) };
        let unreadable = |e: std::io::Error| ImportError::Unreadable { path: path.clone(), why: e.to_string() };
        let Some(file) = files::open(&path).map_err(unreadable)? else { return Ok(None) };
        if file.metadata().map_err(unreadable)?.len() > LOG_BYTES_MAX {
            let why = format!("it is longer than {} MiB", LOG_BYTES_MAX >> 20);
            return Err(ImportError::Unreadable { path, why });
        }
        let (mut lines, mut bad, mut long) = (Vec::new(), Vec::new(), Vec::new());
        for (at, found) in Lines::new(BufReader::new(file), LINE_BYTES_MAX).enumerate() {
            match found.map_err(unreadable)? {
                Found::Whole(raw) if raw.iter().all(u8::is_ascii_whitespace) => {}
                Found::Whole(raw) => match line(&raw) {
                    Some(line) => lines.push(line),
                    None => bad.push(at + 1),
                },
                Found::TooLong { .. } => long.push(at + 1),
            }
        }
        let too_long = format!("are longer than {} MiB", LINE_BYTES_MAX >> 20);
        for (left, why) in [(bad, "cannot be understood"), (long, too_long.as_str())] {
            if let Some(first) = left.first() {
                let count = left.len();
                self.note(format!("{name}: {count} lines {why} and were left out (first: line {first})"));
            }
        }
        Ok(Some(lines))
    }

    /// The turn count, and when efforts were last referenced. Expansions are transient and not taken over.
    fn counts(&mut self) -> Result<(), ImportError> {
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

fn text<'a>(entry: &'a Value, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(Value::as_str)
}

/// Whether a relative path cannot climb out by its own words; links are looked at when it is read.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && !path.contains('\\') && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn line(raw: &[u8]) -> Option<Line> {
    let value: Value = serde_json::from_slice(raw).ok()?;
    let role: Role = serde_json::from_value(value.get("role")?.clone()).ok()?;
    let content = match value.get("content") {
        Some(Value::String(content)) => content.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
            other.to_string()
        }
    };
    Some(Line { role, content, ts: text(&value, "ts").and_then(stamp) })
}

/// A moment in ISO 8601; without a zone it is taken as UTC.
fn stamp(text: &str) -> Option<Stamp> {
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
