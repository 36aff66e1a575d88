//! What a model said, made safe to keep: a limit on everything that comes from outside.

use std::collections::BTreeSet;

use super::step::ModelReply;
use crate::ids::TurnNo;
use crate::message::{Incomplete, Message, ToolCall};
use crate::policy::Policy;

/// Longest arguments of a call that are kept, in bytes.
const ARGUMENTS_BYTES_MAX: usize = 65_536;
/// Longest tool name or call id, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Longest error of a model that is kept, in characters.
const ERROR_CHARS_MAX: usize = 500;

pub(super) struct Heard {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) refusals: Vec<String>,
    /// Why there may be less of it than there might have been.
    pub(super) incomplete: Option<Incomplete>,
}

/// Keeps at most `calls_left` calls, each with a usable id, name and arguments.
pub(super) fn hear(reply: ModelReply, turn: TurnNo, round: usize, calls_left: u64, policy: &Policy) -> Heard {
    let ModelReply { mut text, mut calls, is_cut } = reply;
    let mut refusals = Vec::new();
    let mut incomplete = is_cut.then_some(Incomplete::AtLimit);
    let keep = usize::try_from(calls_left).unwrap_or(usize::MAX);
    if calls.len() > keep {
        let dropped = calls.len() - keep;
        refusals.push(format!("{dropped} tool calls dropped: over the limit for one turn"));
        calls.truncate(keep);
        if calls.is_empty() && text.trim().is_empty() {
            incomplete = Some(Incomplete::CallsExhausted);
        }
    }
    if text.len() as u64 > policy.message_bytes_max {
        refusals.push(format!("the reply was cut to {} bytes", policy.message_bytes_max));
        text = limit(text, policy);
    }
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (at, call) in calls.iter_mut().enumerate() {
        let mut again = 0;
        while call.id.is_empty() || call.id.chars().count() > NAME_CHARS_MAX || seen.contains(&call.id) {
            call.id = format!("call_{turn}_{round}_{at}_{again}");
            again += 1;
        }
        seen.insert(call.id.clone());
        if let Some((cut, _)) = call.name.char_indices().nth(NAME_CHARS_MAX) {
            call.name.truncate(cut);
        }
        if call.arguments.len() > ARGUMENTS_BYTES_MAX {
            refusals.push(format!("arguments of {} bytes were not kept", call.arguments.len()));
            call.arguments = format!("{{\"dropped_bytes\":{}}}", call.arguments.len());
        }
    }
    Heard { text, calls, refusals, incomplete }
}

/// A text of at most the length that is accepted.
pub fn limit(mut text: String, policy: &Policy) -> String {
    let bytes_max = usize::try_from(policy.message_bytes_max).unwrap_or(usize::MAX);
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

/// An error in a sentence or two, not with a page of a provider's HTML.
pub(super) fn shorten(message: &str) -> String {
    message.chars().take(ERROR_CHARS_MAX).collect()
}

/// The reply, or that there was none.
pub(super) fn reply(text: String, incomplete: Option<Incomplete>) -> Message {
    let incomplete = if text.is_empty() { incomplete.or(Some(Incomplete::NoAnswer)) } else { incomplete };
    Message { incomplete, ..Message::assistant(text) }
}
