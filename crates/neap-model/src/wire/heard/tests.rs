//! Requests of the three formats, read and written again.

use std::sync::Arc;

use neap_core::ids::TurnNo;
use neap_core::ingest::{
    Block, Bounds, Chain, Changes, Class, Costs, Cut, Endpoint, Frozen, Layout, Piece, Speaker, Tenant, classify,
};
use neap_core::testing::WordCounter;
use neap_core::tokens::Tokens;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn counts() -> Counts {
    Counts::new(Arc::new(WordCounter))
}

fn read(path: &str, body: &Value) -> Request {
    Request::read(path, &[], &body.to_string(), &counts()).expect("JSON").expect("a history")
}

/// A layout that keeps every item as it is.
fn whole(request: &Request) -> Layout {
    let pieces = (0..request.items.len()).map(|at| piece(at, &[], &[], None)).collect();
    Layout { pieces, tokens: Tokens::ZERO, changes: Changes::default() }
}

fn piece(at: usize, without: &[usize], short: &[(usize, &str)], more: Option<&str>) -> Piece {
    let short = short.iter().map(|(nth, text)| (*nth, (*text).into())).collect();
    Piece::Item { at, without: without.to_vec(), short, more: more.map(Into::into) }
}

/// What is written for these pieces, as the list of items.
fn written(path: &str, body: &Value, pieces: Vec<Piece>) -> Value {
    let request = read(path, body);
    let layout = Layout { pieces, tokens: Tokens::ZERO, changes: Changes::default() };
    let sent: Value = serde_json::from_str(&request.write(&layout)).expect("JSON");
    sent[list(request.heard.api)].clone()
}

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";

#[test]
fn paths_say_what_is_asked() {
    let check = |path: &str, want: Option<(Api, Endpoint)>| assert_eq!(endpoint(path), want, "{path}");
    check(CHAT, Some((Api::Chat, Endpoint::Answer)));
    check("/chat/completions", Some((Api::Chat, Endpoint::Answer)));
    check("/s/my desk/v1/messages?beta=true", Some((Api::Messages, Endpoint::Answer)));
    check("/v1/messages/count_tokens", Some((Api::Messages, Endpoint::Count)));
    check("/v1/responses/", Some((Api::Responses, Endpoint::Answer)));
    check("/v1/responses/compact", Some((Api::Responses, Endpoint::Compact)));
    check("/v1/responses/input_tokens", Some((Api::Responses, Endpoint::Count)));
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
    let items = &chat.heard().items;
    let speakers: Vec<Speaker> = items.iter().map(|item| item.speaker).collect();
    use Speaker::{Assistant, Other, System, Tool, User};
    assert_eq!(speakers, [System, User, Assistant, Tool, Other, Other]);
    assert_eq!(items[1].text(), "a\n[image_url]");
    assert!(matches!(items[2].blocks[..], [Block::Thinking, Block::Call(_), Block::Other { .. }]));
    assert!(matches!(&items[3].blocks[..], [Block::Answer { id, .. }] if id == "c1"));

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
            {"type": "compaction_trigger"}]}),
    );
    let speakers: Vec<Speaker> = responses.heard().items.iter().map(|item| item.speaker).collect();
    assert_eq!(
        speakers,
        [System, User, Assistant, Assistant, Assistant, Assistant, Tool, Tool, Assistant, System, Other]
    );
    assert_eq!(responses.heard().system, "be brief");
    assert_eq!(classify(responses.heard()), Class::ClientCompaction);
    assert_eq!(read(RESPONSES, &json!({"input": "hi"})).heard().items[0].text(), "hi");

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
    let items = &messages.heard().items;
    assert_eq!((messages.heard().marks, items[3].marks), (1, 2));
    assert!(items[1].is_hollow());
    assert!(matches!(&items[3].blocks[0], Block::Answer { failed: true, .. }));
}

/// Byte for byte, whatever is in it.
#[test]
fn what_is_not_changed_is_written_as_it_came() {
    let body = r#"{ "model":"m","messages" : [ {"role":"user" , "content":"a\u00e9", "x": 1.0e2 },7, {"role":"assistant","content":null}]  ,"x":{"b":1,"a":[ ]}}"#;
    let request = Request::read(MESSAGES, &[], body, &counts()).expect("JSON").expect("a history");
    let sent = request.write(&whole(&request));
    for part in [r#"{"role":"user" , "content":"a\u00e9", "x": 1.0e2 }"#, r#""x":{"b":1,"a":[ ]}"#, "7"] {
        assert!(sent.contains(part), "{sent}");
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
    let pieces = vec![
        piece(0, &[], &[], Some("recalled")),
        Piece::Note { text: "note".into(), mark: true },
        piece(1, &[0, 3], &[], None),
        piece(2, &[], &[(0, "lo…")], None),
        piece(3, &[1], &[], None),
    ];
    assert_eq!(
        written(CHAT, &chat, pieces),
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
    let pieces = vec![
        piece(0, &[], &[], Some("recalled")),
        Piece::Note { text: "note".into(), mark: true },
        piece(1, &[0], &[], None),
        piece(2, &[], &[(0, "lo…"), (1, "q…")], Some("more")),
    ];
    assert_eq!(
        written(MESSAGES, &messages, pieces),
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
    let pieces = vec![
        piece(0, &[], &[], Some("recalled")),
        Piece::Note { text: "note".into(), mark: false },
        piece(1, &[], &[(0, "lo…")], None),
    ];
    assert_eq!(
        written(RESPONSES, &responses, pieces),
        json!([
            {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "recalled"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "note"}]},
            {"type": "function_call_output", "call_id": "c", "output": "lo…"}])
    );
}

/// A picture costs what a picture costs, not what its bytes would as text.
#[test]
fn pictures_are_not_counted_as_text() {
    let data = "word ".repeat(50_000);
    let body = json!({"messages": [{"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "data": data}}, {"type": "text", "text": "look"}]}]});
    let tokens = read(MESSAGES, &body).heard().items[0].tokens;
    assert!((Tokens(2_000)..Tokens(3_000)).contains(&tokens), "{tokens}");
}

#[test]
fn what_was_counted_is_looked_up() {
    let counts = counts();
    let text = "some words ".repeat(50);
    assert_eq!((counts.of(&text), counts.of(&text)), (Tokens(100), Tokens(100)));
}

/// Any JSON.
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
    /// Whatever a client sends: read without a panic, written as it came if nothing is changed, cut if it must be.
    #[test]
    fn any_request_survives(
        items in prop::collection::vec(any_json(), 0..12),
        extra in any_json(),
        path in 0..3_usize,
        budget in prop_oneof![Just(100_000_u64), 20_u64..400],
    ) {
        let path = [CHAT, RESPONSES, MESSAGES][path];
        let key = if path == RESPONSES { "input" } else { "messages" };
        let mut body = json!({"model": "m", "extra": extra});
        body[key] = Value::from(items.clone());
        let request = read(path, &body);
        let sent: Value = serde_json::from_str(&request.write(&whole(&request))).expect("JSON");
        prop_assert_eq!(&sent, &body);
        let heard = request.heard();
        let chain = Chain::of(&Tenant::of_key(None), heard);
        let cut = Cut { dropped: std::iter::once(0..heard.stem().min(1)).collect(), room: Tokens(10), kept: heard.tokens() };
        let bounds = Bounds::new(Tokens(budget));
        let counts = Counts::new(Arc::new(WordCounter));
        let piece = |piece: &Piece| request.piece_tokens(piece, &counts);
        let costs = Costs { counter: &WordCounter, piece: &piece, turn_of: &|_| TurnNo(1) };
        let frozen = Frozen::new(1, (heard, &chain), &cut, "note", costs, &bounds);
        prop_assert!(frozen.is_ok() || budget < 400);
        let Ok(frozen) = frozen else { return Ok(()) };
        let layout = frozen.lay_out(heard);
        prop_assert!(layout.tokens <= bounds.budget);
        let written = request.write(&layout);
        // What it is said to cost is what it costs as it is written, or a little more.
        let counted = counts.of_body(&written, heard).unwrap_or_default();
        prop_assert!(counted <= layout.tokens, "{counted} > {}: {written}", layout.tokens);
        let cut: Value = serde_json::from_str(&written).expect("JSON");
        prop_assert_eq!(&cut["extra"], &body["extra"]);
    }
}
