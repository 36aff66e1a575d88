//! OpenAI Responses: request bodies and the stream decoder.

use std::collections::BTreeMap;

use neap_core::base::message::{Message, Role, ToolCall};

use super::decoder::{DecodedEvent, DecodedReply, StreamDecoder, event_kind, parse_event};
use super::outgoing::{OutgoingRequest, RequestOptions};
use super::provider_error;
use super::sse::SseEvent;
use crate::ModelError;
use crate::usage::Usage;
use crate::wire::json::{Array, Json, Object};
use crate::wire::responses::{OutputItem, Response, ResponseEvent, message_items, tool_json};

/// Sets `store` to false: the provider keeps no history.
pub(crate) fn body(options: &RequestOptions, outgoing: OutgoingRequest<'_>) -> Json {
    let messages = &outgoing.request.messages;
    let systems = messages.iter().take_while(|message| message.role == Role::System).count();
    let instructions: Vec<&str> = messages[..systems].iter().map(|message| &*message.content).collect();
    let mut body = Object::new().with("model", &options.model);
    if !instructions.is_empty() {
        body.set("instructions", Json::from_value(&instructions.join("\n\n")));
    }
    let turns = outgoing.merged_turns(systems);
    let items: Array = turns.iter().flat_map(|(at, message)| input_items(outgoing, *at, message)).collect();
    body.set("input", items.to_json());
    if let Some(tools) = outgoing.tools(tool_json) {
        body.set("tools", tools);
        if !outgoing.request.may_call_tools {
            body.set("tool_choice", Json::from_value("none"));
        }
    }
    if let Some(tokens) = options.reply_tokens_max {
        body.set("max_output_tokens", Json::from_value(&tokens));
    }
    if options.reasons {
        body.set("include", Json::from_value(&["reasoning.encrypted_content"]));
    }
    body.with("store", &false).with("stream", &true).to_json()
}

fn input_items(outgoing: OutgoingRequest<'_>, at: usize, message: &Message) -> Vec<Json> {
    match outgoing.replay_items(at, false) {
        Some(items) => items.to_vec(),
        None => message_items(message),
    }
}

#[derive(Default)]
pub(crate) struct ResponsesDecoder {
    text: String,
    /// The current message's text received as deltas.
    pieces: String,
    refusal: String,
    /// Complete items by output index.
    items: BTreeMap<u64, (Json, OutputItem)>,
    usage: Option<Usage>,
    id: Option<String>,
    is_cut: bool,
}

impl StreamDecoder for ResponsesDecoder {
    fn decode(&mut self, event: &SseEvent) -> Result<DecodedEvent, ModelError> {
        let kind = event_kind(&event.data)?;
        match if kind.is_empty() { event.name.as_str() } else { kind.as_str() } {
            "response.output_text.delta" => {
                let words = parse_event::<ResponseEvent>(&event.data)?.delta.unwrap_or_default();
                self.text.push_str(&words);
                self.pieces.push_str(&words);
                Ok(DecodedEvent::Text(words))
            }
            "response.refusal.delta" => {
                self.refusal.push_str(&parse_event::<ResponseEvent>(&event.data)?.delta.unwrap_or_default());
                Ok(DecodedEvent::Ignored)
            }
            "response.output_item.done" => self.finish_item(parse_event(&event.data)?).map(DecodedEvent::Text),
            "response.completed" => {
                self.finish_response(parse_event(&event.data)?)?;
                Ok(DecodedEvent::End)
            }
            "response.incomplete" => {
                let response = self.finish_response(parse_event(&event.data)?)?;
                let reason = response.incomplete_details.unwrap_or_default().reason;
                if reason != "max_output_tokens" {
                    return Err(ModelError::Refused(format!("the answer was not completed: {reason}")));
                }
                self.is_cut = true;
                Ok(DecodedEvent::End)
            }
            "response.failed" => {
                let response = self.finish_response(parse_event(&event.data)?)?;
                Err(match response.error {
                    Some(error) => provider_error::from_event(&error),
                    None => ModelError::Transport("the response failed".to_owned()),
                })
            }
            "error" => Err(provider_error::from_event_text(&event.data)),
            _ => Ok(DecodedEvent::Ignored),
        }
    }

    fn into_reply(self: Box<Self>) -> Result<DecodedReply, ModelError> {
        if !self.refusal.is_empty() {
            return Err(ModelError::Refused(self.refusal));
        }
        let mut calls = Vec::new();
        let mut replay_items = Vec::new();
        let mut has_reasoning = false;
        for (json, item) in self.items.into_values() {
            has_reasoning |= item.kind == "reasoning";
            if item.kind == "function_call" {
                calls.push(ToolCall { id: item.call_id, name: item.name, arguments: item.arguments });
            }
            replay_items.push(json);
        }
        if calls.is_empty() || !has_reasoning {
            replay_items.clear();
        }
        Ok(DecodedReply {
            text: self.text,
            calls,
            usage: self.usage,
            id: self.id,
            replay_items,
            is_cut: self.is_cut,
        })
    }
}

impl ResponsesDecoder {
    /// Stores a complete item and returns the part of its text that did not arrive as deltas.
    fn finish_item(&mut self, event: ResponseEvent) -> Result<String, ModelError> {
        let Some(raw) = event.item else { return Ok(String::new()) };
        let item: OutputItem = parse_event(raw.get())?;
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

    fn finish_response(&mut self, event: ResponseEvent) -> Result<Response, ModelError> {
        let response: Response = match &event.response {
            Some(raw) => parse_event(raw.get())?,
            None => Response::default(),
        };
        self.usage = response.usage.as_ref().map(|usage| usage.to_usage());
        self.id.clone_from(&response.id);
        Ok(response)
    }
}
