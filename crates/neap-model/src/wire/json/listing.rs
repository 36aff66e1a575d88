//! An object one of whose members is a long list, taken apart in one pass: its members, and the places of the list's items.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Deserializer;
use serde_json::value::RawValue;

use super::scan::Scan;
use super::stretch::Stretch;
use super::{Json, Object, Part};

/// An object with the items of a list in it.
pub(crate) struct Listing {
    /// The object.
    pub(crate) object: Object,
    /// Where the items are in its text.
    pub(crate) items: Vec<Range<usize>>,
}

impl Listing {
    /// Takes an object apart whose member `key` is a list. `known` says where items of another text are that is the same as this one up to
    /// the last of them and one byte more: those are not looked at again. None where it is no such object, or is written in a
    /// way that takes a closer look.
    pub(crate) fn parse(whole: &Arc<str>, key: &str, known: &[Range<usize>]) -> Option<Self> {
        let mut pass = Pass { scan: Scan { text: whole, at: 0 }, key, known, items: None };
        let object = Object { parts: pass.members(whole)?, hollow: Stretch::default() };
        Some(Self { object, items: pass.items? })
    }

    /// An item.
    pub(crate) fn item(whole: &Arc<str>, at: &Range<usize>) -> Json {
        Json(Stretch::of(whole, at.clone()))
    }
}

struct Pass<'a> {
    scan: Scan<'a>,
    key: &'a str,
    known: &'a [Range<usize>],
    items: Option<Vec<Range<usize>>>,
}

impl Pass<'_> {
    fn members(&mut self, whole: &Arc<str>) -> Option<Vec<Part>> {
        self.scan.space();
        self.takes(b'{').then_some(())?;
        let mut parts = Vec::new();
        loop {
            let start = self.scan.at;
            self.scan.space();
            let quote = self.scan.at;
            (self.scan.peek()? == b'"').then_some(())?;
            self.value()?;
            let key = (quote - start, self.scan.at - start);
            let name = &whole[quote + 1..self.scan.at - 1];
            // It may be another name for the list.
            (!name.contains('\\')).then_some(())?;
            self.scan.space();
            self.takes(b':').then_some(())?;
            self.scan.space();
            let begins = self.scan.at;
            if name == self.key {
                // Where it is there twice, the last counts.
                self.items.is_none().then_some(())?;
                self.items = Some(self.list()?);
            } else {
                self.value()?;
            }
            let ends = self.scan.at;
            self.scan.space();
            parts.push(Part {
                before: Stretch::of(whole, start..begins),
                key,
                value: Json(Stretch::of(whole, begins..ends)),
                after: Stretch::of(whole, ends..self.scan.at),
            });
            if !self.takes(b',') {
                break;
            }
        }
        self.takes(b'}').then_some(())?;
        self.scan.space();
        self.scan.peek().is_none().then_some(parts)
    }

    /// The places of a list's items.
    fn list(&mut self) -> Option<Vec<Range<usize>>> {
        self.takes(b'[').then_some(())?;
        let mut items = self.known.to_vec();
        self.scan.at = items.last().map_or(self.scan.at, |last| last.end);
        self.scan.space();
        if self.takes(b']') {
            return Some(items);
        }
        (items.is_empty() || self.takes(b',')).then_some(())?;
        loop {
            self.scan.space();
            let start = self.scan.at;
            self.value()?;
            items.push(start..self.scan.at);
            self.scan.space();
            if self.takes(b']') {
                return Some(items);
            }
            self.takes(b',').then_some(())?;
        }
    }

    /// Goes past this byte, if it is next.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.scan.peek() == Some(byte);
        self.scan.at += usize::from(is_next);
        is_next
    }

    /// Goes past a value, if it is one.
    fn value(&mut self) -> Option<()> {
        let mut values = Deserializer::from_str(&self.scan.text[self.scan.at..]).into_iter::<&RawValue>();
        values.next()?.ok()?;
        self.scan.at += values.byte_offset();
        Some(())
    }
}
