//! OpenAI Responses.

use neap_core::client::{ContentBlock, Speaker};

use super::super::json::{Json, Object};
use super::parts::{ItemPart, PartLocation, call_block, content_blocks, content_parts};
use super::speaker_of;

pub(super) fn parts(item: &Object, json: &Json) -> (Speaker, Vec<ItemPart>) {
    let role = item.text_of("role");
    let kind =
        item.text_of("type").unwrap_or_else(|| if role.is_some() { "message".to_owned() } else { String::new() });
    if kind == "message" {
        return (speaker_of(role.as_deref()), content_parts(item.get("content"), "content"));
    }
    // What another agent says to this one: a task for a subagent, or a subagent's report.
    if kind == "agent_message" {
        return (Speaker::User, content_parts(item.get("content"), "content"));
    }
    if kind == "reasoning" {
        return (Speaker::Assistant, vec![ItemPart::new(ContentBlock::Thinking, PartLocation::Item)]);
    }
    if let Some(id) = item.text_of("call_id") {
        if kind.ends_with("_output") {
            let content = content_blocks(item.get("output"));
            return (
                Speaker::Tool,
                vec![ItemPart::new(
                    ContentBlock::ToolResult { id, content, failed: false },
                    PartLocation::Member("output"),
                )],
            );
        }
        let arguments = item.text_of("arguments").or_else(|| item.text_of("input"));
        // A call of another type is represented by all of its fields.
        let arguments = arguments.unwrap_or_else(|| without_bookkeeping(item));
        let name = item.text_of("name").unwrap_or_else(|| kind.clone());
        if let Some(block) = call_block(Some(id), Some(name), arguments) {
            return (Speaker::Assistant, vec![ItemPart::new(block, PartLocation::Item)]);
        }
    }
    let speaker = match kind.as_str() {
        // These configure the conversation and carry no message.
        "configuration_update" | "additional_tools" => Speaker::System,
        _ if kind.ends_with("_call") => Speaker::Assistant,
        _ => speaker_of(role.as_deref()),
    };
    (speaker, vec![ItemPart::unknown(&kind, json)])
}

fn without_bookkeeping(item: &Object) -> String {
    let mut object = item.clone();
    for key in ["id", "status", "call_id", "type"] {
        object.remove(key);
    }
    object.to_json().text().to_owned()
}
