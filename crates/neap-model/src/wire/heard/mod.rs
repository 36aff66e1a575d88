//! A client's request, from any of the wire formats to what the rules read, and back with what they changed.
//!
//! Items that are not changed are written as they came, byte for byte; in one that is, all that is not named stays.

mod chat;
mod compaction;
mod count;
mod messages;
mod parts;
mod readings;
mod responses;
mod weave;
mod write;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use neap_core::ingest::{Api, Blocks, BodySignals, Endpoint, Heard, Item, Layout, Piece, Signals, Speaker};
use neap_core::tokens::Tokens;

pub use compaction::{Compaction, OwnAnswer};
pub use count::Counts;
use parts::Part;
use readings::Reading;
use weave::Woven;
pub use weave::{MEMORY_TOOL, Offer, answer_to, answers_as_items, continued, said_as_items};

use super::json::{Array, Json, Listing, NotJson, Object};
use super::openai::texts;

/// A request in its wire format, with what the rules read of it.
#[derive(Debug, Clone)]
pub struct Request {
    body: Object,
    /// The history, item by item.
    items: Vec<Json>,
    heard: Heard,
    /// What is sent in the place of items.
    woven: Vec<Woven>,
    is_changed: bool,
}

/// What cannot be left out of a request, part by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedParts {
    /// The system prompt, wherever it stands.
    pub system: Tokens,
    /// The schemas of tools.
    pub tools: Tokens,
    /// All other members.
    pub other: Tokens,
}

/// Which format a path speaks, and what it asks for; none if it is not about a history.
pub fn endpoint(path: &str) -> Option<(Api, Endpoint)> {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let path = match path.strip_prefix("/s/") {
        Some(rest) => rest.find('/').map(|at| &rest[at..])?,
        None => path,
    };
    // Providers put their own names before these: `/v1`, `/api/v1`, `/openai/deployments/<model>`. A thread's messages are another
    // protocol.
    let known = ENDPOINTS.iter().find(|(end, ..)| path.ends_with(end) && !path.contains("/threads/"));
    known.map(|(_, api, endpoint)| (*api, *endpoint))
}

/// How the paths end that are about a history.
const ENDPOINTS: [(&str, Api, Endpoint); 6] = [
    ("/chat/completions", Api::Chat, Endpoint::Answer),
    ("/responses", Api::Responses, Endpoint::Answer),
    ("/responses/compact", Api::Responses, Endpoint::Compact),
    ("/responses/input_tokens", Api::Responses, Endpoint::Count),
    ("/messages", Api::Messages, Endpoint::Answer),
    ("/messages/count_tokens", Api::Messages, Endpoint::Count),
];

impl Request {
    /// Reads a request; none if its path is not about a history.
    pub fn read(
        path: &str,
        headers: &[(String, String)],
        body: &str,
        counts: &Counts,
    ) -> Result<Option<Self>, NotJson> {
        let Some((api, endpoint)) = endpoint(path) else { return Ok(None) };
        let Taken { body, items, heard: of_items } = Taken::apart(body, api, counts)?;
        let heard = Heard {
            api,
            endpoint,
            signals: Signals::read(path, headers, signals(&body)),
            system: texts(body.get("system").or_else(|| body.get("instructions"))),
            tools: body.array("tools").map_or(0, |tools| tools.items().len()),
            fixed: fixed(&body, api, counts),
            marks: ["system", "tools"].iter().map(|key| marks_in(body.array(key).as_ref())).sum(),
            reply_max: ["max_tokens", "max_completion_tokens", "max_output_tokens"]
                .iter()
                .find_map(|key| body.read(key)),
            is_rehearsal: body.read("generate") == Some(false),
            items: of_items,
            opened: None,
        };
        Ok(Some(Self { body, items, heard, woven: Vec::new(), is_changed: false }))
    }

    /// What the rules read.
    pub fn heard(&self) -> &Heard {
        &self.heard
    }

    /// What the rules read of it, where it is not needed any more: its history is gone from it.
    pub fn let_go(&mut self) -> Heard {
        let items = std::mem::take(&mut self.heard.items);
        Heard { items, ..self.heard.clone() }
    }

    /// The model asked for.
    pub fn model(&self) -> Option<String> {
        self.body.text_of("model")
    }

    /// Whether the answer is to come piece by piece; not if it is not said.
    pub fn streams(&self) -> bool {
        self.body.read("stream").unwrap_or(false)
    }

    /// What a piece of a layout costs as it is written.
    pub fn piece_tokens(&self, piece: &Piece, counts: &Counts) -> Tokens {
        write::tokens(self, piece, counts)
    }

    /// What the parts of the request cost that no history is in.
    pub fn fixed_parts(&self, counts: &Counts) -> FixedParts {
        let of = |keys: &[&str]| -> Tokens {
            keys.iter().filter_map(|key| self.body.get(key)).map(|json| counts.of(json.text())).sum()
        };
        let said = self.heard.items.iter().filter(|item| item.speaker == Speaker::System);
        let (beside, tools) = (of(&["system", "instructions"]), of(&["tools", "functions"]));
        let other = self.heard.fixed.saturating_sub(beside + tools);
        FixedParts { system: beside + said.map(|item| item.tokens).sum(), tools, other }
    }

    /// Forgets what was said beside the client's own history with tools of ours: it is then sent as the client has it.
    pub fn unweave(&mut self, counts: &Counts) -> bool {
        let was_woven = !self.woven.is_empty();
        self.woven.clear();
        if was_woven {
            let api = self.heard.api;
            let items = self.items.iter().zip(&mut self.heard.items);
            items.for_each(|(json, heard)| heard.tokens = item(api, json, counts).tokens);
        }
        was_woven
    }

    /// The request with its history as laid out; all else is as it came.
    pub fn write(&self, layout: &Layout) -> String {
        let items: Array = write::items(self, layout).into_iter().collect();
        let mut body = self.body.clone();
        body.set(list(self.heard.api), items.to_json());
        body.to_text()
    }
}

/// A body, and the items of the history in it.
struct Taken {
    body: Object,
    items: Vec<Json>,
    heard: Vec<Item>,
}

impl Taken {
    fn apart(text: &str, api: Api, counts: &Counts) -> Result<Self, NotJson> {
        let whole: Arc<str> = text.into();
        let nearest = counts.nearest(api, text);
        let (places, known) = nearest.as_ref().map_or_else(Default::default, |(reading, items)| {
            (&reading.places[..*items], &reading.items[..*items])
        });
        let Some(listing) = Listing::parse(&whole, list(api), places) else {
            let body = Object::parse(text)?;
            let items = items_of(&body, api);
            let heard = items.iter().map(|json| item(api, json, counts)).collect();
            return Ok(Self { body, items, heard });
        };
        let Listing { object: body, items: places } = listing;
        let items: Vec<Json> = places.iter().map(|place| Listing::item(&whole, place)).collect();
        let new = items[known.len()..].iter().map(|json| item(api, json, counts));
        let heard: Vec<Item> = known.iter().cloned().chain(new).collect();
        counts.keep(Reading { whole, api, places, items: heard.clone() }, nearest);
        Ok(Self { body, items, heard })
    }
}

/// What everything but the items costs; a history that is neither a list nor a text is not taken apart, and counts in full.
fn fixed(body: &Object, api: Api, counts: &Counts) -> Tokens {
    let history = body.get(list(api));
    let is_read =
        history.is_some_and(|history| Array::of(history).is_some() || history.read::<String>().is_some());
    if !is_read {
        return counts.of(&body.to_text());
    }
    let mut rest = body.clone();
    rest.set(list(api), Array::default().to_json());
    counts.of(&rest.to_text())
}

/// The member that holds the history.
fn list(api: Api) -> &'static str {
    match api {
        Api::Chat | Api::Messages => "messages",
        Api::Responses => "input",
    }
}

fn items_of(body: &Object, api: Api) -> Vec<Json> {
    let Some(history) = body.get(list(api)) else { return Vec::new() };
    match history.read::<String>() {
        // A plain text is the user's message.
        Some(text) => vec![Object::new().with("role", "user").with("content", &text).to_json()],
        None => Array::of(history).map(|items| items.items().cloned().collect()).unwrap_or_default(),
    }
}

fn signals(body: &Object) -> BodySignals {
    let conversation = body.get("conversation").and_then(|conversation| {
        conversation.read::<String>().or_else(|| Object::of(conversation).and_then(|object| object.text_of("id")))
    });
    let user = body.object("metadata").and_then(|metadata| metadata.text_of("user_id"));
    BodySignals {
        conversation,
        previous_response: body.text_of("previous_response_id"),
        cache_key: body.text_of("prompt_cache_key"),
        user: user.or_else(|| body.text_of("user")),
    }
}

/// The parts of an item, each with where it stands.
fn parts(api: Api, json: &Json) -> (Speaker, Vec<Part>) {
    let Some(object) = Object::of(json) else { return (Speaker::Other, vec![Part::unknown("", json)]) };
    match api {
        Api::Chat => chat::parts(&object),
        Api::Responses => responses::parts(&object, json),
        Api::Messages => messages::parts(&object),
    }
}

/// An item as its format writes it, not counted.
pub(crate) fn uncounted(api: Api, json: &Json) -> Item {
    let (speaker, parts) = parts(api, json);
    let blocks = parts.into_iter().map(|part| part.block).collect();
    Item { speaker, blocks, tokens: Tokens::ZERO, marks: 0 }
}

fn item(api: Api, json: &Json, counts: &Counts) -> Item {
    let (speaker, parts) = parts(api, json);
    let blocks: Blocks = parts.into_iter().map(|part| part.block).collect();
    let tokens = count::item(counts, json, &blocks);
    let marks = if api == Api::Messages { messages::marks(json) } else { 0 };
    Item { speaker, blocks, tokens, marks }
}

/// Places in a list that the client asks to be cached up to.
fn marks_in(list: Option<&Array>) -> usize {
    let objects = list.into_iter().flat_map(Array::objects);
    objects.filter(|object| object.get("cache_control").is_some_and(|mark| !mark.is_null())).count()
}

/// Who a role is.
fn speaker(role: Option<&str>) -> Speaker {
    match role {
        Some("system" | "developer") => Speaker::System,
        Some("user") => Speaker::User,
        Some("assistant") => Speaker::Assistant,
        Some("tool" | "function") => Speaker::Tool,
        Some(_) | None => Speaker::Other,
    }
}
