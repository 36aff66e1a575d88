//! Chat Completions, asked and heard.

use neap_core::message::{Message, ToolCall};

use super::asking::{Asked, Asking};
use super::fault;
use super::hearing::{Answer, Heard, Hearing, read};
use super::sse::SseEvent;
use crate::ModelError;
use crate::usage::Usage;
use crate::wire::json::{Array, Json, Object};
use crate::wire::openai::{CallDelta, ChatMessage, Choice, Chunk, Delta, tool};

/// The data of the last event.
const DONE: &str = "[DONE]";

/// The request.
pub(crate) fn body(asking: &Asking, asked: Asked<'_>) -> Json {
    let turns = asked.turns(0);
    let messages: Array = turns.iter().map(|(at, said)| message(asked, *at, said).to_json()).collect();
    let mut body = Object::new().with("model", &asking.model).with_json("messages", messages.to_json());
    if let Some(tools) = asked.tools(tool) {
        body.set("tools", tools);
        if !asked.request.reply_may_call {
            body.set("tool_choice", Json::of("none"));
        }
    }
    if let Some(tokens) = asking.reply_tokens_max {
        // OpenAI's reasoning models refuse the old name, many other servers do not know the new one.
        let name = if asking.is_openai { "max_completion_tokens" } else { "max_tokens" };
        body.set(name, Json::of(&tokens));
    }
    let options = Object::new().with("include_usage", &true);
    body.with("stream", &true).with_json("stream_options", options.to_json()).to_json()
}

/// One message; thinking that came with it goes back with it.
fn message(asked: Asked<'_>, at: usize, said: &Message) -> ChatMessage {
    let mut message = ChatMessage::of(said);
    let kept = asked.kept(at, false).and_then(|kept| Object::of(kept.first()?));
    if let Some(kept) = kept {
        for key in kept.keys() {
            if let Some(value) = kept.get(&key) {
                message.object_mut().set(&key, value.clone());
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

/// What was heard so far.
#[derive(Default)]
pub(crate) struct ChatHearing {
    text: String,
    refusal: String,
    calls: Vec<PartialCall>,
    reasoning_content: String,
    reasoning: String,
    reasoning_details: Vec<Json>,
    finish_reason: Option<String>,
    usage: Option<Usage>,
}

impl Hearing for ChatHearing {
    fn event(&mut self, event: &SseEvent) -> Result<Heard, ModelError> {
        if event.data.trim() == DONE {
            return Ok(Heard::Over);
        }
        let chunk: Chunk = read(&event.data)?;
        if let Some(error) = &chunk.error {
            return Err(fault::of_event(error));
        }
        if let Some(usage) = &chunk.usage {
            self.usage = Some(usage.to_usage());
        }
        let mut words = String::new();
        for choice in chunk.choices.into_iter().flatten() {
            let Choice { index, delta, finish_reason } = choice;
            // One answer was asked for.
            if index.is_some_and(|index| index > 0) {
                continue;
            }
            words.push_str(&self.delta(delta.unwrap_or_default()));
            self.finish_reason = finish_reason.filter(|reason| !reason.is_empty()).or(self.finish_reason.take());
        }
        Ok(Heard::Words(words))
    }

    fn answer(self: Box<Self>) -> Result<Answer, ModelError> {
        let kept = self.kept();
        // Something that hides a broken connection from us can still say [DONE].
        let Some(reason) = self.finish_reason else {
            return Err(ModelError::Protocol("the answer ended without a reason".to_owned()));
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
        let kept = if calls.is_empty() { Vec::new() } else { kept };
        Ok(Answer { text: self.text, calls, usage: self.usage, id: None, kept, is_cut: reason == "length" })
    }
}

impl ChatHearing {
    fn delta(&mut self, delta: Delta) -> String {
        self.reasoning_content.push_str(&delta.reasoning_content.unwrap_or_default());
        self.reasoning.push_str(&delta.reasoning.unwrap_or_default());
        let details = delta.reasoning_details.into_iter().flatten();
        self.reasoning_details.extend(details.filter_map(|detail| Json::parse(detail.get()).ok()));
        self.refusal.push_str(&delta.refusal.unwrap_or_default());
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call);
        }
        let words = delta.content.unwrap_or_default();
        self.text.push_str(&words);
        words
    }

    /// Pieces of a call are joined by their index; where there is none, a new id begins a new call.
    fn call(&mut self, piece: CallDelta) {
        let CallDelta { index, id, function } = piece;
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
        // Some say id and name again in every piece.
        if let Some(id) = id.filter(|_| call.id.is_empty()) {
            call.id = id;
        }
        if let Some(name) = function.name.filter(|_| call.name.is_empty()) {
            call.name = name;
        }
        call.arguments.push_str(&function.arguments.unwrap_or_default());
    }

    fn kept(&self) -> Vec<Json> {
        let mut kept = Object::new();
        if !self.reasoning_content.is_empty() {
            kept.set("reasoning_content", Json::of(&self.reasoning_content));
        }
        if !self.reasoning_details.is_empty() {
            let details: Array = self.reasoning_details.iter().cloned().collect();
            kept.set("reasoning_details", details.to_json());
        } else if !self.reasoning.is_empty() {
            kept.set("reasoning", Json::of(&self.reasoning));
        }
        if kept == Object::new() { Vec::new() } else { vec![kept.to_json()] }
    }
}
