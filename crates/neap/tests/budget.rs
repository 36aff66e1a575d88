//! I1 at the outside: whatever a client sends, no request reaches the provider over its budget. The provider counts by itself.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::hostile::{History, Hostile, Rng, SHAPES};
use crate::mock::{ALL, Mock, Reply, Speaks};
use crate::wire::Proxy;

const BUDGET: usize = 8_000;
/// Embedding is slow where it is not optimised, as in tests.
const BY_WORDS: [(&str, &str); 1] = [("NEAP_EMBEDDER", "none")];

/// Requests that are tried; `NEAP_TEST_HOSTILE=20000` tries more, `NEAP_TEST_SEED` begins elsewhere.
fn tried() -> (u64, u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    (number("NEAP_TEST_SEED").unwrap_or(1), number("NEAP_TEST_HOSTILE").unwrap_or(300))
}

fn provider() -> Mock {
    Mock::start(|request, _| {
        let speaks = if request.path.ends_with("/responses") {
            Speaks::Responses
        } else if request.path.ends_with("/messages") {
            Speaks::Messages
        } else {
            Speaks::Chat
        };
        Reply::stream(speaks.words(&["ok"]))
    })
}

fn proxy(mock: &Mock, more: &[&str]) -> Proxy {
    let (url, budget) = (mock.url(""), BUDGET.to_string());
    Proxy::with(&[&["--upstream", &url, "--budget", &budget], more].concat(), &BY_WORDS)
}

/// What a provider would count: every text and name in a request, by another counter than ours.
fn counted(body: &str) -> usize {
    bpe_openai::o200k_base().count(body)
}

/// Calls without a result and results without a call.
fn unpaired(body: &str) -> Vec<String> {
    let mut open: BTreeMap<String, i64> = BTreeMap::new();
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let items = value["messages"].as_array().or_else(|| value["input"].as_array());
    let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for item in items.into_iter().flatten() {
        let of = |list: &Value| list.as_array().cloned().unwrap_or_default();
        for call in of(&item["tool_calls"]) {
            *open.entry(id(&call["id"])).or_default() += 1;
        }
        for block in of(&item["content"]) {
            match block["type"].as_str() {
                Some("tool_use") => *open.entry(id(&block["id"])).or_default() += 1,
                Some("tool_result") => *open.entry(id(&block["tool_use_id"])).or_default() -= 1,
                _ => {}
            }
        }
        match (item["type"].as_str(), item["role"].as_str()) {
            (Some("function_call"), _) => *open.entry(id(&item["call_id"])).or_default() += 1,
            (Some("function_call_output"), _) => *open.entry(id(&item["call_id"])).or_default() -= 1,
            (_, Some("tool")) => *open.entry(id(&item["tool_call_id"])).or_default() -= 1,
            _ => {}
        }
    }
    open.into_iter().filter(|(_, count)| *count != 0).map(|(id, _)| id).collect()
}

/// Parts that providers refuse: texts without anything in them.
fn empty_texts(body: &str) -> usize {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let items = value["messages"].as_array().or_else(|| value["input"].as_array());
    let is_empty = |part: &Value| part["text"].as_str() == Some("");
    let parts = |item: &Value| item["content"].as_array().cloned().unwrap_or_default();
    items.into_iter().flatten().flat_map(parts).filter(is_empty).count()
}

/// RELIABILITY, promise 2: 0 in N, not 99 %.
#[test]
fn no_hostile_request_reaches_the_provider_over_its_budget() {
    let mock = provider();
    let proxy = proxy(&mock, &[]);
    let (first, count) = tried();
    let mut wrong = Vec::new();
    let (mut passed, mut refused) = (BTreeMap::<_, u64>::new(), BTreeMap::<_, u64>::new());
    for seed in first..first + count {
        let Hostile { shape, path, body, must_pass, is_paired } = Hostile::of(seed);
        let before = mock.requests().len();
        let answer = proxy.ask("POST", &path, &[("content-type", "application/json")], &body);
        let requests = mock.taken_from(before);
        let mut fail = |why: String| wrong.push(format!("seed {seed}, {shape}, {path}: {why}"));
        match (answer.status, requests.as_slice()) {
            (200, [request]) => {
                *passed.entry(shape).or_default() += 1;
                let tokens = counted(&request.body);
                if tokens > BUDGET {
                    fail(format!("{tokens} tokens reached the provider"));
                }
                let unpaired = unpaired(&request.body);
                if is_paired && !unpaired.is_empty() {
                    fail(format!("not paired: {unpaired:?}"));
                }
                if empty_texts(&request.body) > empty_texts(&String::from_utf8_lossy(&body)) {
                    fail("a text was emptied".to_owned());
                }
            }
            (400, []) => {
                *refused.entry(shape).or_default() += 1;
                let text = answer.text();
                if must_pass {
                    fail(format!("refused, though all of it can be shortened: {text}"));
                }
                let is_told = text.contains("maximum context length") || text.contains("prompt is too long");
                if !is_told || !text.contains("hint:") {
                    fail(format!("refused in other words: {text}"));
                }
            }
            (status, requests) => {
                fail(format!("status {status} with {} requests: {}", requests.len(), answer.text()))
            }
        }
    }
    let shown: Vec<&String> = wrong.iter().take(20).collect();
    assert!(wrong.is_empty(), "{} of {count}: {shown:#?}\npassed {passed:?}\nrefused {refused:?}", wrong.len());
    // Elsewhere, that every shape fits at least once is luck.
    if first == 1 && count >= 300 {
        let unseen: Vec<_> = SHAPES.iter().filter(|(name, _)| !passed.contains_key(name)).collect();
        assert!(
            unseen.is_empty(),
            "some of every shape fit: {:?}",
            unseen.iter().map(|(name, _)| name).collect::<Vec<_>>()
        );
    }
}

/// The same, as conversations that grow: what was cut before is kept to, and is within the budget each time.
#[test]
fn no_request_of_a_growing_conversation_is_over_its_budget() {
    let mock = provider();
    let proxy = proxy(&mock, &[]);
    let (first, count) = tried();
    let mut wrong = Vec::new();
    for seed in first..first + count / 60 {
        let mut rng = Rng::new(seed);
        let speaks = *rng.pick(&ALL);
        let mut history = History::new(speaks);
        let name = format!("growing {seed}");
        for turn in 0..8 {
            SHAPES[rng.between(0, 9)].1(&mut rng, &mut history);
            let body = history.value().to_string();
            let headers = [("content-type", "application/json"), ("x-neap-session", name.as_str())];
            let answer = proxy.ask("POST", history.path(), &headers, body.as_bytes());
            for request in mock.taken_from(0) {
                let tokens = counted(&request.body);
                if tokens > BUDGET {
                    wrong.push(format!("seed {seed}, turn {turn}: {tokens} tokens reached the provider"));
                }
                let unpaired = unpaired(&request.body);
                if !unpaired.is_empty() {
                    wrong.push(format!("seed {seed}, turn {turn}: not paired: {unpaired:?}"));
                }
            }
            if answer.status != 200 {
                wrong.push(format!("seed {seed}, turn {turn}: {} {}", answer.status, answer.text()));
            }
            history.say("assistant", "ok");
        }
    }
    assert!(wrong.is_empty(), "{}: {:#?}", wrong.len(), &wrong[..wrong.len().min(10)]);
}

/// Only a person's word sends on what is over, and then it is said in three places.
#[test]
fn what_is_over_its_budget_goes_on_only_if_somebody_says_so() {
    let mock = provider();
    let mut history = History::new(Speaks::Messages);
    history.system(&"All of this is a rule. ".repeat(4_000));
    history.say("user", "hello");
    let body = history.value().to_string();
    let refusing = proxy(&mock, &[]);
    let answer = refusing.post("/v1/messages", &body);
    assert_eq!(answer.status, 400, "{}", answer.text());
    let error = &answer.json()["error"];
    assert_eq!(error["type"], "invalid_request_error");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("prompt is too long: ") && message.contains("system prompt 4"), "{message}");
    assert!(message.contains("hint: raise --budget above"), "{message}");
    assert!(mock.requests().is_empty());
    let passing = proxy(&mock, &["--over-budget", "pass"]);
    for path in ["/v1/messages", "/v1/complete"] {
        let answer = passing.post(path, &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(answer.header("x-neap-over-budget").is_some_and(|over| over.ends_with(" of 8000")), "{path}");
    }
    assert_eq!(mock.requests().iter().filter(|request| request.body == body).count(), 2, "as it came");
    assert_eq!(passing.metric("neap_requests_over_budget_total "), Some(2));
    passing.wait_for_log("forwarding it unchanged");
}

/// Without a budget, only what a known model takes is a limit.
#[test]
fn what_is_assumed_of_an_unknown_model_refuses_nothing() {
    let mock = provider();
    let proxy = Proxy::with(&["--upstream", &mock.url("")], &BY_WORDS);
    let mut history = History::new(Speaks::Chat);
    history.system(&"All of this is a rule. ".repeat(25_000));
    history.say("user", "hello");
    let answer = proxy.post("/v1/chat/completions", &history.value().to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.header("x-neap-over-budget").is_some());
}
