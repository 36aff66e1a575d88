//! Finds the parts of a JSON value.

use super::shared_str::SharedStr;
use super::{Element, Json, unquoted};

/// Walks over text known to be JSON. It does not recurse, so depth is unlimited.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Scanner<'a> {
    /// The elements of the object or array that starts with `open`, and the space inside an empty one.
    pub(super) fn elements(whole: &'a SharedStr, open: u8) -> Option<(Vec<Element>, SharedStr)> {
        let mut scan = Scanner { text: whole, at: 0 };
        (scan.peek()? == open).then_some(())?;
        scan.at += 1;
        scan.skip_space();
        if matches!(scan.peek()?, b'}' | b']') {
            return Some((Vec::new(), whole.subslice(1..scan.at)));
        }
        scan.at = 1;
        let mut elements = Vec::new();
        loop {
            let start = scan.at;
            scan.skip_space();
            let mut key = (0, 0);
            if open == b'{' {
                let quote = scan.at;
                scan.skip_string()?;
                key = (quote - start, scan.at - start);
                scan.skip_space();
                scan.at += 1;
                scan.skip_space();
            }
            let begins = scan.at;
            scan.skip_value()?;
            let ends = scan.at;
            scan.skip_space();
            let value = Json(whole.subslice(begins..ends));
            elements.push(Element {
                before: whole.subslice(start..begins),
                key,
                value,
                after: whole.subslice(ends..scan.at),
            });
            let is_more = scan.peek()? == b',';
            scan.at += 1;
            if !is_more {
                return Some((elements, SharedStr::default()));
            }
        }
    }

    /// A member's value; the key must be plain letters. Of duplicates, the last.
    pub(super) fn find_member(text: &'a str, key: &str) -> Option<&'a str> {
        let mut scan = Scanner { text, at: 0 };
        scan.skip_space();
        (scan.peek()? == b'{').then_some(())?;
        let mut found = None;
        loop {
            scan.at += 1;
            scan.skip_space();
            let quote = scan.at;
            if scan.peek()? != b'"' {
                return found;
            }
            scan.skip_string()?;
            let name = unquoted(text.get(quote..scan.at)?);
            scan.skip_space();
            scan.at += 1;
            scan.skip_space();
            let begins = scan.at;
            scan.skip_value()?;
            if name == key {
                let is_first = found.is_none();
                found = text.get(begins..scan.at);
                // The key usually appears once, near the start: skip the rest unless it may appear again.
                if is_first && !may_contain_key(text.get(scan.at..)?, key) {
                    return found;
                }
            }
            scan.skip_space();
            if scan.peek()? != b',' {
                return found;
            }
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    pub(super) fn skip_string(&mut self) -> Option<()> {
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

    fn skip_value(&mut self) -> Option<()> {
        let start = self.at;
        let mut depth = 0_u64;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.skip_string()?;
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

/// Whether a member with this key (plain letters) may follow, spelled directly or with escapes.
fn may_contain_key(text: &str, key: &str) -> bool {
    let has = |part: &str| memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some();
    has(&format!("\"{key}\"")) || has("\\u")
}
