//! OpenAI Chat Completions: calls come in pieces, beside the words.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::message::ToolCall;

use super::super::json::{Array, Json, Object};
use super::frames::{Frame, written};
use super::{Talk, TalkEnd, Told};

/// Stands between words of two answers, where the client sees one.
const BETWEEN: &str = "\n\n";

pub(super) struct Chat {
    ours: BTreeSet<String>,
    hop: usize,
    /// What the first answer is called; all of it goes by that.
    id: Option<String>,
    /// The words of this answer, and of all so far.
    text: String,
    given_text: String,
    /// Calls of this answer, by their places.
    calls: BTreeMap<u64, Calling>,
    given_calls: Vec<Json>,
    given_ids: Vec<String>,
    shown_count: u64,
    /// Whether words that come now stand after others.
    is_apart: bool,
    kept_back: Vec<u8>,
    finish: Option<String>,
    is_over: bool,
}

/// A call on the way.
struct Calling {
    call: ToolCall,
    /// Its place for the client; none if it is ours.
    to: Option<u64>,
}

impl Calling {
    fn json(&self) -> Json {
        let ToolCall { id, name, arguments } = &self.call;
        let function = Object::new().with("name", name).with("arguments", arguments).to_json();
        Object::new().with("id", id).with("type", "function").with_json("function", function).to_json()
    }
}

impl Chat {
    pub(super) fn new(ours: BTreeSet<String>) -> Self {
        Self {
            ours,
            hop: 0,
            id: None,
            text: String::new(),
            given_text: String::new(),
            calls: BTreeMap::new(),
            given_calls: Vec::new(),
            given_ids: Vec::new(),
            shown_count: 0,
            is_apart: false,
            kept_back: Vec::new(),
            finish: None,
            is_over: false,
        }
    }

    /// A piece of a call; gives it as the client sees it.
    fn piece(&mut self, at: u64, mut piece: Object) -> Option<Object> {
        let function = piece.object("function").unwrap_or_default();
        let text = |object: &Object, key: &str| object.text_of(key).unwrap_or_default();
        let calling = self.calls.entry(at).or_insert_with(|| {
            let name = text(&function, "name");
            let to = (!self.ours.contains(&name)).then_some(self.shown_count);
            self.shown_count += u64::from(to.is_some());
            Calling { call: ToolCall { id: text(&piece, "id"), name, arguments: String::new() }, to }
        });
        calling.call.arguments.push_str(&text(&function, "arguments"));
        let to = calling.to?;
        if to != at {
            piece.set("index", Json::of(&to));
        }
        Some(piece)
    }

    /// The words and calls of a piece of an answer, as the client sees them; says whether that is otherwise.
    fn delta(&mut self, delta: &mut Object) -> bool {
        let mut is_changed = self.hop > 0 && delta.remove("role");
        if let Some(text) = delta.text_of("content").filter(|text| !text.is_empty()) {
            self.text.push_str(&text);
            if std::mem::take(&mut self.is_apart) {
                delta.set("content", Json::of(&format!("{BETWEEN}{text}")));
                is_changed = true;
            }
        }
        if let Some(calls) = delta.array("tool_calls") {
            let mut shown = Array::default();
            for (nth, piece) in calls.objects().enumerate() {
                let at = piece.read::<u64>("index").unwrap_or(nth as u64);
                if let Some(piece) = self.piece(at, piece) {
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

impl Talk for Chat {
    fn event(&mut self, frame: &Frame) -> Told {
        let Some(data) = frame.data.as_deref() else { return Told::AsItCame };
        if data.trim() == "[DONE]" {
            self.is_over = true;
            self.kept_back.extend_from_slice(&frame.raw);
            return Told::Nothing;
        }
        let Ok(mut event) = Object::parse(data) else { return Told::AsItCame };
        let id = event.text_of("id");
        let mut is_changed = self.hop > 0 && id != self.id;
        if self.hop == 0 {
            self.id = self.id.take().or(id);
        } else if let Some(id) = self.id.as_ref().filter(|_| is_changed) {
            event.set("id", Json::of(id));
        }
        let Some(mut choices) = event.array("choices") else { return Told::AsItCame };
        let Some(mut choice) = choices.objects().next() else {
            // What it used; each answer says so, the last one counts.
            let data = event.to_json();
            self.kept_back.extend_from_slice(&written(&frame.name, data.text()));
            return Told::Nothing;
        };
        let mut delta = choice.object("delta").unwrap_or_default();
        if self.delta(&mut delta) {
            is_changed = true;
            choice.set("delta", delta.to_json());
            choices.replace(0, choice.to_json());
            event.set("choices", choices.to_json());
        }
        let text = event.to_json().text().to_owned();
        if let Some(finish) = choice.text_of("finish_reason") {
            self.finish = Some(finish);
            let kept = if is_changed { written(&frame.name, &text) } else { frame.raw.clone() };
            self.kept_back.extend_from_slice(&kept);
            return Told::Nothing;
        }
        match is_changed {
            false => Told::AsItCame,
            true if delta.keys().next().is_none() => Told::Nothing,
            true => Told::Instead(text),
        }
    }

    fn whole(&mut self, body: &Object) -> bool {
        let choice = body.array("choices").and_then(|choices| choices.objects().next());
        let Some(choice) = choice else { return false };
        let Some(message) = choice.object("message") else { return false };
        self.text = message.text_of("content").unwrap_or_default();
        for (at, call) in message.array("tool_calls").unwrap_or_default().objects().enumerate() {
            self.piece(at as u64, call);
        }
        self.finish = choice.text_of("finish_reason");
        self.is_over = true;
        true
    }

    fn ended(&mut self) -> TalkEnd {
        let said = |with_ours: bool| {
            let calls = self.calls.values().filter(|calling| with_ours || calling.to.is_some());
            let calls: Array = calls.map(Calling::json).collect();
            let text = (!self.text.is_empty()).then_some(&self.text);
            let said = Object::new().with("role", "assistant").with("content", &text);
            match calls.is_empty() {
                true => said.to_json(),
                false => said.with_json("tool_calls", calls.to_json()).to_json(),
            }
        };
        let (ours, theirs): (Vec<&Calling>, Vec<&Calling>) =
            self.calls.values().partition(|calling| calling.to.is_none());
        let end = TalkEnd {
            is_over: self.is_over,
            wants_calls: matches!(self.finish.as_deref(), Some("tool_calls" | "stop")),
            ours: ours.iter().map(|calling| calling.call.clone()).collect(),
            theirs: theirs.len(),
            said: said(true),
            said_without: said(false),
            kept_back: std::mem::take(&mut self.kept_back),
        };
        self.given_calls.extend(theirs.iter().map(|calling| calling.json()));
        self.given_ids.extend(theirs.iter().map(|calling| calling.call.id.clone()));
        if !self.text.is_empty() {
            let between = if self.given_text.is_empty() { "" } else { BETWEEN };
            self.given_text.push_str(between);
            self.given_text.push_str(&self.text);
        }
        end
    }

    fn shown(&self, mut body: Object) -> Object {
        let Some(mut choices) = body.array("choices") else { return body };
        let Some(mut choice) = choices.objects().next() else { return body };
        let mut message = choice.object("message").unwrap_or_default();
        let text = (!self.given_text.is_empty()).then_some(&self.given_text);
        message.set("content", Json::of(&text));
        message.remove("tool_calls");
        if !self.given_calls.is_empty() {
            message.set("tool_calls", self.given_calls.iter().cloned().collect::<Array>().to_json());
        }
        choice.set("message", message.to_json());
        choices.replace(0, choice.to_json());
        body.set("choices", choices.to_json());
        body
    }

    fn again(&mut self) {
        self.hop += 1;
        self.is_apart = !self.given_text.is_empty();
        self.text.clear();
        self.calls.clear();
        self.kept_back.clear();
        self.finish = None;
        self.is_over = false;
    }

    fn given(&self) -> (String, Vec<String>) {
        (self.given_text.clone(), self.given_ids.clone())
    }
}
