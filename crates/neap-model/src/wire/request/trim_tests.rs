//! Tests of tool results that are shown in short, in every format.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::base::testing::WordCounter;
use neap_core::base::tokens::Tokens;
use neap_core::client::ContentBlock;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::json::{Array, Object};
use super::{CachedCounter, WireRequest};

const PATHS: [&str; 3] = ["/v1/chat/completions", "/v1/responses", "/v1/messages"];

fn counts() -> CachedCounter {
    CachedCounter::new(Arc::new(WordCounter))
}

fn list_key(path: &str) -> &'static str {
    if path.ends_with("responses") { "input" } else { "messages" }
}

fn read(path: &str, body: &str) -> WireRequest {
    WireRequest::read(path, &[], body, &counts()).expect("JSON").expect("a history")
}

/// The items of a body, each as its text.
fn items(path: &str, body: &str) -> Vec<String> {
    let list: Array = Object::parse(body).expect("an object").array(list_key(path)).expect("a list");
    list.items().map(|item| item.text().to_owned()).collect()
}

fn trimmed(path: &str, body: &str) -> (WireRequest, String) {
    let mut request = read(path, body);
    let count = request.trim_results(&counts());
    assert_eq!(count, request.parsed().trimmed.len());
    let sent = if request.is_changed() { request.render_all() } else { body.to_owned() };
    (request, sent)
}

fn log(lines: usize) -> String {
    let line =
        |n: usize| format!("step {n} of module {} is {}\n", n * 7 % 13, ["built", "linked", "cached"][n % 3]);
    let mut text: String = (0..lines).map(line).collect();
    text.push_str("error: E0308 mismatched types\ndone\n");
    text
}

#[test]
fn results_of_every_format_are_trimmed_and_the_rest_stays() {
    let log = log(400);
    let mark = r#"{"type":"ephemeral"}"#;
    let quoted = json!(log).to_string();
    let image = r#"{"type":"image","source":{"type":"url","url":"u"}}"#;
    let messages = format!(
        r#"{{"messages":[{{"role":"user","content":"go"}},
        {{"role":"assistant","content":[{{"type":"thinking","thinking":"hm","signature":"s"}},
            {{"type":"tool_use","id":"c1","name":"Bash","input":{{"command":"make"}}}}]}},
        {{"role":"user","content":[{{"type":"tool_result", "tool_use_id":"c1","content":{quoted},"cache_control":{mark}}},
            {{"type":"text","text":"{}"}}]}},
        {{"role":"assistant","content":[{{"type":"tool_use","id":"c2","name":"Bash","input":{{"command":"make"}}}}]}},
        {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c2","content":[{image},
            {{"type":"text","text":{quoted} , "cache_control":{mark}}}],"is_error":true}}]}}]}}"#,
        "word ".repeat(2_000)
    );
    let chat = json!({"messages": [
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{\"command\":\"make\"}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": log, "x": 1},
        {"role": "user", "content": log}]})
    .to_string();
    let responses = json!({"input": [
        {"type": "function_call", "call_id": "c1", "name": "run", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "make", "input": "all"},
        {"type": "local_shell_call", "call_id": "c3", "action": {"command": ["make"]}},
        {"type": "function_call_output", "call_id": "c1", "output": log},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": log}]},
        {"type": "local_shell_call_output", "call_id": "c3", "output": json!({"exit_code": 2, "output": log}).to_string()}]})
    .to_string();
    for (path, body, places) in
        [(PATHS[2], messages, vec![2, 4]), (PATHS[0], chat, vec![1]), (PATHS[1], responses, vec![3, 4, 5])]
    {
        let (request, sent) = trimmed(path, &body);
        let (before, after) = (items(path, &body), items(path, &sent));
        for (at, (before, after)) in before.iter().zip(&after).enumerate() {
            if !places.contains(&at) {
                assert_eq!(before, after);
                continue;
            }
            assert!(
                after.contains("error: E0308 mismatched types") && after.contains("fetch_original r"),
                "{after}"
            );
            let (before, after): (Value, Value) =
                (serde_json::from_str(before).expect("JSON"), serde_json::from_str(after).expect("JSON"));
            check_leaves(&before, &after).expect("only the result differs");
        }
        assert!(request.parsed().tokens() < Tokens(request.received().tokens().0), "{path}");
    }
}

/// Values are the same, except for long texts that became short.
fn check_leaves(before: &Value, after: &Value) -> Result<(), String> {
    match (before, after) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: Vec<_> = one.keys().collect();
            if keys != other.keys().collect::<Vec<_>>() {
                return Err(format!("{before} became {after}"));
            }
            one.iter().try_for_each(|(key, value)| check_leaves(value, &other[key]))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).try_for_each(|(one, other)| check_leaves(one, other))
        }
        (Value::String(one), Value::String(other)) if one != other => {
            let is_short = other.len() < one.len() && other.contains("§[") && other.contains("fetch_original r");
            if is_short { Ok(()) } else { Err(format!("{one} became {other}")) }
        }
        (one, other) if one == other => Ok(()),
        _ => Err(format!("{before} became {after}")),
    }
}

#[derive(Debug, Clone)]
struct Round {
    tool: &'static str,
    text: String,
    /// In a list beside an image, with a cache mark.
    is_listed: bool,
    is_pretty: bool,
}

fn round() -> impl Strategy<Value = Round> {
    let text = prop_oneof![
        2 => "[a-z ]{0,200}",
        2 => (100..700_usize).prop_map(log),
        1 => (100..500_usize).prop_map(|n| (0..n).map(|n| format!("src/part{}/file{n}.rs\n", n % 4)).collect()),
        1 => (50..300_usize).prop_map(|n| json!((0..n).map(|n| json!({"id": n, "name": "x y z"})).collect::<Vec<_>>()).to_string()),
        1 => (100..300_usize).prop_map(|n| json!({"exit": 1, "output": log(n)}).to_string()),
        1 => "(\\PC{0,60}\n){0,80}",
    ];
    let tool = prop::sample::select(vec!["Bash", "Read", "Grep", "call_api"]);
    (tool, text, any::<bool>(), any::<bool>()).prop_map(|(tool, text, is_listed, is_pretty)| Round {
        tool,
        text,
        is_listed,
        is_pretty,
    })
}

/// The items of a round, as a client writes them.
fn round_items(path: &str, at: usize, round: &Round) -> Vec<String> {
    let Round { tool, text, is_listed, is_pretty } = round;
    let (id, arguments) = (format!("call_{at}"), json!({"command": "make"}));
    let part = |kind: &str| json!({"type": kind, "text": text, "cache_control": {"type": "ephemeral"}});
    let listed = |kind: &str| json!([{"type": "image", "source": {"type": "url", "url": "u"}}, part(kind)]);
    let content = |kind: &str| if *is_listed { listed(kind) } else { json!(text) };
    let values = match path {
        "/v1/messages" => vec![
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": id, "name": tool, "input": arguments}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content("text")}]}),
        ],
        "/v1/responses" => vec![
            json!({"type": "reasoning", "id": format!("rs_{id}"), "encrypted_content": "e"}),
            json!({"type": "function_call", "call_id": id, "name": tool, "arguments": arguments.to_string()}),
            json!({"type": "function_call_output", "call_id": id, "output": content("input_text")}),
        ],
        _ => vec![
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": id, "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}}]}),
            json!({"role": "tool", "tool_call_id": id, "content": content("text")}),
        ],
    };
    let write = |value: &Value| if *is_pretty { format!("{value:#}") } else { value.to_string() };
    values.iter().map(write).collect()
}

fn body(path: &str, rounds: &[Round]) -> String {
    let rounds = rounds.iter().enumerate().flat_map(|(at, round)| round_items(path, at, round));
    let items: Vec<String> =
        std::iter::once(r#"{"role":"user","content":"go"}"#.to_owned()).chain(rounds).collect();
    format!(r#"{{"model":"m", "{}":[{}],"x":[ 1.50 ]}}"#, list_key(path), items.join(" , "))
}

/// Calls without a result and results without a call.
fn unpaired(request: &WireRequest) -> usize {
    let mut open: BTreeMap<&str, i64> = BTreeMap::new();
    for block in request.parsed().items.iter().flat_map(|item| &item.blocks) {
        match block {
            ContentBlock::ToolCall(call) => *open.entry(&call.id).or_default() += 1,
            ContentBlock::ToolResult { id, .. } => *open.entry(id).or_default() -= 1,
            ContentBlock::Text(_) | ContentBlock::Thinking | ContentBlock::Other { .. } => {}
        }
    }
    open.values().filter(|count| **count != 0).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// I7, I9: what is trimmed stays a request, and the same in every later one.
    #[test]
    fn trimmed_requests_are_whole_and_only_grow(rounds in prop::collection::vec(round(), 1..6), path in 0..3_usize) {
        let path = PATHS[path];
        let whole = body(path, &rounds);
        let (request, sent) = trimmed(path, &whole);
        let received = read(path, &whole);
        prop_assert_eq!(request.received(), received.parsed(), "what is recorded is what was sent");
        let again = read(path, &sent);
        prop_assert_eq!(unpaired(&again), 0);
        prop_assert_eq!(again.parsed().tokens(), request.parsed().tokens());
        prop_assert_eq!(trimmed(path, &sent).1, sent.clone(), "twice is once");
        let (before, after) = (items(path, &whole), items(path, &sent));
        prop_assert_eq!(before.len(), after.len());
        for (at, (before, after)) in before.iter().zip(&after).enumerate() {
            let is_trimmed = request.parsed().trimmed.range((at, 0)..(at + 1, 0)).next().is_some();
            prop_assert_eq!(is_trimmed, before != after);
            let leaves = check_leaves(&serde_json::from_str(before).expect("JSON"), &serde_json::from_str(after).expect("JSON"));
            prop_assert_eq!(leaves, Ok(()));
        }
        for rounds in (0..rounds.len()).map(|count| &rounds[..count]) {
            let shorter = items(path, &trimmed(path, &body(path, rounds)).1);
            prop_assert_eq!(&after[..shorter.len()], &shorter[..], "what was sent stays as it was");
        }
        for (at, round) in rounds.iter().enumerate().filter(|(_, round)| round.tool == "Read") {
            let own = round_items(path, at, round);
            prop_assert!(own.iter().all(|item| after.contains(item)), "a file stays whole");
        }
    }
}
