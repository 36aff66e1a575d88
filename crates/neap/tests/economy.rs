//! `neap serve --economy`, by what the provider receives: a conversation far below its budget costs less than sent
//! whole, and at no time more.

use std::sync::{Arc, Mutex};

use crate::mock::{Mock, Reply};
use crate::wire::Proxy;
use serde_json::{Value, json};

const TURNS: usize = 160;
const REPLY: &str = "Noted, go on with the next part of it.";

/// The histories that a provider received, message by message.
type Received = Arc<Mutex<Vec<Vec<String>>>>;

fn provider() -> (Mock, Received) {
    let received = Received::default();
    let list = received.clone();
    let mock = Mock::start(move |request, _| {
        let body = request.json();
        let messages = body["messages"].as_array().into_iter().flatten().map(Value::to_string);
        list.lock().expect("a list").push(messages.collect());
        let message = json!({"role": "assistant", "content": REPLY});
        let choices = json!([{"index": 0, "finish_reason": "stop", "message": message}]);
        Reply::new(200, "application/json", json!({"id": "c", "choices": choices}).to_string())
    });
    (mock, received)
}

fn question(turn: usize) -> String {
    let word = |n: usize| format!("part {} of {turn}, ", (turn * 31 + n * 7) % 997);
    format!("Step {turn}: {}", (0..60).map(word).collect::<String>())
}

fn converse(arguments: &[&str]) -> Vec<Vec<String>> {
    let (mock, received) = provider();
    let url = mock.url("");
    let arguments = [&["--upstream", url.as_str()][..], arguments].concat();
    let proxy = Proxy::with(&arguments, &[("NEAP_EMBEDDER", "none")]);
    let mut history = Vec::new();
    for turn in 1..=TURNS {
        history.push(json!({"role": "user", "content": question(turn)}));
        let body = json!({"model": "gpt-4.1", "messages": history}).to_string();
        let headers = [("authorization", "Bearer k"), ("x-neap-session", "desk")];
        let answer = proxy.ask("POST", "/v1/chat/completions", &headers, body.as_bytes());
        assert_eq!(answer.status, 200, "turn {turn}: {}", answer.text());
        history.push(json!({"role": "assistant", "content": REPLY}));
    }
    drop(proxy);
    let received = received.lock().expect("a list");
    received.clone()
}

/// The cost after each request: bytes in common with the one before at a tenth, others at 1.25.
fn costs(requests: &[Vec<String>]) -> Vec<f64> {
    let (mut sum, mut before): (f64, &[String]) = (0.0, &[]);
    let mut costs = Vec::new();
    for request in requests {
        let same = request.iter().zip(before).take_while(|(a, b)| a == b).count();
        let bytes = |messages: &[String]| messages.iter().map(String::len).sum::<usize>() as f64;
        sum += 0.1 * bytes(&request[..same]) + 1.25 * bytes(&request[same..]);
        costs.push(sum);
        before = request;
    }
    costs
}

#[test]
fn economy_saves_below_the_budget_and_costs_more_at_no_time() {
    let whole = converse(&[]);
    assert!(whole.iter().enumerate().all(|(nth, request)| request.len() == 2 * nth + 1), "nothing is left out");
    let economical = converse(&["--economy"]);
    let (whole, economical) = (costs(&whole), costs(&economical));
    let highest = economical.iter().zip(&whole).map(|(own, direct)| own / direct).fold(0.0, f64::max);
    assert!(highest <= 1.02, "{highest:.3}");
    let ratio = economical[TURNS - 1] / whole[TURNS - 1];
    assert!(ratio <= 0.6, "{ratio:.3}");
}
