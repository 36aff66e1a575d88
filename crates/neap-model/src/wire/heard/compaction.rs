//! Histories that were put in short: items that only whoever made them can open, and answers that hold one of ours.

use neap_core::ingest::{Changes, Endpoint, Item, Layout, Piece, Speaker};
use neap_core::tokens::Tokens;

use super::super::json::{Array, Json, Object};
use super::{Request, write};
use crate::wire::heard::Counts;

/// An answer that we give ourselves, in the words of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnAnswer {
    /// Its body.
    pub body: String,
    /// Whether that is a stream of events, and not JSON.
    pub is_stream: bool,
}

/// What it takes to answer with a history in short.
#[derive(Debug, Clone, Copy)]
pub struct Compaction<'a> {
    /// What only we can open.
    pub content: &'a str,
    /// Makes ids of.
    pub mark: &'a str,
    /// When, in seconds.
    pub at: i64,
    /// What came costs.
    pub tokens_in: Tokens,
    /// What is in it costs.
    pub tokens_out: Tokens,
    /// What may be kept of the person's own messages, as they are.
    pub kept: Tokens,
}

impl Request {
    /// The items that stand for a history in short, with what is in each.
    pub fn compactions(&self) -> Vec<(usize, String)> {
        let of = |(at, item): (usize, &Item)| {
            item.is_compaction().then_some(())?;
            Some((at, Object::of(self.items.get(at)?)?.text_of("encrypted_content")?))
        };
        self.heard.items.iter().enumerate().filter_map(of).collect()
    }

    /// Puts words in the place of an item that only we can open.
    pub fn open(&mut self, at: usize, words: &str, counts: &Counts) {
        if let (Some(json), Some(item)) = (self.items.get_mut(at), self.heard.items.get_mut(at)) {
            *json = write::note(self.heard.api, words, false);
            item.tokens = counts.of(json.text()) + Tokens(1);
            self.heard.opened = self.heard.opened.max(Some(at));
            self.is_changed = true;
        }
    }

    /// The request with all its items as they are now.
    pub fn whole(&self) -> String {
        let item = |at| Piece::Item { at, without: Vec::new(), short: Vec::new(), more: None };
        let pieces = (0..self.items.len()).map(item).collect();
        self.write(&Layout { pieces, tokens: Tokens::ZERO, changes: Changes::default() })
    }

    /// The answer to a client that asks for its history in short.
    pub fn compacted(&self, compaction: &Compaction<'_>) -> OwnAnswer {
        let Compaction { content, mark, at, tokens_in, tokens_out, kept } = *compaction;
        let item = Object::new()
            .with("type", "compaction")
            .with("id", &format!("cmp_neap{mark}"))
            .with("encrypted_content", content)
            .to_json();
        let usage = usage(tokens_in, tokens_out);
        let head = Object::new().with("id", &format!("resp_neap{mark}"));
        if self.heard.endpoint == Endpoint::Compact {
            let output: Array = self.said(kept).into_iter().chain([item]).collect();
            let body = head
                .with("object", "response.compaction")
                .with("created_at", &at)
                .with_json("output", output.to_json())
                .with_json("usage", usage);
            return OwnAnswer { body: body.to_json().text().to_owned(), is_stream: false };
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
        let of = |status: &str, output: &[&Json]| {
            let output: Array = output.iter().copied().cloned().collect();
            head.clone().with("status", status).with_json("output", output.to_json())
        };
        let whole = of("completed", &[&item]).with_json("usage", usage).to_json();
        if !self.streams() {
            return OwnAnswer { body: whole.text().to_owned(), is_stream: false };
        }
        let begun = of("in_progress", &[]).to_json();
        let events = [
            ("response.created", "response", &begun),
            ("response.in_progress", "response", &begun),
            ("response.output_item.added", "item", &item),
            ("response.output_item.done", "item", &item),
            ("response.completed", "response", &whole),
        ];
        let mut body = String::new();
        for (number, (kind, member, value)) in events.into_iter().enumerate() {
            let mut event = Object::new().with("type", kind).with("sequence_number", &number);
            if member == "item" {
                event.set("output_index", Json::of(&0));
            }
            event.set(member, value.clone());
            body.push_str(&format!("event: {kind}\ndata: {}\n\n", event.to_json().text()));
        }
        OwnAnswer { body, is_stream: true }
    }

    /// What the person said last, as it is, as far as there is room.
    fn said(&self, mut room: Tokens) -> Vec<Json> {
        let mut kept = Vec::new();
        for (json, item) in self.items.iter().zip(&self.heard.items).rev() {
            if item.speaker != Speaker::User || item.is_compaction() {
                continue;
            }
            if item.tokens > room {
                break;
            }
            room = room.saturating_sub(item.tokens);
            kept.push(message(json));
        }
        kept.reverse();
        kept
    }
}

/// A message in the long form in which providers give it back.
fn message(json: &Json) -> Json {
    let Some(mut object) = Object::of(json) else { return json.clone() };
    if let Some(text) = object.text_of("content") {
        let part = Object::new().with("type", "input_text").with("text", &text).to_json();
        object.set("content", [part].into_iter().collect::<Array>().to_json());
    }
    if object.get("type").is_none() {
        object.set("type", Json::of("message"));
    }
    object.to_json()
}

fn usage(tokens_in: Tokens, tokens_out: Tokens) -> Json {
    let details = |name: &str| Object::new().with(name, &0).to_json();
    Object::new()
        .with("input_tokens", &tokens_in.0)
        .with_json("input_tokens_details", details("cached_tokens"))
        .with("output_tokens", &tokens_out.0)
        .with_json("output_tokens_details", details("reasoning_tokens"))
        .with("total_tokens", &(tokens_in + tokens_out).0)
        .to_json()
}
