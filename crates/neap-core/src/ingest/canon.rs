//! The form in which an item counts: what clients change from request to request without meaning anything by it is gone.
//!
//! A plain text is one block; marks for the cache, ids and states that the client adds, thoughts and their signatures, and
//! what is empty are left out; the arguments of a call are read and their keys put in order. The ids of calls stay.

use serde_json::Value;

use super::heard::{Block, Item};

/// Members that are a client's or a provider's bookkeeping.
const BOOKKEEPING: [&str; 5] = ["cache_control", "id", "status", "annotations", "logprobs"];

/// An item that stands for another.
const REFERENCE: &str = "item_reference";

/// An item as bytes that are the same whenever it is the same; none if nothing in it counts.
pub fn canonical(item: &Item) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    item.blocks.iter().for_each(|block| put_block(&mut out, block));
    if out.is_empty() {
        return None;
    }
    let mut whole = Vec::with_capacity(out.len() + 16);
    put(&mut whole, b'r', item.speaker.as_str().as_bytes());
    whole.append(&mut out);
    Some(whole)
}

fn put_block(out: &mut Vec<u8>, block: &Block) {
    match block {
        Block::Text(text) if text.is_empty() => {}
        Block::Text(text) => put(out, b't', text.as_bytes()),
        Block::Thinking => {}
        Block::Call(call) => {
            put(out, b'c', call.id.as_bytes());
            put(out, b'n', call.name.as_bytes());
            put(out, b'a', arguments(&call.arguments).as_bytes());
        }
        Block::Answer { id, content, failed } => {
            put(out, b'o', id.as_bytes());
            let mut inside = Vec::new();
            content.iter().for_each(|block| put_block(&mut inside, block));
            put(out, if *failed { b'f' } else { b's' }, &inside);
        }
        Block::Other { kind, json } => {
            put(out, b'k', kind.as_bytes());
            // What is nothing but a name for something else is known by that.
            let json = if kind == REFERENCE { sorted(json) } else { ordered(json) };
            put(out, b'j', json.to_string().as_bytes());
        }
    }
}

/// A field with its length, so that no two different items are written alike.
fn put(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Arguments with their keys in order; what is no JSON stays as it is.
fn arguments(text: &str) -> String {
    if text.trim().is_empty() {
        return "{}".to_owned();
    }
    serde_json::from_str::<Value>(text).map_or_else(|_| text.to_owned(), |value| sorted(&value).to_string())
}

/// The same value with the keys of every object in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut all: Vec<(&String, &Value)> = members.iter().collect();
            all.sort_by_key(|(key, _)| key.as_str());
            Value::Object(all.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The same without bookkeeping and without what is empty.
fn ordered(value: &Value) -> Value {
    let counts = |key: &str, value: &Value| {
        let is_empty =
            value.is_null() || value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty);
        !is_empty && !BOOKKEEPING.contains(&key)
    };
    match sorted(value) {
        Value::Object(members) => Value::Object(
            members.iter().filter(|(key, v)| counts(key, v)).map(|(key, v)| (key.clone(), ordered(v))).collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(ordered).collect()),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}
