//! Renders items: unchanged ones keep their bytes.

use std::collections::BTreeSet;

use neap_core::base::tokens::Tokens;
use neap_core::client::{Changes, HistoryPart, RenderedHistory, WireApi};

use super::super::json::{Array, Json, Object};
use super::parts::PartLocation;
use super::splice::{Splice, with_held_results, without_reasoning};
use super::{CachedCounter, WireRequest, count_cache_marks, item_parts, messages};

/// Cache breakpoints that Anthropic allows in one request.
const CACHE_MARKS_MAX: usize = 4;

pub(super) fn render_items(request: &WireRequest, layout: &RenderedHistory) -> Vec<Json> {
    let api = request.parsed.api;
    // A splice whose range is shortened or extended is not used: the client's own items are edited instead.
    let is_whole = |splice: &&Splice| {
        !layout.parts.iter().any(|part| match part {
            HistoryPart::Item { at, shortened, appended, .. } => {
                splice.at.contains(at) && (!shortened.is_empty() || appended.is_some())
            }
            HistoryPart::Note { .. } => false,
        })
    };
    let splices: Vec<&Splice> = request.splices.iter().filter(is_whole).collect();
    let mut out = Vec::new();
    let mut last: Option<&Splice> = None;
    for part in &layout.parts {
        let (at, omitted, shortened, appended) = match part {
            HistoryPart::Note { text } => {
                out.push(note_message(api, text, may_mark_cache(request, layout)));
                continue;
            }
            HistoryPart::Item { at, omitted, shortened, appended } => (*at, omitted, shortened, appended),
        };
        if let Some(splice) = splices.iter().find(|splice| splice.at.contains(&at)) {
            if last.is_none_or(|last| last.at != splice.at) {
                // Drop its reasoning where the client's own is dropped.
                let is_whole = omitted.is_empty() && at == splice.at.start;
                let shown = |json: &Json| if is_whole { Some(json.clone()) } else { without_reasoning(json) };
                out.extend(splice.items.iter().filter_map(shown));
                last = Some(splice);
            }
            continue;
        }
        let Some(json) = request.items.get(at) else { continue };
        let json = match omitted.is_empty() && shortened.is_empty() && appended.is_none() {
            true => json.clone(),
            false => edit_item(api, json, omitted, shortened, appended.as_deref()),
        };
        match last.and_then(|last| last.held.as_ref()).filter(|(next, _)| *next == at) {
            Some((_, held)) => out.extend(with_held_results(api, json, held)),
            None => out.push(json),
        }
    }
    out
}

/// Whether a note may have a cache breakpoint besides those of the client.
fn may_mark_cache(request: &WireRequest, layout: &RenderedHistory) -> bool {
    let kept = layout.parts.iter().filter_map(|part| match part {
        HistoryPart::Item { at, .. } => request.items.get(*at),
        HistoryPart::Note { .. } => None,
    });
    let fixed = ["system", "tools"].map(|key| count_cache_marks(request.body.array(key).as_ref()));
    request.parsed.api == WireApi::Messages
        && fixed.into_iter().chain(kept.map(messages::cache_marks)).sum::<usize>() < CACHE_MARKS_MAX
}

pub(super) fn note_message(api: WireApi, text: &str, cache_breakpoint: bool) -> Json {
    let message = Object::new().with("role", "user");
    match api {
        WireApi::Chat => message.with("content", text).to_json(),
        WireApi::Responses => {
            let content: Array = [text_part(api, text)].into_iter().collect();
            Object::new()
                .with("type", "message")
                .with("role", "user")
                .with_json("content", content.to_json())
                .to_json()
        }
        WireApi::Messages => {
            let mut block = Object::new().with("type", "text").with("text", text);
            if cache_breakpoint {
                block.set("cache_control", Object::new().with("type", "ephemeral").to_json());
            }
            let content: Array = [block.to_json()].into_iter().collect();
            message.with_json("content", content.to_json()).to_json()
        }
    }
}

fn text_part(api: WireApi, text: &str) -> Json {
    let kind = match api {
        WireApi::Chat | WireApi::Messages => "text",
        WireApi::Responses => "input_text",
    };
    Object::new().with("type", kind).with("text", text).to_json()
}

/// Omits and shortens parts of an item and appends text; the rest keeps its bytes.
fn edit_item(
    api: WireApi,
    json: &Json,
    omitted: &[usize],
    shortened: &[(usize, std::sync::Arc<str>)],
    appended: Option<&str>,
) -> Json {
    let Some(mut object) = Object::from_json(json) else { return json.clone() };
    let (_, parts) = item_parts(api, json);
    let mut content = object.array("content");
    let mut calls = object.array("tool_calls");
    for (nth, text) in shortened {
        let Some(part) = parts.get(*nth) else { continue };
        match part.location {
            PartLocation::Member(member) => {
                object.set(member, Json::from_value(&**text));
                // The list became a single text.
                content = content.filter(|_| member != "content");
            }
            PartLocation::Content(at) => {
                if let Some(list) = &mut content {
                    replace_text(api, list, at, text);
                }
            }
            PartLocation::Call(at) => {
                if let Some(list) = &mut calls {
                    replace_call_arguments(list, at, text);
                }
            }
            PartLocation::Item => replace_item_arguments(&mut object, text),
        }
    }
    let omitted = omitted.iter().filter_map(|nth| parts.get(*nth)).map(|part| part.location);
    let (content_indexes, call_indexes) = remove_members(&mut object, omitted);
    if let Some(list) = content {
        let mut list = without_indexes(&list, &content_indexes);
        if let Some(text) = appended {
            list.push(text_part(api, text));
        }
        let is_emptied = list.is_empty() && !content_indexes.is_empty();
        object.set(
            "content",
            if is_emptied && api == WireApi::Chat { Json::from_value(&()) } else { list.to_json() },
        );
    } else if let Some(text) = appended {
        append_text(api, &mut object, text);
    }
    if let Some(calls) = calls.filter(|_| !call_indexes.is_empty() || !shortened.is_empty()) {
        let calls = without_indexes(&calls, &call_indexes);
        if calls.is_empty() {
            object.remove("tool_calls");
        } else {
            object.set("tool_calls", calls.to_json());
        }
    }
    object.to_json()
}

/// Removes what is a member of the item; returns which entries of its content and of its calls are to be removed.
fn remove_members(
    object: &mut Object,
    omitted: impl Iterator<Item = PartLocation>,
) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (mut content, mut calls) = (BTreeSet::new(), BTreeSet::new());
    for location in omitted {
        match location {
            PartLocation::Member(member) if super::chat::REASONING_KEYS.contains(&member) => {
                object.remove(member);
            }
            // The item keeps its other members. Providers accept null content, but not a missing member.
            PartLocation::Member(member) => object.set(member, Json::from_value(&())),
            PartLocation::Content(at) => content.extend([at]),
            PartLocation::Call(at) => calls.extend([at]),
            PartLocation::Item => {}
        }
    }
    (content, calls)
}

fn append_text(api: WireApi, object: &mut Object, text: &str) {
    let content: String = object.read("content").unwrap_or_default();
    match api {
        WireApi::Chat => object.set("content", Json::from_value(&format!("{content}\n\n{text}"))),
        WireApi::Responses | WireApi::Messages => {
            let list: Array = [text_part(api, &content), text_part(api, text)].into_iter().collect();
            object.set("content", list.to_json());
        }
    }
}

fn without_indexes(list: &Array, removed: &BTreeSet<usize>) -> Array {
    if removed.is_empty() {
        return list.clone();
    }
    list.items().enumerate().filter(|(at, _)| !removed.contains(at)).map(|(_, json)| json.clone()).collect()
}

/// Replaces a part's text, a tool result, or the input of a call.
fn replace_text(api: WireApi, list: &mut Array, at: usize, text: &str) {
    let Some(mut object) = list.get(at).and_then(Object::from_json) else { return };
    match object.text_of("type").as_deref() {
        Some("tool_use") => {
            let Ok(input) = Json::parse(text) else { return };
            object.set("input", input);
        }
        Some("tool_result") => object.set("content", Json::from_value(text)),
        Some("refusal") => object.set("refusal", Json::from_value(text)),
        Some(_) | None if object.get("text").is_some() => object.set("text", Json::from_value(text)),
        Some(_) | None => return list.replace(at, text_part(api, text)),
    }
    list.replace(at, object.to_json());
}

/// For Chat Completions.
fn replace_call_arguments(list: &mut Array, at: usize, text: &str) {
    let Some(mut call) = list.get(at).and_then(Object::from_json) else { return };
    for (kind, member) in [("function", "arguments"), ("custom", "input")] {
        if let Some(mut inner) = call.object(kind).filter(|inner| inner.get(member).is_some()) {
            inner.set(member, Json::from_value(text));
            call.set(kind, inner.to_json());
        }
    }
    list.replace(at, call.to_json());
}

/// For Responses; calls of other types stay as they are.
fn replace_item_arguments(object: &mut Object, text: &str) {
    for member in ["arguments", "input"] {
        if object.text_of(member).is_some() {
            object.set(member, Json::from_value(text));
        }
    }
}

pub(super) fn piece_tokens(request: &WireRequest, part: &HistoryPart, counts: &CachedCounter) -> Tokens {
    let layout = RenderedHistory { parts: vec![part.clone()], tokens: Tokens::ZERO, changes: Changes::default() };
    let api = request.parsed.api;
    render_items(request, &layout).iter().map(|json| super::counted_item(api, json, counts).tokens).sum()
}
