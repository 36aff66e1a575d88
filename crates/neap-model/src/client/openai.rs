//! OpenAI Chat Completions: request bodies and the stream decoder.

use neap_core::base::message::{Message, ToolCall};

use super::decoder::{DecodedEvent, DecodedReply, StreamDecoder, parse_event};
use super::outgoing::{OutgoingRequest, RequestOptions};
use super::provider_error;
use super::sse::SseEvent;
use crate::ModelError;
use crate::usage::Usage;
use crate::wire::json::{Array, Json, Object};
use crate::wire::openai::{CallDelta, Choice, Chunk, Delta, message_object, tool_json};

const DONE: &str = "[DONE]";

pub(crate) fn body(options: &RequestOptions, outgoing: OutgoingRequest<'_>) -> Json {
    let turns = outgoing.merged_turns(0);
    let messages: Array =
        turns.iter().map(|(at, message)| chat_message(outgoing, *at, message).to_json()).collect();
    let mut body = Object::new().with("model", &options.model).with_json("messages", messages.to_json());
    if let Some(tools) = outgoing.tools(tool_json) {
        body.set("tools", tools);
        if !outgoing.request.may_call_tools {
            body.set("tool_choice", Json::from_value("none"));
        }
    }
    if let Some(tokens) = options.reply_tokens_max {
        // OpenAI's reasoning models reject the old name; many other servers do not know the new one.
        let name = if options.is_openai { "max_completion_tokens" } else { "max_tokens" };
        body.set(name, Json::from_value(&tokens));
    }
    let stream_options = Object::new().with("include_usage", &true);
    body.with("stream", &true).with_json("stream_options", stream_options.to_json()).to_json()
}

/// Reasoning that came with a message goes back with it.
fn chat_message(outgoing: OutgoingRequest<'_>, at: usize, message: &Message) -> Object {
    let mut message = message_object(message);
    let reasoning = outgoing.replay_items(at, false).and_then(|items| Object::from_json(items.first()?));
    if let Some(reasoning) = reasoning {
        for key in reasoning.keys() {
            if let Some(value) = reasoning.get(&key) {
                message.set(&key, value.clone());
            }
        }
    }
    message
}

#[derive(Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Default)]
pub(crate) struct ChatDecoder {
    text: String,
    refusal: String,
    calls: Vec<PartialCall>,
    reasoning_content: String,
    reasoning: String,
    reasoning_details: Vec<Json>,
    finish_reason: Option<String>,
    usage: Option<Usage>,
}

impl StreamDecoder for ChatDecoder {
    fn decode(&mut self, event: &SseEvent) -> Result<DecodedEvent, ModelError> {
        if event.data.trim() == DONE {
            return Ok(DecodedEvent::End);
        }
        let chunk: Chunk = parse_event(&event.data)?;
        if let Some(error) = &chunk.error {
            return Err(provider_error::from_event(error));
        }
        if let Some(usage) = &chunk.usage {
            self.usage = Some(usage.to_usage());
        }
        let mut words = String::new();
        for choice in chunk.choices.into_iter().flatten() {
            let Choice { index, delta, finish_reason } = choice;
            // Only one choice was requested.
            if index.is_some_and(|index| index > 0) {
                continue;
            }
            words.push_str(&self.apply_delta(delta.unwrap_or_default()));
            self.finish_reason = finish_reason.filter(|reason| !reason.is_empty()).or(self.finish_reason.take());
        }
        Ok(DecodedEvent::Text(words))
    }

    fn into_reply(self: Box<Self>) -> Result<DecodedReply, ModelError> {
        let replay_items = self.replay_items();
        // A gateway that hides a broken connection can still send [DONE].
        let Some(reason) = self.finish_reason else {
            return Err(ModelError::Protocol("the answer ended without a finish reason".to_owned()));
        };
        if !self.refusal.is_empty() {
            return Err(ModelError::Refused(self.refusal));
        }
        if reason == "content_filter" {
            return Err(ModelError::Refused("its content filter stopped the answer".to_owned()));
        }
        let calls = self.calls.into_iter().map(|call| {
            let PartialCall { index: _, id, name, arguments } = call;
            ToolCall { id, name, arguments }
        });
        let calls: Vec<ToolCall> = calls.collect();
        let replay_items = if calls.is_empty() { Vec::new() } else { replay_items };
        Ok(DecodedReply {
            text: self.text,
            calls,
            usage: self.usage,
            id: None,
            replay_items,
            is_cut: reason == "length",
        })
    }
}

impl ChatDecoder {
    fn apply_delta(&mut self, delta: Delta) -> String {
        self.reasoning_content.push_str(&delta.reasoning_content.unwrap_or_default());
        self.reasoning.push_str(&delta.reasoning.unwrap_or_default());
        let details = delta.reasoning_details.into_iter().flatten();
        self.reasoning_details.extend(details.filter_map(|detail| Json::parse(detail.get()).ok()));
        self.refusal.push_str(&delta.refusal.unwrap_or_default());
        for call in delta.tool_calls.into_iter().flatten() {
            self.apply_call_delta(call);
        }
        let words = delta.content.unwrap_or_default();
        self.text.push_str(&words);
        words
    }

    /// Joins the deltas of a call by index; without one, a new id starts a new call.
    fn apply_call_delta(&mut self, delta: CallDelta) {
        let CallDelta { index, id, function } = delta;
        let at = match index {
            Some(_) => self.calls.iter().position(|call| call.index == index),
            None => {
                let is_new = id.as_ref().is_some_and(|id| self.calls.last().is_none_or(|last| last.id != *id));
                if is_new { None } else { self.calls.len().checked_sub(1) }
            }
        };
        let at = at.unwrap_or_else(|| {
            self.calls.push(PartialCall { index, ..PartialCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        let function = function.unwrap_or_default();
        // Some servers repeat id and name in every delta.
        if let Some(id) = id.filter(|_| call.id.is_empty()) {
            call.id = id;
        }
        if let Some(name) = function.name.filter(|_| call.name.is_empty()) {
            call.name = name;
        }
        call.arguments.push_str(&function.arguments.unwrap_or_default());
    }

    fn replay_items(&self) -> Vec<Json> {
        let mut reasoning = Object::new();
        if !self.reasoning_content.is_empty() {
            reasoning.set("reasoning_content", Json::from_value(&self.reasoning_content));
        }
        if !self.reasoning_details.is_empty() {
            let details: Array = self.reasoning_details.iter().cloned().collect();
            reasoning.set("reasoning_details", details.to_json());
        } else if !self.reasoning.is_empty() {
            reasoning.set("reasoning", Json::from_value(&self.reasoning));
        }
        if reasoning == Object::new() { Vec::new() } else { vec![reasoning.to_json()] }
    }
}
