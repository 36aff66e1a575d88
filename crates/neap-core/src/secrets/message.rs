//! Secrets in messages: in what is said, in the arguments of calls, in names and ids.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::{Masking, holds_key};
use crate::ingest::{Block, Item};
use crate::message::{Incomplete, Message, ToolCall};

/// A message without its secrets, and how many there were.
pub fn mask_message(masking: Masking, mut message: Message) -> (Message, u32) {
    if masking == Masking::Off {
        return (message, 0);
    }
    let (content, mut places) = masking.text(&message.content);
    if let Cow::Owned(content) = content {
        message.content = content.into();
    }
    if let Some(name) = &mut message.name {
        places += replace(masking, name);
    }
    if let Some(id) = &mut message.tool_call_id {
        *id = mask_key(masking, id);
    }
    if let Some(Incomplete::BrokenOff { reason }) = &mut message.incomplete {
        places += replace(masking, reason);
    }
    for call in &mut message.tool_calls {
        call.id = mask_key(masking, &call.id);
        places += replace(masking, &mut call.name);
        let (arguments, more) = masking.text(&call.arguments);
        if let Cow::Owned(arguments) = arguments {
            call.arguments = arguments;
        }
        places += more;
    }
    (message, places)
}

/// A call without its secrets.
pub fn mask_call(masking: Masking, call: ToolCall) -> ToolCall {
    let mut message = Message::assistant("");
    message.tool_calls.push(call);
    mask_message(masking, message).0.tool_calls.remove(0)
}

fn replace(masking: Masking, text: &mut String) -> u32 {
    let (safe, places) = masking.text(text);
    if let Cow::Owned(safe) = safe {
        *text = safe;
    }
    places
}

/// What others know something by, as it may be stored: itself; where it holds a key or token, a digest of it, so that two
/// that differ stay two. What is short enough to be guessed from a digest is only masked.
pub fn mask_key(masking: Masking, key: &str) -> String {
    let (masked, places) = masking.text(key);
    if places == 0 || !holds_key(key) {
        return masked.into_owned();
    }
    format!("masked-{}", digest(key))
}

pub(super) fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// An item of a client's history without its secrets, for the record: what goes on to a provider is not this.
pub fn mask_item(masking: Masking, mut item: Item) -> (Item, u32) {
    if masking == Masking::Off {
        return (item, 0);
    }
    // What is shared with the request is copied only if there is something to hide.
    let mut places = 0;
    let masked: Vec<Option<Block>> =
        item.blocks.iter().map(|block| mask_block(masking, block, &mut places)).collect();
    if masked.iter().any(Option::is_some) {
        for (block, masked) in item.blocks.iter_mut().zip(masked) {
            if let Some(masked) = masked {
                *block = masked;
            }
        }
    }
    (item, places)
}

/// A block without its secrets; none if it has none.
fn mask_block(masking: Masking, block: &Block, places: &mut u32) -> Option<Block> {
    match block {
        Block::Text(text) => {
            let (masked, more) = masking.text(text);
            *places += more;
            (more > 0).then(|| Block::Text(masked.into_owned()))
        }
        Block::Call(call) => {
            let masked = mask_call(masking, call.clone());
            let is_changed = masked != *call;
            *places += u32::from(is_changed);
            is_changed.then_some(Block::Call(masked))
        }
        Block::Answer { id, content, failed } => {
            let safe_id = mask_key(masking, id);
            let masked: Vec<Option<Block>> =
                content.iter().map(|block| mask_block(masking, block, places)).collect();
            if safe_id == *id && masked.iter().all(Option::is_none) {
                return None;
            }
            let whole = content.iter().zip(masked).map(|(block, masked)| masked.unwrap_or_else(|| block.clone()));
            Some(Block::Answer { id: safe_id, content: whole.collect(), failed: *failed })
        }
        Block::Other { kind, json } => {
            let (safe, more) = masking.text(kind);
            *places += more;
            (more > 0).then(|| Block::Other { kind: safe.into_owned(), json: json.clone() })
        }
        Block::Thinking => None,
    }
}
