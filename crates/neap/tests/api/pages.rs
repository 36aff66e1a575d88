//! Lists in pages, answers of bounded size, and tags.

use serde_json::{Value, json};

use super::Api;
use crate::rig::Neap;

/// All items of a list, page by page.
fn all(api: &Api, path: &str, limit: usize) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    let sign = if path.contains('?') { '&' } else { '?' };
    loop {
        let page = api.get(&format!("{path}{sign}limit={limit}{cursor}"));
        let found = page["items"].as_array().expect("items");
        assert!(found.len() <= limit);
        items.extend(found.iter().cloned());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
    }
}

#[test]
fn every_list_is_the_same_in_pages_of_any_size() {
    let api = Api::with_data();
    for (session, messages) in [("a", 3), ("b", 5)] {
        for n in 0..messages {
            let turn = json!({"message": format!("message {n}"), "reply": "yes"});
            api.send("PUT", &format!("/sessions/{session}/turns/{n}"), &turn);
        }
    }
    for path in [
        "/sessions",
        "/sessions/default/turns",
        "/sessions/default/series",
        "/sessions/default/changes",
        "/sessions/default/events",
        "/sessions/default/efforts",
        "/sessions/default/receipts",
        "/sessions/b/efforts/ambient/log",
        "/memories",
        "/memories?kind=fact",
        "/memories?q=staging",
        "/memories/f2/history",
        "/memories/asked",
    ] {
        let whole = all(&api, path, 200);
        assert!(!whole.is_empty() || path.ends_with("asked"), "{path}");
        for limit in [1, 2, 3] {
            assert_eq!(all(&api, path, limit), whole, "{path} by {limit}");
        }
    }
    let turns = all(&api, "/sessions/b/turns", 2);
    let numbers: Vec<u64> = turns.iter().filter_map(|turn| turn["turn"].as_u64()).collect();
    assert_eq!(numbers, [5, 4, 3, 2, 1]);
    assert_eq!(api.get("/sessions/b/turns?before=3&limit=1")["items"][0]["turn"], 2);
}

/// A page goes on after the last item, wherever that is by then.
#[test]
fn what_happens_between_two_pages_repeats_nothing() {
    let api = Api::over(Neap::new());
    api.send("PUT", "/sessions/s", &json!({}));
    let open = |name: &str| api.send("POST", "/sessions/s/efforts", &json!({"name": name}));
    let ids = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().expect("items").iter();
        items.map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
    };
    for name in ["one", "two", "three", "four"] {
        open(name);
    }
    let first = api.get("/sessions/s/efforts?limit=2");
    let shown = ids(&first);
    // It comes before all others.
    open("zero");
    let next = first["next"].as_str().expect("more");
    let rest = ids(&api.get(&format!("/sessions/s/efforts?limit=200&cursor={next}")));
    assert!(rest.iter().all(|id| !shown.contains(id)), "{shown:?} {rest:?}");
    let mut all = [shown, rest].concat();
    all.sort();
    assert_eq!(all, ["four", "one", "three", "two"]);
    assert_eq!(api.ask("GET", "/sessions/s/efforts?cursor=2", None).status, 400);
}

#[test]
fn no_answer_is_large_and_long_texts_can_be_read_in_parts() {
    let api = Api::over(Neap::new());
    let long: String = (0..120_000).map(|n| format!("{n} ä ")).collect();
    api.send("PUT", "/sessions/long/turns/1", &json!({"message": long, "reply": "\u{1}\"".repeat(150_000)}));
    for n in 2..30 {
        api.send(
            "PUT",
            &format!("/sessions/long/turns/{n}"),
            &json!({"message": "x".repeat(90_000), "reply": "ok"}),
        );
    }
    for path in [
        "/turns/1", "/turns/1/prompt", "/turns", "/turns/2/diff", "/events", "/efforts/ambient/log",
        "/originals/t1",
    ] {
        let answer = api.ask("GET", &format!("/sessions/long{path}"), None);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert!(answer.body.len() <= 200_000, "{path}: {}", answer.body.len());
    }
    let turn = api.get("/sessions/long/turns/1");
    let clipped = turn["clipped"].as_array().expect("it is cut");
    assert!(clipped.contains(&json!({"at": "/message", "chars": long.chars().count()})), "{clipped:?}");
    let (mut text, mut offset) = (String::new(), Some(0));
    while let Some(at) = offset {
        let part = api.get(&format!("/sessions/long/originals/t1.0?offset={at}&limit=40000"));
        text.push_str(part["text"].as_str().expect("text"));
        offset = part["next"].as_u64();
    }
    assert!(text == long, "the parts are the whole");
    assert!(all(&api, "/sessions/long/events", 200).len() > 29);
}

#[test]
fn what_did_not_change_is_not_sent_again() {
    let api = Api::with_data();
    for path in ["/sessions/default", "/memories", "/openapi.json", "/sessions/default/turns/1"] {
        let first = api.ask("GET", path, None);
        let tag = first.header("etag").expect("a tag").to_owned();
        let again = api.ask_with("GET", path, &[("if-none-match", &format!("\"x\", W/{tag}"))], None);
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
    }
    let tag = api.ask("GET", "/memories", None).header("etag").expect("a tag").to_owned();
    api.send("POST", "/memories", &json!({"body": {"kind": "fact", "content": "One more thing is known"}}));
    assert_eq!(api.ask_with("GET", "/memories", &[("if-none-match", &tag)], None).status, 200);
    assert_eq!(api.ask("GET", "/health", None).header("etag"), None);
}
