//! The marker file beside a database records the progress of the last write, so that an older or empty database in
//! its place is noticed. It may lag behind the store, but is never ahead of it.

use std::path::{Path, PathBuf};

use neap_core::base::ids::Stamp;
use serde::{Deserialize, Serialize};

use super::connect::sibling_path;
use super::progress::StoreProgress;
use neap_store::files;

const BYTES_MAX: u64 = 4 << 10;
/// Fixed length, so that one write replaces it.
const BYTES: usize = 192;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) progress: StoreProgress,
    /// The database page that holds the same progress.
    pub(super) page: u32,
}

#[derive(Serialize, Deserialize)]
struct MarkerFile {
    store: String,
    commits: u64,
    events: u64,
    at: i64,
    page: u32,
    /// CRC-32 of the fields above, each in decimal or as text, separated by spaces.
    sum: u32,
}

pub(super) fn marker_path(database: &Path) -> PathBuf {
    sibling_path(database, "-mark")
}

impl Marker {
    /// `None` if there is no marker or it is damaged; then the next commit writes a new one.
    pub(super) fn read(database: &Path) -> Option<Self> {
        let bytes = files::read(&marker_path(database), BYTES_MAX).ok()??;
        let MarkerFile { store, commits, events, at, page, sum } = serde_json::from_slice(&bytes).ok()?;
        let mut id = [0; 16];
        if store.len() != 2 * id.len() || !store.is_ascii() {
            return None;
        }
        for (at, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&store[2 * at..2 * at + 2], 16).ok()?;
        }
        let marker = Self { progress: StoreProgress { store: id, commits, events, at: Stamp(at) }, page };
        (marker.checksum() == sum).then_some(marker)
    }

    /// Call only once the commits it counts are durable: a marker ahead of the store would report a loss. Skipped
    /// if the existing marker is of the same store and page and at least as new. Not synced: if this write is
    /// lost, the previous marker still holds.
    pub(super) fn write(&self, database: &Path) -> std::io::Result<()> {
        let (own, existing) = (self.progress, Self::read(database));
        if existing.is_some_and(|Marker { progress, page }| {
            progress.store == own.store && progress.commits >= own.commits && page == self.page
        }) {
            return Ok(());
        }
        let StoreProgress { commits, events, at, .. } = own;
        let content = MarkerFile {
            store: self.store_hex(),
            commits,
            events,
            at: at.0,
            page: self.page,
            sum: self.checksum(),
        };
        let mut line = serde_json::to_vec(&content)?;
        line.resize(line.len().max(BYTES - 1), b' ');
        line.push(b'\n');
        files::overwrite(&marker_path(database), &line)
    }

    fn store_hex(&self) -> String {
        self.progress.store.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn checksum(&self) -> u32 {
        let StoreProgress { commits, events, at, .. } = self.progress;
        crc32fast::hash(format!("{} {commits} {events} {} {}", self.store_hex(), at.0, self.page).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_comes_back_whole_or_not_at_all_and_never_goes_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let database = dir.path().join("neap.db");
        assert_eq!(Marker::read(&database), None);
        let marker = |commits| Marker {
            progress: StoreProgress { store: [0xA5; 16], commits, events: 7, at: Stamp(1_771_178_400_000) },
            page: 9,
        };
        for (written, read) in [(5, 5), (4, 5), (u64::MAX, u64::MAX), (6, u64::MAX)] {
            marker(written).write(&database).expect("it can be written");
            assert_eq!(Marker::read(&database), Some(marker(read)), "{written}");
        }
        let whole = files::read(&marker_path(&database), BYTES_MAX).expect("readable").expect("there");
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            files::overwrite(&marker_path(&database), &flipped).expect("it can be written");
            let found = Marker::read(&database);
            assert!(found.is_none_or(|found| found == marker(u64::MAX)), "bit {bit}: {found:?}");
        }
    }
}
