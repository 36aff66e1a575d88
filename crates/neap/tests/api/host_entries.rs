//! What a host stores for itself comes back as it was, once, in order, and only to it.

use serde_json::{Value, json};

use super::Api;
use crate::rig::{Neap, objects};

fn post(api: &Api, key: &str, entries: &Value) -> (u16, Value) {
    let body = json!({"entries": entries});
    let answer = api.ask_with("POST", "/sessions/host/entries", &[("idempotency-key", key)], Some(&body));
    (answer.status, answer.json())
}

fn read(api: &Api, query: &str) -> Vec<Value> {
    let answer = api.ask("GET", &format!("/sessions/host/entries{query}"), None);
    assert_eq!(answer.status, 200, "{}", answer.text());
    objects(&answer.text())
}

fn entries(lines: &[Value]) -> Vec<Value> {
    lines.iter().map(|line| line["entries"].clone()).collect()
}

#[test]
fn entries_come_back_as_they_were_in_order_and_once() {
    let api = Api::over(Neap::new());
    // What elsewhere is masked, cut or shown in another form.
    let odd = json!([
        "token=ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "§[mark] \u{202e}\u{0}\n\r\n",
        "",
        "x".repeat(700_000)
    ]);
    assert_eq!(post(&api, "a", &odd), (200, json!({"recorded": 4, "seq": 2})));
    let message = json!({"messages": [{"role": "user", "content": "between them"}]});
    let said = api.ask_with("POST", "/sessions/host/messages", &[("idempotency-key", "m")], Some(&message));
    assert_eq!(said.status, 200, "{}", said.text());
    let (status, second) = post(&api, "b", &json!(["second"]));
    assert_eq!(status, 200, "{second}");
    assert_eq!(post(&api, "a", &odd), (200, json!({"recorded": 0, "seq": 2})));
    let (status, refused) = post(&api, "a", &json!(["other"]));
    assert_eq!((status, &refused["code"]), (409, &json!("conflict")), "{refused}");

    let lines = read(&api, "");
    assert_eq!(entries(&lines), [odd, json!(["second"])]);
    assert_eq!(entries(&read(&api, "?after=2")), [json!(["second"])]);
    assert_eq!(read(&api, &format!("?after={}", second["seq"])), [] as [Value; 0]);
    for wrong in [json!([]), json!(vec!["x"; 257])] {
        assert!((400..500).contains(&post(&api, "c", &wrong).0), "{wrong}");
    }
}

#[test]
fn writers_at_once_lose_nothing_and_search_finds_nothing() {
    let api = Api::over(Neap::new());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let api = &api;
            scope.spawn(move || {
                for number in 0..25 {
                    let entry = json!([format!("writer {writer} giraffe {number}")]);
                    assert_eq!(post(api, &format!("{writer}-{number}"), &entry).0, 200);
                }
            });
        }
    });
    let lines = read(&api, "");
    for writer in 0..4 {
        let own = format!("writer {writer} ");
        let of_it =
            lines.iter().filter_map(|line| line["entries"][0].as_str()).filter(|text| text.starts_with(&own));
        let expected: Vec<String> = (0..25).map(|number| format!("writer {writer} giraffe {number}")).collect();
        assert_eq!(of_it.collect::<Vec<_>>(), expected);
    }
    assert_eq!(lines.len(), 100);
    let hits = api.send("POST", "/search", &json!({"query": "giraffe", "in": "all"}));
    assert_eq!(hits["items"], json!([]));
    assert_eq!(api.get("/sessions/host")["turns"], 0);
    let erased = api.ask("DELETE", "/sessions/host?confirm=host", None);
    assert_eq!(erased.status, 200, "{}", erased.text());
    assert_eq!(api.ask("GET", "/sessions/host/entries", None).status, 404);
    assert_eq!(post(&api, "later", &json!(["x"])).0, 404);
}
