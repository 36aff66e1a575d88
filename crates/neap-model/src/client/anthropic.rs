//! Anthropic Messages, asked and heard.

use std::collections::BTreeMap;

use neap_core::message::{Message, Role, ToolCall};
use neap_core::prompt::MARK;

use super::asking::{Asked, Asking};
use super::fault;
use super::hearing::{Answer, Heard, Hearing, kind_of, read};
use super::sse::SseEvent;
use crate::ModelError;
use crate::wire::anthropic::{AnthropicMessage, Block, BlockDelta, MessageUsage, StreamEvent, tool};
use crate::wire::json::{Array, Json, Object};

/// The longest reply, where none is said: the protocol wants one.
const REPLY_TOKENS: u64 = 4_096;

/// The request.
pub(crate) fn body(asking: &Asking, asked: Asked<'_>) -> Json {
    let reply = asking.reply_tokens_max.unwrap_or(REPLY_TOKENS);
    // A round whose thinking is gone can only be gone on with without thinking.
    let has_lost = asked.last_round().is_some_and(|at| asked.kept(at, true).is_none());
    let thinking = asking.thinking_tokens.filter(|_| !has_lost);
    let (system, messages) = conversation(asked);
    let mut body = Object::new().with("model", &asking.model).with("max_tokens", &(reply + thinking.unwrap_or(0)));
    if !system.is_empty() {
        body.set("system", system.to_json());
    }
    body.set("messages", messages.to_json());
    if let Some(tools) = asked.tools(tool) {
        body.set("tools", tools);
        if !asked.request.reply_may_call {
            body.set("tool_choice", Object::new().with("type", "none").to_json());
        }
    }
    if let Some(tokens) = thinking {
        let thinking = Object::new().with("type", "enabled").with("budget_tokens", &tokens);
        body.set("thinking", thinking.to_json());
    }
    body.with("stream", &true).to_json()
}

/// The system prompt and the turns. What is said in a row by the same speaker is one turn; results of calls stand first in
/// theirs. Places are marked for the cache: the end of the system prompt, the end of the records behind it, which change less often
/// than what follows, and the end of all.
fn conversation(asked: Asked<'_>) -> (Array, Array) {
    let mut system = Vec::new();
    let mut turns: Vec<(&'static str, Vec<Block>)> = Vec::new();
    for (at, message) in asked.request.messages.iter().enumerate() {
        if message.role == Role::System && turns.is_empty() {
            system.extend(words(&message.content));
            continue;
        }
        let (role, blocks) = blocks(asked, at, message);
        match turns.last_mut() {
            Some((last, so_far)) if *last == role => so_far.extend(blocks),
            Some(_) | None if blocks.is_empty() => {}
            Some(_) | None => turns.push((role, blocks)),
        }
    }
    // The protocol wants the user to begin.
    if turns.first().is_some_and(|(role, _)| *role == "assistant") {
        turns.insert(0, ("user", vec![Block::text("(earlier messages are left out)")]));
    }
    let first = asked.request.messages.iter().find(|message| message.role != Role::System);
    let has_records = first.is_some_and(|said| said.role == Role::User && said.content.starts_with(MARK));
    if let Some((_, blocks)) = turns.first_mut().filter(|(_, blocks)| has_records && blocks.len() > 1) {
        mark_last(&mut blocks[..1]);
    }
    let last = turns.len().saturating_sub(1);
    let turns = turns.into_iter().enumerate().map(|(at, (role, mut blocks))| {
        if role == "user" {
            blocks.sort_by_key(|block| block.kind() != "tool_result");
            if at == last {
                mark_last(&mut blocks);
            }
        }
        AnthropicMessage::new(role, &blocks).to_json()
    });
    let turns = turns.collect();
    mark_last(&mut system);
    (system.iter().map(Block::to_json).collect(), turns)
}

fn mark_last(blocks: &mut [Block]) {
    if let Some(last) = blocks.last_mut() {
        *last = std::mem::take(last).cached();
    }
}

fn blocks(asked: Asked<'_>, at: usize, message: &Message) -> (&'static str, Vec<Block>) {
    match message.role {
        Role::Assistant => {
            let kept =
                asked.kept(at, true).map(|kept| kept.iter().filter_map(Object::of).map(Block::from).collect());
            let blocks = kept.unwrap_or_else(|| {
                let calls = message.tool_calls.iter().map(Block::tool_use);
                words(&message.content).into_iter().chain(calls).collect()
            });
            ("assistant", blocks)
        }
        Role::Tool => ("user", vec![Block::tool_result(message)]),
        // A later system message would have to be where the protocol wants it; as the user's it is always right.
        Role::User | Role::System => ("user", words(&message.content).into_iter().collect()),
    }
}

/// A block of words; none for a text that says nothing, which the protocol refuses.
fn words(text: &str) -> Option<Block> {
    (!text.trim().is_empty()).then(|| Block::text(text))
}

struct PartialBlock {
    /// As it began, with what was not known of it.
    start: Object,
    kind: String,
    text: String,
    thinking: String,
    signature: String,
    input: String,
}

impl PartialBlock {
    fn of(json: &Json) -> Option<Self> {
        let start = Object::of(json)?;
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

    /// What a call is made with: what came piece by piece, or at once.
    fn arguments(&self) -> String {
        let at_once = || self.start.get("input").map_or_else(|| "{}".to_owned(), |input| input.text().to_owned());
        if self.input.trim().is_empty() { at_once() } else { self.input.clone() }
    }

    fn whole(&self) -> Option<Json> {
        let mut block = self.start.clone();
        match self.kind.as_str() {
            "text" if self.text.trim().is_empty() => return None,
            "text" => block.set("text", Json::of(&self.text)),
            "thinking" => {
                block.set("thinking", Json::of(&self.thinking));
                block.set("signature", Json::of(&self.signature));
            }
            "tool_use" => block.set("input", Object::parse(&self.arguments()).unwrap_or_default().to_json()),
            _ => {}
        }
        Some(block.to_json())
    }
}

/// What was heard so far.
#[derive(Default)]
pub(crate) struct MessageHearing {
    text: String,
    blocks: BTreeMap<u64, PartialBlock>,
    usage: Option<MessageUsage>,
    stop_reason: Option<String>,
}

impl Hearing for MessageHearing {
    fn event(&mut self, event: &SseEvent) -> Result<Heard, ModelError> {
        let kind = kind_of(&event.data)?;
        let words = match kind.as_str() {
            "message_start" => {
                let started = read::<StreamEvent>(&event.data)?.message.unwrap_or_default();
                self.used(started.usage.as_ref());
                String::new()
            }
            "content_block_start" => self.begin(read(&event.data)?)?,
            "content_block_delta" => self.go_on(read(&event.data)?)?,
            "message_delta" => {
                let event: StreamEvent = read(&event.data)?;
                self.used(event.usage.as_ref());
                self.stop_reason = event.delta.and_then(|delta| delta.stop_reason).or(self.stop_reason.take());
                String::new()
            }
            "message_stop" => return Ok(Heard::Over),
            "error" => {
                let error = read::<StreamEvent>(&event.data)?.error;
                return Err(match error {
                    Some(error) => fault::of_event(&error),
                    None => fault::of_event_text(&event.data),
                });
            }
            // A sign of life, the end of a block, and what is yet to be invented.
            _ => String::new(),
        };
        self.text.push_str(&words);
        Ok(Heard::Words(words))
    }

    fn answer(self: Box<Self>) -> Result<Answer, ModelError> {
        let Some(reason) = self.stop_reason else {
            return Err(ModelError::Protocol("the answer ended without a reason".to_owned()));
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
        let is_kept = has_thought && !calls.is_empty();
        let kept = self.blocks.values().filter(|_| is_kept).filter_map(PartialBlock::whole).collect();
        let is_cut = matches!(reason.as_str(), "max_tokens" | "model_context_window_exceeded");
        let usage = self.usage.map(MessageUsage::to_usage);
        Ok(Answer { text: self.text, calls, usage, id: None, kept, is_cut })
    }
}

impl MessageHearing {
    fn used(&mut self, usage: Option<&MessageUsage>) {
        if let Some(usage) = usage {
            self.usage.get_or_insert_default().update(usage);
        }
    }

    fn begin(&mut self, event: StreamEvent) -> Result<String, ModelError> {
        let block = event.content_block.and_then(|raw| PartialBlock::of(&Json::parse(raw.get()).ok()?));
        let block = block.ok_or_else(|| ModelError::Protocol("a block that is none".to_owned()))?;
        let words = if block.kind == "text" { block.text.clone() } else { String::new() };
        self.blocks.insert(event.index, block);
        Ok(words)
    }

    fn go_on(&mut self, event: StreamEvent) -> Result<String, ModelError> {
        let Some(block) = self.blocks.get_mut(&event.index) else {
            return Err(ModelError::Protocol("a block goes on that did not begin".to_owned()));
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
