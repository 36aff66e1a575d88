//! Classifies provider errors by status and message.

use std::time::Duration;

use neap_core::text::fold_whitespace;
use serde_json::value::RawValue;

use crate::ModelError;
use crate::wire::json::{Json, Object};

/// Longest quoted message, in characters.
const MESSAGE_CHARS_MAX: usize = 600;

/// How providers say that a request exceeds the context window.
const CONTEXT_FULL_PHRASES: [&str; 9] = [
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

#[derive(Debug, Default)]
struct ErrorDetails {
    /// Type, code and status, lowercase.
    kind: String,
    /// A status code in the body.
    status: Option<u16>,
    message: String,
}

impl ErrorDetails {
    fn parse(body: &str) -> Self {
        let plain = || Self { message: truncate_line(body), ..Self::default() };
        let Ok(object) = Object::parse(body) else { return plain() };
        match object.get("error").filter(|error| !error.is_null()) {
            Some(error) => Self::from_error(error),
            None if object.get("message").is_some() => Self::from_object(&object),
            None => plain(),
        }
    }

    fn from_error(error: &Json) -> Self {
        match (Object::from_json(error), error.read::<String>()) {
            (Some(object), _) => Self::from_object(&object),
            (None, Some(message)) => Self { message: truncate_line(&message), ..Self::default() },
            (None, None) => Self { message: truncate_line(error.text()), ..Self::default() },
        }
    }

    fn from_object(object: &Object) -> Self {
        let words = ["type", "code", "status"].map(|key| object.text_of(key).unwrap_or_default().to_lowercase());
        let message = object.text_of("message").unwrap_or_else(|| object.to_json().text().to_owned());
        Self { kind: words.join(" "), status: object.read("code"), message: truncate_line(&message) }
    }

    fn is_context_full(&self) -> bool {
        let message = self.message.to_lowercase();
        CONTEXT_FULL_PHRASES.iter().any(|words| self.kind.contains(words) || message.contains(words))
    }

    fn is_quota_spent(&self) -> bool {
        ["insufficient_quota", "billing"].iter().any(|word| self.kind.contains(word))
    }
}

pub(crate) fn from_status(status: u16, retry_after: Option<Duration>, body: &str) -> ModelError {
    classify(status, retry_after, ErrorDetails::parse(body))
}

/// An error inside a stream, where no HTTP status applies.
pub(crate) fn from_event(error: &RawValue) -> ModelError {
    from_stream(&Json::parse(error.get()).map(|json| ErrorDetails::from_error(&json)).unwrap_or_default())
}

/// An event that is itself the error.
pub(crate) fn from_event_text(data: &str) -> ModelError {
    from_stream(&ErrorDetails::parse(data))
}

fn from_stream(details: &ErrorDetails) -> ModelError {
    let ErrorDetails { kind, status, message } = details;
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    let status = match status {
        Some(status) if (400..600).contains(status) => *status,
        Some(_) | None if has(&["rate_limit", "overloaded", "slow_down"]) => 429,
        Some(_) | None if has(&["invalid", "authentication", "permission", "not_found", "policy", "filter"]) => {
            400
        }
        Some(_) | None => 500,
    };
    classify(status, None, ErrorDetails { kind: kind.clone(), status: None, message: message.clone() })
}

fn classify(status: u16, retry_after: Option<Duration>, details: ErrorDetails) -> ModelError {
    let describe = |details: &ErrorDetails| match details.message.is_empty() {
        true => format!("status {status}"),
        false => format!("{} (status {status})", details.message),
    };
    match status {
        429 if details.is_quota_spent() => ModelError::Refused(describe(&details)),
        429 | 529 => ModelError::RateLimited { retry_after, message: describe(&details) },
        503 if retry_after.is_some() => ModelError::RateLimited { retry_after, message: describe(&details) },
        _ if details.is_context_full() => ModelError::ContextFull(details.message),
        408 | 500..=599 => ModelError::Transport(describe(&details)),
        300..=399 => ModelError::Protocol(format!("it redirects to another address (status {status})")),
        _ => ModelError::Refused(describe(&details)),
    }
}

/// An unexpected body as it can be quoted.
pub(crate) fn error_summary(body: &str) -> String {
    ErrorDetails::parse(body).message
}

fn truncate_line(text: &str) -> String {
    let line = fold_whitespace(text);
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
            assert_eq!(kind(&from_status(status, None, body)), want, "{status} {body}");
        }
        let wait = Some(Duration::from_secs(2));
        assert_eq!(kind(&from_status(503, wait, "")), "limited");
        assert_eq!(
            from_status(429, wait, r#"{"error":{"message":"slow\n down"}}"#),
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
            assert_eq!(kind(&from_event(&raw)), want, "{error}");
        }
        assert_eq!(
            kind(&from_event_text(r#"{"type":"error","code":"rate_limit_exceeded","message":"w"}"#)),
            "limited"
        );
    }

    #[test]
    fn long_words_are_shortened() {
        let ModelError::Refused(message) = from_status(400, None, &"é".repeat(5_000)) else { panic!("refused") };
        assert_eq!(message.chars().count(), MESSAGE_CHARS_MAX + "… (status 400)".chars().count());
    }
}
