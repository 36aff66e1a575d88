//! Histories at Azure, Vertex AI and Bedrock: each path is cut to its budget, or refused with the figures.

use serde_json::{Value, json};

use crate::mock::{Mock, Reply, Request, Speaks};
use crate::wire::Proxy;

const BUDGET: u64 = 8_000;
const VERTEX: &str = "/v1/projects/p/locations/us-east5/publishers/anthropic/models";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Cut,
    Refused,
}

fn provider() -> Mock {
    Mock::start(|request, _| match request.path.split('?').next().unwrap_or_default() {
        path if path.ends_with("/responses") => Reply::stream(Speaks::Responses.words(&["ok"])),
        path if path.ends_with("/chat/completions") => Reply::stream(Speaks::Chat.words(&["ok"])),
        path if path.contains("count-tokens") => Reply::new(200, "application/json", "{\"input_tokens\": 1}"),
        _ => Reply::stream(Speaks::Messages.words(&["ok"])),
    })
}

/// A long conversation without the name of its model.
fn history(key: &str) -> Value {
    let said = |nth: usize| {
        let role = if nth.is_multiple_of(2) { "user" } else { "assistant" };
        json!({"role": role, "content": format!("Message {nth}. {}", "The pump in hall 3 failed again. ".repeat(60))})
    };
    json!({"stream": true, "max_tokens": 100, key: (0..61).map(said).collect::<Vec<_>>()})
}

fn counted(request: &Request) -> u64 {
    bpe_openai::o200k_base().count(&request.body) as u64
}

#[test]
fn every_platforms_path_is_bounded() {
    let vertex = |call: &str| format!("{VERTEX}/{call}");
    let table = [
        (
            "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21".to_owned(),
            "messages",
            Outcome::Cut,
        ),
        ("/openai/v1/chat/completions".to_owned(), "messages", Outcome::Cut),
        ("/openai/v1/responses".to_owned(), "input", Outcome::Cut),
        ("/openai/responses?api-version=preview".to_owned(), "input", Outcome::Cut),
        ("/openai/deployments/gpt-4o/completions?api-version=1".to_owned(), "prompt", Outcome::Refused),
        ("/anthropic/v1/messages".to_owned(), "messages", Outcome::Cut),
        (vertex("claude-sonnet-4@20250514:rawPredict"), "messages", Outcome::Cut),
        (vertex("claude-sonnet-4@20250514:streamRawPredict"), "messages", Outcome::Cut),
        (vertex("claude-sonnet-4%4020250514:streamRawPredict"), "messages", Outcome::Cut),
        (vertex("claude-sonnet-4@20250514:predict"), "messages", Outcome::Refused),
        (vertex("count-tokens:rawPredict"), "messages", Outcome::Cut),
        (
            "/v1/projects/p/locations/l/publishers/mistralai/models/m:rawPredict".to_owned(),
            "messages",
            Outcome::Refused,
        ),
        (
            "/v1/projects/p/locations/l/publishers/google/models/m:generateContent".to_owned(),
            "contents",
            Outcome::Refused,
        ),
        ("/v1/projects/p/locations/l/endpoints/openapi/chat/completions".to_owned(), "messages", Outcome::Cut),
        ("/model/anthropic.claude-3-5-haiku-20241022-v1:0/invoke".to_owned(), "messages", Outcome::Refused),
        (
            "/model/us.anthropic.claude-sonnet-4-20250514-v1%3A0/invoke-with-response-stream".to_owned(),
            "messages",
            Outcome::Refused,
        ),
        ("/model/anthropic.claude-3-5-haiku-20241022-v1:0/converse".to_owned(), "messages", Outcome::Refused),
        (
            "/model/anthropic.claude-3-5-haiku-20241022-v1:0/converse-stream".to_owned(),
            "messages",
            Outcome::Refused,
        ),
    ];
    let mock = provider();
    let args = ["--upstream", &mock.url(""), "--budget", &BUDGET.to_string()];
    let proxy = Proxy::with(&args, &[("NEAP_EMBEDDER", "none")]);
    for (nth, (path, key, outcome)) in table.into_iter().enumerate() {
        let name = format!("platform {nth}");
        let headers = [("content-type", "application/json"), ("x-neap-session", name.as_str())];
        let before = mock.requests().len();
        let answer = proxy.ask("POST", &path, &headers, history(key).to_string().as_bytes());
        let reached = mock.taken_from(before);
        match (outcome, reached.as_slice()) {
            (Outcome::Cut, [request]) => {
                assert_eq!((answer.status, request.path.as_str()), (200, path.as_str()), "{}", answer.text());
                assert!(counted(request) <= BUDGET, "{path}: {} tokens", counted(request));
                assert!(
                    request.body.contains("Message 60.") && request.body.contains("§["),
                    "{path}: not cut as a history"
                );
                assert!(request.json().get("model").is_none(), "{path}");
            }
            (Outcome::Refused, []) => {
                assert_eq!(answer.status, 400, "{path}: {}", answer.text());
                assert!(
                    answer.text().contains("8000") && answer.text().contains("hint:"),
                    "{path}: {}",
                    answer.text()
                );
            }
            (outcome, reached) => panic!("{path}: {outcome:?}, but {} requests: {}", reached.len(), answer.text()),
        }
    }
}

/// Without a budget of the user's, a model's own limit counts, which the path names where the body does not.
#[test]
fn the_model_of_a_path_has_its_own_limit() {
    let mock = provider();
    let neap = crate::rig::Neap::with(&[("NEAP_EMBEDDER", "none")]);
    let table = "[[model]]\nname = \"tiny-*\"\nwindow_tokens = 6000\nreply_tokens = 1000\n";
    #[allow(clippy::disallowed_methods, reason = "a person's file")]
    std::fs::create_dir_all(neap.data())
        .and_then(|()| std::fs::write(neap.data().join("models.toml"), table))
        .expect("a file");
    let proxy = Proxy::over(neap, &["--upstream", &mock.url("")], &[]);
    for path in
        ["/openai/deployments/tiny-1/chat/completions?api-version=1", &format!("{VERTEX}/tiny-2@1:rawPredict")]
    {
        let before = mock.requests().len();
        assert_eq!(proxy.post(path, &history("messages").to_string()).status, 200, "{path}");
        let reached = mock.taken_from(before);
        assert!(matches!(reached.as_slice(), [request] if counted(request) <= 5_000), "{path}");
    }
}

/// What is signed over its body, as at Bedrock, goes on byte for byte.
#[test]
fn a_signed_body_is_not_changed() {
    let mock = provider();
    let proxy = Proxy::with(&["--upstream", &mock.url("")], &[("NEAP_EMBEDDER", "none")]);
    let body = history("messages").to_string();
    for path in ["/model/anthropic.claude-3-5-haiku-20241022-v1:0/invoke", "/model/m/converse"] {
        assert_eq!(proxy.post(path, &body).status, 200);
        let reached = mock.requests().pop().expect("a request");
        assert_eq!((reached.path.as_str(), reached.body == body), (path, true));
    }
}
