//! OpenAI Chat Completions.

use neap_core::client::{ContentBlock, Speaker};

use super::super::json::{Array, Json, Object};
use super::parts::{ItemPart, PartLocation, call_block, content_parts, unknown_block};
use super::speaker_of;

/// Where other servers put the model's reasoning.
pub(super) const REASONING_KEYS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

pub(super) fn parts(message: &Object) -> (Speaker, Vec<ItemPart>) {
    let speaker = speaker_of(message.text_of("role").as_deref());
    let text_parts = content_parts(message.get("content"), "content");
    if speaker == Speaker::Tool {
        let id = message.text_of("tool_call_id").or_else(|| message.text_of("name")).unwrap_or_default();
        let content = text_parts.into_iter().map(|part| part.block).collect();
        return (
            speaker,
            vec![ItemPart::new(
                ContentBlock::ToolResult { id, content, failed: false },
                PartLocation::Member("content"),
            )],
        );
    }
    let has_reasoning = |key: &&str| message.get(key).is_some_and(|reasoning| !reasoning.is_null());
    let reasoning = REASONING_KEYS
        .into_iter()
        .filter(has_reasoning)
        .map(|key| ItemPart::new(ContentBlock::Thinking, PartLocation::Member(key)));
    let calls = message.array("tool_calls");
    let calls = calls
        .iter()
        .flat_map(Array::items)
        .enumerate()
        .map(|(at, json)| ItemPart::new(parse_call(json), PartLocation::Call(at)));
    (speaker, reasoning.chain(text_parts).chain(calls).collect())
}

fn parse_call(json: &Json) -> ContentBlock {
    let read = || {
        let object = Object::from_json(json)?;
        let function = object.object("function").or_else(|| object.object("custom"))?;
        let arguments = function.text_of("arguments").or_else(|| function.text_of("input")).unwrap_or_default();
        call_block(object.text_of("id"), function.text_of("name"), arguments)
    };
    read().unwrap_or_else(|| unknown_block("tool_call", json))
}
