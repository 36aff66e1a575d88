//! Names of effort logs: numbers in the order in which the efforts were opened. User text never names a file; the
//! effort's id is in the log's lines and in the manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use neap_core::base::ids::EffortId;
use neap_core::base::message::Scope;
use neap_core::session::state::SessionState;

use super::{AMBIENT_FILE, EFFORTS_DIR};
use crate::files;

/// Longest log that is compared with its numbered replacement.
const LOG_BYTES_MAX: u64 = 8 << 30;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LogNames {
    numbers: BTreeMap<EffortId, usize>,
    order: Vec<EffortId>,
}

impl LogNames {
    /// Efforts in the order in which they were opened; those with an unreadable opening come last.
    pub(super) fn new(opened: impl IntoIterator<Item = EffortId>, state: &SessionState) -> Self {
        let mut names = Self::default();
        opened.into_iter().for_each(|id| names.add(id));
        let mut lost: Vec<_> = state.efforts().filter(|effort| !names.contains(&effort.id)).collect();
        lost.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        lost.into_iter().for_each(|effort| names.add(effort.id.clone()));
        names
    }

    fn add(&mut self, id: EffortId) {
        if !self.contains(&id) {
            self.order.push(id.clone());
            self.numbers.insert(id, self.order.len());
        }
    }

    pub(super) fn contains(&self, id: &EffortId) -> bool {
        self.numbers.contains_key(id)
    }

    pub(super) fn order(&self) -> &[EffortId] {
        &self.order
    }

    pub(super) fn file_name(&self, id: &EffortId) -> String {
        format!("{:04}.jsonl", self.numbers.get(id).copied().unwrap_or(0))
    }

    /// A log's path relative to the folder.
    pub(super) fn log_path(&self, id: &EffortId) -> String {
        format!("{EFFORTS_DIR}/{}", self.file_name(id))
    }

    pub(super) fn scope_log_path(&self, scope: &Scope) -> String {
        match scope {
            Scope::Ambient => AMBIENT_FILE.to_owned(),
            Scope::Effort(id) => self.log_path(id),
        }
    }

    /// Removes logs named after their effort, as older versions did, if the numbered log has all their lines.
    pub(super) fn remove_legacy_logs(&self, dir: &Path, contents: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
        let existing: BTreeSet<String> = files::list_dir(&dir.join(EFFORTS_DIR))?.into_iter().collect();
        for id in &self.order {
            let legacy = format!("{id}.jsonl");
            if legacy == self.file_name(id) || !existing.contains(&legacy) {
                continue;
            }
            let path = dir.join(EFFORTS_DIR).join(&legacy);
            let lines = files::read(&path, LOG_BYTES_MAX)?.unwrap_or_default();
            if contents.get(&self.log_path(id)).is_some_and(|numbered| has_all_lines(numbered, &lines)) {
                files::remove(&path)?;
            }
        }
        Ok(())
    }
}

/// Whether each older line is the start of the newer line in its place, which also names the effort.
fn has_all_lines(newer: &[u8], older: &[u8]) -> bool {
    let mut newer = newer.split(|byte| *byte == b'\n');
    let mut older = older.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    older.all(|line| {
        let start = line.strip_suffix(b"}").unwrap_or(line);
        newer.by_ref().next().is_some_and(|line| line.starts_with(start))
    })
}

/// Accepts only names that we write: others could have changed the cursor file.
pub(super) fn is_log_name(name: &str) -> bool {
    let number = name.strip_prefix("efforts/").and_then(|file| file.strip_suffix(".jsonl"));
    name == AMBIENT_FILE || number.is_some_and(|n| n.len() >= 4 && n.bytes().all(|byte| byte.is_ascii_digit()))
}
