//! Items as they are sent: raw where nothing is changed.

use std::collections::BTreeSet;

use neap_core::ingest::{Api, Changes, Layout, Piece};
use neap_core::tokens::Tokens;

use super::super::json::{Array, Json, Object};
use super::parts::Spot;
use super::weave::{Woven, with_held, without_thoughts};
use super::{Counts, Request, parts};

/// The items of a layout, in order.
pub(super) fn items(request: &Request, layout: &Layout) -> Vec<Json> {
    let api = request.heard.api;
    // What is shown in part, or with more, is the client's own, and what was said beside it is left out with the rest.
    let is_whole = |woven: &&Woven| {
        !layout.pieces.iter().any(|piece| match piece {
            Piece::Item { at, short, more, .. } => woven.at.contains(at) && (!short.is_empty() || more.is_some()),
            Piece::Note { .. } => false,
        })
    };
    let woven: Vec<&Woven> = request.woven.iter().filter(is_whole).collect();
    let mut out = Vec::new();
    let mut last: Option<&Woven> = None;
    for piece in &layout.pieces {
        let (at, without, short, more) = match piece {
            Piece::Note { text, mark } => {
                out.push(note(api, text, *mark));
                continue;
            }
            Piece::Item { at, without, short, more } => (*at, without, short, more),
        };
        if let Some(woven) = woven.iter().find(|woven| woven.at.contains(&at)) {
            if last.is_none_or(|last| last.at != woven.at) {
                // Where the client's own thoughts are left out, these are, too.
                let is_whole = without.is_empty() && at == woven.at.start;
                let kept = |json: &Json| if is_whole { Some(json.clone()) } else { without_thoughts(json) };
                out.extend(woven.items.iter().filter_map(kept));
                last = Some(woven);
            }
            continue;
        }
        let Some(json) = request.items.get(at) else { continue };
        let json = match without.is_empty() && short.is_empty() && more.is_none() {
            true => json.clone(),
            false => changed(api, json, without, short, more.as_deref()),
        };
        match last.and_then(|last| last.held.as_ref()).filter(|(next, _)| *next == at) {
            Some((_, held)) => out.extend(with_held(api, json, held)),
            None => out.push(json),
        }
    }
    out
}

/// A message of ours.
pub(super) fn note(api: Api, text: &str, mark: bool) -> Json {
    let message = Object::new().with("role", "user");
    match api {
        Api::Chat => message.with("content", text).to_json(),
        Api::Responses => {
            let content: Array = [words(api, text)].into_iter().collect();
            Object::new()
                .with("type", "message")
                .with("role", "user")
                .with_json("content", content.to_json())
                .to_json()
        }
        Api::Messages => {
            let mut block = Object::new().with("type", "text").with("text", text);
            if mark {
                block.set("cache_control", Object::new().with("type", "ephemeral").to_json());
            }
            let content: Array = [block.to_json()].into_iter().collect();
            message.with_json("content", content.to_json()).to_json()
        }
    }
}

/// A part of words.
fn words(api: Api, text: &str) -> Json {
    let kind = match api {
        Api::Chat | Api::Messages => "text",
        Api::Responses => "input_text",
    };
    Object::new().with("type", kind).with("text", text).to_json()
}

/// An item with some of its parts left out, shortened, or with more at its end; all else is as it was written.
fn changed(
    api: Api,
    json: &Json,
    without: &[usize],
    short: &[(usize, std::sync::Arc<str>)],
    more: Option<&str>,
) -> Json {
    let Some(mut object) = Object::of(json) else { return json.clone() };
    let (_, parts) = parts(api, json);
    let mut content = object.array("content");
    let mut calls = object.array("tool_calls");
    for (nth, text) in short {
        let Some(part) = parts.get(*nth) else { continue };
        match part.spot {
            Spot::Member(member) => {
                object.set(member, Json::of(&**text));
                // What was a list is one text now.
                content = content.filter(|_| member != "content");
            }
            Spot::Content(at) => {
                if let Some(list) = &mut content {
                    shorten(api, list, at, text);
                }
            }
            Spot::Call(at) => {
                if let Some(list) = &mut calls {
                    shorten_call(list, at, text);
                }
            }
            Spot::Item => shorten_item(&mut object, text),
        }
    }
    let gone: BTreeSet<usize> = without.iter().copied().collect();
    let spots = |wanted: fn(Spot) -> Option<usize>| -> BTreeSet<usize> {
        gone.iter().filter_map(|nth| parts.get(*nth).and_then(|part| wanted(part.spot))).collect()
    };
    let of_content = spots(|spot| if let Spot::Content(at) = spot { Some(at) } else { None });
    let of_calls = spots(|spot| if let Spot::Call(at) = spot { Some(at) } else { None });
    for nth in &gone {
        match parts.get(*nth).map(|part| part.spot) {
            Some(Spot::Member(member)) if super::chat::THOUGHTS.contains(&member) => {
                object.remove(member);
            }
            // What else an item says stays: providers take no words at all for that, but not a missing member.
            Some(Spot::Member(member)) => object.set(member, Json::of(&())),
            Some(Spot::Content(_) | Spot::Call(_) | Spot::Item) | None => {}
        }
    }
    if let Some(list) = content {
        let mut list = keep(&list, &of_content);
        if let Some(text) = more {
            list.push(words(api, text));
        }
        let is_emptied = list.is_empty() && !of_content.is_empty();
        object.set("content", if is_emptied && api == Api::Chat { Json::of(&()) } else { list.to_json() });
    } else if let Some(text) = more {
        add(api, &mut object, text);
    }
    if let Some(calls) = calls.filter(|_| !of_calls.is_empty() || !short.is_empty()) {
        let calls = keep(&calls, &of_calls);
        if calls.is_empty() {
            object.remove("tool_calls");
        } else {
            object.set("tool_calls", calls.to_json());
        }
    }
    object.to_json()
}

/// Adds words after a plain text.
fn add(api: Api, object: &mut Object, text: &str) {
    let said: String = object.read("content").unwrap_or_default();
    match api {
        Api::Chat => object.set("content", Json::of(&format!("{said}\n\n{text}"))),
        Api::Responses | Api::Messages => {
            let list: Array = [words(api, &said), words(api, text)].into_iter().collect();
            object.set("content", list.to_json());
        }
    }
}

fn keep(list: &Array, gone: &BTreeSet<usize>) -> Array {
    if gone.is_empty() {
        return list.clone();
    }
    list.items().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, json)| json.clone()).collect()
}

/// Puts other words into a part: its text, all that it answers, or the input of a call.
fn shorten(api: Api, list: &mut Array, at: usize, text: &str) {
    let Some(mut object) = list.get(at).and_then(Object::of) else { return };
    match object.text_of("type").as_deref() {
        Some("tool_use") => {
            let Ok(input) = Json::parse(text) else { return };
            object.set("input", input);
        }
        Some("tool_result") => object.set("content", Json::of(text)),
        Some("refusal") => object.set("refusal", Json::of(text)),
        Some(_) | None if object.get("text").is_some() => object.set("text", Json::of(text)),
        Some(_) | None => return list.replace(at, words(api, text)),
    }
    list.replace(at, object.to_json());
}

/// Puts other arguments into a call of Chat Completions.
fn shorten_call(list: &mut Array, at: usize, text: &str) {
    let Some(mut call) = list.get(at).and_then(Object::of) else { return };
    for (kind, member) in [("function", "arguments"), ("custom", "input")] {
        if let Some(mut inner) = call.object(kind).filter(|inner| inner.get(member).is_some()) {
            inner.set(member, Json::of(text));
            call.set(kind, inner.to_json());
        }
    }
    list.replace(at, call.to_json());
}

/// Puts other arguments into a call of Responses; one of a kind of its own stays as it is.
fn shorten_item(object: &mut Object, text: &str) {
    for member in ["arguments", "input"] {
        if object.text_of(member).is_some() {
            object.set(member, Json::of(text));
        }
    }
}

/// What a piece costs as it is written.
pub(super) fn tokens(request: &Request, piece: &Piece, counts: &Counts) -> Tokens {
    let layout = Layout { pieces: vec![piece.clone()], tokens: Tokens::ZERO, changes: Changes::default() };
    let api = request.heard.api;
    items(request, &layout).iter().map(|json| super::item(api, json, counts).tokens).sum()
}
