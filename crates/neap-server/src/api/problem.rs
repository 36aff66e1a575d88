//! Errors of the API, as problem details (RFC 9457) with a hint.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
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
    hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), hint: None }
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

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        Self { hint: (!hint.is_empty()).then_some(hint), ..self }
    }
}

/// What a caller sent, short enough for a message.
pub(crate) fn quoted(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(QUOTE_CHARS_MAX).collect()
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let problem = Self::refused(refusal.error);
        match refusal.hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Origin(reason) => {
                Self::new(StatusCode::FORBIDDEN, "foreign_origin", format!("neap refuses this request: {reason}"))
            }
            Refused::Unknown => Self::new(StatusCode::UNAUTHORIZED, "no_token", "a token is required here").hint(
                "send the token in the data folder's keys/api.token as Authorization: Bearer, or open the link that \
                 `neap ui` prints",
            ),
            Refused::ReadOnly => Self::new(StatusCode::FORBIDDEN, "read_only", "this token may read, but not change"),
            Refused::NoOrigin => {
                Self::new(StatusCode::FORBIDDEN, "foreign_origin", "a change with a cookie needs this server's Origin")
            }
            Refused::Closed => Self::new(StatusCode::FORBIDDEN, "closed", "this is not served to other machines"),
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let hint = error.hint();
        let (status, code) = match &error {
            EngineError::Store(error) => return error.clone().into(),
            EngineError::NoSession(_) => (StatusCode::NOT_FOUND, "no_session"),
            EngineError::NoTurn { .. } => (StatusCode::NOT_FOUND, "no_turn"),
            EngineError::SessionExists(_) | EngineError::StillAnswering { .. } => {
                (StatusCode::CONFLICT, "conflict")
            }
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
            | StoreError::Failed(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        };
        tracing::warn!(target: "neap::api", %error, "the store refused a request");
        // Without the paths of this machine.
        Self::new(status, code, error.short_text()).hint(error.hint())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { status, code, detail, hint } = self;
        let title = status.canonical_reason().unwrap_or("Error");
        let mut body = json!({"type": "about:blank", "title": title, "status": status.as_u16(), "code": code, "detail": detail});
        if let (Some(hint), Some(object)) = (hint, body.as_object_mut()) {
            object.insert("hint".to_owned(), hint.into());
        }
        let mut response = (status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"neap\""));
        }
        response
    }
}
