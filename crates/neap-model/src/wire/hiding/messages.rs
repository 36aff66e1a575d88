//! Anthropic Messages: content blocks, some of which are calls of ours.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::message::ToolCall;

use super::super::json::{Array, Json, Object};
use super::frames::Frame;
use super::{Talk, TalkEnd, Told};

pub(super) struct Messages {
    ours: BTreeSet<String>,
    hop: usize,
    /// Blocks of this answer, by their places.
    blocks: BTreeMap<u64, Block>,
    /// Blocks that the client was given.
    shown: Vec<Json>,
    shown_count: u64,
    kept_back: Vec<u8>,
    stop: Option<String>,
    is_over: bool,
}

/// A block on the way.
struct Block {
    object: Object,
    /// What came of a call's arguments.
    input: String,
    /// Its place for the client; none if it is ours.
    to: Option<u64>,
}

impl Block {
    fn add(&mut self, delta: &Object) {
        let append = |object: &mut Object, key: &str| {
            if let Some(more) = delta.text_of(key) {
                let whole = object.text_of(key).unwrap_or_default() + &more;
                object.set(key, Json::of(&whole));
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
        let object = Object::of(&self.json())?;
        if object.text_of("type")? != "tool_use" {
            return None;
        }
        let arguments = object.get("input").map_or("{}", Json::text).to_owned();
        Some(ToolCall { id: object.text_of("id")?, name: object.text_of("name")?, arguments })
    }
}

impl Messages {
    pub(super) fn new(ours: BTreeSet<String>) -> Self {
        Self {
            ours,
            hop: 0,
            blocks: BTreeMap::new(),
            shown: Vec::new(),
            shown_count: 0,
            kept_back: Vec::new(),
            stop: None,
            is_over: false,
        }
    }

    fn begin(&mut self, at: u64, object: Object) {
        let is_call = object.text_of("type").as_deref() == Some("tool_use");
        let is_ours = is_call && object.text_of("name").is_some_and(|name| self.ours.contains(&name));
        let to = (!is_ours).then_some(self.shown_count);
        self.shown_count += u64::from(!is_ours);
        self.blocks.insert(at, Block { object, input: String::new(), to });
    }

    /// An event about a block, with the place that this has for the client.
    fn placed(&self, at: u64, event: Object) -> Told {
        match self.blocks.get(&at).map(|block| block.to) {
            Some(None) => Told::Nothing,
            Some(Some(to)) if to != at => Told::Instead(moved(event, to)),
            Some(Some(_)) | None => Told::AsItCame,
        }
    }
}

fn moved(mut event: Object, to: u64) -> String {
    event.set("index", Json::of(&to));
    event.to_json().text().to_owned()
}

impl Talk for Messages {
    fn event(&mut self, frame: &Frame) -> Told {
        let Some(event) = frame.data.as_deref().and_then(|data| Object::parse(data).ok()) else {
            return Told::AsItCame;
        };
        let at = event.read::<u64>("index");
        match (event.text_of("type").as_deref(), at) {
            (Some("message_start"), _) if self.hop > 0 => Told::Nothing,
            (Some("content_block_start"), Some(at)) => {
                self.begin(at, event.object("content_block").unwrap_or_default());
                self.placed(at, event)
            }
            (Some("content_block_delta"), Some(at)) => {
                if let (Some(block), Some(delta)) = (self.blocks.get_mut(&at), event.object("delta")) {
                    block.add(&delta);
                }
                self.placed(at, event)
            }
            (Some("content_block_stop"), Some(at)) => self.placed(at, event),
            (Some("message_delta"), _) => {
                self.stop = event.object("delta").and_then(|delta| delta.text_of("stop_reason"));
                self.kept_back.extend_from_slice(&frame.raw);
                Told::Nothing
            }
            (Some("message_stop"), _) => {
                self.is_over = true;
                self.kept_back.extend_from_slice(&frame.raw);
                Told::Nothing
            }
            (Some(_) | None, _) => Told::AsItCame,
        }
    }

    fn whole(&mut self, body: &Object) -> bool {
        let Some(content) = body.array("content") else { return false };
        for (at, json) in content.items().enumerate() {
            self.begin(at as u64, Object::of(json).unwrap_or_default());
        }
        self.stop = body.text_of("stop_reason");
        self.is_over = true;
        true
    }

    fn ended(&mut self) -> TalkEnd {
        let said = |with_ours: bool| {
            let blocks = self.blocks.values().filter(|block| with_ours || block.to.is_some());
            let content: Array = blocks.map(Block::json).collect();
            Object::new().with("role", "assistant").with_json("content", content.to_json()).to_json()
        };
        let calls = |is_ours: bool| {
            let blocks = self.blocks.values().filter(move |block| block.to.is_none() == is_ours);
            blocks.filter_map(Block::call).collect::<Vec<_>>()
        };
        let end = TalkEnd {
            is_over: self.is_over,
            wants_calls: self.stop.as_deref() == Some("tool_use"),
            ours: calls(true),
            theirs: calls(false).len(),
            said: said(true),
            said_without: said(false),
            kept_back: std::mem::take(&mut self.kept_back),
        };
        self.shown.extend(self.blocks.values().filter(|block| block.to.is_some()).map(Block::json));
        end
    }

    fn shown(&self, mut body: Object) -> Object {
        body.set("content", self.shown.iter().cloned().collect::<Array>().to_json());
        body
    }

    fn again(&mut self) {
        self.hop += 1;
        self.blocks.clear();
        self.kept_back.clear();
        self.stop = None;
        self.is_over = false;
    }

    fn given(&self) -> (String, Vec<String>) {
        let objects = self.shown.iter().filter_map(Object::of);
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
