//! Claude.ai exports (`conversations.json`): `chat_messages`, each with its text and, in newer exports, its
//! content blocks.

use crate::transcript::Program;
use neap_core::base::message::ToolCall;
use neap_core::client::transcript::{RecordBody, TranscriptRecord};
use neap_core::client::{ContentBlock, HistoryItem, Speaker, WireApi};

use super::export::ExportFormat;
use super::{ParsedTranscripts, Skipped, parse_timestamp, uncounted_item};
use crate::wire::json::{Array, Json, Object};
use crate::wire::request::parse_item;

pub(super) fn read(text: &str) -> ParsedTranscripts {
    let marker_key = "chat_messages";
    ExportFormat {
        program: Program::ClaudeAi,
        marker_key,
        id_keys: &["uuid"],
        title_key: "name",
        records: conversation_records,
    }
    .read(text)
}

fn conversation_records(conversation: &Object, skipped: &mut Skipped) -> Vec<TranscriptRecord> {
    let messages = conversation.array("chat_messages").unwrap_or_default();
    messages.objects().flat_map(|message| message_records(&message, skipped)).collect()
}

/// One record, or several if the message called tools.
fn message_records(message: &Object, skipped: &mut Skipped) -> Vec<TranscriptRecord> {
    let Some(uuid) = message.text_of("uuid") else {
        skipped.damaged += 1;
        return Vec::new();
    };
    let speaker = match message.text_of("sender").as_deref() {
        Some("human") => Speaker::User,
        Some("assistant") => Speaker::Assistant,
        other => {
            skipped.count_unknown(other.unwrap_or_default());
            return Vec::new();
        }
    };
    let mut items = MessageItems { speaker, done: Vec::new(), blocks: Vec::new(), calls: 0, open: None };
    for block in message.array("content").unwrap_or_default().items() {
        items.add_block(&uuid, block);
    }
    let text = message.text_of("text").unwrap_or_default();
    if items.done.is_empty() && items.blocks.is_empty() && !text.trim().is_empty() {
        items.blocks.push(ContentBlock::Text(text));
    }
    for file in message.array("attachments").unwrap_or_default().objects() {
        let name = file.text_of("file_name").unwrap_or_default();
        if let Some(content) = file.text_of("extracted_content").filter(|content| !content.trim().is_empty()) {
            items.blocks.insert(0, ContentBlock::Text(format!("[file {name}]\n{content}")));
        }
    }
    items.finish_item();
    if items.done.is_empty() {
        skipped.silent += 1;
    }
    let at = parse_timestamp(message.text_of("created_at"));
    let record = |(part, item): (usize, HistoryItem)| TranscriptRecord {
        keys: vec![Program::ClaudeAi.record_key(&["message", &uuid, &part.to_string()])],
        at,
        message_id: None,
        body: RecordBody::Message(item),
    };
    items.done.into_iter().enumerate().map(record).collect()
}

/// Collects the items of a message: tool results are part of the message that made the call.
struct MessageItems {
    speaker: Speaker,
    done: Vec<HistoryItem>,
    blocks: Vec<ContentBlock>,
    calls: usize,
    open: Option<String>,
}

impl MessageItems {
    fn add_block(&mut self, uuid: &str, json: &Json) {
        let object = Object::from_json(json).unwrap_or_default();
        match object.text_of("type").as_deref() {
            Some("tool_use") => {
                self.calls += 1;
                let id = object.text_of("id").unwrap_or_else(|| format!("{uuid}.{}", self.calls));
                self.open = Some(id.clone());
                let name = object.text_of("name").unwrap_or_else(|| "tool".to_owned());
                let arguments = object.get("input").map_or_else(String::new, |input| input.text().to_owned());
                self.blocks.push(ContentBlock::ToolCall(ToolCall { id, name, arguments }));
            }
            Some("tool_result") => {
                let id = object.text_of("tool_use_id").or_else(|| self.open.take()).unwrap_or_default();
                let message = Object::new().with("role", "user").with_json("content", single_item_array(json));
                self.finish_item();
                let mut result = parse_item(WireApi::Messages, &message.to_json());
                for block in result.blocks.iter_mut() {
                    if let ContentBlock::ToolResult { id: result_id, .. } = block {
                        result_id.clone_from(&id);
                    }
                }
                self.done.push(result);
            }
            Some("thinking" | "redacted_thinking" | "token_budget") => {}
            Some(_) | None => {
                let message = Object::new().with("role", "user").with_json("content", single_item_array(json));
                self.blocks.extend(parse_item(WireApi::Messages, &message.to_json()).blocks.iter().cloned());
            }
        }
    }

    fn finish_item(&mut self) {
        let blocks = std::mem::take(&mut self.blocks);
        let item = uncounted_item(self.speaker, blocks);
        if !item.has_no_content() && !item.blocks.is_empty() {
            self.done.push(item);
        }
    }
}

fn single_item_array(json: &Json) -> Json {
    std::iter::once(json.clone()).collect::<Array>().to_json()
}
