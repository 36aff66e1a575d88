//! Parses an object with one long list in a single pass, into its members and the byte ranges of the list's items.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Deserializer;
use serde_json::value::RawValue;

use super::scanner::Scanner;
use super::shared_str::SharedStr;
use super::{Element, Json, Object};

pub(crate) struct IndexedObject {
    pub(crate) object: Object,
    pub(crate) items: Vec<Range<usize>>,
}

impl IndexedObject {
    /// Parses an object whose member `key` is a list. `known_ranges` are the item ranges of another text that
    /// equals this one up to the last of them and one byte more; those items are not parsed again. Returns `None`
    /// if this is no such object or needs the full parser.
    pub(crate) fn parse(whole: &Arc<str>, key: &str, known_ranges: &[Range<usize>]) -> Option<Self> {
        let mut parser = ListParser { scan: Scanner { text: whole, at: 0 }, key, known_ranges, items: None };
        let object = Object { elements: parser.members(whole)?, inner_space: SharedStr::default() };
        Some(Self { object, items: parser.items? })
    }

    pub(crate) fn item_at(whole: &Arc<str>, at: &Range<usize>) -> Json {
        Json(SharedStr::slice(whole, at.clone()))
    }
}

struct ListParser<'a> {
    scan: Scanner<'a>,
    key: &'a str,
    known_ranges: &'a [Range<usize>],
    items: Option<Vec<Range<usize>>>,
}

impl ListParser<'_> {
    fn members(&mut self, whole: &Arc<str>) -> Option<Vec<Element>> {
        self.scan.skip_space();
        self.consume(b'{').then_some(())?;
        let mut elements = Vec::new();
        loop {
            let start = self.scan.at;
            self.scan.skip_space();
            let quote = self.scan.at;
            (self.scan.peek()? == b'"').then_some(())?;
            self.skip_value()?;
            let key = (quote - start, self.scan.at - start);
            let name = &whole[quote + 1..self.scan.at - 1];
            // An escaped key may equal the list's key.
            (!name.contains('\\')).then_some(())?;
            self.scan.skip_space();
            self.consume(b':').then_some(())?;
            self.scan.skip_space();
            let begins = self.scan.at;
            if name == self.key {
                // Of duplicate keys the last wins, which needs the full parser.
                self.items.is_none().then_some(())?;
                self.items = Some(self.item_ranges()?);
            } else {
                self.skip_value()?;
            }
            let ends = self.scan.at;
            self.scan.skip_space();
            elements.push(Element {
                before: SharedStr::slice(whole, start..begins),
                key,
                value: Json(SharedStr::slice(whole, begins..ends)),
                after: SharedStr::slice(whole, ends..self.scan.at),
            });
            if !self.consume(b',') {
                break;
            }
        }
        self.consume(b'}').then_some(())?;
        self.scan.skip_space();
        self.scan.peek().is_none().then_some(elements)
    }

    fn item_ranges(&mut self) -> Option<Vec<Range<usize>>> {
        self.consume(b'[').then_some(())?;
        let mut items = self.known_ranges.to_vec();
        self.scan.at = items.last().map_or(self.scan.at, |last| last.end);
        self.scan.skip_space();
        if self.consume(b']') {
            return Some(items);
        }
        (items.is_empty() || self.consume(b',')).then_some(())?;
        loop {
            self.scan.skip_space();
            let start = self.scan.at;
            self.skip_value()?;
            items.push(start..self.scan.at);
            self.scan.skip_space();
            if self.consume(b']') {
                return Some(items);
            }
            self.consume(b',').then_some(())?;
        }
    }

    fn consume(&mut self, byte: u8) -> bool {
        let is_next = self.scan.peek() == Some(byte);
        self.scan.at += usize::from(is_next);
        is_next
    }

    fn skip_value(&mut self) -> Option<()> {
        let mut values = Deserializer::from_str(&self.scan.text[self.scan.at..]).into_iter::<&RawValue>();
        values.next()?.ok()?;
        self.scan.at += values.byte_offset();
        Some(())
    }
}
