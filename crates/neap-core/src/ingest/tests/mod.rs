//! The rules for clients' requests, line by line of what is known of clients.

mod bounds;
mod callers;
mod canon;
mod classes;
mod identities;
mod random;
mod telling;
mod topics;
mod verdicts;

use serde_json::json;

use super::{Api, Block, Endpoint, Heard, Item, Signals, Speaker, Tenant};
use crate::message::ToolCall;
use crate::testing::WordCounter;
use crate::tokens::{TokenCounter, Tokens};

/// What surrounds an item.
const AROUND: u64 = 4;

pub(super) fn item(speaker: Speaker, blocks: Vec<Block>) -> Item {
    let words: Tokens = blocks.iter().map(|block| WordCounter.count(&format!("{block:?}"))).sum();
    Item { speaker, blocks: blocks.into(), tokens: words + Tokens(AROUND), marks: 0 }
}

pub(super) fn text(words: &str) -> Block {
    Block::Text(words.to_owned())
}

pub(super) fn system(words: &str) -> Item {
    item(Speaker::System, vec![text(words)])
}

pub(super) fn user(words: &str) -> Item {
    item(Speaker::User, vec![text(words)])
}

pub(super) fn assistant(words: &str) -> Item {
    item(Speaker::Assistant, vec![text(words)])
}

pub(super) fn call(id: &str) -> Block {
    Block::Call(ToolCall { id: id.to_owned(), name: "run".to_owned(), arguments: r#"{"a": 1}"#.to_owned() })
}

pub(super) fn answer(id: &str, words: &str) -> Block {
    Block::Answer { id: id.to_owned(), content: vec![text(words)], failed: false }
}

/// An assistant that calls.
pub(super) fn calls(id: &str) -> Item {
    item(Speaker::Assistant, vec![Block::Thinking, text("let me see"), call(id)])
}

/// What a call answered.
pub(super) fn answers(id: &str, words: &str) -> Item {
    item(Speaker::User, vec![answer(id, words)])
}

pub(super) fn unknown(kind: &str) -> Block {
    Block::Other { kind: kind.to_owned(), json: json!({ "type": kind }) }
}

pub(super) fn heard(items: Vec<Item>) -> Heard {
    Heard {
        api: Api::Messages,
        endpoint: Endpoint::Answer,
        signals: Signals::default(),
        system: String::new(),
        tools: 1,
        fixed: Tokens(10),
        marks: 2,
        reply_max: None,
        is_rehearsal: false,
        opened: None,
        items,
    }
}

pub(super) fn tenant() -> Tenant {
    Tenant::of_key(Some("sk-one"))
}
