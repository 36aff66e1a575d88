//! Request bodies in each protocol.

use std::sync::Arc;

use neap_core::base::message::{Message, ToolCall};
use neap_core::client::WireApi;
use neap_core::context::tools::ToolSpec;
use neap_core::turn::ModelRequest;
use serde_json::{Value, json};

use super::super::api::request_body;
use super::super::outgoing::{OutgoingRequest, RequestOptions};
use super::super::reasoning_cache::ReasoningCache;
use crate::wire::json::Json;

fn call() -> ToolCall {
    ToolCall { id: "c1".into(), name: "look".into(), arguments: r#"{"at":1}"#.into() }
}

fn request() -> ModelRequest {
    let tool =
        ToolSpec { name: "look".into(), description: "Looks.".into(), parameters: json!({"type": "object"}) };
    ModelRequest {
        messages: vec![
            Message::system("rules"),
            Message::user("hi"),
            Message::assistant("hello"),
            Message::user("look"),
            Message { tool_calls: vec![call()], ..Message::assistant("so") },
            Message::tool("c1", "seen"),
            Message::user("a note"),
        ],
        tools: Arc::new([tool]),
        may_call_tools: true,
        offers_tools: true,
        buffer_output: false,
    }
}

fn options() -> RequestOptions {
    RequestOptions { model: "m".into(), reply_tokens_max: Some(100), ..RequestOptions::default() }
}

fn body(api: WireApi, options: &RequestOptions, request: &ModelRequest, reasoning: &ReasoningCache) -> Value {
    request_body(api, options, OutgoingRequest { request, reasoning }).read().expect("JSON")
}

fn plain(api: WireApi) -> Value {
    body(api, &options(), &request(), &ReasoningCache::default())
}

#[test]
fn chat_completions() {
    let function = json!({"name": "look", "description": "Looks.", "parameters": {"type": "object"}});
    let want = json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": "rules"},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": "so", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":1}"}}]},
            {"role": "tool", "content": "seen", "tool_call_id": "c1"},
            {"role": "user", "content": "a note"},
        ],
        "tools": [{"type": "function", "function": function}],
        "max_tokens": 100,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(plain(WireApi::Chat), want);
    let openai = body(
        WireApi::Chat,
        &RequestOptions { is_openai: true, ..options() },
        &request(),
        &ReasoningCache::default(),
    );
    assert_eq!((&openai["max_completion_tokens"], openai.get("max_tokens")), (&json!(100), None));
}

#[test]
fn responses() {
    let want = json!({
        "model": "m",
        "instructions": "rules",
        "input": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": "so"},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{\"at\":1}"},
            {"type": "function_call_output", "call_id": "c1", "output": "seen"},
            {"role": "user", "content": "a note"},
        ],
        "tools": [{"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object"}, "strict": false}],
        "max_output_tokens": 100,
        "store": false,
        "stream": true,
    });
    assert_eq!(plain(WireApi::Responses), want);
    let reasoning = body(
        WireApi::Responses,
        &RequestOptions { reasons: true, ..options() },
        &request(),
        &ReasoningCache::default(),
    );
    assert_eq!(reasoning["include"], json!(["reasoning.encrypted_content"]));
}

#[test]
fn messages() {
    let cache = json!({"type": "ephemeral"});
    let want = json!({
        "model": "m",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "rules", "cache_control": cache}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
            {"role": "user", "content": [{"type": "text", "text": "look"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "so"},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "seen"},
                {"type": "text", "text": "a note", "cache_control": cache}]},
        ],
        "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
        "stream": true,
    });
    assert_eq!(plain(WireApi::Messages), want);
}

/// The protocol requires the user first, no blank text, tool results before text, and alternating roles.
#[test]
fn messages_are_made_to_fit() {
    let mut request = request();
    request.messages = vec![
        Message::assistant("before"),
        Message::user("  "),
        Message::assistant("after"),
        Message::user("a"),
        Message::system("b"),
    ];
    let sent = body(WireApi::Messages, &options(), &request, &ReasoningCache::default());
    let roles: Vec<&str> =
        sent["messages"].as_array().expect("a list").iter().filter_map(|turn| turn["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(sent["messages"][1]["content"].as_array().map(Vec::len), Some(2));
    assert_eq!((&sent["messages"][2]["content"][1]["text"], sent.get("system")), (&json!("b"), None));
}

/// docs/decisions/0006-trust.md: records are sent in the user role before the user's message. No protocol gets two user
/// messages in a row, and the two texts stay distinguishable.
#[test]
fn records_and_what_is_said_are_one_turn_of_the_user() {
    let mut request = request();
    let records = "§[Records.]\n- f1 x\n§[End of the records]\n";
    request.messages = vec![
        Message::system("rules"),
        Message::user(records),
        Message::user("§[Log]"),
        Message::user("hi"),
        Message::assistant("hello"),
        Message::user("§[The user interrupted the reply above]"),
        Message::user("go on"),
    ];
    let sent = |api| body(api, &options(), &request, &ReasoningCache::default());
    let texts =
        [format!("{records}\n\n§[Log]\n\nhi"), "§[The user interrupted the reply above]\n\ngo on".to_owned()];
    let chat = sent(WireApi::Chat);
    assert_eq!(
        chat["messages"],
        json!([
            {"role": "system", "content": "rules"},
            {"role": "user", "content": texts[0]},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": texts[1]},
        ])
    );
    let responses = sent(WireApi::Responses);
    assert_eq!(
        (&responses["input"][0]["content"], &responses["input"][2]["content"]),
        (&json!(texts[0]), &json!(texts[1]))
    );
    assert_eq!(responses["input"].as_array().map(Vec::len), Some(3));
    let cache = json!({"type": "ephemeral"});
    let text = |text: &str| json!({"type": "text", "text": text});
    let cached = |text: &str| json!({"type": "text", "text": text, "cache_control": cache});
    let messages = sent(WireApi::Messages);
    assert_eq!(
        messages["messages"],
        json!([
            {"role": "user", "content": [cached(records), text("§[Log]"), text("hi")]},
            {"role": "assistant", "content": [text("hello")]},
            {"role": "user", "content": [text("§[The user interrupted the reply above]"), cached("go on")]},
        ])
    );
    assert_eq!(messages["system"], json!([cached("rules")]));
}

#[test]
fn a_model_that_may_not_call_is_told_so() {
    let request = ModelRequest { may_call_tools: false, ..request() };
    for (api, want) in [
        (WireApi::Chat, json!("none")),
        (WireApi::Responses, json!("none")),
        (WireApi::Messages, json!({"type": "none"})),
    ] {
        let sent = body(api, &options(), &request, &ReasoningCache::default());
        assert_eq!(sent["tool_choice"], want, "{api:?}");
        assert!(sent["tools"].is_array(), "{api:?}: what was cached stays");
        let without = ModelRequest { tools: Arc::new([]), ..request.clone() };
        let sent = body(api, &options(), &without, &ReasoningCache::default());
        assert_eq!((sent.get("tool_choice"), sent.get("tools")), (None, None), "{api:?}");
    }
}

/// PROTOCOLS, fact 2: reasoning of the current round goes back byte for byte, and only after the same prompt.
#[test]
fn thinking_goes_back_with_its_round() {
    let request = request();
    let items = |text: &str| vec![Json::parse(text).expect("JSON")];
    let prompt_digest = ReasoningCache::digest(&request.tools, &request.messages[..4]);
    let mut reasoning = ReasoningCache::default();
    reasoning.store("so", &[call()], prompt_digest, items(r#"{"reasoning_content":"hm"}"#));
    let sent = body(WireApi::Chat, &options(), &request, &reasoning);
    assert_eq!(sent["messages"][4]["reasoning_content"], "hm");
    assert_eq!(sent["messages"][4]["content"], "so");

    let mut reasoning = ReasoningCache::default();
    reasoning.store("so", &[call()], prompt_digest, items(r#"{"type":"reasoning","encrypted_content":"ZW5j"}"#));
    let sent = body(WireApi::Responses, &options(), &request, &reasoning);
    assert_eq!(sent["input"][3], json!({"type": "reasoning", "encrypted_content": "ZW5j"}));
    assert_eq!(sent["input"][4]["type"], "function_call_output", "in the place of words and calls");

    let mut reasoning = ReasoningCache::default();
    let blocks = items(r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#);
    reasoning.store("so", &[call()], prompt_digest, blocks);
    let thinking = RequestOptions { thinking_tokens: Some(2_000), ..options() };
    let sent = body(WireApi::Messages, &thinking, &request, &reasoning);
    assert_eq!(
        sent["messages"][3]["content"],
        json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}])
    );
    assert_eq!((&sent["thinking"]["budget_tokens"], &sent["max_tokens"]), (&json!(2_000), &json!(2_100)));

    let mut rewritten = request.clone();
    rewritten.messages[0] = Message::system("other rules");
    let sent = body(WireApi::Messages, &thinking, &rewritten, &reasoning);
    assert_eq!(sent["messages"][3]["content"][0]["type"], "text", "the prompt before it has changed");
    assert_eq!((sent.get("thinking"), &sent["max_tokens"]), (None, &json!(100)), "nor can it go on thinking");
    let sent = body(WireApi::Responses, &options(), &rewritten, &reasoning);
    assert_eq!(sent["input"][3]["type"], "thinking", "where it is not bound, it goes back");
}
