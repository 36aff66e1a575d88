//! OpenAI Responses: a list of items, some of which are calls of ours; every event has its number.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::message::ToolCall;

use super::super::json::{Array, Json, Object};
use super::frames::{Frame, written};
use super::{Talk, TalkEnd, Told};

pub(super) struct Responses {
    ours: BTreeSet<String>,
    hop: usize,
    /// Items of this answer, by their places; each with its place for the client, none if it is ours.
    places: BTreeMap<u64, Option<u64>>,
    /// Those that are whole.
    items: BTreeMap<u64, Json>,
    /// Items that the client was given.
    shown: Vec<Json>,
    shown_count: u64,
    /// The number of the next event.
    number: u64,
    kept_back: Vec<u8>,
    is_over: bool,
}

impl Responses {
    pub(super) fn new(ours: BTreeSet<String>) -> Self {
        Self {
            ours,
            hop: 0,
            places: BTreeMap::new(),
            items: BTreeMap::new(),
            shown: Vec::new(),
            shown_count: 0,
            number: 0,
            kept_back: Vec::new(),
            is_over: false,
        }
    }

    fn is_ours(&self, item: &Object) -> bool {
        let is_call = item.text_of("type").as_deref() == Some("function_call");
        is_call && item.text_of("name").is_some_and(|name| self.ours.contains(&name))
    }

    /// Where an item stands for the client.
    fn place(&mut self, at: u64, item: Option<&Object>) -> Option<u64> {
        if let Some(place) = self.places.get(&at) {
            return *place;
        }
        let place = (!item.is_some_and(|item| self.is_ours(item))).then_some(self.shown_count);
        self.shown_count += u64::from(place.is_some());
        self.places.insert(at, place);
        place
    }

    /// The event with the number that it has for the client.
    fn numbered(&mut self, mut event: Object, mut is_changed: bool) -> Told {
        if let Some(number) = event.read::<u64>("sequence_number") {
            is_changed = is_changed || number != self.number;
            event.set("sequence_number", Json::of(&self.number));
            self.number += 1;
        }
        if is_changed { Told::Instead(event.to_json().text().to_owned()) } else { Told::AsItCame }
    }

    /// What was said last: the items of this answer, with or without calls of ours.
    fn output(&self, with_ours: bool) -> Json {
        let is_wanted = |json: &&Json| with_ours || !Object::of(json).is_some_and(|item| self.is_ours(&item));
        self.items.values().filter(is_wanted).cloned().collect::<Array>().to_json()
    }

    /// A response with all that the client is to see.
    fn whole_of(&self, mut response: Object) -> Object {
        response.set("output", self.shown.iter().cloned().collect::<Array>().to_json());
        response
    }

    fn show(&mut self) {
        let of_client = |json: &&Json| !Object::of(json).is_some_and(|item| self.is_ours(&item));
        let shown: Vec<Json> = self.items.values().filter(of_client).cloned().collect();
        self.shown.extend(shown);
    }
}

impl Talk for Responses {
    fn event(&mut self, frame: &Frame) -> Told {
        let Some(event) = frame.data.as_deref().and_then(|data| Object::parse(data).ok()) else {
            return Told::AsItCame;
        };
        let kind = event.text_of("type").unwrap_or_default();
        match kind.as_str() {
            "response.created" | "response.in_progress" | "response.queued" if self.hop > 0 => {
                return Told::Nothing;
            }
            "response.completed" => {
                let response = event.object("response").unwrap_or_default();
                // What it lists is all of it, where it does.
                let listed = response.array("output").filter(|output| !output.is_empty());
                if let Some(output) = listed {
                    self.items = output.items().cloned().enumerate().map(|(at, item)| (at as u64, item)).collect();
                }
                self.is_over = true;
                self.kept_back = frame.raw.clone();
                return Told::Nothing;
            }
            _ => {}
        }
        let Some(at) = event.read::<u64>("output_index") else { return self.numbered(event, false) };
        let item = event.object("item");
        if let Some(item) = item.as_ref().filter(|_| kind == "response.output_item.done") {
            self.items.insert(at, item.to_json());
        }
        match self.place(at, item.as_ref()) {
            None => Told::Nothing,
            Some(to) if to == at => self.numbered(event, false),
            Some(to) => {
                let mut event = event;
                event.set("output_index", Json::of(&to));
                self.numbered(event, true)
            }
        }
    }

    fn whole(&mut self, body: &Object) -> bool {
        let Some(output) = body.array("output") else { return false };
        self.items = output.items().cloned().enumerate().map(|(at, item)| (at as u64, item)).collect();
        self.is_over = true;
        true
    }

    fn ended(&mut self) -> TalkEnd {
        let (mut ours, mut theirs) = (Vec::new(), 0);
        for item in self.items.values().filter_map(Object::of) {
            let text = |key: &str| item.text_of(key).unwrap_or_default();
            if self.is_ours(&item) {
                let (id, name, arguments) = (text("call_id"), text("name"), text("arguments"));
                ours.push(ToolCall { id, name, arguments });
            } else if text("type").ends_with("_call") && item.get("call_id").is_some() {
                theirs += 1;
            }
        }
        let (said, said_without) = (self.output(true), self.output(false));
        self.show();
        let mut kept_back = std::mem::take(&mut self.kept_back);
        let event = frame_of(&kept_back);
        let is_changed = self.hop > 0 || !ours.is_empty();
        if let Some((name, mut event)) = event.filter(|_| is_changed && self.is_over) {
            let response = self.whole_of(event.object("response").unwrap_or_default());
            event.set("response", response.to_json());
            if event.get("sequence_number").is_some() {
                event.set("sequence_number", Json::of(&self.number));
            }
            kept_back = written(&name, event.to_json().text());
        }
        TalkEnd { is_over: self.is_over, wants_calls: true, ours, theirs, said, said_without, kept_back }
    }

    fn shown(&self, body: Object) -> Object {
        self.whole_of(body)
    }

    fn again(&mut self) {
        self.hop += 1;
        self.places.clear();
        self.items.clear();
        self.kept_back.clear();
        self.is_over = false;
    }

    fn given(&self) -> (String, Vec<String>) {
        let (mut text, mut calls) = (String::new(), Vec::new());
        for item in self.shown.iter().filter_map(Object::of) {
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

/// An event's name and what it carries.
fn frame_of(raw: &[u8]) -> Option<(String, Object)> {
    let text = std::str::from_utf8(raw).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let event = Object::parse(field("data:")?).ok()?;
    Some((field("event:").unwrap_or_default().to_owned(), event))
}
