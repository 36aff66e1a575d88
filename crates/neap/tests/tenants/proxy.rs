//! Keys at the proxy and at `/mcp`.

use serde_json::{Value, json};

use super::{Key, OURS, PROVIDER_KEY, Place, THEIRS, new_key, on_tenant, whole};
use crate::wire::Answer;

#[test]
fn a_key_stays_here_and_the_providers_key_goes_on() {
    let place = Place::start();
    let body = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}).to_string();
    let headers = [("authorization", PROVIDER_KEY), ("content-type", "application/json")];
    let with_key = [&headers[..], &[("x-neap-key", place.ours.text.as_str())]].concat();
    let in_path = format!("/k/{}/v1/chat/completions?beta=1", place.ours.text);
    let in_session_path = format!("/k/{}/s/desk/v1/chat/completions", place.ours.text);
    for (path, headers) in
        [("/v1/chat/completions", &with_key[..]), (&in_path, &headers[..]), (&in_session_path, &headers[..])]
    {
        let answer = place.server.ask("POST", path, headers, body.as_bytes());
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    let forwarded = place.mock.requests();
    assert_eq!(forwarded.len(), 3);
    for request in &forwarded {
        let shown = format!("{request:?}");
        assert!(!shown.contains("neap_") && !shown.contains(&place.ours.id), "{shown}");
        assert_eq!(request.header("authorization"), Some(PROVIDER_KEY));
        assert!(request.path.starts_with("/v1/chat/completions"), "{}", request.path);
    }
    // In the place of the provider's key it would reach the provider.
    let bearer = format!("Bearer {}", place.theirs.text);
    for misplaced in [("authorization", bearer.as_str()), ("x-api-key", place.theirs.text.as_str())] {
        let headers = [("x-neap-key", place.ours.text.as_str()), ("content-type", "application/json"), misplaced];
        let answer = place.server.ask("POST", "/v1/chat/completions", &headers, body.as_bytes());
        assert_eq!(answer.status, 403, "{}", answer.text());
    }
    for odd in [format!("/v1/models?key={}", place.theirs.text), format!("/x/k/{}/v1/models", place.theirs.text)] {
        let answer = place.server.ask("GET", &odd, &[("x-neap-key", &place.ours.text)], b"");
        assert_eq!(answer.status, 403, "{odd}: {}", answer.text());
    }
    assert_eq!(place.mock.requests().len(), 3);
    let log = place.said();
    assert!(!log.contains(&place.ours.text[18..]) && !log.contains(&place.theirs.text[18..]), "{log}");
}

#[test]
fn who_is_refused_learns_it_as_the_provider_would_say_it() {
    let place = Place::start();
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).to_string();
    let ask =
        |path: &str| place.server.ask("POST", path, &[("content-type", "application/json")], body.as_bytes());
    let openai = ask("/v1/chat/completions");
    assert_eq!((openai.status, &openai.json()["error"]["code"]), (401, &json!("invalid_api_key")));
    let anthropic = ask("/v1/messages").json();
    assert_eq!(
        (&anthropic["type"], &anthropic["error"]["type"]),
        (&json!("error"), &json!("authentication_error"))
    );
    for told in [openai.json()["error"]["message"].clone(), anthropic["error"]["message"].clone()] {
        assert!(told.as_str().is_some_and(|told| told.contains("hint:") && told.contains("x-neap-key")), "{told}");
    }
    assert_eq!(place.mock.requests().len(), 0);
}

#[test]
fn sessions_of_one_name_do_not_meet() {
    let place = Place::start();
    let first = place.chat(&place.ours.text, "desk", &format!("the vault code of {OURS} is 4711"));
    let second = place.chat(&place.theirs.text, "desk", &format!("the vault code of {THEIRS} is 1147"));
    assert_eq!((first.status, second.status), (200, 200));
    let names: Vec<Option<&str>> = [&first, &second].map(|answer| answer.header("x-neap-session")).to_vec();
    assert!(names[0].is_some() && names[0] == names[1], "{names:?}");
    let session = names[0].expect("a session");
    for (key, own, foreign) in [(&place.ours, OURS, THEIRS), (&place.theirs, THEIRS, OURS)] {
        let turns = place.ask(&key.text, "GET", &format!("/sessions/{session}/export"), None).text();
        assert!(turns.contains(own) && !turns.contains(foreign), "{turns}");
    }
    // The same history from the other tenant continues nothing of this one.
    let stolen = place.chat(&place.theirs.text, "other", &format!("the vault code of {OURS} is 4711"));
    assert_ne!(stolen.header("x-neap-session"), None);
    let sessions: Value =
        serde_json::from_str(&on_tenant(&place.server.neap, "acme", &["session", "list", "--json"], ""))
            .expect("JSON");
    assert!(sessions.as_array().expect("a list").iter().all(|info| info["session"] != "other"), "{sessions}");
    let local = place.server.neap.run(&["session", "list", "--json"]);
    assert!(!local.out.contains("desk"), "nothing went into the data directory itself: {}", local.out);
}

fn mcp(place: &Place, key: &Key, more: &[(&str, &str)], body: &Value) -> Answer {
    let headers = [
        &[
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("x-neap-key", key.text.as_str()),
        ],
        more,
    ];
    place.server.ask("POST", "/mcp", &headers.concat(), body.to_string().as_bytes())
}

fn hello() -> Value {
    let client = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

fn call(tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
}

#[test]
fn tools_answer_for_the_keys_tenant_and_within_its_scope() {
    let neap = Place::planted();
    let reads = new_key(&neap, "acme", &["--scope", "read", "--surface", "mcp"]);
    let place = Place::over(neap);
    let open = |key: &Key| {
        let answer = mcp(&place, key, &[], &hello());
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.header("mcp-session-id").expect("a session").to_owned()
    };
    let (ours, theirs, reader) = (open(&place.ours), open(&place.theirs), open(&reads));
    let recall = call("recall", &json!({"query": "code shelf"}));
    for (key, session, own, foreign) in [
        (&place.ours, &ours, OURS, THEIRS),
        (&place.theirs, &theirs, THEIRS, OURS),
        (&reads, &reader, OURS, THEIRS),
    ] {
        let answer = mcp(&place, key, &[("mcp-session-id", session)], &recall);
        let said = whole(&answer);
        assert!(said.contains(own) && !said.contains(foreign), "{said}");
    }
    let record = call("record_turn", &json!({"user": "hi", "assistant": "hello"}));
    let refused = mcp(&place, &reads, &[("mcp-session-id", &reader)], &record);
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert_eq!(mcp(&place, &place.ours, &[("mcp-session-id", &ours)], &record).status, 200);
    // Somebody else's session is none.
    let stolen = mcp(&place, &place.theirs, &[("mcp-session-id", &ours)], &recall);
    assert_eq!(stolen.status, 404, "{}", stolen.text());
}
