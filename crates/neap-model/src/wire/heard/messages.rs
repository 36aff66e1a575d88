//! Messages of Anthropic's.

use neap_core::ingest::{Block, Speaker};

use super::super::json::{Json, Object};
use super::marks_in;
use super::parts::{Part, Spot, blocks, call, content, plain};
use super::speaker;

pub(super) fn parts(message: &Object) -> (Speaker, Vec<Part>) {
    let speaker = speaker(message.text_of("role").as_deref());
    let Some(list) = message.array("content") else {
        return (speaker, content(message.get("content"), "content"));
    };
    let parts = list.items().enumerate().map(|(at, json)| Part::new(block(json), Spot::Content(at)));
    (speaker, parts.collect())
}

fn block(json: &Json) -> Block {
    let Some(object) = Object::of(json) else { return plain(json) };
    match object.text_of("type").as_deref() {
        Some("thinking" | "redacted_thinking") => Block::Thinking,
        Some("tool_use") => {
            let arguments = object.get("input").map_or_else(String::new, |input| input.text().to_owned());
            call(object.text_of("id"), object.text_of("name"), arguments).unwrap_or_else(|| plain(json))
        }
        Some("tool_result") => Block::Answer {
            id: object.text_of("tool_use_id").unwrap_or_default(),
            content: blocks(object.get("content")),
            failed: object.read("is_error").unwrap_or(false),
        },
        Some(_) | None => plain(json),
    }
}

/// Places in a message that the client asks to be cached up to, those inside of answers included.
pub(super) fn marks(json: &Json) -> usize {
    let Some(list) = Object::of(json).and_then(|message| message.array("content")) else { return 0 };
    let inside = list.objects().map(|block| marks_in(block.array("content").as_ref()));
    marks_in(Some(&list)) + inside.sum::<usize>()
}
