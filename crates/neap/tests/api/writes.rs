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
    let other = json!({"messages": [{"role": "assistant", "content": "three"}]});
    let refused = api.ask_with("POST", "/sessions/log/messages", &[("idempotency-key", "a")], Some(&other));
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("conflict")), "{}", refused.text());
    // Other messages behind the same first one, and more of them.
    let message = |role: &str, content: &str| json!({"role": role, "content": content});
    let talk = [message("user", "A"), message("assistant", "B"), message("user", "C"), message("assistant", "D")];
    let post = |messages: &[Value]| {
        let body = json!({"messages": messages});
        api.ask_with("POST", "/sessions/talk/messages", &[("idempotency-key", "t")], Some(&body)).status
    };
    assert_eq!(post(&talk[..3]), 200);
    assert_eq!(post(&talk[..3]), 200);
    for other in [vec![&talk[0], &talk[1], &talk[3]], vec![&talk[0], &talk[2]], talk.iter().collect()] {
        let other: Vec<Value> = other.into_iter().cloned().collect();
        assert_eq!(post(&other), 409, "{other:?}");
    }
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
    assert_eq!(put("is it?")["text"], "yes");
    let other = json!({"message": "something else", "reply": "yes"});
    let refused = api.ask("PUT", "/sessions/t/turns/id-1", Some(&other));
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("conflict")), "{}", refused.text());
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
fn an_effort_opened_again_stays_one() {
    let api = Api::over(Neap::new());
    api.send("PUT", "/sessions/e", &json!({}));
    let open = |name: &str| api.send("POST", "/sessions/e/efforts", &json!({"name": name}));
    open("auth bug");
    open("changelog");
    let active = |id: &str| api.get(&format!("/sessions/e/efforts/{id}"))["active"] == true;
    assert!(active("changelog"));
    for _ in 0..2 {
        open("auth bug");
        assert!(active("auth-bug") && !active("changelog"));
    }
    assert_eq!(api.get("/sessions/e/efforts")["items"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_memory_is_stored_once_for_each_key() {
    let api = Api::over(Neap::new());
    let bodies = [
        json!({"kind": "fact", "content": "Staging runs PostgreSQL 16", "subject": "staging"}),
        json!({"kind": "decision", "description": "Use Redis for sessions"}),
        json!({"kind": "procedure", "name": "Release", "steps": ["tag", "push"]}),
        json!({"kind": "episode", "summary": "We moved the staging host"}),
        json!({"kind": "censor", "pattern": {"by": "words", "of": "delete production"}, "reason": "ask first"}),
    ];
    let send = |key: &str, body: &Value| {
        api.ask_with("POST", "/memories", &[("idempotency-key", key)], Some(&json!({"body": body})))
    };
    for (at, body) in bodies.iter().enumerate() {
        let key = format!("key-{at}");
        let first = send(&key, body);
        assert_eq!((first.status, &first.json()["status"]), (200, &json!("new")), "{}", first.text());
        let history = format!("/memories/{}/history", first.json()["id"].as_str().expect("an id"));
        let versions = api.get(&history);
        let again = send(&key, body).json();
        assert_eq!((&again["status"], &again["id"]), (&json!("known"), &first.json()["id"]), "{again}");
        assert_eq!(api.get(&history), versions, "the repetition changed something");
        let refused = send(&key, &bodies[(at + 1) % bodies.len()]);
        assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("conflict")), "{}", refused.text());
    }
    assert_eq!(api.get("/memories")["items"].as_array().map(Vec::len), Some(bodies.len()));
    // Also when it was changed meanwhile, and when it confirmed another one.
    api.send("PATCH", "/memories/f1", &json!({"body": {"content": "Staging runs PostgreSQL 17"}}));
    assert_eq!(send("key-0", &bodies[0]).json()["status"], "known");
    api.send("POST", "/memories/f1/undo", &json!({}));
    for _ in 0..3 {
        send("again", &bodies[0]);
    }
    assert_eq!(api.get("/memories/f1")["body"]["confirmations"], 1);
    assert_eq!(send("again", &json!({"kind": "fact", "content": "The sea is salty"})).status, 409);
    let pinned = json!({"body": bodies[0], "pinned": true});
    let other = api.ask_with("POST", "/memories", &[("idempotency-key", "key-0")], Some(&pinned));
    assert_eq!(other.status, 409, "{}", other.text());
}

#[test]
fn many_at_once_store_one_memory() {
    let api = Api::over(Neap::new());
    let contents = ["The sea is salty", "The moon is far", "to be or not to be", "Bread needs salt"];
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let send = |content: &'static str| {
            let api = &api;
            scope.spawn(move || {
                let body = json!({"body": {"kind": "fact", "content": content}});
                api.ask_with("POST", "/memories", &[("idempotency-key", "k")], Some(&body)).status
            })
        };
        let sent: Vec<_> = contents.into_iter().chain(contents).map(send).collect();
        sent.into_iter().map(|one| one.join().expect("it ends")).collect()
    });
    assert_eq!(api.get("/memories")["items"].as_array().map(Vec::len), Some(1), "{statuses:?}");
    let count = |status: u16| statuses.iter().filter(|one| **one == status).count();
    assert_eq!((count(200), count(409)), (2, 6), "{statuses:?}");
}

#[test]
fn an_export_taken_over_elsewhere_keeps_what_it_says_and_its_project() {
    let api = Api::with_data();
    let fact = json!({"body": {"kind": "fact", "content": "The web app listens on 8443"}, "project": "web"});
    let id = api.send("POST", "/memories", &fact)["id"].as_str().expect("an id").to_owned();
    let decision = json!({"body": {"kind": "decision", "description": "Keep port 8443", "rests_on": [id]}});
    api.send("POST", "/memories", &decision);
    let exported = crate::rig::objects(&api.ask("GET", "/memories/export", None).text());
    let other = Api::over(Neap::new());
    let said = |api: &Api| {
        let rows = api.get("/memories?limit=200")["items"].as_array().expect("a list").clone();
        let current = rows.into_iter().filter(|row| row["status"] != "superseded");
        let text = |row: &Value| {
            let fields = ["content", "description", "reason"];
            let text = fields.into_iter().find_map(|name| row["body"][name].as_str()).expect("a text").to_owned();
            (text, row["project"].to_string())
        };
        current.map(|row| text(&row)).collect::<std::collections::BTreeSet<_>>()
    };
    let half = exported.len() / 2;
    let first = other.send("POST", "/memories/import", &json!({"memories": exported[..half], "source": "a"}));
    let rest = json!({"memories": exported[half..], "source": "a", "ids": first["ids"]});
    let second = other.send("POST", "/memories/import", &rest);
    assert_eq!(said(&other), said(&api));
    let taken = |answer: &Value| answer["new"].as_u64().unwrap_or(0) + answer["confirmed"].as_u64().unwrap_or(0);
    assert_eq!(taken(&first) + taken(&second), said(&other).len() as u64, "{first} {second}");
    let again = other.send("POST", "/memories/import", &rest);
    assert_eq!((&again["new"], &again["known"]), (&json!(0), &second["new"]), "{again}");
    let moved = |id: &Value| {
        other.get(&format!("/memories/{}", second["ids"][id.as_str().expect("an id")].as_str().expect("an id")))
    };
    let (fact, decision) = (&exported[exported.len() - 2], &exported[exported.len() - 1]);
    assert_eq!(moved(&fact["id"])["project"], "web");
    assert_eq!(
        moved(&decision["id"])["body"]["rests_on"],
        json!([second["ids"][fact["id"].as_str().expect("an id")]])
    );
    let broken = json!({"memories": [exported[0], {"id": "f1"}], "source": "a"});
    let refused = other.ask("POST", "/memories/import", Some(&broken));
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.json()["detail"].as_str().is_some_and(|detail| detail.starts_with("memories[1]")));
}

#[test]
fn a_memory_has_a_project_and_an_episode_the_words_of_its_effort() {
    let api = Api::with_data();
    let fact = |content: &str, project: &str| {
        api.send("POST", "/memories", &json!({"body": {"kind": "fact", "content": content}, "project": project}))
    };
    fact("The web app deploys on Fridays", "web");
    let billing = fact("The billing service deploys on Mondays", "billing");
    let found = |more: Value| {
        let mut question = json!({"query": "on which day does it deploy?"});
        question.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let hits = api.send("POST", "/memories/recall", &question)["items"].clone();
        let projects = hits.as_array().expect("a list").iter().filter_map(|hit| hit["project"].as_str());
        projects.map(str::to_owned).collect::<std::collections::BTreeSet<String>>()
    };
    assert_eq!(found(json!({})), ["billing".to_owned(), "web".to_owned()].into());
    assert_eq!(found(json!({"project": "web"})), ["web".to_owned()].into());
    let both = api.ask("POST", "/memories/recall", Some(&json!({"query": "x", "project": "a", "here": "b"})));
    assert_eq!(both.status, 400);
    let moved = api.send(
        "PATCH",
        &format!("/memories/{}", billing["id"].as_str().expect("an id")),
        &json!({"project": null}),
    );
    assert!(moved["memory"].get("project").is_none(), "{moved}");

    let efforts = api.get("/sessions/default/efforts")["items"].clone();
    let named = |status: &str| {
        let mut all = efforts.as_array().expect("a list").iter();
        all.find(|effort| effort["status"] == status).unwrap_or_else(|| panic!("{status}: {efforts}")).clone()
    };
    let episode = |effort: &Value| {
        let body = json!({"kind": "episode", "session": "default", "effort": effort["id"]});
        api.ask("POST", "/memories", Some(&json!({"body": body})))
    };
    let stored = episode(&named("concluded"));
    assert_eq!(stored.json()["memory"]["body"]["summary"], named("concluded")["summary"], "{}", stored.text());
    assert_eq!(episode(&named("open")).status, 422);
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
