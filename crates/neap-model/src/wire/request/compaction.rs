//! Compacted histories: encrypted items that only their maker can open, and responses that carry one of Neap's.

use neap_core::base::tokens::Tokens;
use neap_core::client::{Changes, Endpoint, HistoryItem, HistoryPart, RenderedHistory, Speaker};

use super::super::json::{Array, Json, Object};
use super::{WireRequest, render};
use crate::wire::request::CachedCounter;

/// A response that Neap gives itself, in the provider's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAnswer {
    pub body: String,
    /// Whether `body` is an event stream rather than JSON.
    pub is_stream: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct CompactionInput<'a> {
    /// Readable by Neap alone.
    pub content: &'a str,
    /// Part of all ids in the response.
    pub id_seed: &'a str,
    /// Unix time in seconds.
    pub at: i64,
    pub tokens_in: Tokens,
    pub tokens_out: Tokens,
    /// Budget for the user's own messages that stay as they are.
    pub user_tokens_max: Tokens,
}

impl WireRequest {
    /// The compaction items, with their encrypted content.
    pub fn compaction_items(&self) -> Vec<(usize, String)> {
        let content_of = |(at, item): (usize, &HistoryItem)| {
            item.is_compaction().then_some(())?;
            Some((at, Object::from_json(self.items.get(at)?)?.text_of("encrypted_content")?))
        };
        self.parsed.items.iter().enumerate().filter_map(content_of).collect()
    }

    /// Replaces one of Neap's compaction items by its text.
    pub fn open_compaction(&mut self, at: usize, text: &str, counts: &CachedCounter) {
        if let (Some(json), Some(item)) = (self.items.get_mut(at), self.parsed.items.get_mut(at)) {
            *json = render::note_message(self.parsed.api, text, false);
            item.tokens = counts.count(json.text()) + Tokens(1);
            self.parsed.compaction_at = self.parsed.compaction_at.max(Some(at));
            self.is_changed = true;
        }
    }

    pub fn render_all(&self) -> String {
        let item = |at| HistoryPart::Item { at, omitted: Vec::new(), shortened: Vec::new(), appended: None };
        let parts = (0..self.items.len()).map(item).collect();
        self.render(&RenderedHistory { parts, tokens: Tokens::ZERO, changes: Changes::default() })
    }

    pub fn compaction_answer(&self, compaction: &CompactionInput<'_>) -> LocalAnswer {
        let CompactionInput { content, id_seed, at, tokens_in, tokens_out, user_tokens_max } = *compaction;
        let item = Object::new()
            .with("type", "compaction")
            .with("id", &format!("cmp_neap{id_seed}"))
            .with("encrypted_content", content)
            .to_json();
        let usage = usage_json(tokens_in, tokens_out);
        let head = Object::new().with("id", &format!("resp_neap{id_seed}"));
        if self.parsed.endpoint == Endpoint::Compact {
            let output: Array = self.recent_user_messages(user_tokens_max).into_iter().chain([item]).collect();
            let body = head
                .with("object", "response.compaction")
                .with("created_at", &at)
                .with_json("output", output.to_json())
                .with_json("usage", usage);
            return LocalAnswer { body: body.to_json().text().to_owned(), is_stream: false };
        }
        let head = head
            .with("object", "response")
            .with("created_at", &at)
            .with("model", &self.model().unwrap_or_default())
            .with("parallel_tool_calls", &false)
            .with("tool_choice", "auto")
            .with_json("tools", Array::default().to_json())
            .with("error", &None::<String>)
            .with("incomplete_details", &None::<String>);
        let response = |status: &str, output: &[&Json]| {
            let output: Array = output.iter().copied().cloned().collect();
            head.clone().with("status", status).with_json("output", output.to_json())
        };
        let completed = response("completed", &[&item]).with_json("usage", usage).to_json();
        if !self.is_streaming() {
            return LocalAnswer { body: completed.text().to_owned(), is_stream: false };
        }
        let started = response("in_progress", &[]).to_json();
        let events = [
            ("response.created", "response", &started),
            ("response.in_progress", "response", &started),
            ("response.output_item.added", "item", &item),
            ("response.output_item.done", "item", &item),
            ("response.completed", "response", &completed),
        ];
        let mut body = String::new();
        for (number, (kind, member, value)) in events.into_iter().enumerate() {
            let mut event = Object::new().with("type", kind).with("sequence_number", &number);
            if member == "item" {
                event.set("output_index", Json::from_value(&0));
            }
            event.set(member, value.clone());
            body.push_str(&format!("event: {kind}\ndata: {}\n\n", event.to_json().text()));
        }
        LocalAnswer { body, is_stream: true }
    }

    fn recent_user_messages(&self, mut budget: Tokens) -> Vec<Json> {
        let mut messages = Vec::new();
        for (json, item) in self.items.iter().zip(&self.parsed.items).rev() {
            if item.speaker != Speaker::User || item.is_compaction() {
                continue;
            }
            if item.tokens > budget {
                break;
            }
            budget = budget.saturating_sub(item.tokens);
            messages.push(long_form_message(json));
        }
        messages.reverse();
        messages
    }
}

/// The verbose form in which providers return a message.
fn long_form_message(json: &Json) -> Json {
    let Some(mut object) = Object::from_json(json) else { return json.clone() };
    if let Some(text) = object.text_of("content") {
        let part = Object::new().with("type", "input_text").with("text", &text).to_json();
        object.set("content", [part].into_iter().collect::<Array>().to_json());
    }
    if object.get("type").is_none() {
        object.set("type", Json::from_value("message"));
    }
    object.to_json()
}

fn usage_json(tokens_in: Tokens, tokens_out: Tokens) -> Json {
    let details = |name: &str| Object::new().with(name, &0).to_json();
    Object::new()
        .with("input_tokens", &tokens_in.0)
        .with_json("input_tokens_details", details("cached_tokens"))
        .with("output_tokens", &tokens_out.0)
        .with_json("output_tokens_details", details("reasoning_tokens"))
        .with("total_tokens", &(tokens_in + tokens_out).0)
        .to_json()
}
