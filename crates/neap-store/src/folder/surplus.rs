//! Lines of a folder that its stream lacks. The folder is their only copy, so nothing may overwrite it.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{AMBIENT_FILE, EFFORTS_DIR};
use crate::bounded_lines::{BoundedLine, BoundedLines, LINE_BYTES_MAX};
use crate::files;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurplusLog {
    /// Path relative to the folder.
    pub file: String,
    pub lines: u64,
    /// Lines that the store has for it.
    pub stored: u64,
    /// Lines that are nowhere in the session's stream.
    pub only_here: u64,
}

impl std::fmt::Display for SurplusLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, lines, stored, only_here } = self;
        write!(f, "{file} has {lines} lines and the store {stored}; {only_here} of them are in the folder alone")
    }
}

/// Finds logs with lines that are neither in `contents` (the stream's view, file by file) nor in `undone`, the
/// lines of turns taken back. A line that cannot be parsed counts only if `is_behind`: the store is known to have
/// lost events, or no cursor says how far the folder had got.
pub(super) fn find_surplus(
    dir: &Path,
    contents: &BTreeMap<String, Vec<u8>>,
    undone: &[u8],
    is_behind: bool,
) -> io::Result<Vec<SurplusLog>> {
    let mut known: HashSet<u64> = HashSet::new();
    for lines in contents.values().map(Vec::as_slice).chain([undone]) {
        known.extend(lines.split(|byte| *byte == b'\n').filter_map(line_key));
    }
    let efforts = files::list_dir(&dir.join(EFFORTS_DIR))?;
    let logs = efforts.iter().filter(|name| name.ends_with(".jsonl")).map(|name| format!("{EFFORTS_DIR}/{name}"));
    let mut found = Vec::new();
    for file in std::iter::once(AMBIENT_FILE.to_owned()).chain(logs) {
        let stored = contents.get(&file).map_or(0, |lines| count_lines(lines));
        let (mut lines, mut only_here, mut unparsed) = (0, 0, 0);
        let Some(log) = files::open_regular(&dir.join(&file))? else { continue };
        for line in BoundedLines::new(BufReader::new(log), LINE_BYTES_MAX) {
            let key = match line? {
                BoundedLine::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
                BoundedLine::Whole(line) => line_key(&line),
                BoundedLine::TooLong { .. } => None,
            };
            lines += 1;
            match key {
                Some(key) => only_here += u64::from(!known.contains(&key)),
                None => unparsed += 1,
            }
        }
        if is_behind && lines > stored {
            only_here += unparsed;
        }
        if only_here > 0 {
            found.push(SurplusLog { file, lines, stored, only_here });
        }
    }
    Ok(found)
}

fn count_lines(lines: &[u8]) -> u64 {
    lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count() as u64
}

/// Hashes the role, content and time of a line; `None` if it cannot be parsed.
fn line_key(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize, Hash)]
    struct LineIdentity {
        role: String,
        content: String,
        #[serde(default)]
        ts: Option<String>,
    }
    let line: LineIdentity = serde_json::from_slice(line).ok()?;
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    Some(hasher.finish())
}
