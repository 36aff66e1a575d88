//! `/mcp` on `neap serve`: streamable HTTP behind the gate.

use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use neap_core::base::access::{Level, Surface};
use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;

use super::sessions::{McpSessions, SessionLimits};
use super::stdio_transport::{LINE_BYTES_MAX, ParsedLine, parse_line};
use super::tools::{is_read_only_name, printable};
use crate::access::{Access, KEY_HEADER, Need, Refused};
use crate::proxy::{OverTls, is_body_timeout};
use crate::tenants::{NotServed, Tenants, keep_while_sent};

const PATH: &str = "/mcp";
/// Protected-resource metadata (RFC 9728) of [`PATH`].
const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";

type Handling<'a> = Pin<Box<dyn Future<Output = Response> + Send + 'a>>;

/// A library's service, whatever answers behind it.
trait HandleRequest: Send + Sync {
    fn handle(&self, request: Request) -> Handling<'_>;
}

impl<S: ServerHandler> HandleRequest for StreamableHttpService<S, LocalSessionManager> {
    fn handle(&self, request: Request) -> Handling<'_> {
        Box::pin(async move {
            let (head, body) = StreamableHttpService::handle(self, request).await.into_parts();
            Response::from_parts(head, Body::new(body))
        })
    }
}

/// MCP over HTTP for one tenant: the sessions of its clients are known to nobody else's.
pub struct McpService {
    service: Box<dyn HandleRequest>,
    sessions: McpSessions,
    cancel: Box<dyn Fn() + Send + Sync>,
}

impl McpService {
    /// `server` is called once per client.
    pub fn new<S: ServerHandler>(server: impl Fn() -> S + Send + Sync + 'static, limits: SessionLimits) -> Self {
        // The gate checks Host and Origin.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(LINE_BYTES_MAX);
        let cancellation = config.cancellation_token.clone();
        let sessions = McpSessions::new(limits);
        let service = StreamableHttpService::new(move || Ok(server()), sessions.manager.clone(), config);
        let cancel = Box::new(move || cancellation.cancel());
        Self { service: Box::new(service), sessions, cancel }
    }

    /// Ends streams that would stay open forever.
    pub(crate) fn end_streams(&self) {
        (self.cancel)();
    }

    async fn answer(&self, request: Request, starts_session: bool) -> Response {
        if request.method() == Method::DELETE {
            return self.end_session(request).await;
        }
        if !starts_session {
            self.sessions.note_used(request.headers());
            return self.service.handle(request).await;
        }
        // Serialised, so that the limit holds.
        let _guard = self.sessions.start_lock.lock().await;
        if !self.sessions.make_room().await {
            return sessions_full(&self.sessions.limits);
        }
        let response = self.service.handle(request).await;
        self.sessions.note_started(response.headers());
        response
    }

    /// Ends the session of a request. Clients expect 200, which the library answers with 202, and 404 for a session that
    /// does not exist, which it does not look for.
    async fn end_session(&self, request: Request) -> Response {
        let is_open = self.sessions.is_open(request.headers()).await;
        let mut response = self.service.handle(request).await;
        match (response.status(), is_open) {
            (StatusCode::ACCEPTED, true) => *response.status_mut() = StatusCode::OK,
            (StatusCode::ACCEPTED, false) => {
                return error_response(
                    StatusCode::NOT_FOUND,
                    "there is no such session; it may have ended already",
                );
            }
            (_, _) => {}
        }
        response
    }
}

/// `/mcp` of all tenants, behind the gate.
#[derive(Clone)]
pub struct McpHttp {
    access: Arc<Access>,
    tenants: Arc<Tenants>,
}

impl McpHttp {
    pub fn new(access: Arc<Access>, tenants: Arc<Tenants>) -> Self {
        Self { access, tenants }
    }

    pub(crate) fn into_router(self) -> Router {
        Router::new().route(PATH, routing::any(handle)).route(METADATA, routing::get(metadata)).with_state(self)
    }
}

async fn handle(State(http): State<McpHttp>, request: Request) -> Response {
    let grant = match http.access.check(request.method(), request.headers(), Need::Mcp).await {
        Ok(Some(grant)) => grant,
        Ok(None) => return refusal(&Refused::NoKey, &request),
        Err(refused) => return refusal(&refused, &request),
    };
    let parsed = match parse_request(request).await {
        Ok(parsed) => parsed,
        Err(response) => return *response,
    };
    let Parsed { mut request, starts_session, tool } = parsed;
    let changes = tool.as_deref().is_some_and(|tool| !is_read_only_name(tool));
    if changes && grant.scope.level < Level::Write {
        return refusal(&Refused::Level(Level::Write), &request);
    }
    let services = match http.tenants.of(&grant).await {
        Ok(services) => services,
        Err(NotServed) => return refusal(&Refused::Unavailable, &request),
    };
    let Some(mcp) = &services.mcp else { return refusal(&Refused::Unavailable, &request) };
    if let Some(most) = grant.stored_bytes_max().filter(|_| changes)
        && services.has_stored(most).await
    {
        return refusal(&Refused::StoreFull(most), &request);
    }
    // What answers never sees what let it in.
    for name in [KEY_HEADER, header::AUTHORIZATION] {
        request.headers_mut().remove(name);
    }
    let response = mcp.answer(request, starts_session).await;
    if let Some(tool) = tool.filter(|_| changes || grant.scope.level == Level::Admin) {
        http.access.note(
            &grant,
            format!("mcp {}", printable(&tool)),
            String::new(),
            response.status().as_u16().to_string(),
        );
    }
    keep_while_sent(response, (grant, services.clone()))
}

fn refusal(refused: &Refused, request: &Request) -> Response {
    let reason = match matches!(refused, Refused::Origin(_)) {
        true => refused.reason(),
        false => format!("{}. hint: {}", refused.reason(), refused.hint(Surface::Mcp)),
    };
    let mut response = error_response(refused.status(), &reason);
    if refused.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge(request));
    }
    if let Some(seconds) = refused.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Says that a bearer token is required. The owner hands out a fixed token, so no authorization server is named.
async fn metadata(State(http): State<McpHttp>, request: Request) -> Response {
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
    let is_forwarded = request.headers().get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let is_secure = is_forwarded || request.extensions().get::<OverTls>().is_some();
    let scheme = if is_secure { "https" } else { "http" };
    (!host.is_empty() && host.bytes().all(is_plain)).then(|| format!("{scheme}://{host}"))
}

/// A request whose message was looked at.
struct Parsed {
    request: Request,
    starts_session: bool,
    /// The tool that it calls.
    tool: Option<String>,
}

impl Parsed {
    fn of(request: Request, message: Option<&ClientJsonRpcMessage>) -> Self {
        let asked = match message {
            Some(ClientJsonRpcMessage::Request(asked)) => Some(&asked.request),
            Some(_) | None => None,
        };
        let starts_session = matches!(asked, Some(ClientRequest::InitializeRequest(_)));
        let tool = match asked {
            Some(ClientRequest::CallToolRequest(call)) => Some(call.params.name.to_string()),
            Some(_) | None => None,
        };
        Self { request, starts_session, tool }
    }
}

/// Parses the body. Malformed messages are answered here.
async fn parse_request(request: Request) -> Result<Parsed, Box<Response>> {
    let is_json = |value: &HeaderValue| value.as_bytes().starts_with(b"application/json");
    if request.method() != Method::POST || !request.headers().get(header::CONTENT_TYPE).is_some_and(is_json) {
        return Ok(Parsed::of(request, None));
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
            Ok(Parsed::of(Request::from_parts(head, Body::from(bytes)), Some(&message)))
        }
        ParsedLine::Ignored if !bytes.is_empty() => {
            Ok(Parsed::of(Request::from_parts(head, Body::from(bytes)), None))
        }
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
