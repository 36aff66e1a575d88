//! Checks every request that reaches a model: within the budget (I1), tool pairs whole (I7), no other session's
//! words (I11), and not before its message is durable (I2).

use neap_core::base::message::{Message, Role};
use neap_core::base::tokens::TokenCounter;
use neap_core::context::tools::ToolSpec;
use neap_core::session::event::{Event, RecordedEvent, TurnEvent};
use neap_core::turn::ModelRequest;

use super::Violations;
use crate::trace::SeenRequest;

/// A message of at most this many tokens is never cut.
const NEVER_CUT_TOKENS: u64 = 60;

pub struct Expected<'a> {
    pub counter: &'a dyn TokenCounter,
    pub budget: u64,
    pub acknowledged: &'a [RecordedEvent],
    /// Words that only other sessions use.
    pub foreign: &'a [String],
}

pub fn check(seen: &SeenRequest, expected: &Expected<'_>, out: &mut Violations) {
    let request = &seen.request;
    let tokens = messages_tokens(expected.counter, &request.messages)
        + tools_tokens(expected.counter, request.tools.iter());
    out.check("I1", tokens <= expected.budget, || {
        format!("a request of {tokens} tokens, budget {}", expected.budget)
    });
    check_pairs(request, out);
    for message in &request.messages {
        for canary in expected.foreign {
            out.check("I11", !message.content.contains(canary.as_str()), || {
                format!("the word {canary} of another session is in a request of {}", seen.session)
            });
        }
    }
    let systems = request.messages.iter().filter(|message| message.role == Role::System).count();
    let first_is_system = request.messages.first().is_some_and(|message| message.role == Role::System);
    out.check("I7", systems == 1 && first_is_system, || format!("{systems} system messages"));
    check_durable_first(seen, expected, out);
}

/// Counts a request's tokens independently: four around each message, twelve around each call, three to prime the
/// reply.
pub fn messages_tokens(counter: &dyn TokenCounter, messages: &[Message]) -> u64 {
    let count = |text: &str| counter.count(text).0;
    let mut sum = 3;
    for message in messages {
        sum += 4 + count(&message.content);
        for call in &message.tool_calls {
            sum += 12 + count(&call.id) + count(&call.name) + count(&call.arguments);
        }
        if let Some(id) = &message.tool_call_id {
            sum += count(id);
        }
    }
    sum
}

pub fn tools_tokens<'a>(counter: &dyn TokenCounter, tools: impl Iterator<Item = &'a ToolSpec>) -> u64 {
    let mut sum = 0;
    for tool in tools {
        let ToolSpec { name, description, parameters } = tool;
        let function = serde_json::json!({"name": name, "description": description, "parameters": parameters});
        let wire = serde_json::json!({"type": "function", "function": function});
        sum += counter.count(&wire.to_string()).0;
    }
    sum
}

/// Each call is followed at once by its result, each result follows its call.
fn check_pairs(request: &ModelRequest, out: &mut Violations) {
    let mut awaited: Vec<&str> = Vec::new();
    for message in &request.messages {
        if message.role == Role::Tool {
            let id = message.tool_call_id.as_deref();
            let is_next = awaited.first().copied() == id && id.is_some();
            out.check("I7", is_next, || format!("a result for {id:?} where {awaited:?} are awaited"));
            if is_next {
                awaited.remove(0);
            }
            continue;
        }
        out.check("I7", awaited.is_empty(), || format!("no result follows the calls {awaited:?}"));
        awaited = message.tool_calls.iter().map(|call| call.id.as_str()).collect();
        let mut distinct = awaited.clone();
        distinct.sort_unstable();
        distinct.dedup();
        out.check("I7", distinct.len() == awaited.len(), || format!("two calls share an id: {awaited:?}"));
        out.check("I7", awaited.iter().all(|id| !id.is_empty()), || "a call without an id".to_owned());
    }
    out.check("I7", awaited.is_empty(), || format!("no result follows the calls {awaited:?}"));
}

/// The message was durable before the model was asked, and it is in the request.
fn check_durable_first(seen: &SeenRequest, expected: &Expected<'_>, out: &mut Violations) {
    let before = expected.acknowledged.get(..seen.acknowledged).unwrap_or(expected.acknowledged);
    let is_durable = before.iter().rev().any(|recorded| {
        matches!(&recorded.event, Event::Turn(TurnEvent::Started { message, .. })
            if *message.message.content == *seen.message)
    });
    out.check("I2", is_durable, || format!("a model was asked before {:?} was durable", seen.message));
    if expected.counter.count(&seen.message).0 <= NEVER_CUT_TOKENS {
        // The mark is defused in any text that is not Neap's own.
        let shown = seen.message.replace("§[", "§ [");
        let is_there = seen.request.messages.iter().any(|message| *message.content == *shown);
        out.check("I2", is_there, || format!("the message {:?} is not in its own request", seen.message));
    }
}
