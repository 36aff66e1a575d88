//! What the provider answers the agents, and how it reads their requests.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::mock::{Reply, Request};

/// Asks the model to use the agent's shell.
pub(super) const RUN: &str = "please run the check";
/// Asks the model to let a subagent work.
pub(super) const DELEGATE: &str = "please delegate the walnut";
/// What the subagent is told.
pub(super) const TASK: &str = "crack the walnut";

pub(super) fn is_to_model(request: &Request) -> bool {
    ["/v1/messages", "/v1/responses"].contains(&path(request))
}

fn path(request: &Request) -> &str {
    request.path.split('?').next().unwrap_or_default()
}

pub(super) fn reply(request: &Request, number: usize) -> Reply {
    match path(request) {
        "/v1/messages" => Reply::stream(message(&request.json(), number)),
        "/v1/responses" => Reply::stream(response(&request.json(), number)),
        _ => Reply::error(404, r#"{"type":"error","error":{"type":"not_found_error","message":"not here"}}"#),
    }
}

/// The provider's own count of what it caches and reads: tools, instructions, history.
pub(super) fn count_tokens(body: &Value) -> usize {
    let parts = ["tools", "system", "instructions", "messages", "input"];
    parts.iter().map(|part| bpe_openai::o200k_base().count(&text_of(&body[*part]))).sum()
}

/// A member's text as a model reads it; JSON where it is no text.
fn text_of(value: &Value) -> String {
    if value.is_null() { String::new() } else { value.to_string() }
}

/// All of the history.
pub(super) fn history(body: &Value) -> String {
    text_of(&body["messages"]) + &text_of(&body["input"])
}

/// What the model is asked last, and whether it is a tool's result.
fn last_asked(body: &Value) -> (String, bool) {
    let items = body["messages"].as_array().or(body["input"].as_array()).expect("a history");
    let is_result = |item: &Value| {
        item["type"].as_str().is_some_and(|kind| kind.ends_with("_output"))
            || blocks(item).iter().any(|block| block["type"] == "tool_result")
    };
    let is_asked = |item: &&Value| item["role"] == "user" || item["type"] == "agent_message" || is_result(item);
    let last = items.iter().rev().find(is_asked).expect("a question");
    // Agents put reminders before a person's words.
    let text = blocks(last).last().map_or_else(|| text_of(&last["content"]) + &text_of(&last["output"]), text_of);
    (text, is_result(last))
}

fn blocks(item: &Value) -> &[Value] {
    item["content"].as_array().map_or(&[], Vec::as_slice)
}

/// Calls without a result and results without a call, by their ids.
pub(super) fn unpaired_calls(body: &Value) -> Vec<String> {
    let mut sides: BTreeMap<String, i32> = BTreeMap::new();
    let mut add =
        |id: &Value, side: i32| *sides.entry(id.as_str().expect("an id").to_owned()).or_default() += side;
    for block in body["messages"].as_array().into_iter().flatten().flat_map(blocks) {
        match block["type"].as_str() {
            Some("tool_use") => add(&block["id"], 1),
            Some("tool_result") => add(&block["tool_use_id"], -1),
            Some(_) | None => {}
        }
    }
    for item in body["input"].as_array().into_iter().flatten() {
        match item["type"].as_str() {
            Some(kind) if kind.ends_with("_call") => add(&item["call_id"], 1),
            Some(kind) if kind.ends_with("_call_output") => add(&item["call_id"], -1),
            Some(_) | None => {}
        }
    }
    sides.into_iter().filter(|(_, balance)| *balance != 0).map(|(id, _)| id).collect()
}

fn events(events: &[Value]) -> String {
    let line = |event: &Value| {
        let kind = event["type"].as_str().expect("a type");
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.iter().map(line).collect()
}

/// Of Anthropic's Messages.
fn message(body: &Value, number: usize) -> String {
    let (asked, is_result) = last_asked(body);
    let call =
        |name: &str| json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": {}});
    let arguments = |json: Value| json!({"type": "input_json_delta", "partial_json": json.to_string()});
    let (block, delta, reason) = if !is_result && asked.contains(RUN) {
        let command = json!({"command": format!("echo checked-{number}"), "description": "check"});
        (call("Bash"), arguments(command), "tool_use")
    } else if !is_result && asked.contains(DELEGATE) {
        let task = json!({"description": "walnut", "prompt": TASK, "subagent_type": "general-purpose"});
        (call("Agent"), arguments(task), "tool_use")
    } else {
        let text = json!({"type": "text_delta", "text": format!("Noted as number {number}.")});
        (json!({"type": "text", "text": ""}), text, "end_turn")
    };
    let usage = json!({"input_tokens": count_tokens(body), "output_tokens": 1});
    let message = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage});
    let end = json!({"stop_reason": reason, "stop_sequence": null});
    events(&[
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ])
}

/// Of OpenAI's Responses.
fn response(body: &Value, number: usize) -> String {
    let (asked, is_result) = last_asked(body);
    let (id, call_id) = (format!("item_{number}"), format!("call_{number}"));
    let collaborate = |name: &str, arguments: &Value| {
        json!({"type": "function_call", "id": id, "call_id": call_id, "name": name, "namespace": "collaboration",
            "arguments": arguments.to_string(), "status": "completed"})
    };
    let item = if !is_result && asked.contains(RUN) {
        let script = format!("text(await tools.exec_command({{cmd: 'echo checked-{number}'}}))");
        json!({"type": "custom_tool_call", "id": id, "call_id": call_id, "name": "exec", "input": script, "status": "completed"})
    } else if !is_result && asked.contains(DELEGATE) {
        collaborate("spawn_agent", &json!({"task_name": "walnut", "message": TASK}))
    } else if is_result && asked.contains("task_name") {
        // Codex ends with its last answer, and subagents with it.
        collaborate("wait_agent", &json!({"timeout_ms": 600_000}))
    } else {
        let part = json!({"type": "output_text", "text": format!("Noted as number {number}."), "annotations": []});
        json!({"type": "message", "id": id, "role": "assistant", "status": "completed", "content": [part]})
    };
    let count = count_tokens(body);
    let usage = json!({"input_tokens": count, "output_tokens": 9, "total_tokens": count + 9});
    let whole = |status: &str, output: Value| {
        json!({"id": format!("resp_{number}"), "object": "response", "created_at": 1, "model": body["model"],
            "status": status, "output": output, "usage": usage})
    };
    events(&[
        json!({"type": "response.created", "response": whole("in_progress", json!([]))}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": whole("completed", json!([item]))}),
    ])
}
