//! The parts of an item and their locations.

use neap_core::base::message::ToolCall;
use neap_core::client::ContentBlock;

use super::super::json::{Array, Json, Object};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartLocation {
    Item,
    /// `content` or `output`: a plain text, or a whole tool result.
    Member(&'static str),
    /// An entry of `content`.
    Content(usize),
    /// An entry of `tool_calls`.
    Call(usize),
}

#[derive(Debug, Clone)]
pub(super) struct ItemPart {
    pub(super) block: ContentBlock,
    pub(super) location: PartLocation,
}

impl ItemPart {
    pub(super) fn new(block: ContentBlock, location: PartLocation) -> Self {
        Self { block, location }
    }

    /// An item of unknown kind, which passes through.
    pub(super) fn unknown(kind: &str, json: &Json) -> Self {
        Self { block: unknown_block(kind, json), location: PartLocation::Item }
    }
}

pub(super) fn unknown_block(kind: &str, json: &Json) -> ContentBlock {
    ContentBlock::Other { kind: kind.to_owned(), json: json.read().unwrap_or_default() }
}

/// `None` without an id or a name.
pub(super) fn call_block(id: Option<String>, name: Option<String>, arguments: String) -> Option<ContentBlock> {
    Some(ContentBlock::ToolCall(ToolCall { id: id?, name: name?, arguments }))
}

pub(super) fn content_parts(json: Option<&Json>, member: &'static str) -> Vec<ItemPart> {
    let Some(json) = json else { return Vec::new() };
    if let Some(text) = json.read::<String>() {
        return vec![ItemPart::new(ContentBlock::Text(text), PartLocation::Member(member))];
    }
    let list = Array::from_json(json).unwrap_or_default();
    list.items()
        .enumerate()
        .map(|(at, json)| ItemPart::new(plain_block(json), PartLocation::Content(at)))
        .collect()
}

pub(super) fn content_blocks(json: Option<&Json>) -> Vec<ContentBlock> {
    content_parts(json, "content").into_iter().map(|part| part.block).collect()
}

/// A text block, or an unknown one.
pub(super) fn plain_block(json: &Json) -> ContentBlock {
    let Some(object) = Object::from_json(json) else { return unknown_block("", json) };
    let kind = object.text_of("type").unwrap_or_default();
    let text = match kind.as_str() {
        "text" | "input_text" | "output_text" => object.text_of("text"),
        "refusal" => object.text_of("refusal"),
        _ => None,
    };
    text.map_or_else(|| unknown_block(&kind, json), ContentBlock::Text)
}
