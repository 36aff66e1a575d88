//! A model that follows the rules, and one that forgets half of them.

use neap_core::base::message::{Message, Role};
use neap_core::turn::{ModelReply, ModelRequest};
use serde_json::{Value, json};

use super::{Mood, latest_question, new_call};
use crate::host::FETCH;
use crate::rng::Rng;
use crate::user::Intent;
use crate::words::{REMARKS, REPLY_CANARY};

pub(super) fn reply(rng: &mut Rng, request: &ModelRequest, mood: Mood) -> ModelReply {
    let (text, results) = latest_question(request);
    let intent = Intent::parse(text);
    let call = match results.iter().rev().find(|message| message.role == Role::Tool) {
        None => first_call(rng, request, &intent, mood),
        Some(result) if results.len() < 6 => follow_up_call(rng, result, &intent),
        Some(_) => None,
    };
    match call {
        Some((name, arguments)) if request.may_call_tools => {
            let text = if rng.chance(200) { "Let me see.".to_owned() } else { String::new() };
            ModelReply { text, calls: vec![new_call(rng, name, arguments.to_string())], is_truncated: false }
        }
        Some(_) | None => ModelReply { text: context_words(rng, request), calls: Vec::new(), is_truncated: false },
    }
}

type NextCall = Option<(&'static str, Value)>;

fn first_call(rng: &mut Rng, request: &ModelRequest, intent: &Intent, mood: Mood) -> NextCall {
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

/// Reacts to a tool result: follows a refusal's hint, expands what a search found.
fn follow_up_call(rng: &mut Rng, result: &Message, intent: &Intent) -> NextCall {
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

/// The first effort that one of Neap's own messages lists as expanded.
fn expanded_id(text: &str) -> Option<&str> {
    let start = text.starts_with("§[").then(|| text.rfind(" Expanded: "))?? + " Expanded: ".len();
    text[start..].split([',', '.', ' ']).next().filter(|id| !id.is_empty())
}

fn context_words(rng: &mut Rng, request: &ModelRequest) -> String {
    let mut out = String::from("So");
    for _ in 0..rng.between(1, 40) {
        // Mostly words of the newest message, so that replies do not mention everything at once.
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
        out.push_str(&format!(" {REPLY_CANARY}"));
    }
    if rng.chance(60) {
        out.push_str(rng.word(REMARKS));
    }
    out
}
