//! The canonical form of a history item, without what clients change from request to request. Plain text is one
//! block. Cache marks, client-added ids and statuses, thinking with its signatures, and empty values are dropped;
//! call arguments are parsed and their keys sorted. Call ids stay.

use serde_json::Value;

use super::request::{ContentBlock, HistoryItem};

const BOOKKEEPING: [&str; 5] = ["cache_control", "id", "status", "annotations", "logprobs"];

/// The kind of an item that refers to another by id.
const REFERENCE: &str = "item_reference";

/// Encodes an item so that equal items give equal bytes; none if it has no content.
pub fn canonical_bytes(item: &HistoryItem) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    item.blocks.iter().for_each(|block| encode_block(&mut out, block));
    if out.is_empty() {
        return None;
    }
    let mut whole = Vec::with_capacity(out.len() + 16);
    encode_field(&mut whole, b'r', item.speaker.as_str().as_bytes());
    whole.append(&mut out);
    Some(whole)
}

fn encode_block(out: &mut Vec<u8>, block: &ContentBlock) {
    match block {
        ContentBlock::Text(text) if text.is_empty() => {}
        ContentBlock::Text(text) => encode_field(out, b't', text.as_bytes()),
        ContentBlock::Thinking => {}
        ContentBlock::ToolCall(call) => {
            encode_field(out, b'c', call.id.as_bytes());
            encode_field(out, b'n', call.name.as_bytes());
            encode_field(out, b'a', canonical_arguments(&call.arguments).as_bytes());
        }
        ContentBlock::ToolResult { id, content, failed } => {
            encode_field(out, b'o', id.as_bytes());
            let mut inside = Vec::new();
            content.iter().for_each(|block| encode_block(&mut inside, block));
            encode_field(out, if *failed { b'f' } else { b's' }, &inside);
        }
        ContentBlock::Other { kind, json } => {
            encode_field(out, b'k', kind.as_bytes());
            // A reference is nothing but its id, so the id stays.
            let json = if kind == REFERENCE { sort_keys(json) } else { strip_bookkeeping(json) };
            encode_field(out, b'j', json.to_string().as_bytes());
        }
    }
}

/// The length makes the encoding unambiguous: no two different items encode alike.
fn encode_field(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Text that is not JSON stays as it is.
fn canonical_arguments(text: &str) -> String {
    if text.trim().is_empty() {
        return "{}".to_owned();
    }
    serde_json::from_str::<Value>(text).map_or_else(|_| text.to_owned(), |value| sort_keys(&value).to_string())
}

pub(super) fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut all: Vec<(&String, &Value)> = members.iter().collect();
            all.sort_by_key(|(key, _)| key.as_str());
            Value::Object(all.into_iter().map(|(key, value)| (key.clone(), sort_keys(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sort_keys).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn strip_bookkeeping(value: &Value) -> Value {
    let is_significant = |key: &str, value: &Value| {
        let is_empty =
            value.is_null() || value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty);
        !is_empty && !BOOKKEEPING.contains(&key)
    };
    match sort_keys(value) {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .filter(|(key, v)| is_significant(key, v))
                .map(|(key, v)| (key.clone(), strip_bookkeeping(v)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(strip_bookkeeping).collect()),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}
