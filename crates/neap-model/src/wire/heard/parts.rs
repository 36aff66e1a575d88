//! The parts of an item and where they stand in it.

use neap_core::ingest::Block;
use neap_core::message::ToolCall;

use super::super::json::{Array, Json, Object};

/// Where a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// The item is nothing else.
    Item,
    /// The member `content`, or `output`, which is a plain text or holds all of what a call answered.
    Member(&'static str),
    /// One of the list in `content`.
    Content(usize),
    /// One of the list in `tool_calls`.
    Call(usize),
}

/// A part.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) block: Block,
    pub(super) spot: Spot,
}

impl Part {
    pub(super) fn new(block: Block, spot: Spot) -> Self {
        Self { block, spot }
    }

    /// Something that is carried along.
    pub(super) fn unknown(kind: &str, json: &Json) -> Self {
        Self { block: unknown(kind, json), spot: Spot::Item }
    }
}

pub(super) fn unknown(kind: &str, json: &Json) -> Block {
    Block::Other { kind: kind.to_owned(), json: json.read().unwrap_or_default() }
}

/// A call, if it has an id and a name.
pub(super) fn call(id: Option<String>, name: Option<String>, arguments: String) -> Option<Block> {
    Some(Block::Call(ToolCall { id: id?, name: name?, arguments }))
}

/// What content says: a plain text, or a list of parts.
pub(super) fn content(json: Option<&Json>, member: &'static str) -> Vec<Part> {
    let Some(json) = json else { return Vec::new() };
    if let Some(text) = json.read::<String>() {
        return vec![Part::new(Block::Text(text), Spot::Member(member))];
    }
    let list = Array::of(json).unwrap_or_default();
    list.items().enumerate().map(|(at, json)| Part::new(plain(json), Spot::Content(at))).collect()
}

/// The blocks of content.
pub(super) fn blocks(json: Option<&Json>) -> Vec<Block> {
    content(json, "content").into_iter().map(|part| part.block).collect()
}

/// Words, or something unknown: a part that is no more than that in any format.
pub(super) fn plain(json: &Json) -> Block {
    let Some(object) = Object::of(json) else { return unknown("", json) };
    let kind = object.text_of("type").unwrap_or_default();
    let text = match kind.as_str() {
        "text" | "input_text" | "output_text" => object.text_of("text"),
        "refusal" => object.text_of("refusal"),
        _ => None,
    };
    text.map_or_else(|| unknown(&kind, json), Block::Text)
}
