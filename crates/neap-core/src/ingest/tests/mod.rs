//! The rules for clients' requests, line by line of what is known of clients.

mod bounds;
mod callers;
mod canon;
mod classes;
mod identities;
mod random;
mod shrinking;
mod telling;
mod topics;
mod verdicts;

use serde_json::json;

use super::{
    Api, Block, Bounds, Chain, Costs, Cut, Endpoint, Frozen, Heard, Item, Piece, Signals, Speaker, Tenant,
};
use crate::ids::TurnNo;
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

/// What a piece costs, counted as items are here.
pub(super) fn piece_tokens(heard: &Heard, piece: &Piece) -> Tokens {
    match piece {
        Piece::Note { text, .. } => WordCounter.count(text),
        Piece::Item { at, without, short, more } => {
            let whole = &heard.items[*at];
            let mut blocks = whole.blocks.to_vec();
            for (nth, words) in short {
                blocks[*nth] = match &blocks[*nth] {
                    Block::Call(call) => Block::Call(ToolCall { arguments: words.to_string(), ..call.clone() }),
                    Block::Answer { id, failed, .. } => {
                        Block::Answer { id: id.clone(), content: vec![text(words)], failed: *failed }
                    }
                    Block::Text(_) | Block::Thinking | Block::Other { .. } => text(words),
                };
            }
            let kept = blocks.into_iter().enumerate().filter(|(nth, _)| !without.contains(nth));
            let more = more.as_deref().map_or(Tokens::ZERO, |text| WordCounter.count(text));
            item(whole.speaker, kept.map(|(_, block)| block).collect()).tokens + more
        }
    }
}

pub(super) fn freeze(heard: &Heard, cut: &Cut, note: &str, bounds: &Bounds) -> Result<Frozen, Tokens> {
    let chain = Chain::of(&tenant(), heard);
    let piece = |piece: &Piece| piece_tokens(heard, piece);
    let costs = Costs { counter: &WordCounter, piece: &piece, turn_of: &|at| TurnNo(at as u64) };
    Frozen::new(1, (heard, &chain), cut, note, costs, bounds)
}

pub(super) fn tenant() -> Tenant {
    Tenant::of_key(Some("sk-one"))
}
