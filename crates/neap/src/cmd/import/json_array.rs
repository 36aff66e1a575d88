//! Reads the elements of a JSON array one at a time: exports are a single line of hundreds of megabytes.

use std::io::{self, BufRead};

/// Longest element (one conversation), in bytes.
pub(super) const ELEMENT_BYTES_MAX: usize = 64 << 20;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Element {
    Whole(Vec<u8>),
    TooLong {
        bytes: u64,
    },
    /// Not an array, or truncated.
    NotAList,
}

/// Iterates over elements; finds their ends without parsing them.
pub(super) struct Elements<R> {
    source: R,
    bytes_max: usize,
    position: ListPosition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListPosition {
    Before,
    Inside,
    After,
}

#[derive(Default)]
struct ElementScanner {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

enum ByteRole {
    Part,
    Separator,
    End,
}

impl ElementScanner {
    fn step(&mut self, byte: u8) -> ByteRole {
        if self.in_text {
            if self.is_escaped {
                self.is_escaped = false;
            } else if byte == b'\\' {
                self.is_escaped = true;
            } else {
                self.in_text = byte != b'"';
            }
            return ByteRole::Part;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b',' if self.depth == 0 => return ByteRole::Separator,
            b']' if self.depth == 0 => return ByteRole::End,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        ByteRole::Part
    }
}

impl<R: BufRead> Elements<R> {
    pub(super) fn new(source: R, bytes_max: usize) -> Self {
        Self { source, bytes_max, position: ListPosition::Before }
    }

    /// Skips whitespace and a byte order mark; returns whether an array begins.
    fn skip_to_list(&mut self) -> io::Result<bool> {
        loop {
            let buffer = self.source.fill_buf()?;
            if buffer.is_empty() {
                return Ok(false);
            }
            let is_before = |byte: &u8| byte.is_ascii_whitespace() || b"\xEF\xBB\xBF".contains(byte);
            match buffer.iter().position(|byte| !is_before(byte)) {
                None => {
                    let all = buffer.len();
                    self.source.consume(all);
                }
                Some(at) => {
                    let is_list = buffer[at] == b'[';
                    self.source.consume(at + usize::from(is_list));
                    return Ok(is_list);
                }
            }
        }
    }

    fn read_element(&mut self) -> io::Result<Option<Element>> {
        let (mut element, mut bytes, mut scanner) = (Vec::new(), 0_u64, ElementScanner::default());
        loop {
            let buffer = self.source.fill_buf()?;
            if buffer.is_empty() {
                self.position = ListPosition::After;
                return Ok(Some(Element::NotAList));
            }
            let mut end = None;
            let mut used = buffer.len();
            for (at, byte) in buffer.iter().enumerate() {
                let role = scanner.step(*byte);
                if !matches!(role, ByteRole::Part) {
                    (end, used) = (Some(role), at);
                    break;
                }
            }
            bytes += used as u64;
            if bytes > self.bytes_max as u64 {
                element = Vec::new();
            } else {
                element.extend_from_slice(&buffer[..used]);
            }
            self.source.consume(used + usize::from(end.is_some()));
            let Some(end) = end else { continue };
            if matches!(end, ByteRole::End) {
                self.position = ListPosition::After;
            }
            if bytes > self.bytes_max as u64 {
                return Ok(Some(Element::TooLong { bytes }));
            }
            let is_empty = element.trim_ascii().is_empty();
            return Ok(if is_empty && matches!(end, ByteRole::End) {
                None
            } else {
                Some(Element::Whole(element))
            });
        }
    }
}

impl<R: BufRead> Iterator for Elements<R> {
    type Item = io::Result<Element>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.position == ListPosition::Before {
            self.position = ListPosition::Inside;
            match self.skip_to_list() {
                Ok(true) => {}
                Ok(false) => {
                    self.position = ListPosition::After;
                    return Some(Ok(Element::NotAList));
                }
                Err(error) => return Some(Err(error)),
            }
        }
        match self.position {
            ListPosition::Before | ListPosition::Inside => self.read_element().transpose(),
            ListPosition::After => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, bytes_max: usize, expected: &[Element]) {
        for capacity in 1..20 {
            let source = io::BufReader::with_capacity(capacity, text.as_bytes());
            let found: Vec<Element> = Elements::new(source, bytes_max).map(|one| one.expect("readable")).collect();
            assert_eq!(found, expected, "{text} by {capacity}");
        }
    }

    fn whole(text: &str) -> Element {
        Element::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn elements_end_where_json_says() {
        check("[]", 99, &[]);
        check(" \n[ ] ", 99, &[]);
        check(r#"[{"a":[1,2]},{"b":"],[\"\\"}]"#, 99, &[whole(r#"{"a":[1,2]}"#), whole(r#"{"b":"],[\"\\"}"#)]);
        check("\u{feff}[1, 2]", 99, &[whole("1"), whole(" 2")]);
        check(r#"["long enough to be passed over",[3]]"#, 10, &[Element::TooLong { bytes: 31 }, whole("[3]")]);
        check(r#"{"a":1}"#, 99, &[Element::NotAList]);
        check("", 99, &[Element::NotAList]);
        check(r#"[1,{"a":"#, 99, &[whole("1"), Element::NotAList]);
    }
}
