//! Anthropic Messages: request bodies and the stream decoder.

use std::collections::BTreeMap;

use neap_core::base::message::{Message, Role, ToolCall};
use neap_core::base::prompt::MARK;

use super::decoder::{DecodedEvent, DecodedReply, StreamDecoder, event_kind, parse_event};
use super::outgoing::{OutgoingRequest, RequestOptions};
use super::provider_error;
use super::sse::SseEvent;
use crate::ModelError;
use crate::wire::anthropic::{
    BlockDelta, MessageUsage, StreamEvent, array_json, message_json, text_block, tool_json, tool_result_block,
    tool_use_block,
};
use crate::wire::json::{Array, Json, Object};

/// The protocol requires a reply limit; used where none is configured.
const REPLY_TOKENS: u64 = 4_096;

pub(crate) fn body(options: &RequestOptions, outgoing: OutgoingRequest<'_>) -> Json {
    let reply = options.reply_tokens_max.unwrap_or(REPLY_TOKENS);
    // Without its thinking, a tool round can only continue with thinking off.
    let has_lost_thinking = outgoing.open_tool_round().is_some_and(|at| outgoing.replay_items(at, true).is_none());
    let thinking = options.thinking_tokens.filter(|_| !has_lost_thinking);
    let (system, messages) = conversation(outgoing);
    let mut body =
        Object::new().with("model", &options.model).with("max_tokens", &(reply + thinking.unwrap_or(0)));
    if !system.is_empty() {
        body.set("system", array_json(&system));
    }
    body.set("messages", messages.to_json());
    if let Some(tools) = outgoing.tools(tool_json) {
        body.set("tools", tools);
        if !outgoing.request.may_call_tools {
            body.set("tool_choice", Object::new().with("type", "none").to_json());
        }
    }
    if let Some(tokens) = thinking {
        let thinking = Object::new().with("type", "enabled").with("budget_tokens", &tokens);
        body.set("thinking", thinking.to_json());
    }
    body.with("stream", &true).to_json()
}

/// The system prompt and the turns. Merges consecutive messages of one role and puts tool results first. Sets
/// cache breakpoints at the end of the system prompt, of the records behind it (which change less often than what
/// follows), and of the whole request.
fn conversation(outgoing: OutgoingRequest<'_>) -> (Vec<Object>, Array) {
    let mut system = Vec::new();
    let mut turns: Vec<(&'static str, Vec<Object>)> = Vec::new();
    for (at, message) in outgoing.request.messages.iter().enumerate() {
        if message.role == Role::System && turns.is_empty() {
            system.extend(visible_text(&message.content));
            continue;
        }
        let (role, blocks) = message_blocks(outgoing, at, message);
        match turns.last_mut() {
            Some((last, so_far)) if *last == role => so_far.extend(blocks),
            Some(_) | None if blocks.is_empty() => {}
            Some(_) | None => turns.push((role, blocks)),
        }
    }
    // The protocol requires the user to begin.
    if turns.first().is_some_and(|(role, _)| *role == "assistant") {
        turns.insert(0, ("user", vec![text_block("(earlier messages are left out)")]));
    }
    let first = outgoing.request.messages.iter().find(|message| message.role != Role::System);
    let has_records = first.is_some_and(|message| message.role == Role::User && message.content.starts_with(MARK));
    if let Some((_, blocks)) = turns.first_mut().filter(|(_, blocks)| has_records && blocks.len() > 1) {
        mark_cached(&mut blocks[..1]);
    }
    let last = turns.len().saturating_sub(1);
    let turns = turns.into_iter().enumerate().map(|(at, (role, mut blocks))| {
        if role == "user" {
            blocks.sort_by_key(|block| block.text_of("type").as_deref() != Some("tool_result"));
            if at == last {
                mark_cached(&mut blocks);
            }
        }
        message_json(role, &blocks)
    });
    let turns = turns.collect();
    mark_cached(&mut system);
    (system, turns)
}

/// Sets a cache breakpoint after the last block.
fn mark_cached(blocks: &mut [Object]) {
    if let Some(last) = blocks.last_mut() {
        last.set("cache_control", Object::new().with("type", "ephemeral").to_json());
    }
}

fn message_blocks(outgoing: OutgoingRequest<'_>, at: usize, message: &Message) -> (&'static str, Vec<Object>) {
    match message.role {
        Role::Assistant => {
            let replayed =
                outgoing.replay_items(at, true).map(|items| items.iter().filter_map(Object::from_json).collect());
            let blocks = replayed.unwrap_or_else(|| {
                let calls = message.tool_calls.iter().map(tool_use_block);
                visible_text(&message.content).into_iter().chain(calls).collect()
            });
            ("assistant", blocks)
        }
        Role::Tool => ("user", vec![tool_result_block(message)]),
        // The protocol restricts where system messages may appear; the user role is always valid.
        Role::User | Role::System => ("user", visible_text(&message.content).into_iter().collect()),
    }
}

/// `None` for blank text, which the protocol rejects.
fn visible_text(text: &str) -> Option<Object> {
    (!text.trim().is_empty()).then(|| text_block(text))
}

struct PartialBlock {
    /// As it began, with unknown fields.
    start: Object,
    kind: String,
    text: String,
    thinking: String,
    signature: String,
    input: String,
}

impl PartialBlock {
    fn from_json(json: &Json) -> Option<Self> {
        let start = Object::from_json(json)?;
        let text_of = |key: &str| start.text_of(key).unwrap_or_default();
        Some(Self {
            kind: text_of("type"),
            text: text_of("text"),
            thinking: text_of("thinking"),
            signature: text_of("signature"),
            input: String::new(),
            start,
        })
    }

    /// The arguments received as deltas, or else those in the block's start.
    fn arguments(&self) -> String {
        let at_once = || self.start.get("input").map_or_else(|| "{}".to_owned(), |input| input.text().to_owned());
        if self.input.trim().is_empty() { at_once() } else { self.input.clone() }
    }

    fn to_json(&self) -> Option<Json> {
        let mut block = self.start.clone();
        match self.kind.as_str() {
            "text" if self.text.trim().is_empty() => return None,
            "text" => block.set("text", Json::from_value(&self.text)),
            "thinking" => {
                block.set("thinking", Json::from_value(&self.thinking));
                block.set("signature", Json::from_value(&self.signature));
            }
            "tool_use" => block.set("input", Object::parse(&self.arguments()).unwrap_or_default().to_json()),
            _ => {}
        }
        Some(block.to_json())
    }
}

#[derive(Default)]
pub(crate) struct MessagesDecoder {
    text: String,
    blocks: BTreeMap<u64, PartialBlock>,
    usage: Option<MessageUsage>,
    stop_reason: Option<String>,
}

impl StreamDecoder for MessagesDecoder {
    fn decode(&mut self, event: &SseEvent) -> Result<DecodedEvent, ModelError> {
        let kind = event_kind(&event.data)?;
        let words = match kind.as_str() {
            "message_start" => {
                let started = parse_event::<StreamEvent>(&event.data)?.message.unwrap_or_default();
                self.update_usage(started.usage.as_ref());
                String::new()
            }
            "content_block_start" => self.start_block(parse_event(&event.data)?)?,
            "content_block_delta" => self.extend_block(parse_event(&event.data)?)?,
            "message_delta" => {
                let event: StreamEvent = parse_event(&event.data)?;
                self.update_usage(event.usage.as_ref());
                self.stop_reason = event.delta.and_then(|delta| delta.stop_reason).or(self.stop_reason.take());
                String::new()
            }
            "message_stop" => return Ok(DecodedEvent::End),
            "error" => {
                let error = parse_event::<StreamEvent>(&event.data)?.error;
                return Err(match error {
                    Some(error) => provider_error::from_event(&error),
                    None => provider_error::from_event_text(&event.data),
                });
            }
            // Pings, the end of a block, and unknown events.
            _ => String::new(),
        };
        self.text.push_str(&words);
        Ok(DecodedEvent::Text(words))
    }

    fn into_reply(self: Box<Self>) -> Result<DecodedReply, ModelError> {
        let Some(reason) = self.stop_reason else {
            return Err(ModelError::Protocol("the answer ended without a stop reason".to_owned()));
        };
        if reason == "refusal" {
            return Err(ModelError::Refused("it declined to answer".to_owned()));
        }
        let of_kind = |kinds: &'static [&str]| {
            self.blocks.values().filter(move |block| kinds.contains(&block.kind.as_str()))
        };
        let calls = of_kind(&["tool_use"]).map(|block| ToolCall {
            id: block.start.text_of("id").unwrap_or_default(),
            name: block.start.text_of("name").unwrap_or_default(),
            arguments: block.arguments(),
        });
        let calls: Vec<ToolCall> = calls.collect();
        let has_thought = of_kind(&["thinking", "redacted_thinking"]).next().is_some();
        let needs_replay = has_thought && !calls.is_empty();
        let replay_items =
            self.blocks.values().filter(|_| needs_replay).filter_map(PartialBlock::to_json).collect();
        let is_cut = matches!(reason.as_str(), "max_tokens" | "model_context_window_exceeded");
        let usage = self.usage.map(MessageUsage::to_usage);
        Ok(DecodedReply { text: self.text, calls, usage, id: None, replay_items, is_cut })
    }
}

impl MessagesDecoder {
    fn update_usage(&mut self, usage: Option<&MessageUsage>) {
        if let Some(usage) = usage {
            self.usage.get_or_insert_default().update(usage);
        }
    }

    fn start_block(&mut self, event: StreamEvent) -> Result<String, ModelError> {
        let block = event.content_block.and_then(|raw| PartialBlock::from_json(&Json::parse(raw.get()).ok()?));
        let block = block.ok_or_else(|| ModelError::Protocol("an invalid content block".to_owned()))?;
        let words = if block.kind == "text" { block.text.clone() } else { String::new() };
        self.blocks.insert(event.index, block);
        Ok(words)
    }

    fn extend_block(&mut self, event: StreamEvent) -> Result<String, ModelError> {
        let Some(block) = self.blocks.get_mut(&event.index) else {
            return Err(ModelError::Protocol("a delta of a content block that did not start".to_owned()));
        };
        let BlockDelta { text, partial_json, thinking, signature, stop_reason: _ } =
            event.delta.unwrap_or_default();
        block.input.push_str(&partial_json.unwrap_or_default());
        block.thinking.push_str(&thinking.unwrap_or_default());
        block.signature.push_str(&signature.unwrap_or_default());
        let words = text.unwrap_or_default();
        block.text.push_str(&words);
        Ok(words)
    }
}
