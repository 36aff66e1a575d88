//! The pages of a database file as its log left them, whatever state the file is in.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::super::connect::beside;
use super::super::wal::Log;
use crate::files;

/// Every store of ours was made with it.
const PAGE_BYTES: usize = 4096;

/// Reads pages by number, from 1.
pub(super) struct Pages {
    file: Option<File>,
    count: u32,
    /// The newest whole copy of a page in the log.
    logged: HashMap<u32, Vec<u8>>,
    /// Pages of which a newer copy in the log is damaged: the file's may be newer than the one that is left, or older.
    doubtful: HashSet<u32>,
    /// Whether the file's copy of those is read.
    by_file: bool,
    /// Frames of the log that are not what was written.
    pub(super) damaged_frames: u64,
}

impl Pages {
    /// Opens a database and its log. Neither is changed.
    pub(super) fn open(database: &Path) -> std::io::Result<Self> {
        let file = files::open(database)?;
        let bytes = file.as_ref().map_or(Ok(0), |file| file.metadata().map(|found| found.len()))?;
        let in_file = u32::try_from(bytes.div_ceil(PAGE_BYTES as u64)).unwrap_or(u32::MAX);
        let (logged, doubtful) = (HashMap::new(), HashSet::new());
        let mut pages = Self { file, count: in_file, logged, doubtful, by_file: false, damaged_frames: 0 };
        pages.read_log(&beside(database, "-wal"))?;
        Ok(pages)
    }

    /// Takes the pages of finished transactions from the log; SQLite's order is kept, and damaged frames are passed over.
    fn read_log(&mut self, path: &Path) -> std::io::Result<()> {
        let Some(log) = Log::open(path)? else { return Ok(()) };
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
                    self.logged.insert(page, data);
                }
            }
            true
        })
    }

    /// Reads the file's copy of pages of which the log's newest is damaged. Whether there are any.
    pub(super) fn read_by_file(&mut self) -> bool {
        self.by_file = true;
        !self.doubtful.is_empty()
    }

    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// A page; a part that is not there is zeros.
    pub(super) fn get(&mut self, page: u32) -> Vec<u8> {
        let is_by_file = self.by_file && self.doubtful.contains(&page);
        if let Some(logged) = self.logged.get(&page).filter(|_| !is_by_file) {
            return logged.clone();
        }
        let mut bytes = Vec::with_capacity(PAGE_BYTES);
        if let Some(file) = &mut self.file
            && page > 0
            && file.seek(SeekFrom::Start(u64::from(page - 1) * PAGE_BYTES as u64)).is_ok()
        {
            // What cannot be read is lost, and the rest is not.
            let _ = file.by_ref().take(PAGE_BYTES as u64).read_to_end(&mut bytes);
        }
        bytes.resize(PAGE_BYTES, 0);
        bytes
    }
}
