//! Providers that count otherwise than we do: the budget is in their tokens, from the first request on.

use std::sync::{Arc, Mutex};

use crate::mock::{ALL, Mock, Reply, Request, Speaks};
use crate::wire::Proxy;
use neap_model::bpe::counter_for;
use serde_json::{Value, json};

const BUDGET: u64 = 9_000;
const BY_WORDS: [(&str, &str); 1] = [("NEAP_EMBEDDER", "none")];

/// What a provider counts, in per mille of our count of the same text.
#[derive(Debug, Clone, Copy)]
enum Tokenizer {
    Steady(u64),
    /// Each message by a ratio of its own between 1.0 and 1.5.
    ByMessage,
}

impl Tokenizer {
    fn ratio(self, text: &str) -> u64 {
        match self {
            Tokenizer::Steady(ratio) => ratio,
            Tokenizer::ByMessage => 1_000 + text.bytes().map(u64::from).sum::<u64>() % 501,
        }
    }

    /// Everything in the body counts: the history message by message, and the rest.
    fn count(self, request: &Request) -> u64 {
        let counter = counter_for("o200k_base");
        let mut body = request.json();
        let list = if body["input"].is_array() { "input" } else { "messages" };
        let messages = body[list].take();
        let texts = messages.as_array().into_iter().flatten().map(Value::to_string);
        let count = |text: String| (counter.count(&text).0 * self.ratio(&text)).div_ceil(1_000);
        texts.chain([body.to_string()]).map(count).sum()
    }
}

fn reply(speaks: Speaks, input: u64) -> Reply {
    let text = "Noted, go on.";
    let body = match speaks {
        Speaks::Chat => json!({"id": "c", "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": input, "completion_tokens": 5, "total_tokens": input + 5}}),
        Speaks::Responses => json!({"id": "r", "status": "completed", "output": [{"type": "message", "id": "m",
            "role": "assistant", "content": [{"type": "output_text", "text": text}]}],
            "usage": {"input_tokens": input, "output_tokens": 5, "total_tokens": input + 5}}),
        Speaks::Messages => json!({"id": "m", "type": "message", "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}], "usage": {"input_tokens": input, "output_tokens": 5}}),
    };
    Reply::new(200, "application/json", body.to_string())
}

/// A provider that reports its counts, and the list of them.
fn provider(tokenizer: Tokenizer) -> (Mock, Arc<Mutex<Vec<u64>>>) {
    let counts: Arc<Mutex<Vec<u64>>> = Arc::default();
    let counted = counts.clone();
    let mock = Mock::start(move |request, _| {
        let input = tokenizer.count(request);
        counted.lock().expect("a list").push(input);
        reply(Speaks::of(&request.path), input)
    });
    (mock, counts)
}

struct Client {
    speaks: Speaks,
    model: &'static str,
    history: Vec<Value>,
}

impl Client {
    fn say(&mut self, proxy: &Proxy, text: &str) -> crate::wire::Answer {
        self.history.push(json!({"role": "user", "content": text}));
        let (path, list) = match self.speaks {
            Speaks::Chat => ("/v1/chat/completions", "messages"),
            Speaks::Responses => ("/v1/responses", "input"),
            Speaks::Messages => ("/v1/messages", "messages"),
        };
        let mut body = json!({"model": self.model, "max_tokens": 500});
        body[list] = json!(self.history);
        let headers = [("authorization", "Bearer k"), ("x-neap-session", "desk")];
        let answer = proxy.ask("POST", path, &headers, body.to_string().as_bytes());
        self.history.push(json!({"role": "assistant", "content": "Noted, go on."}));
        answer
    }
}

/// Messages of very different lengths, some as long as a fifth of the budget.
fn message(turn: usize) -> String {
    let words = 30 + (turn * turn * 37) % 400 + if turn.is_multiple_of(9) { 900 } else { 0 };
    let word = |n: usize| format!("part{}_{n} reads ", (turn * 31 + n) % 97);
    format!("Step {turn}: {}", (0..words / 4).map(word).collect::<String>())
}

fn arguments(mock: &Mock) -> Vec<String> {
    ["--upstream", &mock.url(""), "--budget", &BUDGET.to_string()].map(str::to_owned).to_vec()
}

fn serve(mock: &Mock) -> Proxy {
    let arguments = arguments(mock);
    Proxy::with(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), &BY_WORDS)
}

#[test]
fn no_request_is_over_the_budget_by_the_providers_count() {
    let tokenizers =
        [Tokenizer::Steady(1_000), Tokenizer::Steady(1_260), Tokenizer::Steady(1_500), Tokenizer::ByMessage];
    for (nth, tokenizer) in tokenizers.into_iter().enumerate() {
        let (mock, counts) = provider(tokenizer);
        let proxy = serve(&mock);
        let model = ["claude-opus-4-5", "qwen3-coder", "m-unknown"][nth % 3];
        let mut client = Client { speaks: ALL[nth % ALL.len()], model, history: Vec::new() };
        for turn in 1..=60 {
            let answer = client.say(&proxy, &message(turn));
            assert_eq!(answer.status, 200, "{tokenizer:?}, turn {turn}: {}", answer.text());
        }
        let counts = counts.lock().expect("a list").clone();
        let over: Vec<_> = counts.iter().filter(|count| **count > BUDGET).collect();
        assert!(over.is_empty(), "{tokenizer:?}: {over:?} of {BUDGET}");
        let fullest = counts.iter().max().copied().unwrap_or_default();
        // A cut comes at nine tenths, and a new message counts at its worst.
        assert!(fullest >= BUDGET * 75 / 100, "{tokenizer:?}: the budget is used, {fullest}");
    }
}

/// What was learnt of a conversation outlives the process, and is told in the provider's tokens.
#[test]
fn the_ratio_is_kept_and_told() {
    let (mock, counts) = provider(Tokenizer::Steady(1_300));
    let mut client = Client { speaks: Speaks::Messages, model: "claude-opus-4-5", history: Vec::new() };
    let first = serve(&mock);
    for turn in 1..=12 {
        client.say(&first, &message(turn));
    }
    let arguments = arguments(&mock);
    let again = first.restarted(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), &BY_WORDS);
    let told: u64 = client.say(&again, &message(13)).header("x-neap-tokens-sent").unwrap().parse().unwrap();
    let counted = *counts.lock().expect("a list").last().expect("a request");
    let difference = told.abs_diff(counted) * 100 / counted;
    assert!(difference <= 2, "told {told}, counted {counted}");
}

/// A request that cannot fit is refused with figures in the provider's tokens.
#[test]
fn a_refusal_names_the_providers_tokens() {
    let (mock, counts) = provider(Tokenizer::Steady(1_300));
    let proxy = serve(&mock);
    let mut client = Client { speaks: Speaks::Messages, model: "claude-opus-4-5", history: Vec::new() };
    for turn in 1..=8 {
        client.say(&proxy, &message(turn));
    }
    let body = json!({"model": "claude-opus-4-5", "max_tokens": 5, "system": "Read all of this. ".repeat(1_700),
        "messages": [{"role": "user", "content": "Go on."}]});
    let before = counts.lock().expect("a list").len();
    let answer = proxy.ask("POST", "/v1/messages", &[("x-neap-session", "desk")], body.to_string().as_bytes());
    let text = answer.text();
    assert_eq!((answer.status, counts.lock().expect("a list").len()), (400, before), "{text}");
    let needed = text.split("too long: ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a figure");
    let needed: u64 = needed.parse().expect("a number");
    let ours = counter_for("o200k_base").count(&body.to_string()).0;
    assert!(needed > BUDGET && needed >= ours * 13 / 10, "{needed}, {ours}: {text}");
}
