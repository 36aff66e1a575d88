//! Takes recorded requests apart and puts them together again: `cargo run -p neap-model --example round_trip -- FILE…`. A file is
//! a request's body, or a record with `path` and `body`. Says how many came out byte for byte.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it reports to whoever runs it")]

use std::process::ExitCode;

use neap_model::wire::anthropic::{AnthropicMessage, Block};
use neap_model::wire::json::{Array, Json, Object};
use neap_model::wire::openai::ChatMessage;
use neap_model::wire::responses::InputItem;

fn main() -> ExitCode {
    let (mut same, mut other) = (0, 0);
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::FAILURE;
            }
        };
        let Some(body) = body(&text) else { continue };
        if again(&body).text() == body.text() {
            same += 1;
        } else {
            other += 1;
            println!("{path}: not the same");
        }
    }
    println!("{same} the same byte for byte, {other} not");
    if other == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The request in a file; none if there is none.
fn body(text: &str) -> Option<Json> {
    let whole = Object::parse(text).ok()?;
    match whole.get("body") {
        Some(body) => Object::from_json(body).map(|_| body.clone()),
        None => Some(whole.to_json()),
    }
}

/// The request through every view that fits it.
fn again(body: &Json) -> Json {
    let Some(mut request) = Object::from_json(body) else { return body.clone() };
    let is_anthropic = request.get("max_tokens").is_some() && request.get("system").is_some();
    for key in ["messages", "input", "tools", "system"] {
        let Some(mut list) = request.array(key) else { continue };
        for (at, item) in list.clone().items().enumerate() {
            let Some(object) = Object::from_json(item) else { continue };
            let again = match key {
                "messages" if is_anthropic => blocks(AnthropicMessage::from(object)),
                "messages" => ChatMessage::from(object).to_json(),
                "input" => InputItem::from(object).to_json(),
                _ => object.to_json(),
            };
            list.replace(at, again);
        }
        request.set(key, list.to_json());
    }
    request.to_json()
}

fn blocks(mut message: AnthropicMessage) -> Json {
    if let Some(mut content) = message.object().get("content").and_then(Array::from_json) {
        for (at, item) in content.clone().items().enumerate() {
            if let Some(object) = Object::from_json(item) {
                content.replace(at, Block::from(object).to_json());
            }
        }
        message.object_mut().set("content", content.to_json());
    }
    message.to_json()
}
