//! Every route of the document, and the others of the server, for everybody who is not to be let in; and what the key of
//! one tenant shows of another.

use std::collections::BTreeSet;

use super::{Key, OURS, Place, REMEMBERED, THEIRS, new_key, whole};
use crate::api::{calls, document};
use crate::rig::Neap;

/// One call of each route of the table, and those that are no part of it.
fn all_calls() -> Vec<(&'static str, String, Option<serde_json::Value>)> {
    let api = calls::all("auth-bug", "proxied").into_iter();
    let mut all: Vec<_> =
        api.map(|(method, _, called, body)| (method, format!("/api/v1{called}"), body)).collect();
    for path in [
        "/api/v1/no/such/route", "/ui", "/ui/", "/ui/index.html", "/ui/no-such", "/neap/recent", "/metrics",
        "/v1/models",
    ] {
        all.push(("GET", path.to_owned(), None));
    }
    let hello = serde_json::json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]});
    let proxied = [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/embeddings",
        "/s/default/v1/chat/completions",
        "/api/v1/chat/completions",
    ];
    for path in proxied.into_iter().chain(["/mcp", "/ui/link"]) {
        all.push(("POST", path.to_owned(), Some(hello.clone())));
    }
    all
}

#[test]
fn every_route_of_the_document_is_called() {
    let document = document();
    let paths = document["paths"].as_object().expect("paths");
    let called: BTreeSet<(String, String)> = calls::all("x", "y")
        .into_iter()
        .map(|(method, path, _, _)| (method.to_lowercase(), path.to_owned()))
        .collect();
    for (path, methods) in paths {
        for method in methods.as_object().expect("methods").keys().filter(|name| *name != "parameters") {
            let path = path.trim_start_matches("/api/v1").to_owned();
            assert!(called.contains(&(method.clone(), path.clone())), "{method} {path}");
        }
    }
}

/// Asks every route with what is not to be let in; nothing but the refusal is said.
fn refuse(place: &Place, who: &str, headers: &[(&str, &str)], is_refused: impl Fn(&str, &str) -> bool) {
    let mut refused = 0;
    for (method, path, body) in all_calls() {
        if !is_refused(method, &path) {
            continue;
        }
        refused += 1;
        let text = body.map(|body| body.to_string()).unwrap_or_default();
        let all =
            [&[("content-type", "application/json"), ("accept", "application/json, text/event-stream")], headers];
        let answer = place.server.ask(method, &path, &all.concat(), text.as_bytes());
        let said = whole(&answer);
        if path == "/ui" || path == "/api/v1/health" {
            assert!([200, 303].contains(&answer.status), "{who}: {method} {path}: {said}");
        } else {
            assert!([401, 403].contains(&answer.status), "{who}: {method} {path}: {} {said}", answer.status);
        }
        assert!(!said.contains(OURS) && !said.contains(THEIRS), "{who}: {method} {path}: {said}");
    }
    assert!(refused > 0, "{who}");
}

/// A file that only its owner reads, in the data directory.
fn private_file(neap: &Neap, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = neap.data().join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
    std::fs::write(&path, text).expect("it is written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("it is private");
}

#[test]
fn nobody_without_a_key_that_holds_is_let_in_anywhere() {
    let neap = Place::planted();
    let expired = new_key(&neap, "acme", &["--expires", "0s"]);
    let revoked = new_key(&neap, "acme", &["--scope", "admin"]);
    neap.ok(&["access", "key", "revoke", &revoked.id]);
    let local = "a-token-of-the-data-folder-0123456789";
    for name in ["api", "api-read", "mcp"] {
        private_file(&neap, &format!("keys/{name}.token"), local);
    }
    let place = Place::over(neap);
    let (id, secret) = place.ours.text[5..].split_once('_').expect("an id");
    let other_secret = format!("neap_{id}_{}", "0".repeat(64));
    let other_id = format!("neap_{}_{secret}", place.theirs.id);
    let unknown = format!("neap_0123456789ab_{secret}");
    let bearer = |text: &str| format!("Bearer {text}");
    let all = |_: &str, _: &str| true;
    refuse(&place, "nobody", &[], all);
    refuse(&place, "a provider's key", &[("authorization", super::PROVIDER_KEY)], all);
    refuse(&place, "a token of the data folder", &[("authorization", &bearer(local))], all);
    refuse(&place, "a cookie", &[("cookie", "neap_session_1=x")], all);
    for (who, text) in [
        ("expired", &expired.text),
        ("revoked", &revoked.text),
        ("another secret", &other_secret),
        ("another id", &other_id),
        ("an unknown id", &unknown),
        ("a cut key", &place.ours.text[..80].to_owned()),
        ("nothing", &String::new()),
    ] {
        refuse(&place, who, &[("x-neap-key", text)], all);
        refuse(&place, who, &[("authorization", &bearer(text))], all);
    }
    refuse(&place, "two keys", &[("x-neap-key", &place.ours.text), ("x-neap-key", &place.theirs.text)], all);
    assert_eq!(place.mock.requests().len(), 0, "no request was forwarded");
    for key in [&expired, &revoked, &place.ours, &place.theirs] {
        let secret = key.text.rsplit('_').next().expect("a secret");
        assert!(!place.said().contains(secret), "{}", place.said());
    }
    assert!(!place.said().contains(OURS) && !place.said().contains(THEIRS), "{}", place.said());
}

#[test]
fn a_key_opens_what_its_scope_names_and_nothing_else() {
    let neap = Place::planted();
    let key = |args: &[&str]| new_key(&neap, "acme", args);
    let (proxy, memories) = (key(&["--surface", "proxy"]), key(&["--surface", "memories"]));
    let (sessions, mcp) = (key(&["--surface", "sessions", "--scope", "admin"]), key(&["--surface", "mcp"]));
    let reads = key(&["--scope", "read"]);
    let writes = key(&["--scope", "write"]);
    let place = Place::over(neap);
    let with = |key: &Key| key.text.clone();
    let is_api = |path: &str| path.starts_with("/api/v1/") && !path.contains("chat/completions");
    // The document is for whoever has any key.
    let is_open = |path: &str| ["/api/v1/health", "/api/v1/openapi.json", "/api/v1/no/such/route"].contains(&path);
    let is_memory = |path: &str| path.starts_with("/api/v1/memories");
    let is_session = |path: &str| is_api(path) && !is_open(path) && !is_memory(path) || path == "/neap/recent";
    let is_proxy = |path: &str| path.contains("/v1/") && !is_api(path) || path.contains("chat/completions");
    refuse(&place, "proxy", &[("x-neap-key", &with(&proxy))], |_, path| {
        is_session(path) || is_memory(path) || path == "/mcp"
    });
    refuse(&place, "memories", &[("x-neap-key", &with(&memories))], |_, path| {
        is_session(path) || is_proxy(path) || path == "/mcp"
    });
    refuse(&place, "sessions", &[("x-neap-key", &with(&sessions))], |_, path| {
        is_memory(path) || is_proxy(path) || path == "/mcp"
    });
    refuse(&place, "mcp", &[("x-neap-key", &with(&mcp))], |_, path| {
        is_session(path) || is_memory(path) || is_proxy(path)
    });
    let asks = ["/search", "/expect", "/recall", "/context", "/try"];
    let is_question = |path: &str| is_api(path) && asks.iter().any(|asked| path.ends_with(asked));
    refuse(&place, "read", &[("x-neap-key", &with(&reads))], |method, path| {
        method != "GET" && (is_api(path) || is_proxy(path)) && !is_question(path)
    });
    refuse(&place, "write", &[("x-neap-key", &with(&writes))], |method, _| method == "DELETE");
    assert_eq!(place.mock.requests().len(), 0, "no request was forwarded");
}

/// Every good call, with the key of one tenant, names what the other one has as well.
#[test]
fn a_key_shows_nothing_of_another_tenant() {
    let place = Place::start();
    for (key, own, foreign) in [(&place.ours, OURS, THEIRS), (&place.theirs, THEIRS, OURS)] {
        let said = place.chat(&key.text, "proxied", &format!("what is in the proxy of {own}?"));
        assert_eq!(said.status, 200, "{}", said.text());
        let mut own_seen = 0;
        for (method, path, body) in all_calls() {
            if path.ends_with("/events") && path.starts_with("/api/v1/events") {
                continue; // It does not end.
            }
            let text = body.map(|body| body.to_string()).unwrap_or_default();
            let headers = [
                ("x-neap-key", key.text.as_str()),
                ("content-type", "application/json"),
                ("accept", "application/json, text/event-stream"),
            ];
            let answer = place.server.ask(method, &path, &headers, text.as_bytes());
            let said = whole(&answer);
            // The figures of the whole server are for whoever runs it.
            let is_refused = [401, 403].contains(&answer.status);
            assert_eq!(is_refused, path == "/metrics", "{method} {path}: {said}");
            assert!(!said.contains(foreign), "{method} {path}: {said}");
            own_seen += usize::from(said.contains(own));
        }
        assert!(own_seen >= 8, "it shows its own: {own_seen}");
    }
    for question in [OURS, THEIRS] {
        let (key, foreign) = if question == OURS { (&place.theirs, OURS) } else { (&place.ours, THEIRS) };
        let asked = serde_json::json!({"query": question, "in": "all", "max": 20});
        let answer = place.ask(&key.text, "POST", "/search", Some(&asked));
        assert_eq!(answer.status, 200);
        assert!(!answer.json()["items"].to_string().contains(foreign), "{}", answer.text());
    }
    assert!(!place.said().contains(OURS) && !place.said().contains(THEIRS), "{}", place.said());
}

/// A key of one agent sees no memory of another, in its own tenant.
#[test]
fn a_key_of_an_agent_opens_its_memories_alone() {
    let neap = Place::planted();
    let helper = new_key(&neap, "acme", &["--for-agent", "helper", "--scope", "admin"]);
    let place = Place::over(neap);
    for (method, path, body) in all_calls() {
        if path == "/api/v1/events" {
            continue; // It does not end.
        }
        let text = body.map(|body| body.to_string()).unwrap_or_default();
        let headers = [("x-neap-key", helper.text.as_str()), ("content-type", "application/json")];
        let answer = place.server.ask(method, &path, &headers, text.as_bytes());
        let said = whole(&answer);
        assert!(!said.contains(REMEMBERED), "{method} {path}: {said}");
        assert!(!path.starts_with("/api/v1/memories") || !said.contains(OURS), "{method} {path}: {said}");
    }
    let asked = serde_json::json!({"query": "which door is green?", "in": "all", "max": 20});
    let search = |key: &Key| place.ask(&key.text, "POST", "/search", Some(&asked)).text();
    assert!(search(&place.ours).contains(REMEMBERED), "its own agent finds it");
    assert!(!search(&helper).contains(REMEMBERED), "{}", search(&helper));
    let draft = serde_json::json!({"body": {"kind": "fact", "content": "only the helper knows QX3"}});
    assert_eq!(place.ask(&helper.text, "POST", "/memories", Some(&draft)).status, 200);
    assert!(place.ask(&helper.text, "GET", "/memories", None).text().contains("QX3"));
    assert!(!place.ask(&place.ours.text, "GET", "/memories", None).text().contains("QX3"));
}
