//! Every route answers what its schema says.

use std::collections::BTreeSet;

use serde_json::{Value, json};

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
        let needs_key = method == "POST" && (path.ends_with("/messages") || path.ends_with("/entries"));
        let more = if needs_key { &key[..] } else { &[] };
        let answer = api.ask_with(method, &call, more, body.as_ref());
        assert_eq!(answer.status, 200, "{method} {call}: {}", answer.text());
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        if path.ends_with("/export") {
            let neap = &api.server.neap;
            let printed = match path {
                "/memories/export" => crate::rig::objects(&neap.ok(&["memory", "export"])),
                _ => neap.events("default"),
            };
            assert_eq!(crate::rig::objects(&answer.text()), printed);
            continue;
        }
        if method == "GET" && path.ends_with("/entries") {
            assert_eq!(answer.text(), "", "nothing was stored there");
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
    let api = Api::with_data_by_words();
    let neap = &api.server.neap;
    let same = |args: &[&str], path: &str| assert_eq!(neap.json(args), api.get(path), "{args:?} {path}");
    same(&["session", "show", "default"], "/sessions/default");
    same(&["explain", "--session", "default", "--turn", "2"], "/sessions/default/turns/2");
    same(&["report", "--session", "default"], "/sessions/default/report");
    same(&["report", "--all"], "/report");
    same(&["memory", "show", "f3"], "/memories/f3");
    same(&["memory", "status"], "/memories/status");

    same(&["session", "original", "t1", "--session", "default"], "/sessions/default/originals/t1");
    let asked = |args: &[&str], path: &str, body: Value| {
        let answer = api.send("POST", path, &body);
        assert_eq!(neap.json(args), *answer.get("items").unwrap_or(&answer), "{args:?} {path}");
    };
    let query = json!({"query": "refresh token", "in": "all"});
    asked(&["search", "refresh", "token", "--in", "all"], "/search", query);
    let query = json!({"query": "refresh", "by": "user", "project": "none-such", "max": 3});
    asked(&["search", "refresh", "--by", "user", "--project", "none-such", "--max", "3"], "/search", query);
    let query = json!({"query": "refresh", "expect": "default/t2"});
    asked(&["search", "refresh", "--expect", "default/t2"], "/search/expect", query);
    asked(&["recall", "staging"], "/memories/recall", json!({"query": "staging"}));
    let query = json!({"query": "staging", "expect": "f2"});
    asked(&["recall", "staging", "--expect", "f2"], "/memories/expect", query);

    let items = |args: &[&str], path: &str| assert_eq!(neap.json(args), api.get(path)["items"], "{args:?} {path}");
    items(&["session", "efforts", "--session", "default"], "/sessions/default/efforts");
    items(&["session", "receipts", "--session", "default"], "/sessions/default/receipts");
    items(&["memory", "list"], "/memories");
    items(&["memory", "history", "f2"], "/memories/f2/history");
    items(&["memory", "frames"], "/memories/frames");
}

#[test]
fn a_report_tells_models_and_projects_apart() {
    let api = Api::with_data();
    for (session, model, project) in [("one", "gpt-4o-mini", "shop"), ("two", "a model/of\u{202e} theirs", "shop")]
    {
        let body = json!({"model": model, "messages": [{"role": "user", "content": "what is in the shop?"}]});
        let headers =
            [("content-type", "application/json"), ("x-neap-session", session), ("x-neap-project", project)];
        let answer = api.server.ask("POST", "/v1/chat/completions", &headers, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let report = api.get("/report");
    let rows = |name: &str| report[name].as_array().expect("a list").clone();
    let mut models: Vec<(String, u64)> = rows("models")
        .iter()
        .map(|row| (row["model"].as_str().expect("a name").to_owned(), row["calls"].as_u64().expect("a count")))
        .collect();
    models.sort();
    let expected = [("amodel/oftheirs", 1), ("gpt-4o", 1), ("gpt-4o-mini", 1)];
    assert_eq!(models, expected.map(|(name, calls)| (name.to_owned(), calls)));
    let sum =
        |rows: &[Value], name: &str| rows.iter().map(|row| row[name].as_u64().expect("a count")).sum::<u64>();
    assert_eq!(sum(&rows("models"), "sent"), report["passed"]["used"]["input"].as_u64().expect("a count"));
    assert_eq!(sum(&rows("projects"), "sessions"), report["sessions"].as_u64().expect("a count"));
    let shop = rows("projects").into_iter().find(|row| row["project"] == "shop").expect("a project");
    assert_eq!((&shop["sessions"], &shop["turns"]), (&json!(2), &json!(2)));
    let priced = |model: &str| rows("models").iter().any(|row| row["model"] == model && !row["dollars"].is_null());
    assert!(priced("gpt-4o") && !priced("amodel/oftheirs"));
}

#[test]
fn what_does_not_exist_is_a_problem_with_a_code() {
    let (api, document) = (Api::with_data(), document());
    let problem = &document["components"]["schemas"]["Problem"];
    for (method, path, status, code) in [
        ("GET", "", 404, "no_route"),
        ("GET", "/", 404, "no_route"),
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
        assert_ne!(answer.json()["hint"], "", "{path}");
    }
    assert!(api.server.neap.json(&["memory", "show", "f1"]).is_object(), "nothing was erased");
}
