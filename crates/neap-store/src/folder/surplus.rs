//! What a folder says that its stream does not. Of that it is the only copy, so nothing may be written over it.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{AMBIENT_FILE, EFFORTS_DIR};
use crate::files;
use crate::reading::{LINE_BYTES_MAX, Line, Lines};

/// A log in a folder that has lines the store does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surplus {
    /// The log, seen from the folder.
    pub file: String,
    /// Lines that it has.
    pub lines: u64,
    /// Lines that the store has for it.
    pub stored: u64,
    /// Of its lines, those that are nowhere in the session's stream.
    pub only_here: u64,
}

impl std::fmt::Display for Surplus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, lines, stored, only_here } = self;
        write!(f, "{file} has {lines} lines and the store {stored}; {only_here} of them are in the folder alone")
    }
}

/// Looks for logs of a folder with lines that are neither in `contents`, what the stream gives file by file, nor in `taken_back`, what it no
/// longer shows. A line that cannot be understood counts where `is_behind`: where the store is known to have lost something, or nothing says
/// how far the folder had come.
pub(super) fn surplus(
    dir: &Path,
    contents: &BTreeMap<String, Vec<u8>>,
    taken_back: &[u8],
    is_behind: bool,
) -> io::Result<Vec<Surplus>> {
    let mut known: HashSet<u64> = HashSet::new();
    for said in contents.values().map(Vec::as_slice).chain([taken_back]) {
        known.extend(said.split(|byte| *byte == b'\n').filter_map(key));
    }
    let efforts = files::names(&dir.join(EFFORTS_DIR))?;
    let logs = efforts.iter().filter(|name| name.ends_with(".jsonl")).map(|name| format!("{EFFORTS_DIR}/{name}"));
    let mut found = Vec::new();
    for file in std::iter::once(AMBIENT_FILE.to_owned()).chain(logs) {
        let stored = contents.get(&file).map_or(0, |said| lines_of(said));
        let (mut lines, mut only_here, mut garbled) = (0, 0, 0);
        let Some(log) = files::open(&dir.join(&file))? else { continue };
        for line in Lines::new(BufReader::new(log), LINE_BYTES_MAX) {
            let key = match line? {
                Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
                Line::Whole(line) => key(&line),
                Line::TooLong { .. } => None,
            };
            lines += 1;
            match key {
                Some(key) => only_here += u64::from(!known.contains(&key)),
                None => garbled += 1,
            }
        }
        if is_behind && lines > stored {
            only_here += garbled;
        }
        if only_here > 0 {
            found.push(Surplus { file, lines, stored, only_here });
        }
    }
    Ok(found)
}

fn lines_of(said: &[u8]) -> u64 {
    said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count() as u64
}

/// What stands for a line: who said what, and when. None if that cannot be told.
fn key(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize, Hash)]
    struct Said {
        role: String,
        content: String,
        #[serde(default)]
        ts: Option<String>,
    }
    let line: Said = serde_json::from_slice(line).ok()?;
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    Some(hasher.finish())
}
