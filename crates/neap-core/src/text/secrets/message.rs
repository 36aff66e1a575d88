//! Masks secrets in messages: content, tool-call arguments, names and ids.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::{Masking, has_key};
use crate::base::message::{Incomplete, Message, ToolCall};

pub fn mask_message(masking: Masking, mut message: Message) -> (Message, u32) {
    if masking == Masking::Off {
        return (message, 0);
    }
    let (content, mut places) = masking.mask(&message.content);
    if let Cow::Owned(content) = content {
        message.content = content.into();
    }
    if let Some(name) = &mut message.name {
        places += mask_in_place(masking, name);
    }
    if let Some(id) = &mut message.tool_call_id {
        *id = mask_id(masking, id);
    }
    if let Some(Incomplete::BrokenOff { reason }) = &mut message.incomplete {
        places += mask_in_place(masking, reason);
    }
    for call in &mut message.tool_calls {
        call.id = mask_id(masking, &call.id);
        places += mask_in_place(masking, &mut call.name);
        let (arguments, count) = masking.mask(&call.arguments);
        if let Cow::Owned(arguments) = arguments {
            call.arguments = arguments;
        }
        places += count;
    }
    (message, places)
}

pub fn mask_call(masking: Masking, call: ToolCall) -> ToolCall {
    let mut message = Message::assistant("");
    message.tool_calls.push(call);
    mask_message(masking, message).0.tool_calls.remove(0)
}

fn mask_in_place(masking: Masking, text: &mut String) -> u32 {
    let (safe, places) = masking.mask(text);
    if let Cow::Owned(safe) = safe {
        *text = safe;
    }
    places
}

/// An external id that may be stored. If it contains a key or token, it becomes a digest, so different ids stay
/// different; anything short enough to be guessed from a digest is only masked.
pub fn mask_id(masking: Masking, key: &str) -> String {
    let (masked, places) = masking.mask(key);
    if places == 0 || !has_key(key) {
        return masked.into_owned();
    }
    format!("masked-{}", hex_digest(key))
}

pub(super) fn hex_digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
