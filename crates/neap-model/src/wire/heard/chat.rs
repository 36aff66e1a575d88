//! Messages of Chat Completions.

use neap_core::ingest::{Block, Speaker};

use super::super::json::{Array, Json, Object};
use super::parts::{Part, Spot, call, content, unknown};
use super::speaker;

/// Where other servers put what the model thought.
pub(super) const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

pub(super) fn parts(message: &Object) -> (Speaker, Vec<Part>) {
    let speaker = speaker(message.text_of("role").as_deref());
    let said = content(message.get("content"), "content");
    if speaker == Speaker::Tool {
        let id = message.text_of("tool_call_id").or_else(|| message.text_of("name")).unwrap_or_default();
        let content = said.into_iter().map(|part| part.block).collect();
        return (speaker, vec![Part::new(Block::Answer { id, content, failed: false }, Spot::Member("content"))]);
    }
    let has_thoughts = |key: &&str| message.get(key).is_some_and(|thoughts| !thoughts.is_null());
    let thoughts =
        THOUGHTS.into_iter().filter(has_thoughts).map(|key| Part::new(Block::Thinking, Spot::Member(key)));
    let calls = message.array("tool_calls");
    let calls =
        calls.iter().flat_map(Array::items).enumerate().map(|(at, json)| Part::new(one(json), Spot::Call(at)));
    (speaker, thoughts.chain(said).chain(calls).collect())
}

fn one(json: &Json) -> Block {
    let read = || {
        let object = Object::of(json)?;
        let function = object.object("function").or_else(|| object.object("custom"))?;
        let arguments = function.text_of("arguments").or_else(|| function.text_of("input")).unwrap_or_default();
        call(object.text_of("id"), function.text_of("name"), arguments)
    };
    read().unwrap_or_else(|| unknown("tool_call", json))
}
