//! Errors of the API, as problem details (RFC 9457) with a hint.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use neap_core::base::access::Surface;
use neap_core::base::refusal::Refusal;
use neap_engine::EngineError;
use neap_store::StoreError;
use serde_json::json;

use crate::access::Refused;

/// Of what a caller sent, in a detail.
const QUOTE_CHARS_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    code: &'static str,
    detail: String,
    hint: String,
    /// In seconds.
    retry_after: Option<u64>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), hint: usual_hint(status).to_owned(), retry_after: None }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    pub(crate) fn not_found(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }

    pub(crate) fn refused(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", detail)
    }

    /// Says what the caller can do, better than the usual hint; an empty one says nothing.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        Self { hint: if hint.is_empty() { self.hint } else { hint }, ..self }
    }
}

/// What a caller can do about any problem of this status.
fn usual_hint(status: StatusCode) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST => "GET /api/v1/openapi.json says what each route takes",
        StatusCode::NOT_FOUND => "lists such as GET /api/v1/sessions say what there is",
        StatusCode::METHOD_NOT_ALLOWED => "send one of the methods that the header Allow names",
        StatusCode::REQUEST_TIMEOUT => "send it again, in smaller parts",
        StatusCode::CONFLICT => "read what there is now, and decide again",
        StatusCode::PAYLOAD_TOO_LARGE => "send it in several requests",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "send the header Content-Type: application/json",
        StatusCode::FORBIDDEN => "ask with a token that may do it, by this server's own address",
        StatusCode::UNPROCESSABLE_ENTITY => "change what the detail names, and send it again",
        _ => "try again; the server's log says more",
    }
}

/// What a caller sent, short enough for a message.
pub(crate) fn quoted(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(QUOTE_CHARS_MAX).collect()
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let problem = match refusal.is_conflict {
            true => Self::new(StatusCode::CONFLICT, "conflict", refusal.error),
            false => Self::refused(refusal.error),
        };
        problem.hint(refusal.hint.unwrap_or_default())
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let problem = Self::new(refused.status(), refused.code(), refused.reason());
        Self { retry_after: refused.retry_after(), ..problem.hint(refused.hint(Surface::Sessions)) }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let hint = error.hint();
        let (status, code) = match &error {
            EngineError::Store(error) => return error.clone().into(),
            EngineError::NoSession(_) => (StatusCode::NOT_FOUND, "no_session"),
            EngineError::NoTurn { .. } => (StatusCode::NOT_FOUND, "no_turn"),
            EngineError::SessionExists(_)
            | EngineError::StillAnswering { .. }
            | EngineError::IdReused { .. }
            | EngineError::KeyReused { .. } => (StatusCode::CONFLICT, "conflict"),
            EngineError::Turn(_)
            | EngineError::NoReply { .. }
            | EngineError::Policy(_)
            | EngineError::MemoryTooSmall { .. }
            | EngineError::NoFrame(_) => (StatusCode::UNPROCESSABLE_ENTITY, "refused"),
            EngineError::Key(_)
            | EngineError::Embedder(_)
            | EngineError::NotRecorded(_)
            | EngineError::TimedOut
            | EngineError::Contended(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        };
        Self::new(status, code, error.to_string()).hint(hint)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let (status, code) = match &error {
            StoreError::Conflict { .. } | StoreError::DuplicateTurn { .. } => (StatusCode::CONFLICT, "conflict"),
            StoreError::Full { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Busy { .. }
            | StoreError::Unreadable { .. }
            | StoreError::Lost { .. }
            | StoreError::Newer { .. }
            | StoreError::Database { .. }
            | StoreError::Failed(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        };
        tracing::warn!(target: "neap::api", %error, "the store refused a request");
        // Without the paths of this machine.
        Self::new(status, code, error.short_text()).hint(error.hint())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { status, code, detail, hint, retry_after } = self;
        let title = status.canonical_reason().unwrap_or("Error");
        let body = json!({
            "type": "about:blank", "title": title, "status": status.as_u16(), "code": code, "detail": detail,
            "hint": hint,
        });
        let mut response = (status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"neap\""));
        }
        response
    }
}
