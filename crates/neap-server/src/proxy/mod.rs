//! HTTP proxy between any OpenAI- or Anthropic-compatible client and its provider.
//!
//! `Access` admits a request, `body` reads and decompresses it, `upload` forwards one that need not be read
//! while it arrives, `decide` alone may change it, `upstream` picks its provider, `http_clients` sends it there, and
//! `relay` returns the response, while `response_recorder` records it. `tool_loop` runs Neap's own tools,
//! `token_guard` keeps the token of `/mcp` from providers, and `unrecorded` counts and reports what could not be
//! stored in time. Callers' keys are neither stored nor logged.

mod body;
mod decide;
mod drain_body;
mod error;
mod http_clients;
mod limits;
mod listen;
mod other_prompts;
mod path;
mod relay;
mod request_log;
mod request_metrics;
mod response_recorder;
mod route;
mod throttled_log;
mod token_guard;
mod tool_loop;
mod unrecorded;
mod upload;
mod upstream;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use neap_core::text::figures::plural;
use neap_engine::RecordingStatus;
use neap_model::wire::request::parse_endpoint;
use tokio::net::TcpListener;

use crate::access::{Access, Need};
use crate::api::{ApiHttp, ProxyView, refusal};
use crate::mcp::McpHttp;
use crate::{Notify, ServerError};
pub use decide::Decider;
pub(crate) use drain_body::{drain_on_drop, is_body_timeout};
use http_clients::HttpClients;
pub use limits::ProxyLimits;
pub(crate) use listen::serve as serve_connections;
use request_log::RequestLog;
pub use request_log::{LoggedRequest, PATH as RECENT, RequestLogPage, RequestUsage};
use request_metrics::ProxyMetrics;
pub use request_metrics::ProxyTraffic;
use response_recorder::Recordings;
pub use throttled_log::ThrottledLog;
pub use token_guard::TokenGuard;
use unrecorded::UnrecordedLog;
pub use upstream::Upstreams;

/// What clients of a provider with the API's prefix ask for beside its endpoints.
const PROVIDER_MODELS: &str = "/api/v1/models";

struct Proxy {
    access: Arc<Access>,
    token_guard: Arc<TokenGuard>,
    upstreams: Upstreams,
    clients: HttpClients,
    decider: Arc<Decider>,
    request_metrics: ProxyMetrics,
    request_log: RequestLog,
    unrecorded: UnrecordedLog,
    recordings: Recordings,
    is_ending: AtomicBool,
}

/// A bound proxy that does not serve yet.
pub struct ProxyServer {
    listener: TcpListener,
    address: SocketAddr,
    proxy: Arc<Proxy>,
    mcp: Option<McpHttp>,
    api: Option<ApiHttp>,
    limits: ProxyLimits,
    notify: Notify,
}

pub struct BoundProxy {
    listener: TcpListener,
    address: SocketAddr,
    upstreams: Upstreams,
    notify: Notify,
}

impl BoundProxy {
    /// Binds the socket first, so that a taken port fails before anything else is set up.
    pub async fn bind(listen: SocketAddr, upstreams: Upstreams, notify: Notify) -> Result<Self, ServerError> {
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            ServerError::new(format!("cannot listen at {listen}: {error}"))
                .hint("choose another address with --listen")
        })?;
        let address = listener.local_addr()?;
        upstreams.check_not_self(address)?;
        Ok(Self { listener, address, upstreams, notify })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn into_server(
        self,
        access: Arc<Access>,
        decider: Decider,
        token_guard: TokenGuard,
        limits: ProxyLimits,
    ) -> Result<ProxyServer, ServerError> {
        let Self { listener, address, upstreams, notify } = self;
        let proxy = Proxy {
            access,
            token_guard: Arc::new(token_guard),
            upstreams,
            clients: HttpClients::new()?,
            decider: Arc::new(decider),
            request_metrics: ProxyMetrics::default(),
            request_log: RequestLog::default(),
            unrecorded: UnrecordedLog::new(notify),
            recordings: Recordings::default(),
            is_ending: AtomicBool::new(false),
        };
        Ok(ProxyServer { listener, address, proxy: Arc::new(proxy), mcp: None, api: None, limits, notify })
    }
}

impl ProxyServer {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn with_mcp(self, mcp: McpHttp) -> Self {
        Self { mcp: Some(mcp), ..self }
    }

    pub fn with_api(self, api: ApiHttp) -> Self {
        Self { api: Some(api), ..self }
    }

    /// Serves until `end` resolves, then finishes open streams and records what is pending. Returns what came through.
    pub async fn run_until(
        self,
        end: impl Future<Output = ()> + Send + 'static,
    ) -> Result<ProxyTraffic, ServerError> {
        let Self { listener, address: _, proxy, mcp, api, limits, notify } = self;
        let (mcp_router, shutdown_mcp) =
            mcp.map_or_else(|| (Router::new(), None), |mcp| (mcp.router, Some(mcp.shutdown)));
        let (api_router, shutdown_api) = match api {
            Some(api) => {
                let (router, shutdown) = api.into_router(Some(proxy.clone()));
                (router, Some(shutdown))
            }
            None => (Router::new(), None),
        };
        let router = Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(ready))
            .route("/metrics", get(metrics))
            .route(RECENT, get(request_log::serve_log))
            .fallback(relay::relay)
            .with_state(proxy.clone())
            .merge(mcp_router)
            .merge(api_router)
            .layer(middleware::map_request_with_state(limits.clone(), drain_on_drop));
        let ending = async {
            end.await;
            proxy.is_ending.store(true, Ordering::Relaxed);
            for end in [shutdown_mcp, shutdown_api].into_iter().flatten() {
                end();
            }
        };
        listen::serve(listener, router, &limits, ending).await;
        proxy.recordings.finish().await;
        let left = proxy.decider.finish().await as u64;
        if left > 0 {
            let left = plural(left, "request");
            notify(format!("{left} could not be recorded; the clients' next requests contain them again"));
        }
        Ok(proxy.request_metrics.traffic())
    }
}

impl ProxyView for Proxy {
    fn requests_after(&self, number: u64) -> RequestLogPage {
        RequestLogPage { waiting: self.request_metrics.waiting(), requests: self.request_log.after(number) }
    }

    fn recording_status(&self) -> RecordingStatus {
        self.decider.recording_status()
    }

    fn relays(&self, path: &str) -> bool {
        let path = path::normalized(path);
        parse_endpoint(&path).is_some() || path.starts_with(PROVIDER_MODELS)
    }

    fn relay(self: Arc<Self>, request: Request) -> Pin<Box<dyn Future<Output = Response> + Send>> {
        Box::pin(relay::relay(State(self), request))
    }
}

async fn ready(State(proxy): State<Arc<Proxy>>) -> impl IntoResponse {
    let RecordingStatus { failing, waiting, .. } = proxy.decider.recording_status();
    match (proxy.is_ending.load(Ordering::Relaxed), failing) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "ending\n".to_owned()),
        (false, Some(reason)) => {
            let text = format!("not recording: {reason}; {waiting} waiting to be recorded\n");
            (StatusCode::SERVICE_UNAVAILABLE, text)
        }
        (false, None) => (StatusCode::OK, "ready\n".to_owned()),
    }
}

async fn metrics(State(proxy): State<Arc<Proxy>>, method: Method, headers: HeaderMap) -> Response {
    if let Err(refused) = proxy.access.check(&method, &headers, Need::Read) {
        return refusal(refused);
    }
    let text = proxy.request_metrics.to_prometheus(proxy.unrecorded.count(), &proxy.decider.recording_status());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
