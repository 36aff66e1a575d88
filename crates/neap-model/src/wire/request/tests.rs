//! Requests of the three formats, parsed and rendered.

use std::sync::Arc;

use neap_core::base::ids::TurnNo;
use neap_core::base::tenant::Tenant;
use neap_core::base::testing::WordCounter;
use neap_core::base::tokens::Tokens;
use neap_core::client::{
    Bounds, Chain, Changes, ContentBlock, CutInputs, CutPlan, Endpoint, HistoryCut, HistoryPart, RenderedHistory,
    RequestClass, Speaker, classify,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn counts() -> CachedCounter {
    CachedCounter::new(Arc::new(WordCounter))
}

fn read(path: &str, body: &Value) -> WireRequest {
    WireRequest::read(path, &[], &body.to_string(), &counts()).expect("JSON").expect("a history")
}

fn whole(request: &WireRequest) -> RenderedHistory {
    let parts = (0..request.items.len()).map(|at| piece(at, &[], &[], None)).collect();
    RenderedHistory { parts, tokens: Tokens::ZERO, changes: Changes::default() }
}

fn piece(at: usize, omitted: &[usize], shortened: &[(usize, &str)], appended: Option<&str>) -> HistoryPart {
    let shortened = shortened.iter().map(|(nth, text)| (*nth, (*text).into())).collect();
    HistoryPart::Item { at, omitted: omitted.to_vec(), shortened, appended: appended.map(Into::into) }
}

fn written(path: &str, body: &Value, parts: Vec<HistoryPart>) -> Value {
    let request = read(path, body);
    let layout = RenderedHistory { parts, tokens: Tokens::ZERO, changes: Changes::default() };
    let sent: Value = serde_json::from_str(&request.render(&layout)).expect("JSON");
    sent[history_key(request.parsed.api)].clone()
}

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";

#[test]
fn paths_say_what_is_asked() {
    let check = |path: &str, want: Option<(WireApi, Endpoint)>| assert_eq!(parse_endpoint(path), want, "{path}");
    check(CHAT, Some((WireApi::Chat, Endpoint::Generate)));
    check("/chat/completions", Some((WireApi::Chat, Endpoint::Generate)));
    check("/s/my desk/v1/messages?beta=true", Some((WireApi::Messages, Endpoint::Generate)));
    check("/v1/messages/count_tokens", Some((WireApi::Messages, Endpoint::CountTokens)));
    check("/v1/responses/", Some((WireApi::Responses, Endpoint::Generate)));
    check("/v1/responses/compact", Some((WireApi::Responses, Endpoint::Compact)));
    check("/v1/responses/input_tokens", Some((WireApi::Responses, Endpoint::CountTokens)));
    for other in ["/v1/models", "/s/x", "/s/", "/", "", "/v1/messages/batches", "/v1/responses/resp_1"] {
        check(other, None);
    }
}

#[test]
fn blocks_are_read_from_every_format() {
    let chat = read(
        CHAT,
        &json!({"messages": [
            {"role": "developer", "content": "d"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]},
            {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}, {"odd": 1}]},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "r"}]},
            {"role": "critic", "content": "x"},
            "no object"]}),
    );
    let items = &chat.parsed().items;
    let speakers: Vec<Speaker> = items.iter().map(|item| item.speaker).collect();
    use Speaker::{Assistant, Other, System, Tool, User};
    assert_eq!(speakers, [System, User, Assistant, Tool, Other, Other]);
    assert_eq!(items[1].text(), "a\n[image_url]");
    assert!(matches!(
        items[2].blocks[..],
        [ContentBlock::Thinking, ContentBlock::ToolCall(_), ContentBlock::Other { .. }]
    ));
    assert!(matches!(&items[3].blocks[..], [ContentBlock::ToolResult { id, .. }] if id == "c1"));

    let responses = read(
        RESPONSES,
        &json!({"instructions": "be brief", "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "d"}]},
            {"role": "user", "content": "a"},
            {"type": "reasoning", "id": "r", "summary": []},
            {"type": "function_call", "call_id": "c1", "name": "run", "arguments": "{}"},
            {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "text"},
            {"type": "local_shell_call", "call_id": "c3", "action": {"command": ["ls"]}, "status": "completed"},
            {"type": "function_call_output", "call_id": "c1", "output": "r"},
            {"type": "local_shell_call_output", "call_id": "c3", "output": [{"type": "input_text", "text": "z"}]},
            {"type": "web_search_call", "id": "w"},
            {"type": "configuration_update"},
            {"type": "agent_message", "author": "/main", "recipient": "/main/nut", "content": [
                {"type": "input_text", "text": "Task"}, {"type": "encrypted_content", "encrypted_content": "gAAAA"}]},
            {"type": "compaction_trigger"}]}),
    );
    assert_eq!(responses.parsed().items[10].text(), "Task\n[encrypted_content]");
    let speakers: Vec<Speaker> = responses.parsed().items.iter().map(|item| item.speaker).collect();
    assert_eq!(
        speakers,
        [System, User, Assistant, Assistant, Assistant, Assistant, Tool, Tool, Assistant, System, User, Other]
    );
    assert_eq!(responses.parsed().system, "be brief");
    assert_eq!(classify(responses.parsed()), RequestClass::ClientCompaction);
    assert_eq!(read(RESPONSES, &json!({"input": "hi"})).parsed().items[0].text(), "hi");

    let messages = read(
        MESSAGES,
        &json!({"system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}], "messages": [
            {"role": "user", "content": "a"},
            {"role": "system", "content": []},
            {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"},
                {"type": "tool_use", "id": "c1", "name": "run", "input": {"b": 1, "a": 2}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "is_error": true,
                "content": [{"type": "text", "text": "r", "cache_control": {"type": "ephemeral"}}]},
                {"type": "text", "text": "more", "cache_control": {"type": "ephemeral"}}]}]}),
    );
    let items = &messages.parsed().items;
    assert!(items[1].has_no_content());
    assert!(matches!(&items[3].blocks[0], ContentBlock::ToolResult { failed: true, .. }));
}

#[test]
fn what_is_not_changed_is_written_as_it_came() {
    let body = r#"{ "model":"m","messages" : [ {"role":"user" , "content":"a\u00e9", "x": 1.0e2 },7, {"role":"assistant","content":null}]  ,"x":{"b":1,"a":[ ]}}"#;
    let request = WireRequest::read(MESSAGES, &[], body, &counts()).expect("JSON").expect("a history");
    let sent = request.render(&whole(&request));
    for part in [r#"{"role":"user" , "content":"a\u00e9", "x": 1.0e2 }"#, r#""x":{"b":1,"a":[ ]}"#, "7"] {
        assert!(sent.contains(part), "{sent}");
    }
}

/// PROTOCOLS: at most four, ours at the end of the cut.
#[test]
fn there_are_at_most_four_cache_marks() {
    for marks in 0..=5 {
        let block = |nth: usize| match nth < marks {
            true => json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}),
            false => json!({"type": "text", "text": "x"}),
        };
        let result = json!({"type": "tool_result", "tool_use_id": "c", "content": [block(2), block(3)]});
        let body =
            json!({"system": [block(0)], "messages": [{"role": "user", "content": [block(1), result, block(4)]}]});
        let sent =
            written(MESSAGES, &body, vec![HistoryPart::Note { text: "note".into() }, piece(0, &[], &[], None)]);
        let is_marked = sent[0]["content"][0].get("cache_control").is_some();
        assert_eq!(is_marked, marks < 4, "{marks}: {sent}");
    }
}

#[test]
fn blocks_are_left_out_shortened_and_added_in_every_format() {
    let chat = json!({"messages": [
        {"role": "user", "content": "a", "name": "ana"},
        {"role": "assistant", "content": "b", "reasoning": "hm", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}},
            {"id": "c2", "type": "function", "function": {"name": "run", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "long"},
        {"role": "assistant", "content": "b", "tool_calls": [{"id": "c3", "type": "function", "function": {"name": "r"}}]}]});
    let parts = vec![
        piece(0, &[], &[], Some("recalled")),
        HistoryPart::Note { text: "note".into() },
        piece(1, &[0, 3], &[], None),
        piece(2, &[], &[(0, "lo…")], None),
        piece(3, &[1], &[], None),
    ];
    assert_eq!(
        written(CHAT, &chat, parts),
        json!([{"role": "user", "content": "a\n\nrecalled", "name": "ana"}, {"role": "user", "content": "note"},
            {"role": "assistant", "content": "b", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "lo…"}, {"role": "assistant", "content": "b"}])
    );

    let messages = json!({"messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "b", "x": 1}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "long"}]},
            {"type": "text", "text": "q"}]}]});
    let parts = vec![
        piece(0, &[], &[], Some("recalled")),
        HistoryPart::Note { text: "note".into() },
        piece(1, &[0], &[], None),
        piece(2, &[], &[(0, "lo…"), (1, "q…")], Some("more")),
    ];
    assert_eq!(
        written(MESSAGES, &messages, parts),
        json!([
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "recalled"}]},
            {"role": "user", "content": [{"type": "text", "text": "note", "cache_control": {"type": "ephemeral"}}]},
            {"role": "assistant", "content": [{"type": "text", "text": "b", "x": 1}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "lo…"},
                {"type": "text", "text": "q…"}, {"type": "text", "text": "more"}]}])
    );

    let responses = json!({"input": [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "function_call_output", "call_id": "c", "output": "long"}]});
    let parts = vec![
        piece(0, &[], &[], Some("recalled")),
        HistoryPart::Note { text: "note".into() },
        piece(1, &[], &[(0, "lo…")], None),
    ];
    assert_eq!(
        written(RESPONSES, &responses, parts),
        json!([
            {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "recalled"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "note"}]},
            {"type": "function_call_output", "call_id": "c", "output": "lo…"}])
    );
}

/// An image's bytes do not count as text.
#[test]
fn pictures_are_not_counted_as_text() {
    let data = "word ".repeat(50_000);
    let body = json!({"messages": [{"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "data": data}}, {"type": "text", "text": "look"}]}]});
    let tokens = read(MESSAGES, &body).parsed().items[0].tokens;
    assert!((Tokens(2_000)..Tokens(3_000)).contains(&tokens), "{tokens}");
}

#[test]
fn what_was_counted_is_looked_up() {
    let counts = counts();
    let text = "some words ".repeat(50);
    assert_eq!((counts.count(&text), counts.count(&text)), (Tokens(100), Tokens(100)));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("role".to_owned()),
        Just("content".to_owned()),
        Just("type".to_owned()),
        Just("text".to_owned()),
        Just("call_id".to_owned()),
        Just("tool_calls".to_owned()),
        Just("output".to_owned()),
        "[a-z]{1,6}",
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Any request is parsed without a panic, rendered unchanged if nothing changed, and can be cut.
    #[test]
    fn any_request_survives(items in prop::collection::vec(any_json(), 0..12), extra in any_json(), path in 0..3_usize) {
        let path = [CHAT, RESPONSES, MESSAGES][path];
        let key = if path == RESPONSES { "input" } else { "messages" };
        let mut body = json!({"model": "m", "extra": extra});
        body[key] = Value::from(items.clone());
        let request = read(path, &body);
        let sent: Value = serde_json::from_str(&request.render(&whole(&request))).expect("JSON");
        prop_assert_eq!(&sent, &body);
        let parsed = request.parsed();
        let chain = Chain::from_request(&Tenant::from_key(None), parsed);
        let mut cut = HistoryCut::nothing(parsed, None, &Bounds::new(Tokens(100_000)));
        cut.dropped = std::iter::once(0..parsed.stable_len().min(1)).collect();
        cut.note_budget = Tokens(10);
        let bounds = Bounds::new(Tokens(100_000));
        let counts = CachedCounter::new(Arc::new(WordCounter));
        let piece = |piece: &HistoryPart| request.piece_tokens(piece, &counts);
        let costs = CutInputs { counter: &WordCounter, part_tokens: &piece, turn_of: &|_| TurnNo(1), is_stored: true };
        let plan = CutPlan::new(1, (parsed, &chain), &cut, "note", costs, &bounds).expect("it fits");
        let cut: Value = serde_json::from_str(&request.render(&plan.render(parsed))).expect("JSON");
        prop_assert_eq!(&cut["extra"], &body["extra"]);
    }
}
