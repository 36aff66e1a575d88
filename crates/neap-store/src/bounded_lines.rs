//! Reads lines of files that other programs wrote, without blocking and with bounded memory.

use std::fs::File;
use std::io::{self, BufRead};
use std::path::Path;

use memchr::memchr;

use crate::files;

/// Longest line held in memory, in bytes: a record of another program can contain a whole tool result.
pub const LINE_BYTES_MAX: usize = 64 << 20;

/// `None` if there is no such file; fails at once on anything but a regular file (pipe, device, directory).
pub fn open_regular(path: &Path) -> io::Result<Option<File>> {
    files::open_regular(path)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundedLine {
    Whole(Vec<u8>),
    /// Longer than allowed; its bytes were discarded.
    TooLong {
        bytes: u64,
    },
}

/// Iterates over lines; a line longer than `bytes_max` is skipped without being held.
pub struct BoundedLines<R> {
    source: R,
    bytes_max: usize,
}

impl<R: BufRead> BoundedLines<R> {
    pub fn new(source: R, bytes_max: usize) -> Self {
        Self { source, bytes_max }
    }
}

impl<R: BufRead> Iterator for BoundedLines<R> {
    type Item = io::Result<BoundedLine>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut line, mut bytes) = (Vec::new(), 0_u64);
        loop {
            let buffer = match self.source.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Some(Err(error)),
            };
            let (taken, ends) = match memchr(b'\n', buffer) {
                Some(end) => (end + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            bytes += taken as u64;
            if bytes > self.bytes_max as u64 {
                line = Vec::new();
            } else {
                line.extend_from_slice(&buffer[..taken]);
            }
            self.source.consume(taken);
            if ends {
                return match bytes {
                    0 => None,
                    bytes if bytes > self.bytes_max as u64 => Some(Ok(BoundedLine::TooLong { bytes })),
                    _ => Some(Ok(BoundedLine::Whole(line))),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_or_passed_over() {
        let text = b"one\n\ntwo is longer\nthree\nfour";
        let whole = |line: &str| BoundedLine::Whole(line.as_bytes().to_vec());
        for capacity in 1..40 {
            let source = io::BufReader::with_capacity(capacity, &text[..]);
            let lines: Vec<BoundedLine> =
                BoundedLines::new(source, 6).map(|line| line.expect("readable")).collect();
            let long = BoundedLine::TooLong { bytes: 14 };
            assert_eq!(lines, [whole("one\n"), whole("\n"), long, whole("three\n"), whole("four")], "{capacity}");
        }
    }
}
