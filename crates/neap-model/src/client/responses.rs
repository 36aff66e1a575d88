//! Responses, asked and heard.

use std::collections::BTreeMap;

use neap_core::message::{Message, Role, ToolCall};

use super::asking::{Asked, Asking};
use super::fault;
use super::hearing::{Answer, Heard, Hearing, kind_of, read};
use super::sse::SseEvent;
use crate::ModelError;
use crate::usage::Usage;
use crate::wire::json::{Array, Json, Object};
use crate::wire::responses::{InputItem, OutputItem, Response, ResponseEvent, tool};

/// The request. Nothing is stored at the provider: the conversation is ours.
pub(crate) fn body(asking: &Asking, asked: Asked<'_>) -> Json {
    let messages = &asked.request.messages;
    let systems = messages.iter().take_while(|message| message.role == Role::System).count();
    let instructions: Vec<&str> = messages[..systems].iter().map(|message| &*message.content).collect();
    let mut body = Object::new().with("model", &asking.model);
    if !instructions.is_empty() {
        body.set("instructions", Json::of(&instructions.join("\n\n")));
    }
    let turns = asked.turns(systems);
    let items: Array = turns.iter().flat_map(|(at, said)| items(asked, *at, said)).collect();
    body.set("input", items.to_json());
    if let Some(tools) = asked.tools(tool) {
        body.set("tools", tools);
        if !asked.request.reply_may_call {
            body.set("tool_choice", Json::of("none"));
        }
    }
    if let Some(tokens) = asking.reply_tokens_max {
        body.set("max_output_tokens", Json::of(&tokens));
    }
    if asking.reasons {
        body.set("include", Json::of(&["reasoning.encrypted_content"]));
    }
    body.with("store", &false).with("stream", &true).to_json()
}

fn items(asked: Asked<'_>, at: usize, said: &Message) -> Vec<Json> {
    match asked.kept(at, false) {
        Some(kept) => kept.to_vec(),
        None => InputItem::of(said).iter().map(InputItem::to_json).collect(),
    }
}

/// What was heard so far.
#[derive(Default)]
pub(crate) struct ResponseHearing {
    text: String,
    /// Of the message that is being said, the words that came piece by piece.
    pieces: String,
    refusal: String,
    /// Whole items, by their place.
    items: BTreeMap<u64, (Json, OutputItem)>,
    usage: Option<Usage>,
    id: Option<String>,
    is_cut: bool,
}

impl Hearing for ResponseHearing {
    fn event(&mut self, event: &SseEvent) -> Result<Heard, ModelError> {
        let kind = kind_of(&event.data)?;
        match if kind.is_empty() { event.name.as_str() } else { kind.as_str() } {
            "response.output_text.delta" => {
                let words = read::<ResponseEvent>(&event.data)?.delta.unwrap_or_default();
                self.text.push_str(&words);
                self.pieces.push_str(&words);
                Ok(Heard::Words(words))
            }
            "response.refusal.delta" => {
                self.refusal.push_str(&read::<ResponseEvent>(&event.data)?.delta.unwrap_or_default());
                Ok(Heard::Nothing)
            }
            "response.output_item.done" => self.item(read(&event.data)?).map(Heard::Words),
            "response.completed" => {
                self.end(read(&event.data)?)?;
                Ok(Heard::Over)
            }
            "response.incomplete" => {
                let response = self.end(read(&event.data)?)?;
                let reason = response.incomplete_details.unwrap_or_default().reason;
                if reason != "max_output_tokens" {
                    return Err(ModelError::Refused(format!("the answer was not completed: {reason}")));
                }
                self.is_cut = true;
                Ok(Heard::Over)
            }
            "response.failed" => {
                let response = self.end(read(&event.data)?)?;
                Err(match response.error {
                    Some(error) => fault::of_event(&error),
                    None => ModelError::Transport("the response failed".to_owned()),
                })
            }
            "error" => Err(fault::of_event_text(&event.data)),
            _ => Ok(Heard::Nothing),
        }
    }

    fn answer(self: Box<Self>) -> Result<Answer, ModelError> {
        if !self.refusal.is_empty() {
            return Err(ModelError::Refused(self.refusal));
        }
        let mut calls = Vec::new();
        let mut kept = Vec::new();
        let mut has_reasoning = false;
        for (json, item) in self.items.into_values() {
            has_reasoning |= item.kind == "reasoning";
            if item.kind == "function_call" {
                calls.push(ToolCall { id: item.call_id, name: item.name, arguments: item.arguments });
            }
            kept.push(json);
        }
        if calls.is_empty() || !has_reasoning {
            kept.clear();
        }
        Ok(Answer { text: self.text, calls, usage: self.usage, id: self.id, kept, is_cut: self.is_cut })
    }
}

impl ResponseHearing {
    /// An item is whole. Gives the words of it that did not come piece by piece.
    fn item(&mut self, event: ResponseEvent) -> Result<String, ModelError> {
        let Some(raw) = event.item else { return Ok(String::new()) };
        let item: OutputItem = read(raw.get())?;
        let json = Json::parse(raw.get()).map_err(|error| ModelError::Protocol(error.to_string()))?;
        let mut rest = String::new();
        if item.kind == "message" {
            let whole: String = item.content.iter().filter_map(|part| part.text.as_deref()).collect();
            let pieces = std::mem::take(&mut self.pieces);
            rest = whole.strip_prefix(&pieces).unwrap_or_default().to_owned();
            self.text.push_str(&rest);
        }
        let at = event.output_index.unwrap_or(self.items.len() as u64);
        self.items.insert(at, (json, item));
        Ok(rest)
    }

    fn end(&mut self, event: ResponseEvent) -> Result<Response, ModelError> {
        let response: Response = match &event.response {
            Some(raw) => read(raw.get())?,
            None => Response::default(),
        };
        self.usage = response.usage.as_ref().map(|usage| usage.to_usage());
        self.id.clone_from(&response.id);
        Ok(response)
    }
}
