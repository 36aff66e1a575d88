//! A secret goes in by every door; afterwards nothing under the data directory holds it: no file, no file's name, no export.

use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Client, STATELESS};
use crate::mock::{ALL, Mock, Reply, Speaks};
use crate::rig::{self, Neap};
use crate::wire::Proxy;

/// Secrets of several kinds, put together when the test runs. Each has a part that is looked for, in small letters.
fn canaries() -> Vec<(String, String)> {
    let part = |n: usize| format!("{n}Ca7Na4Ry{n}Tq8Lm3Xz6Vb");
    let whole =
        |prefix: &str, n: usize, tail: &str| (format!("{prefix}{}{tail}", part(n)), part(n).to_lowercase());
    vec![
        whole(concat!("gs", "k_"), 1, "8Hj2Kd5Pw9Rt4Yb7Nc1Mv"),
        whole(concat!("sk-", "proj-"), 2, "8Hj2Kd5Pw9Rt4Yb"),
        whole(concat!("gh", "p_"), 3, "8Hj2Kd5Pw9Rt4"),
        whole("DB_PASS=", 4, "!"),
        whole("https://tim:", 5, "@git.example.org/app.git"),
        whole("Authorization: Bearer ", 6, "8Hj2Kd5Pw9Rt4Yb7"),
    ]
}

/// All of them in one text that reads like one.
fn said(what: &str) -> String {
    let all: Vec<String> = canaries().into_iter().map(|(secret, _)| secret).collect();
    format!("{what}: deploy the harbour office's invoice service with {} tonight", all.join(" and "))
}

/// Places that hold what is looked for: files, their names, and exports of every session, where what is packed is unpacked.
fn found(neap: &Neap) -> Vec<String> {
    let mut places = Vec::new();
    let canaries = canaries();
    let mut look = |place: String, bytes: &[u8]| {
        let lower = String::from_utf8_lossy(bytes).to_lowercase();
        for (_, part) in canaries.iter().filter(|(_, part)| lower.contains(part.as_str())) {
            places.push(format!("{place} holds {part}"));
        }
    };
    for (path, content) in rig::tree(&neap.data()) {
        let path = path.to_string_lossy().into_owned();
        look(format!("the name of {path}"), path.as_bytes());
        look(path, content.as_deref().unwrap_or_default());
    }
    for session in neap.json(&["session", "list"]).as_array().into_iter().flatten() {
        let id = session["id"].as_str().or(session["session"].as_str()).expect("an id").to_owned();
        look(format!("the export of {id}"), neap.ok(&["session", "export", &id]).as_bytes());
    }
    places
}

#[track_caller]
fn nothing_is_found(neap: &Neap) {
    assert_eq!(found(neap), Vec::<String>::new());
    // It was there, and says so.
    let exported: String = neap
        .json(&["session", "list"])
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|session| session["id"].as_str().or(session["session"].as_str()))
        .map(|id| neap.ok(&["session", "export", id]))
        .collect();
    assert!(exported.contains("[masked: groq api key]"), "{exported}");
}

fn by_words() -> Neap {
    Neap::with(&[("NEAP_EMBEDDER", "none")])
}

#[test]
fn chat_stores_no_secret() {
    let neap = Neap::new();
    let line = said("please");
    neap.chat(&[&line, "and then?", &format!("/remember {line}")]);
    // As a model would name its work.
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let open = json!({"user": line, "calls": [call("open_effort", json!({"name": line}))], "assistant": line});
    let close = json!({"user": line, "calls": [call("close_effort", json!({}))], "assistant": line});
    neap.replay(&["--session", "work"], &[open, close]);
    nothing_is_found(&neap);
    // Nor under a name that is one.
    let (key, _) = &canaries()[0];
    neap.fed(&["chat", "--session", key], "hello there\n");
    assert_eq!(found(&neap), Vec::<String>::new());
}

#[test]
fn record_turn_and_the_other_tools_of_mcp_store_no_secret() {
    let neap = by_words();
    let mut client = Client::of(&neap, STATELESS);
    client.tool("open_effort", json!({"name": said("work")}));
    client.tool("record_turn", json!({"user": said("one"), "assistant": said("two"), "turn_id": canaries()[1].0}));
    client.tool("remember", json!({"kind": "fact", "subject": "deploy", "text": said("fact")}));
    client.tool(
        "record_decision",
        json!({"description": said("decided"), "confidence": 0.9, "reasons": [said("why")]}),
    );
    client.tool("close_effort", json!({}));
    let page = client.tool("fetch_original", json!({"handle": "t1.0"}));
    assert_eq!(page["masked"], canaries().len(), "{page}");
    assert_eq!(client.hang_up(), 0);
    nothing_is_found(&neap);
}

/// A history with secrets in all its parts: the person's words, calls, their results, what the model said.
fn history(speaks: Speaks) -> Value {
    let arguments = json!({"command": said("run")});
    match speaks {
        Speaks::Chat => json!([
            {"role": "system", "content": said("system")},
            {"role": "user", "content": said("first")},
            {"role": "assistant", "content": said("calling"), "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "run", "arguments": arguments.to_string()}}]},
            {"role": "tool", "tool_call_id": "c1", "content": said("result")},
            {"role": "user", "content": said("last")},
        ]),
        Speaks::Responses => json!([
            {"type": "message", "role": "user", "content": said("first")},
            {"type": "function_call", "call_id": "c1", "name": "run", "arguments": arguments.to_string()},
            {"type": "function_call_output", "call_id": "c1", "output": said("result")},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": said("last")}]},
        ]),
        Speaks::Messages => json!([
            {"role": "user", "content": said("first")},
            {"role": "assistant", "content": [
                {"type": "text", "text": said("calling")},
                {"type": "tool_use", "id": "c1", "name": "run", "input": arguments}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": said("result")},
                {"type": "text", "text": said("last")}]},
        ]),
    }
}

/// What a provider gets is what the client sent, byte for byte; what is stored is not.
#[test]
fn the_proxy_stores_no_secret_and_passes_all_on() {
    for speaks in ALL {
        let mock = Mock::start(|request, _| {
            let answer = said("answer");
            Reply::stream(Speaks::of(&request.path).words(&[answer.as_str()]))
        });
        let variables = [("NEAP_EMBEDDER", "none"), ("NEAP_LOG", "trace")];
        let proxy = Proxy::with(&["--upstream", &mock.url("")], &variables);
        let (path, list) = match speaks {
            Speaks::Chat => ("/v1/chat/completions", "messages"),
            Speaks::Responses => ("/v1/responses", "input"),
            Speaks::Messages => ("/v1/messages", "messages"),
        };
        let tools = match speaks {
            Speaks::Chat => json!([{"type": "function", "function": {"name": "run", "parameters": {}}}]),
            Speaks::Responses => json!([{"type": "function", "name": "run", "parameters": {}}]),
            Speaks::Messages => json!([{"name": "run", "input_schema": {"type": "object"}}]),
        };
        let mut body = json!({"model": "m", "stream": true, "max_tokens": 500, "tools": tools});
        body[list] = history(speaks);
        let body = body.to_string();
        let headers = [("authorization", "Bearer k"), ("content-type", "application/json")];
        let answer = proxy.ask("POST", path, &headers, body.as_bytes());
        assert_eq!((answer.status, answer.is_whole), (200, true), "{speaks:?}: {}", answer.text());
        assert_eq!(mock.requests()[0].body, body, "{speaks:?}");
        assert!(answer.text().contains(&canaries()[0].0), "{speaks:?}");
        let log = proxy.wait_for_log("answered").to_lowercase();
        assert!(canaries().iter().all(|(_, part)| !log.contains(part)), "{speaks:?}: {log}");
        nothing_is_found(&proxy.neap);
    }
}

#[test]
fn hooks_store_no_secret() {
    let neap = by_words();
    let transcript = neap.file("s1.jsonl", "");
    let event = |name: &str, more: Value| {
        let mut event = json!({"session_id": "s1", "transcript_path": transcript, "hook_event_name": name});
        event.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        event.to_string()
    };
    let ran = neap.fed(&["hook"], event("UserPromptSubmit", json!({"prompt": said("please"), "prompt_id": "p1"})));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let record = json!({"type": "user", "uuid": "00000000-0000-4000-8000-000000000001", "sessionId": "s1",
        "timestamp": "2026-01-05T10:00:00Z", "message": {"role": "user", "content": said("please")}});
    neap.file("s1.jsonl", format!("{record}\n"));
    neap.fed(&["hook"], event("Stop", json!({})));
    nothing_is_found(&neap);
}

#[test]
fn imports_store_no_secret() {
    let neap = by_words();
    let folder = neap.place().join("elsewhere/old");
    make(&folder);
    let path = folder.to_str().expect("a path");
    assert!(neap.json(&["import", "folder", path])["masked"].as_u64().is_some_and(|masked| masked > 0));
    nothing_is_found(&neap);
}

/// A session folder of another tool, with secrets in every text and in a name.
#[allow(clippy::disallowed_methods, reason = "tests make files on purpose")]
fn make(folder: &Path) {
    std::fs::create_dir_all(folder.join("efforts")).expect("a folder");
    let line = |role: &str, text: &str| format!("{}\n", json!({"role": role, "content": text}));
    let name = format!("rotate {}", canaries()[0].0);
    let manifest = json!({"efforts": [{"id": name, "status": "concluded", "summary": said("done"), "raw_file": "efforts/a.jsonl"}]});
    std::fs::write(folder.join("manifest.yaml"), manifest.to_string()).expect("a file");
    std::fs::write(folder.join("raw.jsonl"), line("user", &said("one")) + &line("assistant", &said("two")))
        .expect("a file");
    std::fs::write(folder.join("efforts/a.jsonl"), line("user", &said("three")) + &line("assistant", "Done."))
        .expect("a file");
}

/// An export that was made where secrets were kept is masked when it comes back, its names and ids included.
#[test]
fn exports_of_a_store_that_keeps_secrets_are_masked_elsewhere() {
    let open = by_words();
    open.ok(&["store", "settings", "mask_secrets=off"]);
    let line = said("please");
    open.chat(&[&line, "and then?", &line]);
    assert!(!found(&open).is_empty(), "the owner turned it off");
    let exported = open.ok(&["session", "export", "default"]);
    let neap = by_words();
    let file = neap.file("export.jsonl", exported);
    neap.ok(&["session", "import", &file]);
    assert_eq!(found(&neap), Vec::<String>::new());
}

/// What the owner turned off stays off until it is turned on, and is told.
#[test]
fn the_owner_of_a_store_decides() {
    let neap = by_words();
    assert_eq!(neap.json(&["store", "settings"])["mask_secrets"], true);
    neap.ok(&["store", "settings", "mask_secrets=off"]);
    assert_eq!(neap.json(&["store", "settings"])["mask_secrets"], false);
    neap.chat(&["my password is hunter2x9 for now"]);
    assert!(neap.ok(&["session", "original", "t1", "--session", "default"]).contains("hunter2x9"));
    neap.ok(&["store", "settings", "mask-secrets=on"]);
    neap.chat(&["my password is hunter3x9 for now"]);
    assert!(neap.ok(&["session", "original", "t2", "--session", "default"]).contains("[masked: password]"));
    let ran = neap.run(&["store", "settings", "mask_secrets=maybe"]);
    assert!(ran.code != 0 && ran.err.contains("hint:"), "{}", ran.err);
}
