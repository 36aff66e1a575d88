//! Reads the WAL as a file of frames, without SQLite and without changing anything.
//!
//! A frame is a page of the database as a transaction left it. Each frame's checksum continues the previous one,
//! so SQLite stops at the first bad frame and ignores the rest. This reader continues: it checks what follows a
//! damaged frame against the checksum that the damaged frame states.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use neap_store::files;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
const MAGIC: u32 = 0x377f_0682;
const VERSION: u32 = 3_007_000;
const BUFFER_BYTES: usize = 256 << 10;
/// Frames of an earlier generation follow the last frame of the current one. Since a damaged frame header looks
/// the same, this many more frames are read.
const FRAMES_PEEKED: u64 = 256;

pub(super) struct WalFile {
    file: BufReader<File>,
    pub(super) bytes: u64,
    /// `None` if it cannot be parsed.
    pub(super) header: Option<WalHeader>,
    /// Whether the header is undamaged; otherwise SQLite ignores the whole WAL.
    pub(super) has_whole_header: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WalHeader {
    pub(super) page_bytes: usize,
    is_big_endian: bool,
    salts: [u8; 8],
    checksum: (u32, u32),
}

pub(super) struct WalFrame<'a> {
    pub(super) number: u64,
    pub(super) page: u32,
    /// The last frame of a transaction.
    pub(super) is_commit: bool,
    /// Whether its own bytes match its checksum.
    pub(super) is_whole: bool,
    /// Whether this and every earlier frame is whole, so that SQLite reads this far.
    pub(super) is_reached: bool,
    pub(super) data: &'a [u8],
}

impl WalFile {
    /// `None` if there is no WAL or it is empty.
    pub(super) fn open(path: &Path) -> std::io::Result<Option<Self>> {
        let Some(file) = files::open_regular(path)? else { return Ok(None) };
        let bytes = file.metadata()?.len();
        if bytes == 0 {
            return Ok(None);
        }
        let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut start = [0; HEADER_BYTES];
        let is_read = file.read_exact(&mut start).is_ok();
        let whole = WalHeader::read(&start).filter(|_| is_read);
        let header = match whole {
            None if is_read => WalHeader::repaired(start, file.fill_buf()?),
            whole => whole,
        };
        Ok(Some(Self { file, bytes, header, has_whole_header: whole.is_some() }))
    }

    /// Passes every frame of the current generation, also damaged ones, to `each` while it returns true.
    pub(super) fn frames(self, mut each: impl FnMut(WalFrame<'_>) -> bool) -> std::io::Result<()> {
        let Self { mut file, header, has_whole_header, .. } = self;
        let Some(header) = header else { return Ok(()) };
        let mut frame = vec![0; FRAME_HEADER_BYTES + header.page_bytes];
        // What the next checksum may continue: the previous frame's stated checksum, or its computed one.
        let (mut previous_stated, mut previous_sum) = (header.checksum, header.checksum);
        let (mut is_reached, mut foreign) = (has_whole_header, 0);
        for number in 0.. {
            if !read_full(&mut file, &mut frame)? || foreign > FRAMES_PEEKED {
                return Ok(());
            }
            let (head, data) = frame.split_at(FRAME_HEADER_BYTES);
            let stated = (be_u32(head, 16), be_u32(head, 20));
            let checksum_from = |start| header.checksum_from(header.checksum_from(start, &head[..8]), data);
            let sum = checksum_from(previous_sum);
            let is_current = head[8..16] == header.salts;
            let is_whole = is_current && (sum == stated || checksum_from(previous_stated) == stated);
            is_reached &= is_current && sum == stated;
            foreign = if is_current { 0 } else { foreign + 1 };
            (previous_stated, previous_sum) = (stated, sum);
            let (page, is_commit) = (be_u32(head, 0), be_u32(head, 4) != 0);
            if is_current && !each(WalFrame { number, page, is_commit, is_whole, is_reached, data }) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Fills the buffer; false if the file ends first.
fn read_full(file: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

impl WalHeader {
    fn read(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let magic = be_u32(bytes, 0);
        let page_bytes = be_u32(bytes, 8) as usize;
        let is_known = magic & !1 == MAGIC && be_u32(bytes, 4) == VERSION;
        if !is_known || !page_bytes.is_power_of_two() || !(512..=65_536).contains(&page_bytes) {
            return None;
        }
        let mut salts = [0; 8];
        salts.copy_from_slice(&bytes[16..24]);
        let unsummed = Self { page_bytes, is_big_endian: magic & 1 == 1, salts, checksum: (0, 0) };
        let sum = unsummed.checksum_from((0, 0), &bytes[..24]);
        (sum == (be_u32(bytes, 24), be_u32(bytes, 28))).then_some(Self { checksum: sum, ..unsummed })
    }

    /// Repairs one flipped bit. The checksum of two words identifies the bit, or leaves a few candidates: then the
    /// one that the first frame continues.
    fn repaired(mut bytes: [u8; HEADER_BYTES], frames: &[u8]) -> Option<Self> {
        let mut fitting = Vec::new();
        for bit in 0..HEADER_BYTES * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            fitting.extend(Self::read(&bytes));
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        fitting.iter().find(|header| header.is_followed_by(frames)).or(fitting.first()).copied()
    }

    fn is_followed_by(&self, frames: &[u8]) -> bool {
        let Some((head, rest)) = frames.split_at_checked(FRAME_HEADER_BYTES) else { return false };
        let Some(data) = rest.get(..self.page_bytes) else { return false };
        let sum = self.checksum_from(self.checksum_from(self.checksum, &head[..8]), data);
        head[8..16] == self.salts && sum == (be_u32(head, 16), be_u32(head, 20))
    }

    fn checksum_from(&self, (mut a, mut b): (u32, u32), bytes: &[u8]) -> (u32, u32) {
        let read = if self.is_big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
        for pair in bytes.chunks_exact(8) {
            let [w, x, y, z, s, t, u, v] = pair else { continue };
            a = a.wrapping_add(read([*w, *x, *y, *z])).wrapping_add(b);
            b = b.wrapping_add(read([*s, *t, *u, *v])).wrapping_add(a);
        }
        (a, b)
    }
}

fn be_u32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_be_bytes)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests set the scene by hand")]
mod tests {
    use std::path::PathBuf;

    use rusqlite::Connection;

    use super::*;

    fn scene() -> (tempfile::TempDir, Connection, PathBuf) {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("db");
        let db = Connection::open(&path).expect("a database");
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(x);")
            .expect("t");
        for _ in 0..3 {
            db.execute("INSERT INTO t VALUES (randomblob(9000))", []).expect("a row");
        }
        (dir, db, path.with_file_name("db-wal"))
    }

    /// The number of frames, whole frames, frames that SQLite reaches, and transactions among those.
    fn counts(path: &Path) -> (u64, u64, u64, u64) {
        let mut counts = (0, 0, 0, 0);
        let log = WalFile::open(path).expect("readable").expect("there");
        let read = log.frames(|frame| {
            counts.0 += 1;
            counts.1 += u64::from(frame.is_whole);
            counts.2 += u64::from(frame.is_reached);
            counts.3 += u64::from(frame.is_reached && frame.is_commit);
            true
        });
        read.expect("readable");
        counts
    }

    #[test]
    fn every_frame_that_sqlite_wrote_is_understood() {
        let (_dir, db, path) = scene();
        let pages: i64 = db.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1)).expect("a number");
        let pages = pages as u64;
        assert_eq!(counts(&path), (pages, pages, pages, 4));
    }

    #[test]
    fn one_flipped_bit_costs_one_frame() {
        let (_dir, _db, path) = scene();
        let whole = std::fs::read(&path).expect("a log");
        let (frames, ..) = counts(&path);
        let frame_bytes = (whole.len() - HEADER_BYTES) / frames as usize;
        for at in (HEADER_BYTES..whole.len()).step_by(61) {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            std::fs::write(&path, &flipped).expect("it can be changed");
            let frame = ((at - HEADER_BYTES) / frame_bytes) as u64;
            let (_, intact, reached, _) = counts(&path);
            assert!(intact >= frames - 1 && reached <= frame, "byte {at}: {intact} {reached}");
        }
    }

    #[test]
    fn a_log_that_is_cut_or_has_no_beginning_is_no_error() {
        let (_dir, _db, path) = scene();
        let whole = std::fs::read(&path).expect("a log");
        for length in [1, 31, 32, 40, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).expect("it can be cut");
            assert!(counts(&path).2 < counts(&path).0 + 1);
        }
        for bit in 0..HEADER_BYTES * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &flipped).expect("it can be changed");
            let (frames, intact, reached, _) = counts(&path);
            assert!(frames > 0 && intact == frames && reached == 0, "bit {bit}");
        }
        std::fs::write(&path, vec![0; 9_000]).expect("it can be emptied");
        assert!(WalFile::open(&path).expect("readable").expect("there").header.is_none());
    }
}
