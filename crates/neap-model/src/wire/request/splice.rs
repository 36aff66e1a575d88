//! Neap's own tools in a client's request: offers them, and splices the hidden turns that used them back in.

use std::collections::BTreeSet;
use std::ops::Range;

use neap_core::base::tokens::Tokens;
use neap_core::client::{HiddenToolTurns, WireApi};
use neap_core::context::tools::ToolSpec;

use super::super::json::{Array, Json, Object};
use super::{CachedCounter, WireRequest, fixed_tokens, history_key};

pub const MEMORY_TOOL: &str = "memory_20250818";
const MEMORY_TOOL_NAME: &str = "memory";

/// Items to send in place of a range.
#[derive(Debug, Clone)]
pub(super) struct Splice {
    pub(super) at: Range<usize>,
    pub(super) items: Vec<Json>,
    /// Held tool results, and the item that they go with.
    pub(super) held: Option<(usize, Vec<Json>)>,
}

#[derive(Debug, Clone, Default)]
pub struct ToolOffer {
    /// In this order.
    pub tools: Vec<ToolSpec>,
    /// Whether Anthropic's memory tool is offered, too.
    pub has_memory_tool: bool,
}

impl WireRequest {
    /// Offers tools after the client's own and returns the names of those that Neap answers. A name that the
    /// client uses stays the client's.
    pub fn offer_tools(&mut self, offer: &ToolOffer, counts: &CachedCounter) -> BTreeSet<String> {
        let api = self.parsed.api;
        // History stored at the provider, or several answers at once, cannot be followed from here.
        let is_stored = api == WireApi::Responses && self.body.read("store") != Some(false);
        if is_stored || self.body.read::<u64>("n").is_some_and(|count| count > 1) {
            return BTreeSet::new();
        }
        let mut tools = self.body.array("tools").unwrap_or_default();
        let kinds: Vec<(String, String)> =
            tools.objects().map(|tool| (tool_name(&tool), type_of(&tool))).collect();
        let is_taken = |name: &str| kinds.iter().any(|(taken, _)| taken == name);
        let mut own_tools = BTreeSet::new();
        for tool in offer.tools.iter().filter(|tool| !is_taken(&tool.name)) {
            tools.push(tool_json(api, tool));
            own_tools.insert(tool.name.clone());
        }
        if offer.has_memory_tool && api == WireApi::Messages {
            let client_offers = kinds.iter().any(|(_, kind)| kind == MEMORY_TOOL);
            if !client_offers && !is_taken(MEMORY_TOOL_NAME) {
                tools.push(Object::new().with("type", MEMORY_TOOL).with("name", MEMORY_TOOL_NAME).to_json());
            }
            if client_offers || !is_taken(MEMORY_TOOL_NAME) {
                own_tools.insert(MEMORY_TOOL_NAME.to_owned());
            }
        }
        if !own_tools.is_empty() {
            self.body.set("tools", tools.to_json());
            self.parsed.fixed_tokens = fixed_tokens(&self.body, api, counts);
            self.is_changed = true;
        }
        own_tools
    }

    /// Replaces a range of items by the turns that really took place.
    pub fn splice(&mut self, at: Range<usize>, hidden: &HiddenToolTurns, counts: &CachedCounter) {
        let read = |texts: &[String]| texts.iter().filter_map(|text| Json::parse(text).ok()).collect::<Vec<_>>();
        let tokens =
            |items: &[Json]| items.iter().map(|item| counts.count(item.text()) + Tokens(1)).sum::<Tokens>();
        let (items, held) = (read(&hidden.items), read(&hidden.held_results));
        let has_results = |next: &usize| self.parsed.items[*next].answered_call_ids().next().is_some();
        // Held results are sent with the client's next tool results; without any, the splice cannot be made.
        let held = match (held.is_empty(), (at.end..self.parsed.items.len()).find(has_results)) {
            (true, _) => None,
            (false, Some(next)) => Some((next, held)),
            (false, None) => return,
        };
        // The last item of the range carries the cost of the whole splice.
        for item in &mut self.parsed.items[at.clone()] {
            item.tokens = Tokens::ZERO;
        }
        if let Some(last) = self.parsed.items[at.clone()].last_mut() {
            last.tokens = tokens(&items);
        }
        if let Some((next, held)) = &held {
            self.parsed.items[*next].tokens += tokens(held);
        }
        self.splices.push(Splice { at, items, held });
        self.is_changed = true;
    }

    /// Whether the request must be rewritten even if its history is unchanged.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }
}

/// A follow-up request: the body, the model's output, and the results of Neap's tools.
pub fn continuation_body(api: WireApi, body: &str, output: &Json, results: &[Json]) -> Option<String> {
    let mut body = Object::parse(body).ok()?;
    let mut items = body.array(history_key(api))?;
    output_as_items(api, output).into_iter().for_each(|item| items.push(item));
    tool_results_as_items(api, results).into_iter().for_each(|item| items.push(item));
    body.set(history_key(api), items.to_json());
    Some(body.to_text())
}

pub fn output_as_items(api: WireApi, output: &Json) -> Vec<Json> {
    match (api, Array::from_json(output)) {
        (WireApi::Responses, Some(items)) => items.items().cloned().collect(),
        (WireApi::Chat | WireApi::Messages | WireApi::Responses, _) => vec![output.clone()],
    }
}

/// The result of one of Neap's tools: a part of an item, or an item.
pub fn tool_result(api: WireApi, id: &str, text: &str) -> Json {
    match api {
        WireApi::Chat => {
            Object::new().with("role", "tool").with("tool_call_id", id).with("content", text).to_json()
        }
        WireApi::Messages => {
            Object::new().with("type", "tool_result").with("tool_use_id", id).with("content", text).to_json()
        }
        WireApi::Responses => {
            Object::new().with("type", "function_call_output").with("call_id", id).with("output", text).to_json()
        }
    }
}

pub fn tool_results_as_items(api: WireApi, results: &[Json]) -> Vec<Json> {
    match api {
        WireApi::Chat | WireApi::Responses => results.to_vec(),
        WireApi::Messages => {
            let content: Array = results.iter().cloned().collect();
            vec![Object::new().with("role", "user").with_json("content", content.to_json()).to_json()]
        }
    }
}

/// Puts held results before the item's own: as parts of it, or as items.
pub(super) fn with_held_results(api: WireApi, json: Json, held: &[Json]) -> Vec<Json> {
    let content = Object::from_json(&json).and_then(|object| object.array("content"));
    match (api, Object::from_json(&json), content) {
        (WireApi::Messages, Some(mut object), Some(content)) => {
            let all: Array = held.iter().chain(content.items()).cloned().collect();
            object.set("content", all.to_json());
            vec![object.to_json()]
        }
        _ => held.iter().cloned().chain([json]).collect(),
    }
}

/// Removes reasoning; `None` if nothing else remains.
pub(super) fn without_reasoning(json: &Json) -> Option<Json> {
    let Some(mut object) = Object::from_json(json) else { return Some(json.clone()) };
    if type_of(&object) == "reasoning" {
        return None;
    }
    if let Some(content) = object.array("content") {
        let is_thought = |json: &&Json| {
            let kind = Object::from_json(json).map(|part| type_of(&part)).unwrap_or_default();
            matches!(kind.as_str(), "thinking" | "redacted_thinking")
        };
        let rest: Array = content.items().filter(|json| !is_thought(json)).cloned().collect();
        object.set("content", rest.to_json());
    }
    super::chat::REASONING_KEYS.into_iter().for_each(|key| {
        object.remove(key);
    });
    Some(object.to_json())
}

fn type_of(tool: &Object) -> String {
    tool.text_of("type").unwrap_or_default()
}

fn tool_name(tool: &Object) -> String {
    let function = tool.object("function").and_then(|function| function.text_of("name"));
    function.or_else(|| tool.text_of("name")).unwrap_or_default()
}

fn tool_json(api: WireApi, tool: &ToolSpec) -> Json {
    let ToolSpec { name, description, parameters } = tool;
    let object =
        |schema: &str| Object::new().with("name", name).with("description", description).with(schema, parameters);
    match api {
        WireApi::Chat => {
            Object::new().with("type", "function").with_json("function", object("parameters").to_json()).to_json()
        }
        WireApi::Messages => object("input_schema").to_json(),
        WireApi::Responses => object("parameters").with("type", "function").with("strict", &false).to_json(),
    }
}
