//! Parses client requests of all wire formats into [`ClientRequest`] and writes the changes back. Unchanged items
//! keep their bytes; a changed item keeps everything that is not named.

mod cached_counter;
mod chat;
mod compaction;
mod endpoint;
mod messages;
mod parts;
mod place;
mod render;
mod request_cache;
mod responses;
mod signals;
mod splice;
mod trim;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trim_tests;

use std::sync::Arc;

use neap_core::base::tokens::Tokens;
use neap_core::client::{
    ClientRequest, ContentBlocks, HistoryItem, HistoryPart, RenderedHistory, Speaker, WireApi,
};

pub use cached_counter::CachedCounter;
pub use compaction::{CompactionInput, LocalAnswer};
pub use endpoint::{model_in_path, parse_endpoint};
use parts::ItemPart;
pub use place::place_of;
use request_cache::ParsedRequest;
use splice::Splice;
pub use splice::{MEMORY_TOOL, ToolOffer, continuation_body, output_as_items, tool_result, tool_results_as_items};

use super::json::{Array, IndexedObject, Json, NotJson, Object};
use super::openai::content_text;

/// A request in its wire format and as the core reads it.
#[derive(Debug, Clone)]
pub struct WireRequest {
    body: Object,
    items: Vec<Json>,
    parsed: ClientRequest,
    /// As the path names it, which counts where the body does not.
    path_model: Option<String>,
    /// Hidden tool turns to send in place of items.
    splices: Vec<Splice>,
    /// As the client sent it, if something is trimmed.
    received: Option<Arc<ClientRequest>>,
    is_changed: bool,
}

/// Token counts of what cannot be left out of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedParts {
    pub system: Tokens,
    pub tools: Tokens,
    pub other: Tokens,
}

impl WireRequest {
    /// `None` if the path's requests carry no history.
    pub fn read(
        path: &str,
        headers: &[(String, String)],
        body: &str,
        counts: &CachedCounter,
    ) -> Result<Option<Self>, NotJson> {
        let Some((api, endpoint)) = parse_endpoint(path) else { return Ok(None) };
        let ParsedBody { body, items, parsed_items } = ParsedBody::parse(body, api, counts)?;
        let parsed = ClientRequest {
            api,
            endpoint,
            signals: signals::from_request(path, headers, &body),
            system: content_text(body.get("system").or_else(|| body.get("instructions"))),
            tool_count: body.array("tools").map_or(0, |tools| tools.items().len()),
            fixed_tokens: fixed_tokens(&body, api, counts),
            output_tokens_max: ["max_tokens", "max_completion_tokens", "max_output_tokens"]
                .iter()
                .find_map(|key| body.read(key)),
            is_prewarm: body.read("generate") == Some(false),
            items: parsed_items,
            compaction_at: None,
            trimmed: Default::default(),
        };
        let path_model = model_in_path(path);
        Ok(Some(Self { body, items, parsed, path_model, splices: Vec::new(), received: None, is_changed: false }))
    }

    /// As it is to be sent, if nothing is cut.
    pub fn parsed(&self) -> &ClientRequest {
        &self.parsed
    }

    pub fn model(&self) -> Option<String> {
        self.body.text_of("model").or_else(|| self.path_model.clone())
    }

    pub fn is_streaming(&self) -> bool {
        self.body.read("stream").unwrap_or(false)
    }

    pub fn piece_tokens(&self, piece: &HistoryPart, counts: &CachedCounter) -> Tokens {
        render::piece_tokens(self, piece, counts)
    }

    pub fn fixed_parts(&self, counts: &CachedCounter) -> FixedParts {
        let member_tokens = |keys: &[&str]| -> Tokens {
            keys.iter().filter_map(|key| self.body.get(key)).map(|json| counts.count(json.text())).sum()
        };
        let system_items = self.parsed.items.iter().filter(|item| item.speaker == Speaker::System);
        let (system, tools) = (member_tokens(&["system", "instructions"]), member_tokens(&["tools", "functions"]));
        let other = self.parsed.fixed_tokens.saturating_sub(system + tools);
        FixedParts { system: system + system_items.map(|item| item.tokens).sum(), tools, other }
    }

    /// Drops all splices, so that the history goes out as the client has it; returns whether there were any.
    pub fn remove_splices(&mut self, counts: &CachedCounter) -> bool {
        let had_splices = !self.splices.is_empty();
        self.splices.clear();
        if had_splices {
            let api = self.parsed.api;
            let items = self.items.iter().zip(&mut self.parsed.items);
            items.for_each(|(json, item)| item.tokens = counted_item(api, json, counts).tokens);
        }
        had_splices
    }

    /// The request with this history; everything else keeps its bytes.
    pub fn render(&self, layout: &RenderedHistory) -> String {
        let items: Array = render::render_items(self, layout).into_iter().collect();
        let mut body = self.body.clone();
        body.set(history_key(self.parsed.api), items.to_json());
        body.to_text()
    }
}

struct ParsedBody {
    body: Object,
    items: Vec<Json>,
    parsed_items: Vec<HistoryItem>,
}

impl ParsedBody {
    fn parse(text: &str, api: WireApi, counts: &CachedCounter) -> Result<Self, NotJson> {
        let whole: Arc<str> = text.into();
        let nearest = counts.longest_prefix(api, text);
        let (item_ranges, known) = nearest.as_ref().map_or_else(Default::default, |(request, items)| {
            (&request.item_ranges[..*items], &request.items[..*items])
        });
        let Some(indexed) = IndexedObject::parse(&whole, history_key(api), item_ranges) else {
            let body = Object::parse(text)?;
            let items = history_items(&body, api);
            let parsed_items = items.iter().map(|json| counted_item(api, json, counts)).collect();
            return Ok(Self { body, items, parsed_items });
        };
        let IndexedObject { object: body, items: item_ranges } = indexed;
        let items: Vec<Json> = item_ranges.iter().map(|range| IndexedObject::item_at(&whole, range)).collect();
        let new = items[known.len()..].iter().map(|json| counted_item(api, json, counts));
        let parsed_items: Vec<HistoryItem> = known.iter().cloned().chain(new).collect();
        counts
            .store_request(ParsedRequest { body: whole, api, item_ranges, items: parsed_items.clone() }, nearest);
        Ok(Self { body, items, parsed_items })
    }
}

/// The cost of everything but the items. A history that is neither a list nor a text counts in full.
fn fixed_tokens(body: &Object, api: WireApi, counts: &CachedCounter) -> Tokens {
    let history = body.get(history_key(api));
    let is_read =
        history.is_some_and(|history| Array::from_json(history).is_some() || history.read::<String>().is_some());
    if !is_read {
        return counts.count(&body.to_text());
    }
    let mut rest = body.clone();
    rest.set(history_key(api), Array::default().to_json());
    counts.count(&rest.to_text())
}

fn history_key(api: WireApi) -> &'static str {
    match api {
        WireApi::Chat | WireApi::Messages => "messages",
        WireApi::Responses => "input",
    }
}

fn history_items(body: &Object, api: WireApi) -> Vec<Json> {
    let Some(history) = body.get(history_key(api)) else { return Vec::new() };
    match history.read::<String>() {
        // A plain string is one user message.
        Some(text) => vec![Object::new().with("role", "user").with("content", &text).to_json()],
        None => Array::from_json(history).map(|items| items.items().cloned().collect()).unwrap_or_default(),
    }
}

fn item_parts(api: WireApi, json: &Json) -> (Speaker, Vec<ItemPart>) {
    let Some(object) = Object::from_json(json) else { return (Speaker::Other, vec![ItemPart::unknown("", json)]) };
    match api {
        WireApi::Chat => chat::parts(&object),
        WireApi::Responses => responses::parts(&object, json),
        WireApi::Messages => messages::parts(&object),
    }
}

/// Parses an item without counting its tokens.
pub(crate) fn parse_item(api: WireApi, json: &Json) -> HistoryItem {
    let (speaker, parts) = item_parts(api, json);
    HistoryItem::uncounted(speaker, parts.into_iter().map(|part| part.block).collect::<Vec<_>>())
}

fn counted_item(api: WireApi, json: &Json, counts: &CachedCounter) -> HistoryItem {
    let (speaker, parts) = item_parts(api, json);
    let blocks: ContentBlocks = parts.into_iter().map(|part| part.block).collect();
    let tokens = cached_counter::item_tokens(counts, json, &blocks);
    HistoryItem { speaker, blocks, tokens }
}

fn count_cache_marks(list: Option<&Array>) -> usize {
    let objects = list.into_iter().flat_map(Array::objects);
    objects.filter(|object| object.get("cache_control").is_some_and(|mark| !mark.is_null())).count()
}

fn speaker_of(role: Option<&str>) -> Speaker {
    match role {
        Some("system" | "developer") => Speaker::System,
        Some("user") => Speaker::User,
        Some("assistant") => Speaker::Assistant,
        Some("tool" | "function") => Speaker::Tool,
        Some(_) | None => Speaker::Other,
    }
}
