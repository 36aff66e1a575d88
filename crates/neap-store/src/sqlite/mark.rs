//! The marker beside a database: what the store had when it was last written, so that an older or empty database in its place is
//! noticed. It may be behind the store, never ahead of it.

use std::path::{Path, PathBuf};

use neap_core::ids::Stamp;
use serde::{Deserialize, Serialize};

use super::connect::beside;
use super::progress::Progress;
use crate::files;

const BYTES_MAX: u64 = 4 << 10;
/// Always as long, so that it is written over in one step.
const BYTES: usize = 192;

/// What the marker says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) progress: Progress,
    /// The page of the database that has the same.
    pub(super) page: u32,
}

#[derive(Serialize, Deserialize)]
struct Content {
    store: String,
    commits: u64,
    events: u64,
    at: i64,
    page: u32,
    /// The CRC-32 of all before, each in decimal digits or as it is, with spaces between.
    sum: u32,
}

/// Where the marker of a database is.
pub(super) fn place(database: &Path) -> PathBuf {
    beside(database, "-mark")
}

impl Mark {
    /// The marker of a database; none where there is none, or where it is damaged: then the next commit writes it anew.
    pub(super) fn read(database: &Path) -> Option<Self> {
        let bytes = files::read(&place(database), BYTES_MAX).ok()??;
        let Content { store, commits, events, at, page, sum } = serde_json::from_slice(&bytes).ok()?;
        let mut id = [0; 16];
        if store.len() != 2 * id.len() || !store.is_ascii() {
            return None;
        }
        for (at, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&store[2 * at..2 * at + 2], 16).ok()?;
        }
        let mark = Self { progress: Progress { store: id, commits, events, at: Stamp(at) }, page };
        (mark.sum() == sum).then_some(mark)
    }

    /// Leaves the marker beside a database, unless the one that is there knows as much. Called once its commits are durable, and not
    /// itself waited for: where it is lost, the one before holds.
    pub(super) fn write(&self, database: &Path) -> std::io::Result<()> {
        let (ours, known) = (self.progress, Self::read(database));
        if known.is_some_and(|Mark { progress, page }| {
            progress.store == ours.store && progress.commits >= ours.commits && page == self.page
        }) {
            return Ok(());
        }
        let Progress { commits, events, at, .. } = ours;
        let content = Content { store: self.store(), commits, events, at: at.0, page: self.page, sum: self.sum() };
        let mut line = serde_json::to_vec(&content)?;
        line.resize(line.len().max(BYTES - 1), b' ');
        line.push(b'\n');
        files::overwrite(&place(database), &line)
    }

    fn store(&self) -> String {
        self.progress.store.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn sum(&self) -> u32 {
        let Progress { commits, events, at, .. } = self.progress;
        crc32fast::hash(format!("{} {commits} {events} {} {}", self.store(), at.0, self.page).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_comes_back_whole_or_not_at_all_and_never_goes_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let database = dir.path().join("neap.db");
        assert_eq!(Mark::read(&database), None);
        let mark = |commits| Mark {
            progress: Progress { store: [0xA5; 16], commits, events: 7, at: Stamp(1_771_178_400_000) },
            page: 9,
        };
        for (written, read) in [(5, 5), (4, 5), (u64::MAX, u64::MAX), (6, u64::MAX)] {
            mark(written).write(&database).expect("it can be written");
            assert_eq!(Mark::read(&database), Some(mark(read)), "{written}");
        }
        let whole = files::read(&place(&database), BYTES_MAX).expect("readable").expect("there");
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            files::overwrite(&place(&database), &flipped).expect("it can be written");
            let found = Mark::read(&database);
            assert!(found.is_none_or(|found| found == mark(u64::MAX)), "bit {bit}: {found:?}");
        }
    }
}
