//! Limits on everything that a model returns.

use std::collections::BTreeSet;

use super::step::ModelReply;
use crate::base::ids::TurnNo;
use crate::base::message::{Incomplete, Message, ToolCall};
use crate::base::policy::Policy;

/// Longest stored arguments of a call, in bytes.
const ARGUMENTS_BYTES_MAX: usize = 65_536;
/// Longest tool name or call id, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Longest stored model error, in characters.
const ERROR_CHARS_MAX: usize = 500;

pub(super) struct SanitizedReply {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) refusals: Vec<String>,
    /// Why the reply may be incomplete.
    pub(super) incomplete: Option<Incomplete>,
}

/// Keeps at most `calls_left` calls, each with a usable id, name and arguments.
pub(super) fn sanitize_reply(
    reply: ModelReply,
    turn: TurnNo,
    round: usize,
    calls_left: u64,
    policy: &Policy,
) -> SanitizedReply {
    let ModelReply { mut text, mut calls, is_truncated } = reply;
    let mut refusals = Vec::new();
    let mut incomplete = is_truncated.then_some(Incomplete::AtLimit);
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
        text = truncate_message(text, policy);
    }
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (at, call) in calls.iter_mut().enumerate() {
        let mut suffix = 0;
        while call.id.is_empty() || call.id.chars().count() > NAME_CHARS_MAX || seen.contains(&call.id) {
            call.id = format!("call_{turn}_{round}_{at}_{suffix}");
            suffix += 1;
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
    SanitizedReply { text, calls, refusals, incomplete }
}

/// Cuts a text to the accepted message length.
pub fn truncate_message(mut text: String, policy: &Policy) -> String {
    let bytes_max = usize::try_from(policy.message_bytes_max).unwrap_or(usize::MAX);
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

/// Cuts an error to a sentence or two, without a provider's HTML page.
pub(super) fn truncate_error(message: &str) -> String {
    message.chars().take(ERROR_CHARS_MAX).collect()
}

/// The reply, marked if it is empty.
pub(super) fn reply_message(text: String, incomplete: Option<Incomplete>) -> Message {
    let incomplete = if text.is_empty() { incomplete.or(Some(Incomplete::NoAnswer)) } else { incomplete };
    Message { incomplete, ..Message::assistant(text) }
}
