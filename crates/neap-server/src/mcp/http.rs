//! `/mcp` on `neap serve`: streamable HTTP behind the proxy's origin check.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;

use super::sessions::{McpSessions, SessionLimits};
use super::stdio_transport::{LINE_BYTES_MAX, ParsedLine, parse_line};
use crate::access::{Access, Need, Refused};
use crate::proxy::is_body_timeout;

const PATH: &str = "/mcp";
/// Protected-resource metadata (RFC 9728) of [`PATH`].
const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";
const TOKEN_REQUIRED: &str = "a bearer token is required here: the one in keys/mcp.token of Neap's data folder, or the one that \
                              `neap serve` was given";

struct HttpService<S> {
    access: Arc<Access>,
    service: StreamableHttpService<S, LocalSessionManager>,
    sessions: McpSessions,
}

pub struct McpHttp {
    pub(crate) router: Router,
    /// Ends streams that would stay open forever.
    pub(crate) shutdown: Box<dyn FnOnce() + Send>,
}

impl McpHttp {
    /// A server behind a gate. `server` is called once per client.
    pub fn new<S: ServerHandler>(
        server: impl Fn() -> S + Send + Sync + 'static,
        access: Arc<Access>,
        limits: SessionLimits,
    ) -> Self {
        // The gate checks Host and Origin.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(LINE_BYTES_MAX);
        let cancellation = config.cancellation_token.clone();
        let sessions = McpSessions::new(limits);
        let service = StreamableHttpService::new(move || Ok(server()), sessions.manager.clone(), config);
        let http = Arc::new(HttpService { access, service, sessions });
        let router = Router::new()
            .route(PATH, routing::any(handle::<S>))
            .route(METADATA, routing::get(metadata::<S>))
            .with_state(http);
        Self { router, shutdown: Box::new(move || cancellation.cancel()) }
    }
}

async fn handle<S: ServerHandler>(State(http): State<Arc<HttpService<S>>>, request: Request) -> Response {
    match http.access.check(request.method(), request.headers(), Need::Mcp) {
        Ok(_) => {}
        Err(Refused::Origin(reason)) => {
            return error_response(StatusCode::FORBIDDEN, &format!("neap refuses this request: {reason}"));
        }
        Err(Refused::Unknown | Refused::ReadOnly | Refused::NoOrigin) => {
            let mut response = error_response(StatusCode::UNAUTHORIZED, TOKEN_REQUIRED);
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge(&request));
            return response;
        }
    }
    let (request, starts_session) = match parse_request(request).await {
        Ok(parsed) => parsed,
        Err(response) => return *response,
    };
    if request.method() == Method::DELETE {
        return end_session(&http, request).await;
    }
    if !starts_session {
        http.sessions.note_used(request.headers());
        let (head, body) = http.service.handle(request).await.into_parts();
        return Response::from_parts(head, Body::new(body));
    }
    // Serialised, so that the limit holds.
    let _guard = http.sessions.start_lock.lock().await;
    if !http.sessions.make_room().await {
        return sessions_full(&http.sessions.limits);
    }
    let (head, body) = http.service.handle(request).await.into_parts();
    http.sessions.note_started(&head.headers);
    Response::from_parts(head, Body::new(body))
}

/// Ends the session of a request. Clients expect 200, which the library answers with 202, and 404 for a session that
/// does not exist, which it does not look for.
async fn end_session<S: ServerHandler>(http: &HttpService<S>, request: Request) -> Response {
    let is_open = http.sessions.is_open(request.headers()).await;
    let (mut head, body) = http.service.handle(request).await.into_parts();
    match (head.status, is_open) {
        (StatusCode::ACCEPTED, true) => head.status = StatusCode::OK,
        (StatusCode::ACCEPTED, false) => {
            return error_response(StatusCode::NOT_FOUND, "there is no such session; it may have ended already");
        }
        (_, _) => {}
    }
    Response::from_parts(head, Body::new(body))
}

/// Says that a bearer token is required. The owner hands out a fixed token, so no authorization server is named.
async fn metadata<S: ServerHandler>(State(http): State<Arc<HttpService<S>>>, request: Request) -> Response {
    if let Some(reason) = http.access.origin_refusal(request.headers()) {
        return error_response(StatusCode::FORBIDDEN, &format!("neap refuses this request: {reason}"));
    }
    let Some(origin) = origin(&request) else {
        return error_response(StatusCode::BAD_REQUEST, "the Host header is missing, or not a host name");
    };
    let body = json!({
        "resource": format!("{origin}{PATH}"),
        "bearer_methods_supported": ["header"],
        "resource_name": "Neap",
    });
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body.to_string()).into_response()
}

fn challenge(request: &Request) -> HeaderValue {
    let value =
        origin(request).map(|origin| format!("Bearer realm=\"neap\", resource_metadata=\"{origin}{METADATA}\""));
    let value = value.and_then(|value| HeaderValue::from_str(&value).ok());
    value.unwrap_or_else(|| HeaderValue::from_static("Bearer realm=\"neap\""))
}

/// The server's origin as the client sees it, if it sends one. A TLS proxy in front sets `x-forwarded-proto`.
fn origin(request: &Request) -> Option<String> {
    let host_header = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host_header.or_else(|| request.uri().authority().map(|authority| authority.as_str()))?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    let is_secure = request.headers().get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let scheme = if is_secure { "https" } else { "http" };
    (!host.is_empty() && host.bytes().all(is_plain)).then(|| format!("{scheme}://{host}"))
}

/// Parses the body; returns the request and whether it starts a session. Malformed messages are answered here.
async fn parse_request(request: Request) -> Result<(Request, bool), Box<Response>> {
    let is_json = |value: &HeaderValue| value.as_bytes().starts_with(b"application/json");
    if request.method() != Method::POST || !request.headers().get(header::CONTENT_TYPE).is_some_and(is_json) {
        return Ok((request, false));
    }
    let (head, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, LINE_BYTES_MAX).await.map_err(|error| {
        if is_body_timeout(&error) {
            return Box::new(error_response(
                StatusCode::REQUEST_TIMEOUT,
                "the message did not arrive in time; send it again",
            ));
        }
        let reason = format!("the message is longer than {LINE_BYTES_MAX} bytes, or incomplete");
        Box::new(error_response(StatusCode::PAYLOAD_TOO_LARGE, &reason))
    })?;
    match parse_line(&bytes) {
        ParsedLine::Message(message) if !bytes.is_empty() => {
            let starts_session = is_initialize(&message);
            Ok((Request::from_parts(head, Body::from(bytes)), starts_session))
        }
        ParsedLine::Ignored if !bytes.is_empty() => Ok((Request::from_parts(head, Body::from(bytes)), false)),
        ParsedLine::Message(_) | ParsedLine::Ignored => {
            Err(Box::new(error_response(StatusCode::BAD_REQUEST, "there is no message")))
        }
        ParsedLine::Invalid(error) => {
            let body = serde_json::to_string(&error).unwrap_or_default();
            let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
            Err(Box::new((StatusCode::BAD_REQUEST, kind, body).into_response()))
        }
    }
}

fn is_initialize(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    matches!(request.request, ClientRequest::InitializeRequest(_))
}

fn sessions_full(limits: &SessionLimits) -> Response {
    let SessionLimits { sessions_max, idle } = limits;
    let reason = format!(
        "{sessions_max} sessions are open here, and each was used in the last {} seconds; end one (DELETE), or try again later",
        idle.as_secs()
    );
    let mut response = error_response(StatusCode::SERVICE_UNAVAILABLE, &reason);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(idle.as_secs().max(1)));
    response
}

fn error_response(status: StatusCode, reason: &str) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": reason}});
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body.to_string())
        .into_response()
}
