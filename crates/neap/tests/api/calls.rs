//! One good call of each route, in an order in which each succeeds.

use serde_json::{Value, json};

/// Method, path as in the document, path as it is called, body.
pub(crate) type Call = (&'static str, &'static str, String, Option<Value>);

/// `effort` is one of the session `default`, `proxied` a session that went through the proxy.
pub(crate) fn all(effort: &str, proxied: &str) -> Vec<Call> {
    let session = |rest: &str| format!("/sessions/default{rest}");
    let reads: Vec<(&'static str, String)> = vec![
        ("/health", "/health".to_owned()),
        ("/openapi.json", "/openapi.json".to_owned()),
        ("/report", "/report".to_owned()),
        ("/jobs", "/jobs".to_owned()),
        ("/requests", "/requests?after=0".to_owned()),
        ("/sessions", "/sessions?limit=1&q=def&erased=true".to_owned()),
        ("/sessions/{session}", session("")),
        ("/sessions/{session}", format!("/sessions/{proxied}")),
        ("/sessions/{session}/erasure", session("/erasure")),
        ("/sessions/{session}/events", session("/events?limit=5")),
        ("/sessions/{session}/report", session("/report")),
        ("/sessions/{session}/report", format!("/sessions/{proxied}/report")),
        ("/sessions/{session}/receipts", session("/receipts")),
        ("/sessions/{session}/originals/{handle}", session("/originals/t1?offset=2&limit=9")),
        ("/sessions/{session}/efforts", session("/efforts")),
        ("/sessions/{session}/efforts/{effort}", session(&format!("/efforts/{effort}"))),
        ("/sessions/{session}/efforts/{effort}/log", session(&format!("/efforts/{effort}/log"))),
        ("/sessions/{session}/efforts/{effort}/log", session("/efforts/ambient/log")),
        ("/sessions/{session}/turns", session("/turns?before=3")),
        ("/sessions/{session}/turns", format!("/sessions/{proxied}/turns")),
        ("/sessions/{session}/series", session("/series")),
        ("/sessions/{session}/series", session("/series?points=2")),
        ("/sessions/{session}/changes", session("/changes?before=3")),
        ("/sessions/{session}/changes", format!("/sessions/{proxied}/changes")),
        ("/sessions/{session}/turns/{turn}", session("/turns/latest")),
        ("/sessions/{session}/turns/{turn}", format!("/sessions/{proxied}/turns/1")),
        ("/sessions/{session}/turns/{turn}/prompt", session("/turns/2/prompt")),
        ("/sessions/{session}/turns/{turn}/prompt", format!("/sessions/{proxied}/turns/latest/prompt")),
        ("/sessions/{session}/turns/{turn}/diff", session("/turns/3/diff?with=1")),
        ("/memories", "/memories?kind=fact&author=person&trust=high&q=staging".to_owned()),
        ("/memories/asked", "/memories/asked".to_owned()),
        ("/memories/status", "/memories/status".to_owned()),
        ("/memories/frames", "/memories/frames".to_owned()),
        ("/memories/{id}", "/memories/f3".to_owned()),
        ("/memories/{id}", "/memories/c1".to_owned()),
        ("/memories/{id}/history", "/memories/f2/history".to_owned()),
        ("/memories/{id}/chain", "/memories/f2/chain".to_owned()),
        ("/memories/{id}/erasure", "/memories/f2/erasure".to_owned()),
    ];
    let mut all: Vec<Call> = reads.into_iter().map(|(path, called)| ("GET", path, called, None)).collect();
    let mut add =
        |method, path, called: &str, body: Option<Value>| all.push((method, path, called.to_owned(), body));
    add("POST", "/search", "/search", Some(json!({"query": "refresh token", "in": "all", "max": 5})));
    add("POST", "/memories/recall", "/memories/recall", Some(json!({"query": "staging", "superseded": true})));
    add(
        "POST",
        "/memories/context",
        "/memories/context",
        Some(json!({"question": "which database has staging?"})),
    );
    let expected = json!({"query": "refresh token", "expect": "default/t2", "here": "other"});
    add("POST", "/search/expect", "/search/expect", Some(expected));
    add("POST", "/memories/expect", "/memories/expect", Some(json!({"query": "staging", "expect": "f3"})));
    let pattern = json!({"by": "words", "of": "delete production"});
    add(
        "POST",
        "/memories/try",
        "/memories/try",
        Some(json!({"pattern": pattern, "text": "please delete production"})),
    );
    let question = json!({"question": "refresh token", "budget": 1000});
    add("POST", "/sessions/{session}/context", &session("/context"), Some(question));
    add("PUT", "/sessions/{session}", "/sessions/made", Some(json!({"set": {"context_tokens_max": "9000"}})));
    add("POST", "/sessions/{session}/efforts", "/sessions/made/efforts", Some(json!({"name": "new work"})));
    for action in ["conclude", "expand", "collapse", "reopen", "switch"] {
        let called = format!("/sessions/made/efforts/new-work/{action}");
        add("POST", "/sessions/{session}/efforts/{effort}/{action}", &called, None);
    }
    let turn = json!({"message": "how warm is it?", "reply": "21 °C", "author": "person"});
    add("PUT", "/sessions/{session}/turns/{turn}", "/sessions/made/turns/my-turn-1", Some(turn));
    let messages = json!({"messages": [{"role": "user", "content": "hi", "at": 5}, {"role": "assistant", "content": "hello"}]});
    add("POST", "/sessions/{session}/messages", "/sessions/made/messages", Some(messages));
    let entries = json!({"entries": ["{\"op\":\"add\"}", ""]});
    add("POST", "/sessions/{session}/entries", "/sessions/made/entries", Some(entries));
    let draft = json!({"body": {"kind": "fact", "content": "Prod runs PostgreSQL 17"}, "tags": ["db"], "domain": "infrastructure"});
    add("POST", "/memories", "/memories", Some(draft));
    let edit = json!({"body": {"subject": "prod"}, "tags": null, "pinned": true});
    add("PATCH", "/memories/{id}", "/memories/f4", Some(edit));
    for action in ["undo", "confirm", "core", "wrong"] {
        add("POST", "/memories/{id}/{action}", &format!("/memories/f4/{action}"), None);
    }
    add("POST", "/memories/{id}/{action}", "/memories/c1/retire", None);
    add(
        "POST",
        "/memories/{id}/review",
        "/memories/d1/review",
        Some(json!({"outcome": "success", "notes": "it holds"})),
    );
    add("POST", "/memories/roll-back", "/memories/roll-back", Some(json!({"author": "model"})));
    add("DELETE", "/memories/{id}", "/memories/f4?confirm=f4", None);
    add("DELETE", "/sessions/{session}", "/sessions/made?confirm=made", None);
    add("GET", "/sessions/{session}/export", "/sessions/default/export", None);
    add("GET", "/sessions/{session}/entries", "/sessions/default/entries?after=1", None);
    add("GET", "/memories/export", "/memories/export", None);
    let import = json!({"memories": [], "source": "laptop", "ids": {"f1": "f2"}});
    add("POST", "/memories/import", "/memories/import", Some(import));
    add("GET", "/events", "/events", None);
    all
}
