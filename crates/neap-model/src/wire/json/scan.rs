//! Where the parts of a value are.

use super::stretch::Stretch;
use super::{Json, Part, unquoted};

/// Walks over text that is known to be JSON. It goes as deep as it likes: no part is entered.
pub(super) struct Scan<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Scan<'a> {
    /// The parts of what begins with this bracket.
    pub(super) fn parts(whole: &'a Stretch, open: u8) -> Option<(Vec<Part>, Stretch)> {
        let mut scan = Scan { text: whole, at: 0 };
        (scan.peek()? == open).then_some(())?;
        scan.at += 1;
        scan.space();
        if matches!(scan.peek()?, b'}' | b']') {
            return Some((Vec::new(), whole.part(1..scan.at)));
        }
        scan.at = 1;
        let mut parts = Vec::new();
        loop {
            let start = scan.at;
            scan.space();
            let mut key = (0, 0);
            if open == b'{' {
                let quote = scan.at;
                scan.string()?;
                key = (quote - start, scan.at - start);
                scan.space();
                scan.at += 1;
                scan.space();
            }
            let begins = scan.at;
            scan.value()?;
            let ends = scan.at;
            scan.space();
            let value = Json(whole.part(begins..ends));
            parts.push(Part { before: whole.part(start..begins), key, value, after: whole.part(ends..scan.at) });
            let is_more = scan.peek()? == b',';
            scan.at += 1;
            if !is_more {
                return Some((parts, Stretch::default()));
            }
        }
    }

    /// The value of a member, whose name is letters alone; where it is there twice, the last.
    pub(super) fn member(text: &'a str, key: &str) -> Option<&'a str> {
        let mut scan = Scan { text, at: 0 };
        scan.space();
        (scan.peek()? == b'{').then_some(())?;
        let mut found = None;
        loop {
            scan.at += 1;
            scan.space();
            let quote = scan.at;
            if scan.peek()? != b'"' {
                return found;
            }
            scan.string()?;
            let name = unquoted(text.get(quote..scan.at)?);
            scan.space();
            scan.at += 1;
            scan.space();
            let begins = scan.at;
            scan.value()?;
            if name == key {
                let is_first = found.is_none();
                found = text.get(begins..scan.at);
                // Most often it is among the first, and nowhere else: the rest is not walked through.
                if is_first && !may_name(text.get(scan.at..)?, key) {
                    return found;
                }
            }
            scan.space();
            if scan.peek()? != b',' {
                return found;
            }
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Goes past a text in quotes.
    pub(super) fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            self.at += memchr::memchr2(b'"', b'\\', rest)?;
            if self.peek()? == b'"' {
                break;
            }
            self.at += 2;
        }
        self.at += 1;
        Some(())
    }

    fn value(&mut self) -> Option<()> {
        let start = self.at;
        let mut depth = 0_u64;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.string()?;
                    if depth == 0 {
                        break;
                    }
                }
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                    if depth == 0 {
                        break;
                    }
                }
                Some(b'}' | b']' | b',' | b' ' | b'\t' | b'\n' | b'\r') if depth == 0 => break,
                Some(_) => self.at += 1,
                None => break,
            }
        }
        (self.at > start).then_some(())
    }
}

/// Whether a member of this name, which is letters alone, may be in a text: as it is, or with escapes.
fn may_name(text: &str, key: &str) -> bool {
    let has = |part: &str| memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some();
    has(&format!("\"{key}\"")) || has("\\u")
}
