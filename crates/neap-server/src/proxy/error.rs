//! Errors of the proxy, in the error format of the provider that the client believes it talks to.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use neap_core::base::access::Surface;
use neap_core::client::WireApi;
use serde_json::{Value, json};

use super::body::BODY_BYTES_MAX;
use crate::access::Refused;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProxyError {
    /// The origin check or the caller's address refuses it.
    Forbidden(String),
    /// The gate refuses it for what it brings.
    Refused(Refused),
    /// It addresses a path of Neap's own that is not served here.
    NotFound,
    Upgrade,
    TooLarge,
    /// Other requests use all memory for bodies.
    Busy,
    BodyTimeout,
    /// It contains the token for `/mcp`, which no provider may see.
    OwnToken,
    /// Its body is incomplete, or not what its headers say.
    Unreadable(String),
    UnsupportedEncoding(String),
    /// It has passed through this proxy before.
    Loop,
    ContextFull(String),
    /// It contains a compaction item that Neap did not issue.
    InvalidCompaction(String),
    Unreachable(String),
}

impl ProxyError {
    fn status(&self) -> StatusCode {
        match self {
            ProxyError::Forbidden(_) => StatusCode::FORBIDDEN,
            ProxyError::Refused(refused) => refused.status(),
            ProxyError::NotFound => StatusCode::NOT_FOUND,
            ProxyError::Upgrade => StatusCode::UPGRADE_REQUIRED,
            ProxyError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ProxyError::Busy => StatusCode::SERVICE_UNAVAILABLE,
            ProxyError::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            ProxyError::OwnToken => StatusCode::FORBIDDEN,
            ProxyError::Unreadable(_) | ProxyError::ContextFull(_) | ProxyError::InvalidCompaction(_) => {
                StatusCode::BAD_REQUEST
            }
            ProxyError::UnsupportedEncoding(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ProxyError::Loop => StatusCode::LOOP_DETECTED,
            ProxyError::Unreachable(_) => StatusCode::BAD_GATEWAY,
        }
    }

    fn message(&self) -> String {
        match self {
            ProxyError::Forbidden(why) => format!("neap refuses this request: {why}"),
            ProxyError::Refused(refused) => {
                format!("{}. hint: {}", refused.reason(), refused.hint(Surface::Proxy))
            }
            ProxyError::NotFound => {
                "neap does not serve this path here; `neap serve` serves MCP at /mcp".to_owned()
            }
            ProxyError::Upgrade => "neap does not upgrade connections: it speaks HTTP only".to_owned(),
            ProxyError::TooLarge => format!(
                "the request has more than {BODY_BYTES_MAX} bytes ({} MiB), the most that neap reads of one. hint: upload \
                 large files to the provider's files API, which neap forwards whatever their size",
                BODY_BYTES_MAX >> 20
            ),
            ProxyError::Busy => "other requests use all memory for bodies; send it again in a moment".to_owned(),
            ProxyError::BodyTimeout => "the request body did not arrive in time; send it again".to_owned(),
            ProxyError::OwnToken => {
                "this request contains neap's own token for /mcp, which no provider may see; send the provider's \
                 key here, and that token only to /mcp"
                    .to_owned()
            }
            ProxyError::Unreadable(why) => format!("the request cannot be read: {why}"),
            ProxyError::UnsupportedEncoding(name) => {
                format!("neap does not support the content encoding '{name}'")
            }
            ProxyError::Loop => "the request came back to this proxy: neap is its own upstream".to_owned(),
            ProxyError::ContextFull(why) | ProxyError::InvalidCompaction(why) => why.clone(),
            ProxyError::Unreachable(why) => format!("neap cannot reach the provider: {why}"),
        }
    }

    /// OpenAI's error type and code, and Anthropic's error type.
    fn error_kinds(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            ProxyError::Forbidden(_) => ("invalid_request_error", "forbidden", "permission_error"),
            ProxyError::Refused(refused) => match refused.status() {
                StatusCode::UNAUTHORIZED => ("invalid_request_error", "invalid_api_key", "authentication_error"),
                StatusCode::TOO_MANY_REQUESTS => ("requests", "rate_limit_exceeded", "rate_limit_error"),
                StatusCode::SERVICE_UNAVAILABLE => ("server_error", "unavailable", "api_error"),
                _ => ("invalid_request_error", "forbidden", "permission_error"),
            },
            ProxyError::NotFound => ("invalid_request_error", "not_found", "not_found_error"),
            ProxyError::Upgrade => ("invalid_request_error", "upgrade_required", "invalid_request_error"),
            ProxyError::TooLarge => ("invalid_request_error", "request_too_large", "request_too_large"),
            ProxyError::Busy => ("server_error", "overloaded", "overloaded_error"),
            ProxyError::BodyTimeout => ("invalid_request_error", "request_timeout", "invalid_request_error"),
            ProxyError::OwnToken => ("invalid_request_error", "own_token", "permission_error"),
            ProxyError::Unreadable(_) => ("invalid_request_error", "unreadable", "invalid_request_error"),
            ProxyError::UnsupportedEncoding(_) => {
                ("invalid_request_error", "unsupported_encoding", "invalid_request_error")
            }
            ProxyError::Loop => ("invalid_request_error", "loop_detected", "invalid_request_error"),
            ProxyError::ContextFull(_) => {
                ("invalid_request_error", "context_length_exceeded", "invalid_request_error")
            }
            ProxyError::InvalidCompaction(_) => {
                ("invalid_request_error", "invalid_encrypted_content", "invalid_request_error")
            }
            ProxyError::Unreachable(_) => ("server_error", "upstream_unreachable", "api_error"),
        }
    }

    pub(crate) fn body(&self, api: WireApi) -> Value {
        let (message, (kind, code, anthropic)) = (self.message(), self.error_kinds());
        match api {
            WireApi::Chat | WireApi::Responses => {
                json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
            }
            WireApi::Messages => json!({"type": "error", "error": {"type": anthropic, "message": message}}),
        }
    }

    pub(crate) fn response(&self, api: WireApi) -> Response {
        let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let mut response = (self.status(), kind, self.body(api).to_string()).into_response();
        if *self == ProxyError::Upgrade {
            response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("HTTP/1.1"));
        }
        let refused = if let ProxyError::Refused(refused) = self { Some(refused) } else { None };
        let retry_after = refused.and_then(Refused::retry_after);
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // Retrying does not help where we refused.
        if retry_after.is_none()
            && !matches!(self, ProxyError::Unreachable(_) | ProxyError::BodyTimeout | ProxyError::Busy)
        {
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
        let too_large = ProxyError::TooLarge.body(WireApi::Chat)["error"].take();
        assert_eq!(
            (&too_large["type"], &too_large["code"]),
            (&json!("invalid_request_error"), &json!("request_too_large"))
        );
        assert!(too_large["message"].as_str().is_some_and(|text| text.contains("67108864 bytes (64 MiB)")));
        assert_eq!(
            ProxyError::Unreachable("refused".into()).body(WireApi::Messages),
            json!({"type": "error", "error": {"type": "api_error",
                "message": "neap cannot reach the provider: refused"}})
        );
        let response = ProxyError::Upgrade.response(WireApi::Chat);
        assert_eq!(response.status().as_u16(), 426);
        assert!(response.headers().contains_key("upgrade"));
    }
}
