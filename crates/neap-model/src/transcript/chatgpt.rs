//! `conversations.json` of a ChatGPT export: each conversation a tree of messages, of which the branch that ends at `current_node` is
//! what was said last.

use std::collections::BTreeSet;

use neap_core::ingest::{Block, Speaker};
use neap_core::message::ToolCall;
use neap_core::transcript::{Program, Record, What};

use super::export::Export;
use super::{Left, Read, item, seconds};
use crate::wire::json::{Json, Object};

/// Kinds of content in which nothing is said to anybody.
const SILENT: [&str; 4] = ["model_editable_context", "reasoning_recap", "thoughts", "user_editable_context"];

pub(super) fn read(text: &str) -> Read {
    let ids = &["conversation_id", "id"];
    Export { program: Program::ChatGpt, mark: "mapping", ids, title: "title", records: branch }.read(text)
}

/// The messages from the root to the current node.
fn branch(conversation: &Object, left: &mut Left) -> Vec<Record> {
    let Some(mapping) = conversation.object("mapping") else { return Vec::new() };
    let last = || mapping.keys().last().map(std::borrow::Cow::into_owned);
    let mut next = conversation.text_of("current_node").or_else(last);
    let (mut seen, mut nodes) = (BTreeSet::new(), Vec::new());
    // A tree that goes round in a circle is read once.
    while let Some(id) = next.filter(|id| seen.insert(id.clone())) {
        let Some(node) = mapping.object(&id) else { break };
        next = node.text_of("parent");
        nodes.push((id, node));
    }
    let mut open: Option<String> = None;
    let nodes = nodes.into_iter().rev();
    nodes.filter_map(|(id, node)| record(&id, &node.object("message")?, &mut open, left)).collect()
}

fn record(id: &str, message: &Object, open: &mut Option<String>, left: &mut Left) -> Option<Record> {
    let about = message.object("metadata").unwrap_or_default();
    let is_hidden = about.read("is_visually_hidden_from_conversation").unwrap_or(false);
    let role = message.object("author").and_then(|author| author.text_of("role")).unwrap_or_default();
    let recipient = message.text_of("recipient").unwrap_or_else(|| "all".to_owned());
    let content = message.object("content").unwrap_or_default();
    let kind = content.text_of("content_type").unwrap_or_default();
    if SILENT.contains(&kind.as_str()) || (is_hidden && role != "tool") {
        left.silent += 1;
        return None;
    }
    let text = words(&content);
    let made = match role.as_str() {
        _ if text.trim().is_empty() => None,
        "user" => Some(item(Speaker::User, vec![Block::Text(text)])),
        "assistant" if recipient != "all" => {
            *open = Some(id.to_owned());
            let call = ToolCall { id: id.to_owned(), name: recipient, arguments: text };
            Some(item(Speaker::Assistant, vec![Block::Call(call)]))
        }
        "assistant" => Some(item(Speaker::Assistant, vec![Block::Text(text)])),
        // What a tool says without being asked is said by the program.
        "tool" => open.take().map(|id| {
            item(Speaker::Tool, vec![Block::Answer { id, content: vec![Block::Text(text)], failed: false }])
        }),
        "system" => None,
        other => {
            left.unknown(other);
            return None;
        }
    };
    let Some(item) = made else {
        left.silent += 1;
        return None;
    };
    let keys = vec![Program::ChatGpt.key(&["message", id])];
    Some(Record { keys, at: seconds(message.read("create_time")), message: None, what: What::Said(item) })
}

/// All words of a content: its parts, or its text; what is no text stands by its kind.
fn words(content: &Object) -> String {
    let part = |json: &Json| match json.read::<String>() {
        Some(text) => text,
        None => {
            let object = Object::of(json).unwrap_or_default();
            let kind = || format!("[{}]", object.text_of("content_type").unwrap_or_else(|| "part".to_owned()));
            object.text_of("text").unwrap_or_else(kind)
        }
    };
    match content.array("parts") {
        Some(parts) => parts.items().map(part).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"),
        None => content.text_of("text").or_else(|| content.text_of("result")).unwrap_or_default(),
    }
}
