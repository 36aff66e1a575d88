//! OpenAI Chat Completions: hides call deltas of Neap's tools.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::base::message::ToolCall;

use super::super::json::{Array, Json, Object};
use super::sse_frames::{SseFrame, encode_frame};
use super::{EventAction, ProtocolEnd, ProtocolFilter};

/// Between the texts of two rounds that the client sees as one.
const SEPARATOR: &str = "\n\n";

pub(super) struct ChatFilter {
    own_tools: BTreeSet<String>,
    round: usize,
    /// The first response's id, used for all rounds.
    id: Option<String>,
    /// Of this round; `delivered_text` covers all rounds.
    text: String,
    delivered_text: String,
    /// Of this round, by index.
    calls: BTreeMap<u64, FilteredCall>,
    delivered_calls: Vec<Json>,
    delivered_ids: Vec<String>,
    shown_count: u64,
    /// Whether the next text follows another round's.
    needs_separator: bool,
    held_back: Vec<u8>,
    finish_reason: Option<String>,
    is_finished: bool,
}

struct FilteredCall {
    call: ToolCall,
    /// `None` for a hidden call.
    client_index: Option<u64>,
}

impl FilteredCall {
    fn json(&self) -> Json {
        let ToolCall { id, name, arguments } = &self.call;
        let function = Object::new().with("name", name).with("arguments", arguments).to_json();
        Object::new().with("id", id).with("type", "function").with_json("function", function).to_json()
    }
}

impl ChatFilter {
    pub(super) fn new(own_tools: BTreeSet<String>) -> Self {
        Self {
            own_tools,
            round: 0,
            id: None,
            text: String::new(),
            delivered_text: String::new(),
            calls: BTreeMap::new(),
            delivered_calls: Vec::new(),
            delivered_ids: Vec::new(),
            shown_count: 0,
            needs_separator: false,
            held_back: Vec::new(),
            finish_reason: None,
            is_finished: false,
        }
    }

    /// Returns the delta as the client may see it.
    fn filter_call_delta(&mut self, at: u64, mut delta: Object) -> Option<Object> {
        let function = delta.object("function").unwrap_or_default();
        let text = |object: &Object, key: &str| object.text_of(key).unwrap_or_default();
        let filtered = self.calls.entry(at).or_insert_with(|| {
            let name = text(&function, "name");
            let client_index = (!self.own_tools.contains(&name)).then_some(self.shown_count);
            self.shown_count += u64::from(client_index.is_some());
            FilteredCall {
                call: ToolCall { id: text(&delta, "id"), name, arguments: String::new() },
                client_index,
            }
        });
        filtered.call.arguments.push_str(&text(&function, "arguments"));
        let client_index = filtered.client_index?;
        if client_index != at {
            delta.set("index", Json::from_value(&client_index));
        }
        Some(delta)
    }

    /// Removes hidden calls from a delta; returns whether it changed.
    fn filter_delta(&mut self, delta: &mut Object) -> bool {
        let mut is_changed = self.round > 0 && delta.remove("role");
        if let Some(text) = delta.text_of("content").filter(|text| !text.is_empty()) {
            self.text.push_str(&text);
            if std::mem::take(&mut self.needs_separator) {
                delta.set("content", Json::from_value(&format!("{SEPARATOR}{text}")));
                is_changed = true;
            }
        }
        if let Some(calls) = delta.array("tool_calls") {
            let mut shown = Array::default();
            for (nth, piece) in calls.objects().enumerate() {
                let at = piece.read::<u64>("index").unwrap_or(nth as u64);
                if let Some(piece) = self.filter_call_delta(at, piece) {
                    shown.push(piece.to_json());
                }
            }
            if shown.to_json().text() != calls.to_json().text() {
                is_changed = true;
                match shown.is_empty() {
                    true => {
                        delta.remove("tool_calls");
                    }
                    false => delta.set("tool_calls", shown.to_json()),
                }
            }
        }
        is_changed
    }
}

impl ProtocolFilter for ChatFilter {
    fn event(&mut self, frame: &SseFrame) -> EventAction {
        let Some(data) = frame.data.as_deref() else { return EventAction::Pass };
        if data.trim() == "[DONE]" {
            self.is_finished = true;
            self.held_back.extend_from_slice(&frame.raw);
            return EventAction::Drop;
        }
        let Ok(mut event) = Object::parse(data) else { return EventAction::Pass };
        let id = event.text_of("id");
        let mut is_changed = self.round > 0 && id != self.id;
        if self.round == 0 {
            self.id = self.id.take().or(id);
        } else if let Some(id) = self.id.as_ref().filter(|_| is_changed) {
            event.set("id", Json::from_value(id));
        }
        let Some(mut choices) = event.array("choices") else { return EventAction::Pass };
        let Some(mut choice) = choices.objects().next() else {
            // Usage: every round reports it, and the last one counts.
            let data = event.to_json();
            self.held_back.extend_from_slice(&encode_frame(&frame.name, data.text()));
            return EventAction::Drop;
        };
        let mut delta = choice.object("delta").unwrap_or_default();
        if self.filter_delta(&mut delta) {
            is_changed = true;
            choice.set("delta", delta.to_json());
            choices.replace(0, choice.to_json());
            event.set("choices", choices.to_json());
        }
        let text = event.to_json().text().to_owned();
        if let Some(finish) = choice.text_of("finish_reason") {
            self.finish_reason = Some(finish);
            let held = if is_changed { encode_frame(&frame.name, &text) } else { frame.raw.clone() };
            self.held_back.extend_from_slice(&held);
            return EventAction::Drop;
        }
        match is_changed {
            false => EventAction::Pass,
            true if delta.keys().next().is_none() => EventAction::Drop,
            true => EventAction::Replace(text),
        }
    }

    fn read_whole(&mut self, body: &Object) -> bool {
        let choice = body.array("choices").and_then(|choices| choices.objects().next());
        let Some(choice) = choice else { return false };
        let Some(message) = choice.object("message") else { return false };
        self.text = message.text_of("content").unwrap_or_default();
        for (at, call) in message.array("tool_calls").unwrap_or_default().objects().enumerate() {
            self.filter_call_delta(at as u64, call);
        }
        self.finish_reason = choice.text_of("finish_reason");
        self.is_finished = true;
        true
    }

    fn finish(&mut self) -> ProtocolEnd {
        let output = |with_own: bool| {
            let calls = self.calls.values().filter(|filtered| with_own || filtered.client_index.is_some());
            let calls: Array = calls.map(FilteredCall::json).collect();
            let text = (!self.text.is_empty()).then_some(&self.text);
            let message = Object::new().with("role", "assistant").with("content", &text);
            match calls.is_empty() {
                true => message.to_json(),
                false => message.with_json("tool_calls", calls.to_json()).to_json(),
            }
        };
        let (own_calls, client_calls): (Vec<&FilteredCall>, Vec<&FilteredCall>) =
            self.calls.values().partition(|filtered| filtered.client_index.is_none());
        let end = ProtocolEnd {
            is_finished: self.is_finished,
            wants_calls: matches!(self.finish_reason.as_deref(), Some("tool_calls" | "stop")),
            own_calls: own_calls.iter().map(|filtered| filtered.call.clone()).collect(),
            client_calls: client_calls.len(),
            output: output(true),
            client_output: output(false),
            held_back: std::mem::take(&mut self.held_back),
        };
        self.delivered_calls.extend(client_calls.iter().map(|filtered| filtered.json()));
        self.delivered_ids.extend(client_calls.iter().map(|filtered| filtered.call.id.clone()));
        if !self.text.is_empty() {
            let between = if self.delivered_text.is_empty() { "" } else { SEPARATOR };
            self.delivered_text.push_str(between);
            self.delivered_text.push_str(&self.text);
        }
        end
    }

    fn with_shown_output(&self, mut body: Object) -> Object {
        let Some(mut choices) = body.array("choices") else { return body };
        let Some(mut choice) = choices.objects().next() else { return body };
        let mut message = choice.object("message").unwrap_or_default();
        let text = (!self.delivered_text.is_empty()).then_some(&self.delivered_text);
        message.set("content", Json::from_value(&text));
        message.remove("tool_calls");
        if !self.delivered_calls.is_empty() {
            message.set("tool_calls", self.delivered_calls.iter().cloned().collect::<Array>().to_json());
        }
        choice.set("message", message.to_json());
        choices.replace(0, choice.to_json());
        body.set("choices", choices.to_json());
        body
    }

    fn start_next_round(&mut self) {
        self.round += 1;
        self.needs_separator = !self.delivered_text.is_empty();
        self.text.clear();
        self.calls.clear();
        self.held_back.clear();
        self.finish_reason = None;
        self.is_finished = false;
    }

    fn delivered(&self) -> (String, Vec<String>) {
        (self.delivered_text.clone(), self.delivered_ids.clone())
    }
}
