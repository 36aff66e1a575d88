//! Requests survive byte for byte, and an edit changes nothing else. The texts are invented; their shapes are
//! those of real clients.

use neap_core::base::message::{Message, ToolCall};
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::anthropic::tool_use_block;
use super::json::{Array, Json, Object};
use super::openai::{message_object, tool_calls};
use super::responses::message_items;

/// As a coding agent sends it: extra roles and fields, thinking, cache breakpoints.
const MESSAGES: &str = r#"{ "model":"m-1", "max_tokens" : 1e3,
  "messages":[{"role":"user","content":[{"type":"text","text":"hé\u006c\/lo"},{"type":"text","text":"go","cache_control":{"type":"ephemeral"}}]},
   {"role":"system","content":"later rules","output_config":{"effort":"medium"}},
   {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"Bash","input":{"b":1,"a":2.50}}]},
   {"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"ok","is_error":false}]},
   {"role":"narrator","content":[{"type":"hologram","x":[ ]}]}],
  "system":[{"type":"text","text":"first"},{"type":"text","text":"second"}],"metadata":{"user_id":"u"},"stream":true,"speed":12345678901234567890123 }"#;

const CHAT: &str = r#"{"model":"m-2","messages":[{"role":"developer","content":"rules"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:,"}},{"type":"text","text":"b"}]},
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"get","arguments":"{\"city\": \"Oslo\"}"},"extra":1}]},{"role":"tool","tool_call_id":"c1","content":"sunny"}],"tool_choice":"auto","n":1,"n":2,"temperature":0.70}"#;

const RESPONSES: &str = r#"{"stream":true,"input":[{"type":"message","id":"msg_1","role":"developer","content":[{"type":"input_text","text":"rules"}]},{"role":"user","content":"hi"},
 {"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":"ZW5j"},{"type":"function_call","status":"completed","name":"run","arguments":"{}","call_id":"c1"},
 {"type":"function_call_output","call_id":"c1","output":"done"},{"type":"compaction_trigger"},{"type":"yet_to_come","deep":[[[{"x":{}}]]]}],"model":"m-3","include":["reasoning.encrypted_content"]}"#;

fn relisted(text: &str, key: &str) -> String {
    let mut request = Object::parse(text).expect("an object");
    let mut list = request.array(key).expect("a list");
    for (at, item) in list.clone().items().enumerate() {
        list.replace(at, Object::from_json(item).expect("an object").to_json());
    }
    request.set(key, list.to_json());
    request.to_json().text().to_owned()
}

#[test]
fn requests_survive_byte_for_byte() {
    assert_eq!(relisted(MESSAGES, "messages"), MESSAGES);
    assert_eq!(relisted(CHAT, "messages"), CHAT);
    assert_eq!(relisted(RESPONSES, "input"), RESPONSES);
}

#[test]
fn what_is_known_is_read() {
    let request = Object::parse(CHAT).expect("a request");
    assert_eq!(request.read("n"), Some(2), "the last of two counts");
    let call = ToolCall { id: "c1".into(), name: "get".into(), arguments: r#"{"city": "Oslo"}"#.into() };
    let calls: Vec<ToolCall> =
        request.array("messages").expect("a list").objects().flat_map(|message| tool_calls(&message)).collect();
    assert_eq!(calls, [call]);
}

#[test]
fn what_is_changed_is_all_that_changes() {
    let mut request = Object::parse(MESSAGES).expect("a request");
    let messages: Array = request.array("messages").expect("a list").items().skip(4).cloned().collect();
    request.set("messages", messages.to_json());
    request.set("model", Json::from_value("other"));
    assert!(request.remove("metadata"));
    let (head, rest) = MESSAGES.split_once(r#""m-1""#).expect("the model");
    let (between, rest) = rest.split_once(r#"[{"role":"user""#).expect("the messages");
    let (_, tail) = rest.split_once("],\n  \"system\"").expect("the system prompt");
    let tail = tail.replace(r#","metadata":{"user_id":"u"}"#, "");
    let last = r#"{"role":"narrator","content":[{"type":"hologram","x":[ ]}]}"#;
    let want = format!("{head}\"other\"{between}[{last}],\n  \"system\"{tail}");
    assert_eq!(request.to_json().text(), want);
}

#[test]
fn our_messages_are_written_as_the_protocols_want_them() {
    let call = ToolCall { id: "c1".into(), name: "get".into(), arguments: "{\"a\": 1}".into() };
    let calling = Message { tool_calls: vec![call.clone()], ..Message::assistant("") };
    let table = [
        (Message::system("s"), r#"{"role":"system","content":"s"}"#),
        (
            Message { name: Some("ann".into()), ..Message::user("u") },
            r#"{"role":"user","content":"u","name":"ann"}"#,
        ),
        (
            calling.clone(),
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"get","arguments":"{\"a\": 1}"}}]}"#,
        ),
        (Message::tool("c1", "7"), r#"{"role":"tool","content":"7","tool_call_id":"c1"}"#),
    ];
    for (message, want) in &table {
        assert_eq!(message_object(message).to_json().text(), *want);
    }
    let items = |message: &Message| -> Vec<String> {
        message_items(message).iter().map(|item| item.text().to_owned()).collect()
    };
    assert_eq!(
        items(&calling),
        [r#"{"type":"function_call","call_id":"c1","name":"get","arguments":"{\"a\": 1}"}"#]
    );
    assert_eq!(
        items(&Message::tool("c1", "7")),
        [r#"{"type":"function_call_output","call_id":"c1","output":"7"}"#]
    );
    assert_eq!(items(&Message::user("u")), [r#"{"role":"user","content":"u"}"#]);
    assert_eq!(items(&Message::user("")), [r#"{"role":"user","content":""}"#]);
    assert_eq!(
        tool_use_block(&call).to_json().text(),
        r#"{"type":"tool_use","id":"c1","name":"get","input":{"a": 1}}"#
    );
    let broken = ToolCall { arguments: "{\"a\":".into(), ..call };
    assert!(tool_use_block(&broken).to_json().text().ends_with(r#""input":{}}"#));
}

#[test]
fn what_is_no_object_is_refused() {
    for text in ["", "[]", "7", "{", "{}x", "{\"a\":}", "nul", "{\"a\":1,}"] {
        assert!(Object::parse(text).is_err(), "{text}");
    }
    for text in ["", "{}", "[1,]", "[", "\"a\""] {
        assert!(Array::parse(text).is_err(), "{text}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(Array::parse(&deep).expect("however deep").to_json().text(), deep);
    let surrogate = r#"{"a":"\ud800","b":1}"#;
    let object = Object::parse(surrogate).expect("a lone surrogate is carried along");
    assert_eq!((object.to_json().text(), object.read("b")), (surrogate, Some(1)));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f32>().prop_filter("finite", |x| x.is_finite()).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[\\\\\"{}\\[\\],: \n]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-z\"\\\\ é]{0,4}", inner, 0..5)
                .prop_map(|map| Value::from(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn reassembled(json: &Json) -> Json {
    if let Some(mut object) = Object::from_json(json) {
        let keys: Vec<String> = object.keys().map(|key| key.into_owned()).collect();
        for key in keys {
            let value = reassembled(object.get(&key).expect("it is there"));
            object.set(&key, value);
        }
        return object.to_json();
    }
    if let Some(mut array) = Array::from_json(json) {
        for (at, item) in array.clone().items().enumerate() {
            array.replace(at, reassembled(item));
        }
        return array.to_json();
    }
    json.clone()
}

proptest! {
    #[test]
    fn any_json_survives(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.expect("it is written");
        let json = Json::parse(&format!(" {text}\n")).expect("it is JSON");
        prop_assert_eq!(json.text(), text.as_str());
        let rebuilt = reassembled(&json);
        prop_assert_eq!(rebuilt.text(), text.as_str());
        // Parsed as a tree, a number may already be another one.
        if let Ok(Value::Object(map)) = serde_json::from_str(&text) {
            let object = Object::from_json(&json).expect("an object");
            for (key, value) in &map {
                let got = object.read::<Value>(key);
                prop_assert_eq!(got.as_ref(), Some(value));
            }
        }
    }
}
