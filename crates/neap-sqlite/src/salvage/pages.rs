//! The pages of a database file with its WAL applied, whatever state the file is in.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::super::connect::sibling_path;
use super::super::wal::WalFile;
use neap_store::files;

/// Every store of ours has this page size.
const PAGE_BYTES: usize = 4096;

/// Reads pages by number, from 1.
pub(super) struct Pages {
    file: Option<File>,
    count: u32,
    /// The newest undamaged copy of a page in the WAL.
    in_wal: HashMap<u32, Vec<u8>>,
    /// Pages with a damaged newer copy in the WAL: the file's copy may be newer or older than the remaining one.
    doubtful: HashSet<u32>,
    /// Whether the file's copy of those is preferred.
    prefers_file: bool,
    pub(super) damaged_frames: u64,
}

impl Pages {
    pub(super) fn open(database: &Path) -> std::io::Result<Self> {
        let file = files::open_regular(database)?;
        let bytes = file.as_ref().map_or(Ok(0), |file| file.metadata().map(|metadata| metadata.len()))?;
        let in_file = u32::try_from(bytes.div_ceil(PAGE_BYTES as u64)).unwrap_or(u32::MAX);
        let (in_wal, doubtful) = (HashMap::new(), HashSet::new());
        let mut pages = Self { file, count: in_file, in_wal, doubtful, prefers_file: false, damaged_frames: 0 };
        pages.read_wal(&sibling_path(database, "-wal"))?;
        Ok(pages)
    }

    /// Applies the pages of completed transactions in SQLite's order, skipping damaged frames.
    fn read_wal(&mut self, path: &Path) -> std::io::Result<()> {
        let Some(log) = WalFile::open(path)? else { return Ok(()) };
        if log.header.is_none_or(|header| header.page_bytes != PAGE_BYTES) {
            self.damaged_frames += log.bytes / PAGE_BYTES as u64;
            return Ok(());
        }
        let mut open: Vec<(u32, Vec<u8>)> = Vec::new();
        log.frames(|frame| {
            if frame.is_whole {
                open.push((frame.page, frame.data.to_vec()));
                self.doubtful.remove(&frame.page);
            } else {
                self.doubtful.insert(frame.page);
                self.damaged_frames += 1;
            }
            if frame.is_commit {
                for (page, data) in open.drain(..) {
                    self.count = self.count.max(page);
                    self.in_wal.insert(page, data);
                }
            }
            true
        })
    }

    /// Prefers the file's copy of doubtful pages from now on. Returns whether there are any.
    pub(super) fn prefer_file(&mut self) -> bool {
        self.prefers_file = true;
        !self.doubtful.is_empty()
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Missing parts are zeros.
    pub(super) fn get(&mut self, page: u32) -> Vec<u8> {
        let use_file = self.prefers_file && self.doubtful.contains(&page);
        if let Some(in_wal) = self.in_wal.get(&page).filter(|_| !use_file) {
            return in_wal.clone();
        }
        let mut bytes = Vec::with_capacity(PAGE_BYTES);
        if let Some(file) = &mut self.file
            && page > 0
            && file.seek(SeekFrom::Start(u64::from(page - 1) * PAGE_BYTES as u64)).is_ok()
        {
            // An unreadable part is lost, the rest is not.
            let _ = file.by_ref().take(PAGE_BYTES as u64).read_to_end(&mut bytes);
        }
        bytes.resize(PAGE_BYTES, 0);
        bytes
    }
}
