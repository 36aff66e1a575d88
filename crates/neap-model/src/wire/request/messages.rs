//! Anthropic Messages.

use neap_core::client::{ContentBlock, Speaker};

use super::super::json::{Json, Object};
use super::count_cache_marks;
use super::parts::{ItemPart, PartLocation, call_block, content_blocks, content_parts, plain_block};
use super::speaker_of;

pub(super) fn parts(message: &Object) -> (Speaker, Vec<ItemPart>) {
    let speaker = speaker_of(message.text_of("role").as_deref());
    let Some(list) = message.array("content") else {
        return (speaker, content_parts(message.get("content"), "content"));
    };
    let parts =
        list.items().enumerate().map(|(at, json)| ItemPart::new(parse_block(json), PartLocation::Content(at)));
    (speaker, parts.collect())
}

fn parse_block(json: &Json) -> ContentBlock {
    let Some(object) = Object::from_json(json) else { return plain_block(json) };
    match object.text_of("type").as_deref() {
        Some("thinking" | "redacted_thinking") => ContentBlock::Thinking,
        Some("tool_use") => {
            let arguments = object.get("input").map_or_else(String::new, |input| input.text().to_owned());
            call_block(object.text_of("id"), object.text_of("name"), arguments)
                .unwrap_or_else(|| plain_block(json))
        }
        Some("tool_result") => ContentBlock::ToolResult {
            id: object.text_of("tool_use_id").unwrap_or_default(),
            content: content_blocks(object.get("content")),
            failed: object.read("is_error").unwrap_or(false),
        },
        Some(_) | None => plain_block(json),
    }
}

/// Counts cache breakpoints, including those inside tool results.
pub(super) fn cache_marks(json: &Json) -> usize {
    let Some(list) = Object::from_json(json).and_then(|message| message.array("content")) else { return 0 };
    let inside = list.objects().map(|block| count_cache_marks(block.array("content").as_ref()));
    count_cache_marks(Some(&list)) + inside.sum::<usize>()
}
