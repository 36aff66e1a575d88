//! Parses rows from the bytes of one SQLite page, without the file header or parent pages.
//!
//! The input may be anything, also deleted rows; the caller verifies checksums.

use super::pages::Pages;

const INDEX_INTERIOR: u8 = 0x02;
const INDEX_LEAF: u8 = 0x0a;
const TABLE_LEAF: u8 = 0x0d;
/// A longer row is damage.
const PAYLOAD_BYTES_MAX: u64 = 128 << 20;
const COLUMNS_MAX: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Integer(i64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
    /// A number that is not an integer: no table of ours has any.
    Other,
}

impl Value {
    pub(super) fn integer(&self) -> Option<i64> {
        if let Value::Integer(number) = self { Some(*number) } else { None }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// The rowid, in tables that have one.
    pub(super) number: Option<i64>,
    pub(super) values: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageKind {
    IndexInterior,
    IndexLeaf,
    TableLeaf,
}

/// The rows of a page in order; none for other kinds of page. One flipped bit costs one row.
pub(super) fn rows(pages: &mut Pages, page: u32) -> Vec<Row> {
    let bytes = pages.get(page);
    let start = if page == 1 { 100 } else { 0 };
    let first = bytes[start];
    // An unknown page kind may be a known one with a flipped bit.
    let kinds = [
        (INDEX_LEAF, PageKind::IndexLeaf),
        (INDEX_INTERIOR, PageKind::IndexInterior),
        (TABLE_LEAF, PageKind::TableLeaf),
    ];
    let exact = kinds.iter().find(|(kind, _)| *kind == first).map(|(_, kind)| *kind);
    let one_bit_off = |exact: Option<PageKind>| {
        let others =
            kinds.iter().filter(move |(kind, other)| (kind ^ first).count_ones() == 1 && exact != Some(*other));
        others.map(|(_, kind)| *kind)
    };
    let mut best: Vec<Row> = Vec::new();
    for kind in exact.into_iter().chain(one_bit_off(exact)) {
        let found = rows_as(pages, &bytes, start, kind);
        if found.len() > best.len() {
            best = found;
        }
    }
    best
}

fn rows_as(pages: &mut Pages, bytes: &[u8], start: usize, kind: PageKind) -> Vec<Row> {
    let header = if kind == PageKind::IndexInterior { 12 } else { 8 };
    let mut found = Vec::new();
    // The row count may be damaged, so cell pointers are read until the zeros between them and the rows.
    for at in (start + header..bytes.len() - 1).step_by(2) {
        let offset = usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        if offset == 0 {
            break;
        }
        if offset > at {
            found.extend(row(pages, bytes, offset, kind));
        }
    }
    found
}

fn row(pages: &mut Pages, bytes: &[u8], mut at: usize, kind: PageKind) -> Option<Row> {
    if kind == PageKind::IndexInterior {
        at += 4;
    }
    let (length, used) = varint(bytes.get(at..)?)?;
    at += used;
    let mut number = None;
    if kind == PageKind::TableLeaf {
        let (value, used) = varint(bytes.get(at..)?)?;
        (number, at) = (Some(value as i64), at + used);
    }
    if !(2..=PAYLOAD_BYTES_MAX).contains(&length) {
        return None;
    }
    let payload = payload(pages, bytes, at, length as usize, kind)?;
    Some(Row { number, values: values(&payload)? })
}

/// A row's payload: on its page, continued on overflow pages if it is long.
fn payload(pages: &mut Pages, bytes: &[u8], at: usize, length: usize, kind: PageKind) -> Option<Vec<u8>> {
    let usable = bytes.len();
    let most = if kind == PageKind::TableLeaf { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
    if length <= most {
        return bytes.get(at..at + length).map(<[u8]>::to_vec);
    }
    let least = (usable - 12) * 32 / 255 - 23;
    let surplus = least + (length - least) % (usable - 4);
    let local = if surplus <= most { surplus } else { least };
    let mut whole = bytes.get(at..at + local)?.to_vec();
    let mut next = u32::from_be_bytes(bytes.get(at + local..at + local + 4)?.try_into().ok()?);
    while whole.len() < length {
        if next == 0 || next > pages.count() {
            return None;
        }
        let page = pages.get(next);
        next = u32::from_be_bytes([page[0], page[1], page[2], page[3]]);
        let left = (length - whole.len()).min(usable - 4);
        whole.extend_from_slice(&page[4..4 + left]);
    }
    Some(whole)
}

fn values(payload: &[u8]) -> Option<Vec<Value>> {
    let (header, mut at) = varint(payload)?;
    let header = usize::try_from(header).ok().filter(|header| *header <= payload.len())?;
    let mut kinds = Vec::new();
    while at < header {
        let (kind, used) = varint(payload.get(at..header)?)?;
        kinds.push(kind);
        at += used;
        if kinds.len() > COLUMNS_MAX {
            return None;
        }
    }
    let mut at = header;
    let mut values = Vec::with_capacity(kinds.len());
    for kind in kinds {
        let bytes = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as usize,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return None,
            long => usize::try_from((long - 12) / 2).ok()?,
        };
        let value = payload.get(at..at.checked_add(bytes)?)?;
        at += bytes;
        values.push(match kind {
            0 => Value::Null,
            1..=6 => Value::Integer(signed(value)),
            8 => Value::Integer(0),
            9 => Value::Integer(1),
            long if long >= 12 && long % 2 == 0 => Value::Blob(value.to_vec()),
            long if long >= 13 => Value::Text(value.to_vec()),
            _ => Value::Other,
        });
    }
    Some(values)
}

fn signed(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    let start = if negative { -1_i64 } else { 0 };
    bytes.iter().fold(start, |value, byte| value << 8 | i64::from(*byte))
}

/// A SQLite varint, and its length in bytes.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        if at == 8 {
            return Some((value << 8 | u64::from(*byte), 9));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}
