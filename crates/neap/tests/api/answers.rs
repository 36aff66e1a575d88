//! Every route answers what its schema says.

use std::collections::BTreeSet;

use serde_json::Value;

use super::schema::misfit;
use super::{Api, calls, document};

/// The schema of a route's answer.
fn schema_of<'a>(document: &'a Value, method: &str, path: &str, status: &str) -> &'a Value {
    let answer = &document["paths"][format!("/api/v1{path}")][method.to_lowercase()]["responses"][status];
    let content = answer["content"].as_object().unwrap_or_else(|| panic!("{method} {path} has no {status}"));
    &content.values().next().expect("a media type")["schema"]
}

#[test]
fn every_route_answers_as_the_document_says() {
    let (api, document) = (Api::with_data(), document());
    let effort = api.get("/sessions/default/efforts")["items"][0]["id"].as_str().expect("an effort").to_owned();
    let mut called: BTreeSet<(String, String)> = BTreeSet::new();
    for (method, path, call, body) in calls::all(&effort, &api.proxied) {
        called.insert((format!("/api/v1{path}"), method.to_lowercase()));
        if path == "/events" {
            continue;
        }
        let key = [("idempotency-key", "batch-1")];
        let more = if path.ends_with("/messages") { &key[..] } else { &[] };
        let answer = api.ask_with(method, &call, more, body.as_ref());
        assert_eq!(answer.status, 200, "{method} {call}: {}", answer.text());
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        if path.ends_with("/export") {
            let lines: Vec<Value> = crate::rig::objects(&answer.text());
            assert_eq!(Value::Array(lines), Value::Array(api.server.neap.events("default")));
            continue;
        }
        assert!(answer.body.len() <= 200_000, "{call}");
        let misfit = misfit(&document, schema_of(&document, method, path, "200"), &answer.json());
        assert_eq!(misfit, None, "{method} {call}: {}", answer.text());
    }
    let routes = document["paths"].as_object().expect("paths").iter();
    let routes: BTreeSet<(String, String)> = routes
        .flat_map(|(path, methods)| {
            methods.as_object().expect("methods").keys().map(|m| (path.clone(), m.clone()))
        })
        .collect();
    assert_eq!(called, routes, "each route is called");
}

#[test]
fn what_a_command_prints_is_what_the_api_answers() {
    let api = Api::with_data();
    let neap = &api.server.neap;
    let same = |args: &[&str], path: &str| assert_eq!(neap.json(args), api.get(path), "{args:?} {path}");
    same(&["session", "show", "default"], "/sessions/default");
    same(&["explain", "--session", "default", "--turn", "2"], "/sessions/default/turns/2");
    same(&["report", "--session", "default"], "/sessions/default/report");
    same(&["report", "--all"], "/report");
    same(&["memory", "show", "f3"], "/memories/f3");
    same(&["memory", "status"], "/memories/status");

    let items = |args: &[&str], path: &str| assert_eq!(neap.json(args), api.get(path)["items"], "{args:?} {path}");
    items(&["session", "efforts", "--session", "default"], "/sessions/default/efforts");
    items(&["session", "receipts", "--session", "default"], "/sessions/default/receipts");
    items(&["memory", "list"], "/memories");
    items(&["memory", "history", "f2"], "/memories/f2/history");
    items(&["memory", "frames"], "/memories/frames");
}

#[test]
fn what_does_not_exist_is_a_problem_with_a_code() {
    let (api, document) = (Api::with_data(), document());
    let problem = &document["components"]["schemas"]["Problem"];
    for (method, path, status, code) in [
        ("GET", "/sessions/nobody", 404, "no_session"),
        ("GET", "/sessions/%00", 404, "no_session"),
        ("GET", "/sessions/%ff", 400, "bad_request"),
        ("GET", "/sessions/default/turns/99", 404, "no_turn"),
        ("GET", "/sessions/default/turns/x", 404, "no_turn"),
        ("GET", "/sessions/default/turns/18446744073709551616/prompt", 404, "no_turn"),
        ("GET", "/sessions/default/efforts/nothing", 404, "no_effort"),
        ("GET", "/sessions/default/originals/t99", 404, "no_original"),
        ("GET", "/sessions/default/originals/..%2F..", 404, "no_original"),
        ("POST", "/sessions/default/efforts/x/explode", 404, "no_route"),
        ("GET", "/memories/f99", 404, "no_memory"),
        ("GET", "/memories/zz", 404, "no_memory"),
        ("GET", "/nothing", 404, "no_route"),
        ("PUT", "/memories/f1", 405, "no_method"),
        ("GET", "/sessions?limit=201", 400, "bad_request"),
        ("GET", "/sessions?limit=0", 400, "bad_request"),
        ("GET", "/sessions?limit=1&limit=2", 400, "bad_request"),
        ("GET", "/sessions?what=1", 400, "bad_request"),
        ("GET", "/sessions?cursor=x", 400, "bad_request"),
        ("GET", "/memories?kind=thing", 400, "bad_request"),
        ("DELETE", "/memories/f1", 400, "bad_request"),
        ("DELETE", "/memories/f1?confirm=f2", 422, "refused"),
        ("DELETE", "/sessions/default?confirm=other", 422, "refused"),
        ("POST", "/search", 415, "not_json"),
    ] {
        let answer = api.ask(method, path, None);
        assert_eq!((answer.status, &answer.json()["code"]), (status, &code.into()), "{path}: {}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert_eq!(misfit(&document, problem, &answer.json()), None);
    }
    assert!(api.server.neap.json(&["memory", "show", "f1"]).is_object(), "nothing was erased");
}
