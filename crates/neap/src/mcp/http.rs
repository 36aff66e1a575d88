//! `/mcp` on `neap serve`: streamable HTTP, with the proxy's own gate before it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use neap_core::ingest::Digest;
use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;

use super::lines::{LINE_BYTES_MAX, Read, read};
use super::sessions::{SessionLimits, Sessions};
use crate::proxy::{Gate, is_too_slow};

/// Where it is.
const PATH: &str = "/mcp";
/// Where it is told what a client must bring (RFC 9728): of this server, and of the path on it.
const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";

/// Who may ask, and who answers.
struct Door<S> {
    gate: Gate,
    lock: Lock,
    service: StreamableHttpService<S, LocalSessionManager>,
    sessions: Sessions,
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

impl Lock {
    fn of(token: Option<&str>, is_local: bool) -> Self {
        match token {
            Some(token) => Lock::Token(digest(token)),
            None if is_local => Lock::Open,
            None => Lock::Shut,
        }
    }
}

/// The server over HTTP.
pub(crate) struct Mcp {
    pub(crate) router: Router,
    /// Ends the streams that would go on for ever.
    pub(crate) end: Box<dyn FnOnce() + Send>,
}

impl Mcp {
    /// A server that may be called by these names, for those who bring the token; without one, for this machine alone. Each
    /// client gets one of its own.
    pub(crate) fn new<S: ServerHandler>(
        server: impl Fn() -> S + Send + Sync + 'static,
        hosts: Vec<String>,
        token: Option<&str>,
        is_local: bool,
        limits: SessionLimits,
    ) -> Self {
        // The gate has looked at Host and Origin before.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(LINE_BYTES_MAX);
        let ends = config.cancellation_token.clone();
        let sessions = Sessions::new(limits);
        let service = StreamableHttpService::new(move || Ok(server()), sessions.open.clone(), config);
        let lock = Lock::of(token, is_local);
        let door = Arc::new(Door { gate: Gate::new(hosts), lock, service, sessions });
        let router = Router::new()
            .route(PATH, routing::any(enter::<S>))
            .route(METADATA, routing::get(metadata::<S>))
            .with_state(door);
        Self { router, end: Box::new(move || ends.cancel()) }
    }
}

async fn enter<S: ServerHandler>(State(door): State<Arc<Door<S>>>, request: Request) -> Response {
    if let Some(why) = door.gate.refuses(request.headers()) {
        return refused(StatusCode::FORBIDDEN, &format!("neap refuses this request: {why}"));
    }
    match &door.lock {
        Lock::Open => {}
        Lock::Token(token) if brings(request.headers(), token) => {}
        Lock::Token(_) => {
            let mut response = refused(StatusCode::UNAUTHORIZED, "a bearer token is needed here");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge(&request));
            return response;
        }
        Lock::Shut => {
            return refused(
                StatusCode::FORBIDDEN,
                "beyond its own machine neap serves this only with a token (NEAP_MCP_TOKEN, --mcp-token-file)",
            );
        }
    }
    let (request, begins) = match readable(request).await {
        Ok(readable) => readable,
        Err(response) => return *response,
    };
    if !begins {
        door.sessions.used(request.headers());
        let (head, body) = door.service.handle(request).await.into_parts();
        return Response::from_parts(head, Body::new(body));
    }
    // One after the other, so that none slips in where there is no room.
    let _beginning = door.sessions.beginning.lock().await;
    if !door.sessions.make_room().await {
        return full(&door.sessions.limits);
    }
    let (head, body) = door.service.handle(request).await.into_parts();
    door.sessions.began(&head.headers);
    Response::from_parts(head, Body::new(body))
}

/// What a client must bring, where that is a token: it goes into a header. It is a fixed one that the owner hands out, so no
/// authorization server is named.
async fn metadata<S: ServerHandler>(State(door): State<Arc<Door<S>>>, request: Request) -> Response {
    if let Some(why) = door.gate.refuses(request.headers()) {
        return refused(StatusCode::FORBIDDEN, &format!("neap refuses this request: {why}"));
    }
    let (Lock::Token(_), Some(origin)) = (&door.lock, origin(&request)) else {
        return refused(StatusCode::NOT_FOUND, "no token is asked for here");
    };
    let told = json!({
        "resource": format!("{origin}{PATH}"),
        "bearer_methods_supported": ["header"],
        "resource_name": "Neap",
    });
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], told.to_string()).into_response()
}

/// What a request without the token is told.
fn challenge(request: &Request) -> HeaderValue {
    let named =
        origin(request).map(|origin| format!("Bearer realm=\"neap\", resource_metadata=\"{origin}{METADATA}\""));
    let named = named.and_then(|named| HeaderValue::from_str(&named).ok());
    named.unwrap_or_else(|| HeaderValue::from_static("Bearer realm=\"neap\""))
}

/// What a client calls this server; none if it does not say. Who puts TLS in front says so in a header.
fn origin(request: &Request) -> Option<String> {
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = named.or_else(|| request.uri().authority().map(|authority| authority.as_str()))?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    let is_secure = request.headers().get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let scheme = if is_secure { "https" } else { "http" };
    (!host.is_empty() && host.bytes().all(is_plain)).then(|| format!("{scheme}://{host}"))
}

/// A request whose body is a message, and whether it begins a session; what is not is told here, as over lines.
async fn readable(request: Request) -> Result<(Request, bool), Box<Response>> {
    let is_json = |value: &HeaderValue| value.as_bytes().starts_with(b"application/json");
    if request.method() != Method::POST || !request.headers().get(header::CONTENT_TYPE).is_some_and(is_json) {
        return Ok((request, false));
    }
    let (head, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, LINE_BYTES_MAX).await.map_err(|error| {
        if is_too_slow(&error) {
            return Box::new(refused(
                StatusCode::REQUEST_TIMEOUT,
                "the message did not come in time; send it again",
            ));
        }
        let why = format!("the message is longer than {LINE_BYTES_MAX} bytes, or did not come whole");
        Box::new(refused(StatusCode::PAYLOAD_TOO_LARGE, &why))
    })?;
    match read(&bytes) {
        Read::Message(message) if !bytes.is_empty() => {
            let begins = is_initialize(&message);
            Ok((Request::from_parts(head, Body::from(bytes)), begins))
        }
        Read::Nothing if !bytes.is_empty() => Ok((Request::from_parts(head, Body::from(bytes)), false)),
        Read::Message(_) | Read::Nothing => Err(Box::new(refused(StatusCode::BAD_REQUEST, "there is no message"))),
        Read::Wrong(wrong) => {
            let body = serde_json::to_string(&wrong).unwrap_or_default();
            let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
            Err(Box::new((StatusCode::BAD_REQUEST, kind, body).into_response()))
        }
    }
}

fn is_initialize(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    matches!(request.request, ClientRequest::InitializeRequest(_))
}

/// What a client is told that finds no room for its session.
fn full(limits: &SessionLimits) -> Response {
    let SessionLimits { sessions_max, idle } = limits;
    let why = format!(
        "{sessions_max} sessions are open here, and each was used in the last {} seconds; end one (DELETE), or try again later",
        idle.as_secs()
    );
    let mut response = refused(StatusCode::SERVICE_UNAVAILABLE, &why);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(idle.as_secs().max(1)));
    response
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_this_machine_nobody_is_let_in_without_a_token() {
        assert!(matches!(Lock::of(None, true), Lock::Open));
        assert!(matches!(Lock::of(None, false), Lock::Shut));
        for is_local in [true, false] {
            let Lock::Token(token) = Lock::of(Some("s3cret"), is_local) else { panic!("a token") };
            let bring = |value: &'static str| {
                let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(value))]);
                brings(&headers, &token)
            };
            assert!(bring("Bearer s3cret") && bring("bearer  s3cret"));
            assert!(!bring("Bearer s3cre") && !bring("Bearer") && !bring("s3cret") && !bring("Basic s3cret"));
            assert!(!brings(&HeaderMap::new(), &token));
        }
    }
}
