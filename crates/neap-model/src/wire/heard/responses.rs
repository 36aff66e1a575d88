//! Items of Responses.

use neap_core::ingest::{Block, Speaker};

use super::super::json::{Json, Object};
use super::parts::{Part, Spot, blocks, call, content};
use super::speaker;

pub(super) fn parts(item: &Object, json: &Json) -> (Speaker, Vec<Part>) {
    let role = item.text_of("role");
    let kind =
        item.text_of("type").unwrap_or_else(|| if role.is_some() { "message".to_owned() } else { String::new() });
    if kind == "message" {
        return (speaker(role.as_deref()), content(item.get("content"), "content"));
    }
    if kind == "reasoning" {
        return (Speaker::Assistant, vec![Part::new(Block::Thinking, Spot::Item)]);
    }
    if let Some(id) = item.text_of("call_id") {
        if kind.ends_with("_output") {
            let content = blocks(item.get("output"));
            return (
                Speaker::Tool,
                vec![Part::new(Block::Answer { id, content, failed: false }, Spot::Member("output"))],
            );
        }
        let arguments = item.text_of("arguments").or_else(|| item.text_of("input"));
        // A call of a kind of its own is known by all that it says.
        let arguments = arguments.unwrap_or_else(|| without_bookkeeping(item));
        let name = item.text_of("name").unwrap_or_else(|| kind.clone());
        if let Some(block) = call(Some(id), Some(name), arguments) {
            return (Speaker::Assistant, vec![Part::new(block, Spot::Item)]);
        }
    }
    let speaker = match kind.as_str() {
        // What sets the conversation up, and says nothing in it.
        "configuration_update" | "additional_tools" => Speaker::System,
        _ if kind.ends_with("_call") => Speaker::Assistant,
        _ => speaker(role.as_deref()),
    };
    (speaker, vec![Part::unknown(&kind, json)])
}

fn without_bookkeeping(item: &Object) -> String {
    let mut said = item.clone();
    for key in ["id", "status", "call_id", "type"] {
        said.remove(key);
    }
    said.to_json().text().to_owned()
}
