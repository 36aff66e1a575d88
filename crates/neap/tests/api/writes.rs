//! What is written through the API: once, and gone when it is erased.

use serde_json::{Value, json};

use super::{Api, calls};
use crate::rig::Neap;

#[test]
fn messages_are_recorded_once_for_each_key_also_after_a_restart() {
    let api = Api::over(Neap::new());
    let body = json!({"messages": [{"role": "assistant", "content": "one"}, {"role": "user", "content": "two"}]});
    let send = |api: &Api, key: &str| {
        let answer = api.ask_with("POST", "/sessions/log/messages", &[("idempotency-key", key)], Some(&body));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    assert_eq!(send(&api, "a"), json!({"recorded": 2, "turn": 1}));
    assert_eq!(send(&api, "a"), json!({"recorded": 0, "turn": 1}));
    assert_eq!(send(&api, "b"), json!({"recorded": 2, "turn": 3}));
    let none = api.ask("POST", "/sessions/log/messages", Some(&body));
    assert_eq!(none.status, 400, "{}", none.text());
    let events = api.server.neap.events("log");
    let Api { server, .. } = api;
    let api = Api {
        token: read_token(&server),
        proxied: String::new(),
        server: server.restarted(&[], &[]),
        _mock: super::Mock::start(|_, _| panic!()),
    };
    assert_eq!(send(&api, "b"), json!({"recorded": 0, "turn": 3}));
    assert_eq!(api.server.neap.events("log"), events);
}

fn read_token(server: &crate::wire::Proxy) -> String {
    std::fs::read_to_string(server.neap.data().join("keys/api.token")).expect("a token").trim().to_owned()
}

#[test]
fn many_at_once_record_one_batch() {
    let api = Api::over(Neap::new());
    let body = json!({"messages": [{"role": "user", "content": "only once"}]});
    let recorded: u64 = std::thread::scope(|scope| {
        let sent: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let answer =
                        api.ask_with("POST", "/sessions/many/messages", &[("idempotency-key", "k")], Some(&body));
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    answer.json()["recorded"].as_u64().expect("a count")
                })
            })
            .collect();
        sent.into_iter().map(|one| one.join().expect("it ends")).sum()
    });
    assert_eq!(recorded, 1);
    assert_eq!(api.get("/sessions/many")["turns"], 1);
}

#[test]
fn a_turn_is_recorded_once_for_each_id() {
    let api = Api::over(Neap::new());
    let put =
        |message: &str| api.send("PUT", "/sessions/t/turns/id-1", &json!({"message": message, "reply": "yes"}));
    let first = put("is it?");
    assert_eq!((first["turn"].as_u64(), first["text"].as_str()), (Some(1), Some("yes")));
    assert_eq!(put("something else")["text"], "yes");
    assert_eq!(api.get("/sessions/t")["turns"], 1);
    assert_eq!(api.get("/sessions/t/turns/1")["author"], "model", "unless the caller says otherwise");
}

#[test]
fn an_erased_session_is_gone_from_every_route() {
    let api = Api::with_data();
    let effort = api.get("/sessions/default/efforts")["items"][0]["id"].as_str().expect("an effort").to_owned();
    let erased = api.ask("DELETE", "/sessions/default?confirm=default", None);
    assert_eq!((erased.status, &erased.json()["erased"]), (200, &json!(true)), "{}", erased.text());
    for (method, path, call, body) in calls::all(&effort, &api.proxied) {
        if !path.starts_with("/sessions/{session}") || call.contains(&api.proxied) {
            continue;
        }
        let call = call.replace("/sessions/made", "/sessions/default").replace("confirm=made", "confirm=default");
        let answer = api.ask_with(method, &call, &[("idempotency-key", "k")], body.as_ref());
        assert_eq!(answer.status, 404, "{method} {call}: {}", answer.text());
    }
    let names = |path: &str| {
        let items = api.get(path)["items"].clone();
        items.as_array().expect("a list").iter().map(|item| item["session"].clone()).collect::<Vec<Value>>()
    };
    assert!(!names("/sessions").contains(&json!("default")));
    assert!(names("/sessions?erased=true").contains(&json!("default")), "only that it was erased stays");
    let hits = api.send("POST", "/search", &json!({"query": "refresh token", "in": "all"}));
    assert_eq!(hits["items"], json!([]));
}

#[test]
fn a_memory_is_edited_undone_and_erased() {
    let api = Api::with_data();
    let changed =
        api.send("PATCH", "/memories/f1", &json!({"body": {"content": "Tim prefers Kelvin"}, "pinned": false}));
    assert_eq!(
        (&changed["status"], &changed["memory"]["body"]["content"]),
        (&json!("edited"), &json!("Tim prefers Kelvin"))
    );
    assert!(changed["memory"].get("pinned").is_none());
    let undone = api.ask("POST", "/memories/f1/undo", None);
    assert_eq!(undone.json()["memory"]["body"]["content"], "Tim prefers Celsius", "{}", undone.text());
    let refused = api.ask("PATCH", "/memories/f1", Some(&json!({"body": {"confirmations": 9}})));
    assert_eq!(refused.status, 400, "{}", refused.text());
    let same = api.ask("PATCH", "/memories/f1", Some(&json!({"body": {"content": "Tim prefers Celsius"}})));
    assert_eq!(same.status, 422, "{}", same.text());
    let chain = api.get("/memories/f3/chain");
    let ids: Vec<&str> =
        chain["items"].as_array().expect("a list").iter().filter_map(|m| m["id"].as_str()).collect();
    assert_eq!(ids, ["f2", "f3"]);
    let takes = &api.get("/memories/f3/erasure")["takes"];
    assert_eq!(takes, &json!([{"id": "f2", "how": "superseded_by"}]));
    assert_eq!(api.ask("DELETE", "/memories/f3?confirm=f3", None).json()["erased"], true);
    assert_eq!(api.ask("GET", "/memories/f3", None).status, 404);
}

#[test]
fn a_body_is_bounded_and_nothing_unknown_is_taken() {
    let api = Api::over(Neap::new());
    let large = json!({"query": "x".repeat(5 << 20)});
    assert_eq!(api.ask("POST", "/search", Some(&large)).status, 413);
    assert_eq!(api.ask("POST", "/search", Some(&json!({"query": "x", "more": 1}))).status, 400);
    assert_eq!(api.ask("POST", "/search", Some(&json!([]))).status, 400);
    assert_eq!(api.ask("POST", "/search", Some(&json!({"query": "x", "max": 101}))).status, 400);
    let messages = json!({"messages": vec![json!({"role": "user", "content": "x"}); 257]});
    let answer = api.ask_with("POST", "/sessions/a/messages", &[("idempotency-key", "k")], Some(&messages));
    assert_eq!(answer.status, 422, "{}", answer.text());
}
