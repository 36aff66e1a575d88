//! Tools of ours in a client's request: offered beside its own, and what was said with them put back where it was.

use std::collections::BTreeSet;
use std::ops::Range;

use neap_core::ingest::{Api, Shadow};
use neap_core::tokens::Tokens;
use neap_core::tools::ToolSpec;

use super::super::json::{Array, Json, Object};
use super::{Counts, Request, fixed, list};

/// The memory tool that Anthropic's models know.
pub const MEMORY_TOOL: &str = "memory_20250818";
/// What it is called.
const MEMORY: &str = "memory";

/// What is sent in the place of some items.
#[derive(Debug, Clone)]
pub(super) struct Woven {
    pub(super) at: Range<usize>,
    pub(super) items: Vec<Json>,
    /// The item that takes along what was held, and that.
    pub(super) held: Option<(usize, Vec<Json>)>,
}

/// Which tools are ours.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// To be offered, in this order.
    pub tools: Vec<ToolSpec>,
    /// Whether the memory tool that Anthropic's models know is, too.
    pub memory: bool,
}

impl Request {
    /// Offers tools after the client's own, and gives the names of those whose calls are ours to answer. A name that the client uses is
    /// the client's.
    pub fn offer(&mut self, offer: &Offer, counts: &Counts) -> BTreeSet<String> {
        let api = self.heard.api;
        // What a provider keeps for the client, and answers that come several at once, cannot be told from outside.
        let is_kept = api == Api::Responses && self.body.read("store") != Some(false);
        if is_kept || self.body.read::<u64>("n").is_some_and(|answers| answers > 1) {
            return BTreeSet::new();
        }
        let mut tools = self.body.array("tools").unwrap_or_default();
        let kinds: Vec<(String, String)> = tools.objects().map(|tool| (name(&tool), kind(&tool))).collect();
        let is_taken = |name: &str| kinds.iter().any(|(taken, _)| taken == name);
        let mut ours = BTreeSet::new();
        for tool in offer.tools.iter().filter(|tool| !is_taken(&tool.name)) {
            tools.push(written(api, tool));
            ours.insert(tool.name.clone());
        }
        if offer.memory && api == Api::Messages {
            let is_theirs = kinds.iter().any(|(_, kind)| kind == MEMORY_TOOL);
            if !is_theirs && !is_taken(MEMORY) {
                tools.push(Object::new().with("type", MEMORY_TOOL).with("name", MEMORY).to_json());
            }
            if is_theirs || !is_taken(MEMORY) {
                ours.insert(MEMORY.to_owned());
            }
        }
        if !ours.is_empty() {
            self.body.set("tools", tools.to_json());
            self.heard.fixed = fixed(&self.body, api, counts);
            self.is_changed = true;
        }
        ours
    }

    /// Puts what was really said in the place of items.
    pub fn weave(&mut self, at: Range<usize>, shadow: &Shadow, counts: &Counts) {
        let read = |texts: &[String]| texts.iter().filter_map(|text| Json::parse(text).ok()).collect::<Vec<_>>();
        let tokens = |items: &[Json]| items.iter().map(|item| counts.of(item.text()) + Tokens(1)).sum::<Tokens>();
        let (items, held) = (read(&shadow.items), read(&shadow.held));
        let answers = |next: &usize| self.heard.items[*next].answers().next().is_some();
        // What was held goes with what the client answers; where it answers nothing, it cannot.
        let held = match (held.is_empty(), (at.end..self.heard.items.len()).find(answers)) {
            (true, _) => None,
            (false, Some(next)) => Some((next, held)),
            (false, None) => return,
        };
        // All of it is paid for where the last of them stands.
        for item in &mut self.heard.items[at.clone()] {
            item.tokens = Tokens::ZERO;
        }
        if let Some(last) = self.heard.items[at.clone()].last_mut() {
            last.tokens = tokens(&items);
        }
        if let Some((next, held)) = &held {
            self.heard.items[*next].tokens += tokens(held);
        }
        self.woven.push(Woven { at, items, held });
        self.is_changed = true;
    }

    /// Whether it is to be sent otherwise than it came.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }
}

/// A request that goes on from another: what was said to it, and what calls of ours answered.
pub fn continued(api: Api, body: &str, said: &Json, answers: &[Json]) -> Option<String> {
    let mut body = Object::parse(body).ok()?;
    let mut items = body.array(list(api))?;
    said_as_items(api, said).into_iter().for_each(|item| items.push(item));
    answers_as_items(api, answers).into_iter().for_each(|item| items.push(item));
    body.set(list(api), items.to_json());
    Some(body.to_text())
}

/// What was said in one answer, as items.
pub fn said_as_items(api: Api, said: &Json) -> Vec<Json> {
    match (api, Array::of(said)) {
        (Api::Responses, Some(items)) => items.items().cloned().collect(),
        (Api::Chat | Api::Messages | Api::Responses, _) => vec![said.clone()],
    }
}

/// What a call of ours answered, as a part of an item or an item of its own.
pub fn answer_to(api: Api, id: &str, text: &str) -> Json {
    match api {
        Api::Chat => Object::new().with("role", "tool").with("tool_call_id", id).with("content", text).to_json(),
        Api::Messages => {
            Object::new().with("type", "tool_result").with("tool_use_id", id).with("content", text).to_json()
        }
        Api::Responses => {
            Object::new().with("type", "function_call_output").with("call_id", id).with("output", text).to_json()
        }
    }
}

/// The same as items.
pub fn answers_as_items(api: Api, answers: &[Json]) -> Vec<Json> {
    match api {
        Api::Chat | Api::Responses => answers.to_vec(),
        Api::Messages => {
            let content: Array = answers.iter().cloned().collect();
            vec![Object::new().with("role", "user").with_json("content", content.to_json()).to_json()]
        }
    }
}

/// An item with what was held before its own: parts of it, or items before it.
pub(super) fn with_held(api: Api, json: Json, held: &[Json]) -> Vec<Json> {
    let content = Object::of(&json).and_then(|object| object.array("content"));
    match (api, Object::of(&json), content) {
        (Api::Messages, Some(mut object), Some(content)) => {
            let all: Array = held.iter().chain(content.items()).cloned().collect();
            object.set("content", all.to_json());
            vec![object.to_json()]
        }
        _ => held.iter().cloned().chain([json]).collect(),
    }
}

/// Without what the model thought; none if it is nothing else.
pub(super) fn without_thoughts(json: &Json) -> Option<Json> {
    let Some(mut object) = Object::of(json) else { return Some(json.clone()) };
    if kind(&object) == "reasoning" {
        return None;
    }
    if let Some(content) = object.array("content") {
        let is_thought = |json: &&Json| {
            let kind = Object::of(json).map(|part| kind(&part)).unwrap_or_default();
            matches!(kind.as_str(), "thinking" | "redacted_thinking")
        };
        let kept: Array = content.items().filter(|json| !is_thought(json)).cloned().collect();
        object.set("content", kept.to_json());
    }
    super::chat::THOUGHTS.into_iter().for_each(|key| {
        object.remove(key);
    });
    Some(object.to_json())
}

fn kind(tool: &Object) -> String {
    tool.text_of("type").unwrap_or_default()
}

fn name(tool: &Object) -> String {
    let function = tool.object("function").and_then(|function| function.text_of("name"));
    function.or_else(|| tool.text_of("name")).unwrap_or_default()
}

/// A tool as it stands in a request.
fn written(api: Api, tool: &ToolSpec) -> Json {
    let ToolSpec { name, description, parameters } = tool;
    let object =
        |schema: &str| Object::new().with("name", name).with("description", description).with(schema, parameters);
    match api {
        Api::Chat => {
            Object::new().with("type", "function").with_json("function", object("parameters").to_json()).to_json()
        }
        Api::Messages => object("input_schema").to_json(),
        Api::Responses => object("parameters").with("type", "function").with("strict", &false).to_json(),
    }
}
