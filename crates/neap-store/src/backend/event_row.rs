//! An event as a row: its body as JSON, with a checksum of all that is stored.

use neap_core::base::ids::{Seq, Stamp};
use neap_core::session::event::RecordedEvent;

pub struct EventRow {
    pub seq: i64,
    pub at: i64,
    pub kind: &'static str,
    pub checksum: u32,
    pub body: String,
}

impl EventRow {
    pub fn new(recorded: &RecordedEvent) -> Result<Self, serde_json::Error> {
        let body = serde_json::to_string(&recorded.event)?;
        let seq = i64::try_from(recorded.seq.0).unwrap_or(i64::MAX);
        let at = recorded.at.0;
        Ok(Self { seq, at, kind: recorded.event.kind(), checksum: row_checksum(seq, at, body.as_bytes()), body })
    }
}

pub fn row_checksum(seq: i64, at: i64, body: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&seq.to_le_bytes());
    sum.update(&at.to_le_bytes());
    sum.update(body);
    sum.finalize()
}

/// The event that a row holds, or why it holds none.
pub fn parse_row(seq: i64, at: i64, stored_sum: i64, body: &[u8]) -> Result<RecordedEvent, String> {
    if i64::from(row_checksum(seq, at, body)) != stored_sum {
        return Err("its checksum does not match".to_owned());
    }
    let event = serde_json::from_slice(body).map_err(|e| format!("it cannot be parsed ({e})"))?;
    Ok(RecordedEvent { seq: Seq(seq as u64), at: Stamp(at), event })
}

/// Checksum of a derived text: people and models see it, and a flipped bit must not change anyone's words.
pub fn body_checksum(body: &str) -> u32 {
    crc32fast::hash(body.as_bytes())
}

/// What a derived row holds, if it parses and matches its checksum (none in older formats).
pub fn checked_json<T: serde::de::DeserializeOwned>(body: &[u8], sum: Option<i64>) -> Option<T> {
    let is_whole = sum.is_none_or(|sum| sum == i64::from(crc32fast::hash(body)));
    if is_whole { serde_json::from_slice(body).ok() } else { None }
}
