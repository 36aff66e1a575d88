//! `neap mcp` and bad input: the right error, nothing changed, and the server goes on.

use crate::client::{Client, STATELESS};
use crate::rig::Neap;
use serde_json::{Value, json};

/// What is in the store, whatever was asked.
fn kept(neap: &Neap) -> Value {
    json!([neap.json(&["session", "list"]), neap.json(&["memory", "list"])])
}

/// Issue, bad input: malformed JSON-RPC.
#[test]
fn what_cannot_be_read_is_answered_and_the_next_line_is_read() {
    let table: [(&[u8], Value, i64); 9] = [
        (b"{", Value::Null, -32700),
        (b"not JSON", Value::Null, -32700),
        (b"\xff\xfe", Value::Null, -32700),
        (b"[]", Value::Null, -32600),
        (b"7", Value::Null, -32600),
        (b"{\"jsonrpc\":\"2.0\"}", Value::Null, -32600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}", json!(7), -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":[]}}", json!(8), -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"resources/read\"}", json!(9), -32602),
    ];
    let neap = Neap::new();
    let mut client = Client::of(&neap, "2025-11-25");
    for (line, id, code) in table {
        client.write(line);
        let answer = client.hear();
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), &id),
            "{}",
            String::from_utf8_lossy(line)
        );
    }
    for quiet in ["", "   ", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard-of\"}"] {
        client.write(quiet.as_bytes());
    }
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    assert_eq!(client.hang_up(), 0);
}

#[test]
fn what_comes_before_the_first_request_means_nothing() {
    let neap = Neap::new();
    let mut client = Client::start(&neap, &[]);
    client.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}");
    client.write(b"{");
    assert_eq!(client.hear()["error"]["code"], -32700);
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    assert_eq!(client.ask("initialize", hello)["result"]["protocolVersion"], "2025-06-18");
    // A client that hangs up without a word is no failure.
    assert_eq!(Client::start(&neap, &[]).hang_up(), 0);
}

/// Issue, bad input: wrong versions.
#[test]
fn another_revision_gets_one_that_is_spoken_or_an_error() {
    let neap = Neap::new();
    for asked in ["1999-01-01", "2024-11-05", STATELESS, "", "9999-12-31"] {
        let mut client = Client::start(&neap, &[]);
        let hello =
            json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        assert_eq!(client.ok("initialize", hello)["protocolVersion"], "2025-11-25", "{asked}");
    }
    let mut client = Client::start(&neap, &[]);
    let meta = |version: &str| json!({"_meta": {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}});
    assert_eq!(client.code("tools/list", meta("1999-01-01")), -32022);
    assert_eq!(client.code("server/discover", json!({})), -32602);
    let found = client.ok("server/discover", meta(STATELESS));
    assert_eq!(found["supportedVersions"], json!(["2025-06-18", "2025-11-25", "2026-07-28"]));
    assert_eq!(client.ok("tools/list", meta(STATELESS))["tools"].as_array().map(Vec::len), Some(20));
}

/// Issue, bad input: unknown tools, oversized arguments, hostile ids and URIs.
#[test]
fn senseless_requests_get_the_right_error_and_change_nothing() {
    for version in ["2025-11-25", STATELESS] {
        let neap = Neap::new();
        let mut client = Client::of(&neap, version);
        client.tool("open_effort", json!({"name": "roof"}));
        client.tool("remember", json!({"kind": "fact", "text": "Tim prefers Celsius"}));
        let before = kept(&neap);

        assert_eq!(client.code("no/such/method", json!({})), -32601);
        assert_eq!(client.code("tools/call", json!({"name": "rm -rf", "arguments": {}})), -32602);
        assert_eq!(client.code("tools/call", json!({"name": "open_effort", "arguments": []})), -32602);
        assert_eq!(client.code("prompts/get", json!({"name": "no-such"})), -32602);
        assert_eq!(client.code("prompts/get", json!({"name": "open-effort"})), -32602);
        assert_eq!(client.code("resources/list", json!({"cursor": "../x"})), -32602);
        let missing = if version == STATELESS { -32602 } else { -32002 };
        for uri in [
            "neap://session/../context",
            "neap://session/no-such/context",
            "neap://session/%2e%2e%2f/effort/x/raw",
            "neap://memory/f999",
            "file:///etc/passwd",
            "",
        ] {
            assert_eq!(client.code("resources/read", json!({"uri": uri})), missing, "{uri}");
        }
        let refused = [
            ("open_effort", json!({"name": "///"})),
            ("open_effort", json!({"name": 7})),
            ("open_effort", json!({"name": "roof"})),
            ("close_effort", json!({"id": "../../etc/passwd"})),
            ("expand_effort", json!({})),
            ("fetch_original", json!({"handle": "../../etc/passwd"})),
            ("fetch_original", json!({"handle": "t99"})),
            ("remember", json!({"kind": "opinion", "text": "x"})),
            ("record_decision", json!({"description": "x", "confidence": 1.7})),
            ("expand_detail", json!({"id": "../../x"})),
            ("forget", json!({"id": "f999"})),
            ("record_turn", json!({"assistant": "x"})),
            ("record_turn", json!({"user": "x", "turn_id": "y".repeat(10_000)})),
            ("record_turn", json!({"user": "x", "session": ["a"]})),
            ("effort_status", json!({"session": "no-such"})),
            ("get_context", json!({"session": "no-such"})),
            ("get_context", json!({"budget": -1})),
            ("summarize_text", json!({"text": ""})),
        ];
        for (name, arguments) in refused {
            let said = client.refused(name, arguments.clone());
            let said: Value = serde_json::from_str(&said).expect("JSON");
            assert!(said["error"].as_str().is_some_and(|error| !error.is_empty()), "{name} {arguments}: {said}");
        }
        // Longer than a message may be, and longer than a line may be.
        let said = client.refused("record_turn", json!({"user": "x".repeat(9 << 20)}));
        assert!(said.contains("bytes"), "{said}");
        client.write(
            &[b"{\"jsonrpc\":\"2.0\",\"id\":1,\"x\":\"".to_vec(), vec![b'y'; 21 << 20], b"\"}".to_vec()].concat(),
        );
        let answer = client.hear();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null));

        assert_eq!(kept(&neap), before);
        assert_eq!(client.tool("effort_status", json!({}))["active"], "roof");
    }
}

/// Arguments that a tool takes, made from what it requires.
fn required(tool: &Value) -> Value {
    let value = |name: &str| match tool["inputSchema"]["properties"][name]["type"].as_str() {
        Some("number") => json!(0.5),
        Some(_) | None => json!("x"),
    };
    let names = tool["inputSchema"]["required"].as_array().cloned().unwrap_or_default();
    names.iter().filter_map(Value::as_str).map(|name| (name.to_owned(), value(name))).collect()
}

/// A misspelt argument is never ignored, whatever the tool: the refusal names it and what the tool takes.
#[test]
fn an_argument_that_a_tool_does_not_declare_is_refused_by_name() {
    for version in ["2025-06-18", STATELESS] {
        let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
        let mut client = Client::of(&neap, version);
        client.tool("open_effort", json!({"name": "roof"}));
        let tools = client.ok("tools/list", json!({}))["tools"].as_array().expect("a list").clone();
        let before = kept(&neap);
        for tool in &tools {
            let name = tool["name"].as_str().expect("a name");
            assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
            for unknown in ["sessionId", "Session", "effort_id", "\u{7}\n"] {
                let mut arguments = required(tool);
                arguments[unknown] = json!("elsewhere");
                let said: Value = serde_json::from_str(&client.refused(name, arguments)).expect("JSON");
                let unknown: String = unknown.chars().filter(|c| !c.is_control()).collect();
                assert_eq!(said["error"], format!("{name} has no argument '{unknown}'."));
                let hint = said["hint"].as_str().expect("a hint");
                let declared = tool["inputSchema"]["properties"].as_object().expect("properties").keys();
                assert!(
                    declared.clone().all(|key| hint.contains(key.as_str())) && hint.contains("session"),
                    "{hint}"
                );
            }
        }
        let said = client.refused("get_context", json!({"querry": "x", "limit": 3}));
        assert!(said.contains("has no arguments 'limit', 'querry'"), "{said}");
        assert_eq!(kept(&neap), before);
    }
}
