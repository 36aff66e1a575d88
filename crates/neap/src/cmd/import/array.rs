//! The elements of a JSON list, one at a time: exports are a single line of hundreds of megabytes.

use std::io::{self, BufRead};

/// Longest element that is held, in bytes: one conversation.
pub(super) const ELEMENT_BYTES_MAX: usize = 64 << 20;

/// An element as it was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// Its text.
    Whole(Vec<u8>),
    /// Longer than allowed; its bytes are gone.
    TooLong { bytes: u64 },
    /// The text is no list, or ends before the list does.
    NoList,
}

/// Reads elements. What is inside them is not looked at, beyond where they end.
pub(super) struct Elements<R> {
    source: R,
    bytes_max: usize,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Inside,
    After,
}

/// Where in an element the reader is.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

/// What a byte is to the list.
enum Is {
    Part,
    Separator,
    End,
}

impl Scan {
    fn step(&mut self, byte: u8) -> Is {
        if self.in_text {
            if self.is_escaped {
                self.is_escaped = false;
            } else if byte == b'\\' {
                self.is_escaped = true;
            } else {
                self.in_text = byte != b'"';
            }
            return Is::Part;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b',' if self.depth == 0 => return Is::Separator,
            b']' if self.depth == 0 => return Is::End,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        Is::Part
    }
}

impl<R: BufRead> Elements<R> {
    pub(super) fn new(source: R, bytes_max: usize) -> Self {
        Self { source, bytes_max, place: Place::Before }
    }

    /// Passes over what is before the list. Whether one begins.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            let some = self.source.fill_buf()?;
            if some.is_empty() {
                return Ok(false);
            }
            let is_before = |byte: &u8| byte.is_ascii_whitespace() || b"\xEF\xBB\xBF".contains(byte);
            match some.iter().position(|byte| !is_before(byte)) {
                None => {
                    let all = some.len();
                    self.source.consume(all);
                }
                Some(at) => {
                    let is_list = some[at] == b'[';
                    self.source.consume(at + usize::from(is_list));
                    return Ok(is_list);
                }
            }
        }
    }

    fn element(&mut self) -> io::Result<Option<Element>> {
        let (mut held, mut bytes, mut scan) = (Vec::new(), 0_u64, Scan::default());
        loop {
            let some = self.source.fill_buf()?;
            if some.is_empty() {
                self.place = Place::After;
                return Ok(Some(Element::NoList));
            }
            let mut end = None;
            let mut taken = some.len();
            for (at, byte) in some.iter().enumerate() {
                let is = scan.step(*byte);
                if !matches!(is, Is::Part) {
                    (end, taken) = (Some(is), at);
                    break;
                }
            }
            bytes += taken as u64;
            if bytes > self.bytes_max as u64 {
                held = Vec::new();
            } else {
                held.extend_from_slice(&some[..taken]);
            }
            self.source.consume(taken + usize::from(end.is_some()));
            let Some(end) = end else { continue };
            if matches!(end, Is::End) {
                self.place = Place::After;
            }
            if bytes > self.bytes_max as u64 {
                return Ok(Some(Element::TooLong { bytes }));
            }
            let is_empty = held.trim_ascii().is_empty();
            return Ok(if is_empty && matches!(end, Is::End) { None } else { Some(Element::Whole(held)) });
        }
    }
}

impl<R: BufRead> Iterator for Elements<R> {
    type Item = io::Result<Element>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.place == Place::Before {
            self.place = Place::Inside;
            match self.begin() {
                Ok(true) => {}
                Ok(false) => {
                    self.place = Place::After;
                    return Some(Ok(Element::NoList));
                }
                Err(error) => return Some(Err(error)),
            }
        }
        match self.place {
            Place::Before | Place::Inside => self.element().transpose(),
            Place::After => None,
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
        check(r#"{"a":1}"#, 99, &[Element::NoList]);
        check("", 99, &[Element::NoList]);
        check(r#"[1,{"a":"#, 99, &[whole("1"), Element::NoList]);
    }
}
