//! Reads lines of files that other programs wrote, without blocking and with bounded memory.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use memchr::memchr;
use serde::de::DeserializeOwned;

pub use crate::files::open_regular;

/// Longest line held in memory, in bytes: a record of another program can contain a whole tool result.
pub const LINE_BYTES_MAX: usize = 64 << 20;

/// A regular file, or standard input for `-`.
pub fn open_input(path: &Path) -> io::Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = open_regular(path)?;
    let file = file.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such file"))?;
    Ok(Box::new(BufReader::new(file)))
}

/// Parses each line that is not blank. Lines are counted from 1; an error does not name its line.
pub fn json_lines<T: DeserializeOwned>(
    source: impl BufRead,
    bytes_max: usize,
) -> impl Iterator<Item = (usize, Result<T, String>)> {
    BoundedLines::new(source, bytes_max).zip(1..).filter_map(move |(line, at)| {
        let parsed = match line {
            Ok(BoundedLine::Whole(line)) if line.trim_ascii().is_empty() => return None,
            Ok(BoundedLine::Whole(line)) => serde_json::from_slice(line.trim_ascii_end())
                .map_err(|error| error.to_string().replace(" at line 1 column", " at column")),
            Ok(BoundedLine::TooLong { bytes }) => {
                Err(format!("the line has {bytes} bytes; the maximum is {bytes_max}"))
            }
            Err(error) => Err(error.to_string()),
        };
        Some((at, parsed))
    })
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
