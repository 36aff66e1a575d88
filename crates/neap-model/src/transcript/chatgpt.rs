//! ChatGPT exports (`conversations.json`): each conversation is a tree of messages; only the branch that ends at
//! `current_node` is read.

use std::collections::BTreeSet;

use crate::transcript::Program;
use neap_core::base::message::ToolCall;
use neap_core::client::transcript::{RecordBody, TranscriptRecord};
use neap_core::client::{ContentBlock, Speaker};

use super::export::ExportFormat;
use super::{ParsedTranscripts, Skipped, from_unix_seconds, uncounted_item};
use crate::wire::json::{Json, Object};

const SILENT_KINDS: [&str; 4] = ["model_editable_context", "reasoning_recap", "thoughts", "user_editable_context"];

pub(super) fn read(text: &str) -> ParsedTranscripts {
    let id_keys = &["conversation_id", "id"];
    ExportFormat {
        program: Program::ChatGpt,
        marker_key: "mapping",
        id_keys,
        title_key: "title",
        records: current_branch,
    }
    .read(text)
}

fn current_branch(conversation: &Object, skipped: &mut Skipped) -> Vec<TranscriptRecord> {
    let Some(mapping) = conversation.object("mapping") else { return Vec::new() };
    let last = || mapping.keys().last().map(std::borrow::Cow::into_owned);
    let mut next = conversation.text_of("current_node").or_else(last);
    let (mut seen, mut nodes) = (BTreeSet::new(), Vec::new());
    // `seen` stops at a cycle.
    while let Some(id) = next.filter(|id| seen.insert(id.clone())) {
        let Some(node) = mapping.object(&id) else { break };
        next = node.text_of("parent");
        nodes.push((id, node));
    }
    let mut open_call: Option<String> = None;
    let nodes = nodes.into_iter().rev();
    nodes.filter_map(|(id, node)| parse_record(&id, &node.object("message")?, &mut open_call, skipped)).collect()
}

fn parse_record(
    id: &str,
    message: &Object,
    open_call: &mut Option<String>,
    skipped: &mut Skipped,
) -> Option<TranscriptRecord> {
    let metadata = message.object("metadata").unwrap_or_default();
    let is_hidden = metadata.read("is_visually_hidden_from_conversation").unwrap_or(false);
    let role = message.object("author").and_then(|author| author.text_of("role")).unwrap_or_default();
    let recipient = message.text_of("recipient").unwrap_or_else(|| "all".to_owned());
    let content = message.object("content").unwrap_or_default();
    let kind = content.text_of("content_type").unwrap_or_default();
    if SILENT_KINDS.contains(&kind.as_str()) || (is_hidden && role != "tool") {
        skipped.silent += 1;
        return None;
    }
    let text = content_text(&content);
    let item = match role.as_str() {
        _ if text.trim().is_empty() => None,
        "user" => Some(uncounted_item(Speaker::User, vec![ContentBlock::Text(text)])),
        "assistant" if recipient != "all" => {
            *open_call = Some(id.to_owned());
            let call = ToolCall { id: id.to_owned(), name: recipient, arguments: text };
            Some(uncounted_item(Speaker::Assistant, vec![ContentBlock::ToolCall(call)]))
        }
        "assistant" => Some(uncounted_item(Speaker::Assistant, vec![ContentBlock::Text(text)])),
        // A tool message without a call comes from the program itself.
        "tool" => open_call.take().map(|id| {
            uncounted_item(
                Speaker::Tool,
                vec![ContentBlock::ToolResult { id, content: vec![ContentBlock::Text(text)], failed: false }],
            )
        }),
        "system" => None,
        other => {
            skipped.count_unknown(other);
            return None;
        }
    };
    let Some(item) = item else {
        skipped.silent += 1;
        return None;
    };
    let keys = vec![Program::ChatGpt.record_key(&["message", id])];
    Some(TranscriptRecord {
        keys,
        at: from_unix_seconds(message.read("create_time")),
        message_id: None,
        body: RecordBody::Message(item),
    })
}

/// The parts or the text; a part that is no text becomes `[kind]`.
fn content_text(content: &Object) -> String {
    let part = |json: &Json| match json.read::<String>() {
        Some(text) => text,
        None => {
            let object = Object::from_json(json).unwrap_or_default();
            let kind = || format!("[{}]", object.text_of("content_type").unwrap_or_else(|| "part".to_owned()));
            object.text_of("text").unwrap_or_else(kind)
        }
    };
    match content.array("parts") {
        Some(parts) => parts.items().map(part).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"),
        None => content.text_of("text").or_else(|| content.text_of("result")).unwrap_or_default(),
    }
}
