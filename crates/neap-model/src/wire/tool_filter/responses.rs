//! OpenAI Responses: hides items that call Neap's tools and renumbers the events.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::base::message::ToolCall;

use super::super::json::{Array, Json, Object};
use super::sse_frames::{SseFrame, encode_frame};
use super::{EventAction, ProtocolEnd, ProtocolFilter};

pub(super) struct ResponsesFilter {
    own_tools: BTreeSet<String>,
    round: usize,
    /// Client indexes by the provider's; `None` for a hidden call.
    client_indexes: BTreeMap<u64, Option<u64>>,
    /// Complete items of this response.
    items: BTreeMap<u64, Json>,
    /// Items that the client received, over all rounds.
    shown_items: Vec<Json>,
    shown_count: u64,
    next_sequence: u64,
    held_back: Vec<u8>,
    is_finished: bool,
}

impl ResponsesFilter {
    pub(super) fn new(own_tools: BTreeSet<String>) -> Self {
        Self {
            own_tools,
            round: 0,
            client_indexes: BTreeMap::new(),
            items: BTreeMap::new(),
            shown_items: Vec::new(),
            shown_count: 0,
            next_sequence: 0,
            held_back: Vec::new(),
            is_finished: false,
        }
    }

    fn is_own_call(&self, item: &Object) -> bool {
        let is_call = item.text_of("type").as_deref() == Some("function_call");
        is_call && item.text_of("name").is_some_and(|name| self.own_tools.contains(&name))
    }

    fn client_index(&mut self, at: u64, item: Option<&Object>) -> Option<u64> {
        if let Some(client_index) = self.client_indexes.get(&at) {
            return *client_index;
        }
        let client_index = (!item.is_some_and(|item| self.is_own_call(item))).then_some(self.shown_count);
        self.shown_count += u64::from(client_index.is_some());
        self.client_indexes.insert(at, client_index);
        client_index
    }

    fn renumbered(&mut self, mut event: Object, mut is_changed: bool) -> EventAction {
        if let Some(number) = event.read::<u64>("sequence_number") {
            is_changed = is_changed || number != self.next_sequence;
            event.set("sequence_number", Json::from_value(&self.next_sequence));
            self.next_sequence += 1;
        }
        if is_changed { EventAction::Replace(event.to_json().text().to_owned()) } else { EventAction::Pass }
    }

    fn output_items(&self, with_own: bool) -> Json {
        let is_wanted =
            |json: &&Json| with_own || !Object::from_json(json).is_some_and(|item| self.is_own_call(&item));
        self.items.values().filter(is_wanted).cloned().collect::<Array>().to_json()
    }

    fn with_shown_items(&self, mut response: Object) -> Object {
        response.set("output", self.shown_items.iter().cloned().collect::<Array>().to_json());
        response
    }

    fn collect_shown(&mut self) {
        let is_shown = |json: &&Json| !Object::from_json(json).is_some_and(|item| self.is_own_call(&item));
        let shown: Vec<Json> = self.items.values().filter(is_shown).cloned().collect();
        self.shown_items.extend(shown);
    }
}

impl ProtocolFilter for ResponsesFilter {
    fn event(&mut self, frame: &SseFrame) -> EventAction {
        let Some(event) = frame.data.as_deref().and_then(|data| Object::parse(data).ok()) else {
            return EventAction::Pass;
        };
        let kind = event.text_of("type").unwrap_or_default();
        match kind.as_str() {
            "response.created" | "response.in_progress" | "response.queued" if self.round > 0 => {
                return EventAction::Drop;
            }
            "response.completed" => {
                let response = event.object("response").unwrap_or_default();
                // If the event lists the output, the list is complete.
                let listed = response.array("output").filter(|output| !output.is_empty());
                if let Some(output) = listed {
                    self.items = output.items().cloned().enumerate().map(|(at, item)| (at as u64, item)).collect();
                }
                self.is_finished = true;
                self.held_back = frame.raw.clone();
                return EventAction::Drop;
            }
            _ => {}
        }
        let Some(at) = event.read::<u64>("output_index") else { return self.renumbered(event, false) };
        let item = event.object("item");
        if let Some(item) = item.as_ref().filter(|_| kind == "response.output_item.done") {
            self.items.insert(at, item.to_json());
        }
        match self.client_index(at, item.as_ref()) {
            None => EventAction::Drop,
            Some(index) if index == at => self.renumbered(event, false),
            Some(index) => {
                let mut event = event;
                event.set("output_index", Json::from_value(&index));
                self.renumbered(event, true)
            }
        }
    }

    fn read_whole(&mut self, body: &Object) -> bool {
        let Some(output) = body.array("output") else { return false };
        self.items = output.items().cloned().enumerate().map(|(at, item)| (at as u64, item)).collect();
        self.is_finished = true;
        true
    }

    fn finish(&mut self) -> ProtocolEnd {
        let (mut own_calls, mut client_calls) = (Vec::new(), 0);
        for item in self.items.values().filter_map(Object::from_json) {
            let text = |key: &str| item.text_of(key).unwrap_or_default();
            if self.is_own_call(&item) {
                let (id, name, arguments) = (text("call_id"), text("name"), text("arguments"));
                own_calls.push(ToolCall { id, name, arguments });
            } else if text("type").ends_with("_call") && item.get("call_id").is_some() {
                client_calls += 1;
            }
        }
        let (output, client_output) = (self.output_items(true), self.output_items(false));
        self.collect_shown();
        let mut held_back = std::mem::take(&mut self.held_back);
        let event = parse_frame(&held_back);
        let is_changed = self.round > 0 || !own_calls.is_empty();
        if let Some((name, mut event)) = event.filter(|_| is_changed && self.is_finished) {
            let response = self.with_shown_items(event.object("response").unwrap_or_default());
            event.set("response", response.to_json());
            if event.get("sequence_number").is_some() {
                event.set("sequence_number", Json::from_value(&self.next_sequence));
            }
            held_back = encode_frame(&name, event.to_json().text());
        }
        ProtocolEnd {
            is_finished: self.is_finished,
            wants_calls: true,
            own_calls,
            client_calls,
            output,
            client_output,
            held_back,
        }
    }

    fn with_shown_output(&self, body: Object) -> Object {
        self.with_shown_items(body)
    }

    fn start_next_round(&mut self) {
        self.round += 1;
        self.client_indexes.clear();
        self.items.clear();
        self.held_back.clear();
        self.is_finished = false;
    }

    fn delivered(&self) -> (String, Vec<String>) {
        let (mut text, mut calls) = (String::new(), Vec::new());
        for item in self.shown_items.iter().filter_map(Object::from_json) {
            match item.text_of("type").as_deref() {
                Some("message") => {
                    let parts = item.array("content").unwrap_or_default();
                    parts.objects().for_each(|part| text.push_str(&part.text_of("text").unwrap_or_default()));
                }
                Some(kind) if kind.ends_with("_call") => calls.extend(item.text_of("call_id")),
                Some(_) | None => {}
            }
        }
        (text, calls)
    }
}

fn parse_frame(raw: &[u8]) -> Option<(String, Object)> {
    let text = std::str::from_utf8(raw).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let event = Object::parse(field("data:")?).ok()?;
    Some((field("event:").unwrap_or_default().to_owned(), event))
}
