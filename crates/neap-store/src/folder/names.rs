//! Names of effort logs: numbers in the order in which the efforts were opened. What somebody said never names a file; the
//! effort's id stands in the log's lines and in the manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use neap_core::ids::EffortId;
use neap_core::message::Scope;
use neap_core::state::SessionState;

use super::{AMBIENT_FILE, EFFORTS_DIR};
use crate::files;

/// Longest log that is compared with the one that took its place.
const LOG_BYTES_MAX: u64 = 8 << 30;

/// Which number each effort has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LogNames {
    numbers: BTreeMap<EffortId, usize>,
    /// Efforts in their order.
    order: Vec<EffortId>,
}

impl LogNames {
    /// For efforts in the order in which they were opened. One whose beginning can no longer be read comes after them.
    pub(super) fn new(opened: impl IntoIterator<Item = EffortId>, state: &SessionState) -> Self {
        let mut names = Self::default();
        opened.into_iter().for_each(|id| names.add(id));
        let mut lost: Vec<_> = state.efforts().filter(|effort| !names.has(&effort.id)).collect();
        lost.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        lost.into_iter().for_each(|effort| names.add(effort.id.clone()));
        names
    }

    fn add(&mut self, id: EffortId) {
        if !self.has(&id) {
            self.order.push(id.clone());
            self.numbers.insert(id, self.order.len());
        }
    }

    pub(super) fn has(&self, id: &EffortId) -> bool {
        self.numbers.contains_key(id)
    }

    /// The efforts in their order.
    pub(super) fn order(&self) -> &[EffortId] {
        &self.order
    }

    /// A log's name in the efforts' directory.
    pub(super) fn name(&self, id: &EffortId) -> String {
        format!("{:04}.jsonl", self.numbers.get(id).copied().unwrap_or(0))
    }

    /// Where an effort's log is, seen from the folder.
    pub(super) fn file(&self, id: &EffortId) -> String {
        format!("{EFFORTS_DIR}/{}", self.name(id))
    }

    /// Where a scope's log is.
    pub(super) fn file_of(&self, scope: &Scope) -> String {
        match scope {
            Scope::Ambient => AMBIENT_FILE.to_owned(),
            Scope::Effort(id) => self.file(id),
        }
    }

    /// Removes logs that are named after their effort, as they once were, where the numbered one has all that is in them.
    pub(super) fn remove_older(&self, dir: &Path, contents: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
        let there: BTreeSet<String> = files::names(&dir.join(EFFORTS_DIR))?.into_iter().collect();
        for id in &self.order {
            let older = format!("{id}.jsonl");
            if older == self.name(id) || !there.contains(&older) {
                continue;
            }
            let path = dir.join(EFFORTS_DIR).join(&older);
            let said = files::read(&path, LOG_BYTES_MAX)?.unwrap_or_default();
            if contents.get(&self.file(id)).is_some_and(|now| has_all(now, &said)) {
                files::remove(&path)?;
            }
        }
        Ok(())
    }
}

/// Whether each line of an older log begins a line of the newer one, in its place: those say whose they are besides.
fn has_all(now: &[u8], older: &[u8]) -> bool {
    let mut now = now.split(|byte| *byte == b'\n');
    let mut older = older.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    older.all(|line| {
        let said = line.strip_suffix(b"}").unwrap_or(line);
        now.by_ref().next().is_some_and(|now| now.starts_with(said))
    })
}

/// A log's name as we write them, and nothing else: the cursor lies where others could have changed it.
pub(super) fn is_ours(name: &str) -> bool {
    let number = name.strip_prefix("efforts/").and_then(|file| file.strip_suffix(".jsonl"));
    name == AMBIENT_FILE || number.is_some_and(|n| n.len() >= 4 && n.bytes().all(|byte| byte.is_ascii_digit()))
}
