//! The embedder behind an address, against a server on this machine: what it sends, what it makes of answers, and what goes wrong.

mod mock;

use std::time::Duration;

use mock::{End, Mock, Reply, Request};
use neap_core::recall::Embedding;
use neap_model::client::{ApiKey, BaseUrl, RetryPolicy, Timeouts};
use neap_model::embed::{EndpointEmbedder, EndpointOptions};
use neap_model::{Embedder, ModelError};
use serde_json::{Value, json};

const KEY: &str = "key-that-nobody-may-see";

fn options(mock: &Mock) -> EndpointOptions {
    let base = BaseUrl::parse(&mock.url("/v1")).expect("an address");
    let mut options = EndpointOptions::new(base, "m-1");
    options.key = Some(ApiKey::new(KEY));
    options.retry = RetryPolicy {
        first_wait: Duration::from_millis(1),
        wait_max: Duration::from_millis(1),
        ..RetryPolicy::default()
    };
    options
}

fn embedder(mock: &Mock) -> EndpointEmbedder {
    EndpointEmbedder::new(options(mock)).expect("an embedder")
}

fn input(request: &Request) -> Vec<String> {
    serde_json::from_value(request.json()["input"].clone()).expect("texts")
}

/// A direction for each text: its length, its first byte, one.
fn numbers(text: &str) -> [f32; 3] {
    [text.len() as f32, text.bytes().next().map_or(0.0, f32::from), 1.0]
}

/// Answers as a server does, the last text first.
fn answer(texts: &[String]) -> Reply {
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .rev()
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": numbers(text)}))
        .collect();
    Reply::new(200, "application/json", json!({"object": "list", "data": data, "model": "m-1"}).to_string())
}

#[tokio::test]
async fn texts_are_sent_in_batches_and_come_back_in_order() {
    let mock = Mock::start(|request, _| answer(&input(request)));
    let embedder = embedder(&mock);
    let texts: Vec<String> = (0..70).map(|n| "x".repeat(n + 1)).collect();
    let mut asked: Vec<&str> = texts.iter().map(String::as_str).collect();
    asked.insert(5, " \n");
    asked.push("");
    let embeddings = embedder.embed(&asked).await.expect("embeddings");
    let want = |text: &&str| match text.trim().is_empty() {
        true => Embedding::quantize(&[0.0; 3]),
        false => Embedding::quantize(&numbers(text)),
    };
    assert_eq!(embeddings, asked.iter().map(want).collect::<Vec<_>>());
    let requests = mock.requests();
    assert_eq!(requests.iter().map(|request| input(request).len()).collect::<Vec<_>>(), [32, 32, 6]);
    for request in &requests {
        assert_eq!(request.path, "/v1/embeddings");
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        assert_eq!(
            (&request.json()["model"], request.json().as_object().map(|all| all.len())),
            (&json!("m-1"), Some(2))
        );
    }
    assert!(embedder.embed(&[]).await.expect("nothing").is_empty());
    assert_eq!(mock.requests().len(), 3, "nothing is asked for nothing");
}

#[tokio::test]
async fn it_goes_by_its_model_and_the_length_of_its_answers() {
    let (here, there) =
        (Mock::start(|request, _| answer(&input(request))), Mock::start(|request, _| answer(&input(request))));
    for mock in [&here, &there] {
        let embedder = embedder(mock);
        embedder.prepare().await.expect("it answers");
        embedder.prepare().await.expect("it answers");
        assert_eq!(embedder.identity(), "m-1/3");
        assert_eq!(mock.requests().len(), 1, "that is learnt once");
    }
    let mock = Mock::start(|_, nth| {
        let row = vec![1; 2 + nth];
        Reply::new(200, "application/json", json!({"data": [{"embedding": row}]}).to_string())
    });
    let embedder = embedder(&mock);
    embedder.embed(&["a"]).await.expect("an embedding");
    let error = embedder.embed(&["b"]).await.expect_err("another length");
    assert!(matches!(error, ModelError::Protocol(_)), "{error}");
    assert_eq!(embedder.identity(), "m-1/2");
}

/// Callers come from several runtimes, and one may end while its connection is kept open.
#[test]
fn it_answers_whatever_runtime_asks() {
    let mock = Mock::start(|request, _| answer(&input(request)));
    let embedder = embedder(&mock);
    for _ in 0..3 {
        let runtime =
            tokio::runtime::Builder::new_current_thread().build().expect("a runtime without clock or network");
        assert_eq!(runtime.block_on(embedder.embed(&["a", "b"])).expect("embeddings").len(), 2);
    }
}

#[tokio::test]
async fn one_text_that_is_refused_holds_up_no_other() {
    let full = r#"{"error":{"message":"maximum context length is 8 tokens"}}"#;
    let mock = Mock::start(move |request, _| {
        let texts = input(request);
        if texts.iter().any(|text| text.contains("bad")) {
            return Reply::error(400, r#"{"error":{"message":"no such input"}}"#);
        }
        if texts.iter().any(|text| text.len() > 8) {
            return Reply::error(400, full);
        }
        answer(&texts)
    });
    let embedder = embedder(&mock);
    let embeddings = embedder.embed(&["good", "bad", "ein längerer Text", "fine"]).await.expect("embeddings");
    let want = [numbers("good"), [0.0; 3], numbers("ein "), numbers("fine")].map(|row| Embedding::quantize(&row));
    assert_eq!(embeddings, want);
}

#[tokio::test]
async fn what_goes_wrong_is_told_without_the_key() {
    let quoted = format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#);
    type Is = fn(&ModelError) -> bool;
    let table: [(Reply, Is); 6] = [
        (Reply::error(401, &quoted), |error| *error == ModelError::Refused("bad key … (status 401)".into())),
        (Reply::error(500, &quoted), |error| matches!(error, ModelError::Transport(_))),
        (Reply::error(302, "").header("location", "http://example.invalid/"), |error| {
            matches!(error, ModelError::Protocol(_))
        }),
        (Reply::error(200, r#"{"data":[]}"#), |error| matches!(error, ModelError::Protocol(_))),
        (Reply::error(200, "<html>"), |error| matches!(error, ModelError::Protocol(_))),
        (Reply::error(200, r#"{"data":[{"embedding":[1,2,3]}]}"#).cut(20, End::Broken), |error| {
            matches!(error, ModelError::Transport(_))
        }),
    ];
    for (reply, is_right) in table {
        let shown = reply.clone();
        let mock = Mock::start(move |_, _| reply.clone());
        let embedder = embedder(&mock);
        for error in
            [embedder.embed(&["a"]).await.expect_err("no embedding"), embedder.prepare().await.expect_err("no")]
        {
            assert!(is_right(&error), "{shown:?}: {error:?}");
            assert!(!format!("{error} {error:?}").contains(KEY), "{error}");
        }
    }
    let mock = Mock::start(|_, _| answer(&["a".to_owned()]).cut(4, End::Silent));
    let timeouts = Timeouts { total: Duration::from_millis(50), ..Timeouts::default() };
    let embedder = EndpointEmbedder::new(EndpointOptions { timeouts, ..options(&mock) }).expect("an embedder");
    assert!(matches!(embedder.embed(&["a"]).await, Err(ModelError::TimedOut(_))));
    assert!(!format!("{:?}", options(&mock)).contains(KEY));
}

#[tokio::test]
async fn what_may_pass_is_asked_again() {
    let mock = Mock::start(|request, nth| match nth {
        0 => Reply::error(503, ""),
        1 => Reply::error(429, "").header("retry-after-ms", "1"),
        _ => answer(&input(request)),
    });
    assert_eq!(embedder(&mock).embed(&["a"]).await.expect("in the end"), [Embedding::quantize(&numbers("a"))]);
    assert_eq!(mock.requests().len(), 3);
}
