//! Reading files that others wrote: nothing in them makes the reader wait, or hold more than it was told to.

use std::fs::File;
use std::io::{self, BufRead};
use std::path::Path;

use memchr::memchr;

use crate::files;

/// Longest line that is held, in bytes: a record of another program, with what a tool answered in it.
pub const LINE_BYTES_MAX: usize = 64 << 20;

/// Opens a file to read it; none if there is no file. What is no regular file (a pipe, a socket, a device, a folder) is refused at once.
pub fn open(path: &Path) -> io::Result<Option<File>> {
    files::open(path)
}

/// A line as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// With its end, if it has one.
    Whole(Vec<u8>),
    /// Longer than allowed; its bytes are gone.
    TooLong {
        /// How long it is.
        bytes: u64,
    },
}

/// The lines of a source. A line that is too long is passed over without being held.
pub struct Lines<R> {
    source: R,
    bytes_max: usize,
}

impl<R: BufRead> Lines<R> {
    /// Lines of at most `bytes_max` bytes each.
    pub fn new(source: R, bytes_max: usize) -> Self {
        Self { source, bytes_max }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut held, mut bytes) = (Vec::new(), 0_u64);
        loop {
            let some = match self.source.fill_buf() {
                Ok(some) => some,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Some(Err(error)),
            };
            let (taken, ends) = match memchr(b'\n', some) {
                Some(end) => (end + 1, true),
                None => (some.len(), some.is_empty()),
            };
            bytes += taken as u64;
            if bytes > self.bytes_max as u64 {
                held = Vec::new();
            } else {
                held.extend_from_slice(&some[..taken]);
            }
            self.source.consume(taken);
            if ends {
                return match bytes {
                    0 => None,
                    bytes if bytes > self.bytes_max as u64 => Some(Ok(Line::TooLong { bytes })),
                    _ => Some(Ok(Line::Whole(held))),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way in which a source may hand on its bytes gives the same lines.
    #[test]
    fn lines_are_whole_or_passed_over() {
        let text = b"one\n\ntwo is longer\nthree\nfour";
        let whole = |line: &str| Line::Whole(line.as_bytes().to_vec());
        for capacity in 1..40 {
            let source = io::BufReader::with_capacity(capacity, &text[..]);
            let lines: Vec<Line> = Lines::new(source, 6).map(|line| line.expect("readable")).collect();
            let long = Line::TooLong { bytes: 14 };
            assert_eq!(lines, [whole("one\n"), whole("\n"), long, whole("three\n"), whole("four")], "{capacity}");
        }
    }
}
