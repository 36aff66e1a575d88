//! `conversations.json` of a Claude.ai export: `chat_messages`, each with its text and, in newer ones, its content block by block.

use neap_core::ingest::{Api, Block, Item, Speaker};
use neap_core::message::ToolCall;
use neap_core::transcript::{Program, Record, What};

use super::export::Export;
use super::{Left, Read, item, stamp};
use crate::wire::heard::uncounted;
use crate::wire::json::{Array, Json, Object};

pub(super) fn read(text: &str) -> Read {
    let mark = "chat_messages";
    Export { program: Program::ClaudeAi, mark, ids: &["uuid"], title: "name", records: said }.read(text)
}

fn said(conversation: &Object, left: &mut Left) -> Vec<Record> {
    let messages = conversation.array("chat_messages").unwrap_or_default();
    messages.objects().flat_map(|message| records(&message, left)).collect()
}

/// The records of a message: one, or several where tools were called in it.
fn records(message: &Object, left: &mut Left) -> Vec<Record> {
    let Some(uuid) = message.text_of("uuid") else {
        left.damaged += 1;
        return Vec::new();
    };
    let speaker = match message.text_of("sender").as_deref() {
        Some("human") => Speaker::User,
        Some("assistant") => Speaker::Assistant,
        other => {
            left.unknown(other.unwrap_or_default());
            return Vec::new();
        }
    };
    let mut items = Items { speaker, done: Vec::new(), blocks: Vec::new(), calls: 0, open: None };
    for block in message.array("content").unwrap_or_default().items() {
        items.take(&uuid, block);
    }
    let text = message.text_of("text").unwrap_or_default();
    if items.done.is_empty() && items.blocks.is_empty() && !text.trim().is_empty() {
        items.blocks.push(Block::Text(text));
    }
    for file in message.array("attachments").unwrap_or_default().objects() {
        let name = file.text_of("file_name").unwrap_or_default();
        if let Some(content) = file.text_of("extracted_content").filter(|content| !content.trim().is_empty()) {
            items.blocks.insert(0, Block::Text(format!("[file {name}]\n{content}")));
        }
    }
    items.end();
    if items.done.is_empty() {
        left.silent += 1;
    }
    let at = stamp(message.text_of("created_at"));
    let record = |(part, item): (usize, Item)| Record {
        keys: vec![Program::ClaudeAi.key(&["message", &uuid, &part.to_string()])],
        at,
        message: None,
        what: What::Said(item),
    };
    items.done.into_iter().enumerate().map(record).collect()
}

/// The items of a message on the way: what a tool answered stands in the message that called it.
struct Items {
    speaker: Speaker,
    done: Vec<Item>,
    blocks: Vec<Block>,
    calls: usize,
    open: Option<String>,
}

impl Items {
    fn take(&mut self, uuid: &str, json: &Json) {
        let object = Object::of(json).unwrap_or_default();
        match object.text_of("type").as_deref() {
            Some("tool_use") => {
                self.calls += 1;
                let id = object.text_of("id").unwrap_or_else(|| format!("{uuid}.{}", self.calls));
                self.open = Some(id.clone());
                let name = object.text_of("name").unwrap_or_else(|| "tool".to_owned());
                let arguments = object.get("input").map_or_else(String::new, |input| input.text().to_owned());
                self.blocks.push(Block::Call(ToolCall { id, name, arguments }));
            }
            Some("tool_result") => {
                let id = object.text_of("tool_use_id").or_else(|| self.open.take()).unwrap_or_default();
                let message = Object::new().with("role", "user").with_json("content", array(json));
                self.end();
                let mut answer = uncounted(Api::Messages, &message.to_json());
                for block in answer.blocks.iter_mut() {
                    if let Block::Answer { id: of, .. } = block {
                        of.clone_from(&id);
                    }
                }
                self.done.push(answer);
            }
            Some("thinking" | "redacted_thinking" | "token_budget") => {}
            Some(_) | None => {
                let message = Object::new().with("role", "user").with_json("content", array(json));
                self.blocks.extend(uncounted(Api::Messages, &message.to_json()).blocks.iter().cloned());
            }
        }
    }

    fn end(&mut self) {
        let blocks = std::mem::take(&mut self.blocks);
        let made = item(self.speaker, blocks);
        if !made.is_hollow() && !made.blocks.is_empty() {
            self.done.push(made);
        }
    }
}

/// A list of one.
fn array(json: &Json) -> Json {
    std::iter::once(json.clone()).collect::<Array>().to_json()
}
