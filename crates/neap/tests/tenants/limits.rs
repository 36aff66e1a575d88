//! What one key may use.

use serde_json::json;

use super::{Place, new_key};

#[test]
fn a_key_that_has_used_up_what_it_may_waits() {
    let neap = Place::planted();
    let few = new_key(&neap, "acme", &["--requests", "2"]);
    let short = new_key(&neap, "acme", &["--bytes", "200"]);
    let full = new_key(&neap, "acme", &["--stored-bytes", "1000"]);
    let place = Place::over(neap);
    let status = |key: &str, text: &str| place.chat(key, "desk", text).status;
    assert_eq!((status(&few.text, "one"), status(&few.text, "two")), (200, 200));
    let over = place.chat(&few.text, "desk", "three");
    assert_eq!((over.status, &over.json()["error"]["code"]), (429, &json!("rate_limit_exceeded")));
    let wait: u64 = over.header("retry-after").and_then(|seconds| seconds.parse().ok()).expect("seconds");
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(over.header("x-should-retry"), None);
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}).to_string();
    let headers = [("x-neap-key", few.text.as_str()), ("content-type", "application/json")];
    let anthropic = place.server.ask("POST", "/v1/messages", &headers, body.as_bytes());
    assert_eq!((anthropic.status, &anthropic.json()["error"]["type"]), (429, &json!("rate_limit_error")));
    let api = place.ask(&few.text, "GET", "/sessions", None);
    assert_eq!((api.status, &api.json()["code"]), (429, &json!("used_up")));
    assert_eq!(status(&short.text, &"x".repeat(300)), 429);
    assert_eq!(status(&short.text, "x"), 200);
    assert_eq!(status(&full.text, "hello"), 429, "more than a thousand bytes are stored");
    assert_eq!(place.ask(&full.text, "GET", "/sessions", None).status, 200, "it still reads");
    assert_eq!(status(&place.ours.text, "hello"), 200, "another key is not its affair");
}
