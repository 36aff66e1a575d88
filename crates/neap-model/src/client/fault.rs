//! What a provider's refusal means: from its status and its words to what a caller can do.

use std::time::Duration;

use serde_json::value::RawValue;

use crate::ModelError;
use crate::wire::json::{Json, Object};

/// Longest part of a provider's words that is handed on, in characters.
const MESSAGE_CHARS_MAX: usize = 600;

/// How providers say that a request is longer than their model takes.
const FULL: [&str; 9] = [
    "context_length_exceeded",
    "exceed_context_size",
    "prompt is too long",
    "input is too long",
    "maximum context length",
    "context length exceeded",
    "exceeds the available context size",
    "exceeds the context window",
    "longer than the context length",
];

/// What is known of an error.
#[derive(Debug, Default)]
struct Told {
    /// Its kind and code, in small letters.
    kind: String,
    /// A status that stands in the text.
    status: Option<u16>,
    message: String,
}

impl Told {
    fn of(body: &str) -> Self {
        let plain = || Self { message: shortened(body), ..Self::default() };
        let Ok(object) = Object::parse(body) else { return plain() };
        match object.get("error").filter(|error| !error.is_null()) {
            Some(error) => Self::of_error(error),
            None if object.get("message").is_some() => Self::of_object(&object),
            None => plain(),
        }
    }

    fn of_error(error: &Json) -> Self {
        match (Object::of(error), error.read::<String>()) {
            (Some(object), _) => Self::of_object(&object),
            (None, Some(message)) => Self { message: shortened(&message), ..Self::default() },
            (None, None) => Self { message: shortened(error.text()), ..Self::default() },
        }
    }

    fn of_object(object: &Object) -> Self {
        let words = ["type", "code", "status"].map(|key| object.text_of(key).unwrap_or_default().to_lowercase());
        let message = object.text_of("message").unwrap_or_else(|| object.to_json().text().to_owned());
        Self { kind: words.join(" "), status: object.read("code"), message: shortened(&message) }
    }

    fn is_full(&self) -> bool {
        let message = self.message.to_lowercase();
        FULL.iter().any(|words| self.kind.contains(words) || message.contains(words))
    }

    fn is_spent(&self) -> bool {
        ["insufficient_quota", "billing"].iter().any(|word| self.kind.contains(word))
    }
}

/// A refusal with a status.
pub(crate) fn of_status(status: u16, retry_after: Option<Duration>, body: &str) -> ModelError {
    judged(status, retry_after, Told::of(body))
}

/// An error in the middle of a stream, where there is no status any more.
pub(crate) fn of_event(error: &RawValue) -> ModelError {
    of_stream(&Json::parse(error.get()).map(|json| Told::of_error(&json)).unwrap_or_default())
}

/// An event that is an error itself.
pub(crate) fn of_event_text(data: &str) -> ModelError {
    of_stream(&Told::of(data))
}

fn of_stream(told: &Told) -> ModelError {
    let Told { kind, status, message } = told;
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    let status = match status {
        Some(status) if (400..600).contains(status) => *status,
        Some(_) | None if has(&["rate_limit", "overloaded", "slow_down"]) => 429,
        Some(_) | None if has(&["invalid", "authentication", "permission", "not_found", "policy", "filter"]) => {
            400
        }
        Some(_) | None => 500,
    };
    judged(status, None, Told { kind: kind.clone(), status: None, message: message.clone() })
}

fn judged(status: u16, retry_after: Option<Duration>, told: Told) -> ModelError {
    let said = |told: &Told| match told.message.is_empty() {
        true => format!("status {status}"),
        false => format!("{} (status {status})", told.message),
    };
    match status {
        429 if told.is_spent() => ModelError::Refused(said(&told)),
        429 | 529 => ModelError::RateLimited { retry_after, message: said(&told) },
        503 if retry_after.is_some() => ModelError::RateLimited { retry_after, message: said(&told) },
        _ if told.is_full() => ModelError::ContextFull(told.message),
        408 | 500..=599 => ModelError::Transport(said(&told)),
        300..=399 => ModelError::Protocol(format!("it sends us elsewhere (status {status})")),
        _ => ModelError::Refused(said(&told)),
    }
}

/// A body that is not what was expected, as it can be quoted.
pub(crate) fn in_short(body: &str) -> String {
    Told::of(body).message
}

/// One line of a bearable length.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(error: &ModelError) -> &'static str {
        match error {
            ModelError::Refused(_) => "refused",
            ModelError::ContextFull(_) => "full",
            ModelError::RateLimited { .. } => "limited",
            ModelError::Transport(_) => "transport",
            ModelError::Protocol(_) => "protocol",
            ModelError::TimedOut(_) => "timed out",
            ModelError::Unusable(_) => "unusable",
            ModelError::ScriptEnded => "ended",
        }
    }

    #[test]
    fn refusals_are_told_apart_by_what_can_be_done() {
        let table = [
            (
                400,
                r#"{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
                "full",
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
                "full",
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
                "full",
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 8192 tokens","type":"BadRequestError","code":400}"#,
                "full",
            ),
            (
                400,
                r#"{"error":{"message":"unknown parameter","type":"invalid_request_error","code":null}}"#,
                "refused",
            ),
            (401, r#"{"error":{"message":"no such key","code":"invalid_api_key"}}"#, "refused"),
            (404, r#"{"error":"model 'x' not found"}"#, "refused"),
            (429, r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#, "limited"),
            (
                429,
                r#"{"error":{"message":"pay first","type":"insufficient_quota","code":"insufficient_quota"}}"#,
                "refused",
            ),
            (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "limited"),
            (500, "<html>oops</html>", "transport"),
            (503, "", "transport"),
            (408, "", "transport"),
            (302, "", "protocol"),
            (418, "{}", "refused"),
        ];
        for (status, body, want) in table {
            assert_eq!(kind(&of_status(status, None, body)), want, "{status} {body}");
        }
        let wait = Some(Duration::from_secs(2));
        assert_eq!(kind(&of_status(503, wait, "")), "limited");
        assert_eq!(
            of_status(429, wait, r#"{"error":{"message":"slow\n down"}}"#),
            ModelError::RateLimited { retry_after: wait, message: "slow down (status 429)".into() }
        );
    }

    #[test]
    fn errors_in_a_stream_have_no_status() {
        let table = [
            (r#"{"type":"overloaded_error","message":"busy"}"#, "limited"),
            (r#"{"type":"api_error","message":"oops"}"#, "transport"),
            (r#"{"code":"rate_limit_exceeded","message":"wait"}"#, "limited"),
            (r#"{"code":"server_error","message":"oops"}"#, "transport"),
            (r#"{"code":"context_length_exceeded","message":"long"}"#, "full"),
            (r#"{"code":"invalid_prompt","message":"no"}"#, "refused"),
            (r#"{"code":502,"message":"upstream"}"#, "transport"),
            (r#"{"code":401,"message":"key"}"#, "refused"),
            (r#""plain words""#, "transport"),
        ];
        for (error, want) in table {
            let raw = RawValue::from_string(error.to_owned()).expect("JSON");
            assert_eq!(kind(&of_event(&raw)), want, "{error}");
        }
        assert_eq!(
            kind(&of_event_text(r#"{"type":"error","code":"rate_limit_exceeded","message":"w"}"#)),
            "limited"
        );
    }

    #[test]
    fn long_words_are_shortened() {
        let ModelError::Refused(message) = of_status(400, None, &"é".repeat(5_000)) else { panic!("refused") };
        assert_eq!(message.chars().count(), MESSAGE_CHARS_MAX + "… (status 400)".chars().count());
    }
}
