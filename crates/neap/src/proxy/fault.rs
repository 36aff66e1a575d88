//! What goes wrong on our side, told in the words of the provider that the client believes to speak with.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::body::BODY_BYTES_MAX;
use super::route::Family;

/// Why a request is not passed on, or its answer not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not let in.
    Forbidden(&'static str),
    /// It asks for something of ours that is not served here.
    NotHere,
    /// It wants another protocol than HTTP.
    Upgrade,
    /// Its body is too long.
    TooLarge,
    /// Too much of other requests is held at the moment.
    Busy,
    /// Its body did not come in time.
    TooSlow,
    /// It brings the token for our own door, which no provider may see.
    OwnToken,
    /// Its body did not come whole, or is not what it says.
    Unreadable(String),
    /// Its body is packed in a way we do not know.
    Packed(String),
    /// It has come through here before.
    Loop,
    /// Its history fits no more, whatever is done.
    ContextFull(String),
    /// It holds what only we could open, and it is not what we gave.
    NotOurs(String),
    /// The provider cannot be reached.
    Unreachable(String),
}

impl Fault {
    fn status(&self) -> StatusCode {
        match self {
            Fault::Forbidden(_) => StatusCode::FORBIDDEN,
            Fault::NotHere => StatusCode::NOT_FOUND,
            Fault::Upgrade => StatusCode::UPGRADE_REQUIRED,
            Fault::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Fault::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Fault::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Fault::OwnToken => StatusCode::FORBIDDEN,
            Fault::Unreadable(_) | Fault::ContextFull(_) | Fault::NotOurs(_) => StatusCode::BAD_REQUEST,
            Fault::Packed(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Fault::Loop => StatusCode::LOOP_DETECTED,
            Fault::Unreachable(_) => StatusCode::BAD_GATEWAY,
        }
    }

    fn message(&self) -> String {
        match self {
            Fault::Forbidden(why) => format!("neap refuses this request: {why}"),
            Fault::NotHere => {
                "neap does not serve this here; over MCP it is called at /mcp of neap serve".to_owned()
            }
            Fault::Upgrade => "neap speaks HTTP only".to_owned(),
            Fault::TooLarge => format!("the request is longer than {BODY_BYTES_MAX} bytes"),
            Fault::Busy => "neap holds as much of other requests as it may; send it again in a moment".to_owned(),
            Fault::TooSlow => "the request did not come in time; send it again".to_owned(),
            Fault::OwnToken => {
                "neap's own token for /mcp is in this request, and goes to no provider; bring it to /mcp alone, and the provider's key here"
                    .to_owned()
            }
            Fault::Unreadable(why) => format!("the request cannot be read: {why}"),
            Fault::Packed(name) => format!("neap does not know the content encoding '{name}'"),
            Fault::Loop => "neap is its own upstream".to_owned(),
            Fault::ContextFull(why) | Fault::NotOurs(why) => why.clone(),
            Fault::Unreachable(why) => format!("neap cannot reach the provider: {why}"),
        }
    }

    /// Its kind and its code at OpenAI; its kind at Anthropic.
    fn kinds(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Fault::Forbidden(_) => ("invalid_request_error", "forbidden", "permission_error"),
            Fault::NotHere => ("invalid_request_error", "not_found", "not_found_error"),
            Fault::Upgrade => ("invalid_request_error", "upgrade_required", "invalid_request_error"),
            Fault::TooLarge => ("invalid_request_error", "request_too_large", "request_too_large"),
            Fault::Busy => ("server_error", "overloaded", "overloaded_error"),
            Fault::TooSlow => ("invalid_request_error", "request_timeout", "invalid_request_error"),
            Fault::OwnToken => ("invalid_request_error", "own_token", "permission_error"),
            Fault::Unreadable(_) => ("invalid_request_error", "unreadable", "invalid_request_error"),
            Fault::Packed(_) => ("invalid_request_error", "unsupported_encoding", "invalid_request_error"),
            Fault::Loop => ("invalid_request_error", "loop_detected", "invalid_request_error"),
            Fault::ContextFull(_) => ("invalid_request_error", "context_length_exceeded", "invalid_request_error"),
            Fault::NotOurs(_) => ("invalid_request_error", "invalid_encrypted_content", "invalid_request_error"),
            Fault::Unreachable(_) => ("server_error", "upstream_unreachable", "api_error"),
        }
    }

    /// As the provider would say it.
    pub(crate) fn body(&self, family: Family) -> Value {
        let (message, (kind, code, anthropic)) = (self.message(), self.kinds());
        match family {
            Family::OpenAi => json!({"error": {"message": message, "type": kind, "param": null, "code": code}}),
            Family::Anthropic => json!({"type": "error", "error": {"type": anthropic, "message": message}}),
        }
    }

    pub(crate) fn response(&self, family: Family) -> Response {
        let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let mut response = (self.status(), kind, self.body(family).to_string()).into_response();
        if *self == Fault::Upgrade {
            response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("HTTP/1.1"));
        }
        // Asking again does not help where we said no.
        if !matches!(self, Fault::Unreachable(_) | Fault::TooSlow | Fault::Busy) {
            response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_in_the_providers_shape() {
        assert_eq!(
            Fault::TooLarge.body(Family::OpenAi),
            json!({"error": {"message": "the request is longer than 16777216 bytes", "type": "invalid_request_error",
                "param": null, "code": "request_too_large"}})
        );
        assert_eq!(
            Fault::Unreachable("refused".into()).body(Family::Anthropic),
            json!({"type": "error", "error": {"type": "api_error",
                "message": "neap cannot reach the provider: refused"}})
        );
        let response = Fault::Upgrade.response(Family::OpenAi);
        assert_eq!(response.status().as_u16(), 426);
        assert!(response.headers().contains_key("upgrade"));
    }
}
