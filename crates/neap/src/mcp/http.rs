//! `/mcp` on `neap serve`: streamable HTTP, with the proxy's own gate before it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use neap_core::ingest::Digest;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;

use super::lines::LINE_BYTES_MAX;
use super::{Desk, Server};
use crate::proxy::Gate;

/// Who may ask, and who answers.
struct Door {
    gate: Gate,
    lock: Lock,
    service: StreamableHttpService<Server, LocalSessionManager>,
}

/// What a request must bring.
enum Lock {
    /// Nothing: only this machine can ask.
    Open,
    /// The token of this digest.
    Token(Digest),
    /// It cannot: others can ask, and no token was set.
    Shut,
}

/// The server over HTTP.
pub(crate) struct Mcp {
    pub(crate) router: Router,
    /// Ends the streams that would go on for ever.
    pub(crate) end: Box<dyn FnOnce() + Send>,
}

impl Mcp {
    /// A server that may be called by these names, for those who bring the token; without one, for this machine alone.
    pub(crate) fn new(desk: Arc<Desk>, hosts: Vec<String>, token: Option<&str>, is_local: bool) -> Self {
        // The gate has looked at Host and Origin before.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(LINE_BYTES_MAX);
        let ends = config.cancellation_token.clone();
        let service = StreamableHttpService::new(
            move || Ok(Server::new(desk.clone())),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let lock = match token {
            Some(token) => Lock::Token(digest(token)),
            None if is_local => Lock::Open,
            None => Lock::Shut,
        };
        let door = Arc::new(Door { gate: Gate::new(hosts), lock, service });
        let router = Router::new().route("/mcp", routing::any(enter)).with_state(door);
        Self { router, end: Box::new(move || ends.cancel()) }
    }
}

async fn enter(State(door): State<Arc<Door>>, request: Request) -> Response {
    if let Some(why) = door.gate.refuses(request.headers()) {
        return refused(StatusCode::FORBIDDEN, &format!("neap refuses this request: {why}"));
    }
    match &door.lock {
        Lock::Open => {}
        Lock::Token(token) if brings(request.headers(), token) => {}
        Lock::Token(_) => {
            let mut response = refused(StatusCode::UNAUTHORIZED, "a bearer token is needed here");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"neap\""));
            return response;
        }
        Lock::Shut => {
            return refused(
                StatusCode::FORBIDDEN,
                "beyond its own machine neap serves this only with a token (NEAP_MCP_TOKEN)",
            );
        }
    }
    let (head, body) = door.service.handle(request).await.into_parts();
    Response::from_parts(head, Body::new(body))
}

/// Whether a request brings the token. Digests are compared, so that the time it takes tells nothing of it.
fn brings(headers: &HeaderMap, token: &Digest) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given =
        given.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    given.is_some_and(|(_, given)| digest(given.trim()) == *token)
}

fn digest(token: &str) -> Digest {
    Digest::of("neap mcp token", &[token.as_bytes()])
}

fn refused(status: StatusCode, why: &str) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": why}});
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body.to_string())
        .into_response()
}
