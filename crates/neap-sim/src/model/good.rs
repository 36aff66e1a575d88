//! A model that does what it is told, and one that forgets half of it.

use neap_core::message::{Message, Role};
use neap_core::turn::{ModelReply, ModelRequest};
use serde_json::{Value, json};

use super::{Mood, call, question};
use crate::host::FETCH;
use crate::rng::Rng;
use crate::user::Intent;
use crate::words::{REMARKS, SPOKEN};

/// Answers by the rules of efforts.
pub(super) fn reply(rng: &mut Rng, request: &ModelRequest, mood: Mood) -> ModelReply {
    let (text, results) = question(request);
    let intent = Intent::read(text);
    let wish = match results.iter().rev().find(|message| message.role == Role::Tool) {
        None => first(rng, request, &intent, mood),
        Some(result) if results.len() < 6 => next(rng, result, &intent),
        Some(_) => None,
    };
    match wish {
        Some((name, arguments)) if request.reply_may_call => {
            let text = if rng.chance(200) { "Let me see.".to_owned() } else { String::new() };
            ModelReply { text, calls: vec![call(rng, name, arguments.to_string())], is_cut: false }
        }
        Some(_) | None => ModelReply { text: words_of(rng, request), calls: Vec::new(), is_cut: false },
    }
}

type Wish = Option<(&'static str, Value)>;

fn first(rng: &mut Rng, request: &ModelRequest, intent: &Intent, mood: Mood) -> Wish {
    let forgets = mood == Mood::Forgetful && rng.chance(700);
    match intent {
        Intent::Start(name) => Some(("open_effort", json!({"name": name}))),
        Intent::Switch(name) => Some(("switch_effort", json!({"id": name}))),
        Intent::Finish if forgets => None,
        Intent::Finish => Some(("close_effort", json!({}))),
        Intent::Recall(name) if rng.chance(700) => Some(("expand_effort", json!({"id": name}))),
        Intent::Recall(name) => Some(("effort_status", json!({"id": name}))),
        Intent::Wonder(word) => Some(("search_efforts", json!({"query": word, "logs": rng.chance(500)}))),
        Intent::Resume(name) => Some(("reopen_effort", json!({"id": name}))),
        Intent::Fetch(page) => Some((FETCH, json!({"page": page}))),
        Intent::Talk if mood == Mood::Good && rng.chance(40) => {
            let expanded = request.messages.iter().rev().find_map(|message| expanded_id(&message.content))?;
            Some(("collapse_effort", json!({"id": expanded})))
        }
        Intent::Talk => None,
    }
}

/// What to do with a result: follow a refusal's hint, open what a search found.
fn next(rng: &mut Rng, result: &Message, intent: &Intent) -> Wish {
    let answer: Value = serde_json::from_str(&result.content).ok()?;
    let found = answer["results"][0]["id"].as_str().map(str::to_owned);
    match intent {
        Intent::Start(name) => {
            let hint = answer["hint"].as_str()?;
            let tool = if hint.contains("reopen_effort") { "reopen_effort" } else { "switch_effort" };
            Some((tool, json!({"id": name})))
        }
        Intent::Recall(name) if answer["error"].is_string() => Some(("search_efforts", json!({"query": name}))),
        Intent::Recall(_) | Intent::Wonder(_) => {
            found.filter(|_| rng.chance(600)).map(|id| ("expand_effort", json!({"id": id})))
        }
        Intent::Switch(_) | Intent::Finish | Intent::Resume(_) | Intent::Fetch(_) | Intent::Talk => None,
    }
}

/// The first effort that a message of ours calls expanded.
fn expanded_id(text: &str) -> Option<&str> {
    let start = text.starts_with("§[").then(|| text.rfind(" Expanded: "))?? + " Expanded: ".len();
    text[start..].split([',', '.', ' ']).next().filter(|id| !id.is_empty())
}

/// An answer made of words that are in the context.
fn words_of(rng: &mut Rng, request: &ModelRequest) -> String {
    let mut out = String::from("So");
    for _ in 0..rng.between(1, 40) {
        // Mostly of what was said last, so that answers do not speak of everything at once.
        let newest = if rng.chance(850) { request.messages.last() } else { None };
        let Some(message) = newest.or_else(|| rng.pick(&request.messages)) else { break };
        let words: Vec<&str> = message.content.split_whitespace().take(200).collect();
        if let Some(word) = rng.pick(&words) {
            out.push(' ');
            out.push_str(word);
        }
    }
    out.push('.');
    if rng.chance(200) {
        out.push_str(&format!(" {SPOKEN}"));
    }
    if rng.chance(60) {
        out.push_str(rng.word(REMARKS));
    }
    out
}
