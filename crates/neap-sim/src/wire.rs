//! Requests as clients write them, in the three APIs.

use neap_core::base::message::ToolCall;
use neap_core::client::{ProviderReply, WireApi};
use serde_json::{Value, json};

pub(crate) const ALL_APIS: [WireApi; 3] = [WireApi::Chat, WireApi::Responses, WireApi::Messages];

pub(crate) fn path(api: WireApi) -> &'static str {
    match api {
        WireApi::Chat => "/v1/chat/completions",
        WireApi::Responses => "/v1/responses",
        WireApi::Messages => "/v1/messages",
    }
}

fn list_name(api: WireApi) -> &'static str {
    if api == WireApi::Responses { "input" } else { "messages" }
}

/// The history in a body.
pub(crate) fn items(api: WireApi, body: &Value) -> &[Value] {
    body[list_name(api)].as_array().map_or(&[], Vec::as_slice)
}

/// A request with a whole history, instructions and a tool.
pub(crate) fn body(api: WireApi, history: &[Value]) -> Value {
    let mut body = json!({"model": "m", "max_tokens": 500, "tools": [{"name": "run"}]});
    let system = json!({"role": "system", "content": "You are careful."});
    let first = if api == WireApi::Chat { vec![system] } else { Vec::new() };
    body[list_name(api)] = first.into_iter().chain(history.iter().cloned()).collect();
    match api {
        WireApi::Chat => {}
        WireApi::Responses => body["instructions"] = json!("You are careful."),
        WireApi::Messages => body["system"] = json!("You are careful."),
    }
    body
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// A model's reply as the client sends it back.
pub(crate) fn reply(api: WireApi, reply: &ProviderReply) -> Vec<Value> {
    let ProviderReply { text, calls, .. } = reply;
    let has_text = !text.is_empty();
    match api {
        WireApi::Chat => {
            let call = |ToolCall { id, name, arguments }: &ToolCall| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
            let mut item = json!({"role": "assistant", "content": has_text.then_some(text)});
            if !calls.is_empty() {
                item["tool_calls"] = calls.iter().map(call).collect();
            }
            vec![item]
        }
        WireApi::Responses => {
            let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
            let call = |ToolCall { id, name, arguments }: &ToolCall| json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
            has_text.then_some(said).into_iter().chain(calls.iter().map(call)).collect()
        }
        WireApi::Messages => {
            let said = json!({"type": "text", "text": text});
            let call = |ToolCall { id, name, arguments }: &ToolCall| {
                let input: Value = serde_json::from_str(arguments).unwrap_or_default();
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            };
            let blocks: Vec<Value> = has_text.then_some(said).into_iter().chain(calls.iter().map(call)).collect();
            vec![json!({"role": "assistant", "content": blocks})]
        }
    }
}

/// Results of tool calls, as pairs of id and output.
pub(crate) fn results(api: WireApi, results: &[(String, String)]) -> Vec<Value> {
    let each = |(id, output): &(String, String)| match api {
        WireApi::Chat => json!({"role": "tool", "tool_call_id": id, "content": output}),
        WireApi::Responses => json!({"type": "function_call_output", "call_id": id, "output": output}),
        WireApi::Messages => json!({"type": "tool_result", "tool_use_id": id, "content": output}),
    };
    let all: Vec<Value> = results.iter().map(each).collect();
    if api == WireApi::Messages { vec![json!({"role": "user", "content": all})] } else { all }
}
