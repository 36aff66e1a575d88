//! Anthropic Messages: hides content blocks that call Neap's tools.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::base::message::ToolCall;

use super::super::json::{Array, Json, Object};
use super::sse_frames::SseFrame;
use super::{EventAction, ProtocolEnd, ProtocolFilter};

pub(super) struct MessagesFilter {
    own_tools: BTreeSet<String>,
    round: usize,
    /// Of this response, by index.
    blocks: BTreeMap<u64, FilteredBlock>,
    /// Blocks that the client received, over all rounds.
    shown_blocks: Vec<Json>,
    shown_count: u64,
    held_back: Vec<u8>,
    stop_reason: Option<String>,
    is_finished: bool,
}

struct FilteredBlock {
    object: Object,
    /// Arguments received as deltas.
    input: String,
    /// `None` for a hidden call.
    client_index: Option<u64>,
}

impl FilteredBlock {
    fn apply_delta(&mut self, delta: &Object) {
        let append = |object: &mut Object, key: &str| {
            if let Some(more) = delta.text_of(key) {
                let whole = object.text_of(key).unwrap_or_default() + &more;
                object.set(key, Json::from_value(&whole));
            }
        };
        match delta.text_of("type").as_deref() {
            Some("text_delta") => append(&mut self.object, "text"),
            Some("thinking_delta") => append(&mut self.object, "thinking"),
            Some("signature_delta") => append(&mut self.object, "signature"),
            Some("input_json_delta") => self.input.push_str(&delta.text_of("partial_json").unwrap_or_default()),
            Some(_) | None => {}
        }
    }

    fn json(&self) -> Json {
        let mut object = self.object.clone();
        if let Ok(input) = Json::parse(&self.input) {
            object.set("input", input);
        }
        object.to_json()
    }

    fn call(&self) -> Option<ToolCall> {
        let object = Object::from_json(&self.json())?;
        if object.text_of("type")? != "tool_use" {
            return None;
        }
        let arguments = object.get("input").map_or("{}", Json::text).to_owned();
        Some(ToolCall { id: object.text_of("id")?, name: object.text_of("name")?, arguments })
    }
}

impl MessagesFilter {
    pub(super) fn new(own_tools: BTreeSet<String>) -> Self {
        Self {
            own_tools,
            round: 0,
            blocks: BTreeMap::new(),
            shown_blocks: Vec::new(),
            shown_count: 0,
            held_back: Vec::new(),
            stop_reason: None,
            is_finished: false,
        }
    }

    fn start_block(&mut self, at: u64, object: Object) {
        let is_call = object.text_of("type").as_deref() == Some("tool_use");
        let is_own = is_call && object.text_of("name").is_some_and(|name| self.own_tools.contains(&name));
        let client_index = (!is_own).then_some(self.shown_count);
        self.shown_count += u64::from(!is_own);
        self.blocks.insert(at, FilteredBlock { object, input: String::new(), client_index });
    }

    fn reindexed(&self, at: u64, event: Object) -> EventAction {
        match self.blocks.get(&at).map(|block| block.client_index) {
            Some(None) => EventAction::Drop,
            Some(Some(index)) if index != at => EventAction::Replace(with_index(event, index)),
            Some(Some(_)) | None => EventAction::Pass,
        }
    }
}

fn with_index(mut event: Object, index: u64) -> String {
    event.set("index", Json::from_value(&index));
    event.to_json().text().to_owned()
}

impl ProtocolFilter for MessagesFilter {
    fn event(&mut self, frame: &SseFrame) -> EventAction {
        let Some(event) = frame.data.as_deref().and_then(|data| Object::parse(data).ok()) else {
            return EventAction::Pass;
        };
        let at = event.read::<u64>("index");
        match (event.text_of("type").as_deref(), at) {
            (Some("message_start"), _) if self.round > 0 => EventAction::Drop,
            (Some("content_block_start"), Some(at)) => {
                self.start_block(at, event.object("content_block").unwrap_or_default());
                self.reindexed(at, event)
            }
            (Some("content_block_delta"), Some(at)) => {
                if let (Some(block), Some(delta)) = (self.blocks.get_mut(&at), event.object("delta")) {
                    block.apply_delta(&delta);
                }
                self.reindexed(at, event)
            }
            (Some("content_block_stop"), Some(at)) => self.reindexed(at, event),
            (Some("message_delta"), _) => {
                self.stop_reason = event.object("delta").and_then(|delta| delta.text_of("stop_reason"));
                self.held_back.extend_from_slice(&frame.raw);
                EventAction::Drop
            }
            (Some("message_stop"), _) => {
                self.is_finished = true;
                self.held_back.extend_from_slice(&frame.raw);
                EventAction::Drop
            }
            (Some(_) | None, _) => EventAction::Pass,
        }
    }

    fn read_whole(&mut self, body: &Object) -> bool {
        let Some(content) = body.array("content") else { return false };
        for (at, json) in content.items().enumerate() {
            self.start_block(at as u64, Object::from_json(json).unwrap_or_default());
        }
        self.stop_reason = body.text_of("stop_reason");
        self.is_finished = true;
        true
    }

    fn finish(&mut self) -> ProtocolEnd {
        let output = |with_own: bool| {
            let blocks = self.blocks.values().filter(|block| with_own || block.client_index.is_some());
            let content: Array = blocks.map(FilteredBlock::json).collect();
            Object::new().with("role", "assistant").with_json("content", content.to_json()).to_json()
        };
        let calls = |is_own: bool| {
            let blocks = self.blocks.values().filter(move |block| block.client_index.is_none() == is_own);
            blocks.filter_map(FilteredBlock::call).collect::<Vec<_>>()
        };
        let end = ProtocolEnd {
            is_finished: self.is_finished,
            wants_calls: self.stop_reason.as_deref() == Some("tool_use"),
            own_calls: calls(true),
            client_calls: calls(false).len(),
            output: output(true),
            client_output: output(false),
            held_back: std::mem::take(&mut self.held_back),
        };
        self.shown_blocks
            .extend(self.blocks.values().filter(|block| block.client_index.is_some()).map(FilteredBlock::json));
        end
    }

    fn with_shown_output(&self, mut body: Object) -> Object {
        body.set("content", self.shown_blocks.iter().cloned().collect::<Array>().to_json());
        body
    }

    fn start_next_round(&mut self) {
        self.round += 1;
        self.blocks.clear();
        self.held_back.clear();
        self.stop_reason = None;
        self.is_finished = false;
    }

    fn delivered(&self) -> (String, Vec<String>) {
        let objects = self.shown_blocks.iter().filter_map(Object::from_json);
        let (mut text, mut calls) = (String::new(), Vec::new());
        for object in objects {
            match object.text_of("type").as_deref() {
                Some("text") => text.push_str(&object.text_of("text").unwrap_or_default()),
                Some("tool_use") => calls.extend(object.text_of("id")),
                Some(_) | None => {}
            }
        }
        (text, calls)
    }
}
