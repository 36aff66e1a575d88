//! HTTP proxy between any OpenAI- or Anthropic-compatible client and its provider.
//!
//! The gate (`access`) admits a request and says whose it is, `body` reads and decompresses it, `upload` forwards one
//! that need not be read while it arrives, `decide` alone may change it, `upstream` picks its provider, `http_clients` sends it there, and
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
mod tenant;
mod throttled_log;
mod tls;
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

use crate::access::{Access, Grant, Need, Refused};
use crate::api::{ApiHttp, ProxyView, refusal};
use crate::mcp::McpHttp;
use crate::tenants::{NotServed, Services, Tenants};
use crate::{Notify, ServerError};
pub use decide::Decider;
pub(crate) use drain_body::{drain_on_drop, is_body_timeout};
use error::ProxyError;
use http_clients::HttpClients;
pub use limits::ProxyLimits;
pub(crate) use listen::serve as serve_connections;
pub use request_log::{LoggedRequest, PATH as RECENT, RequestLogPage, RequestUsage};
use request_metrics::ProxyMetrics;
pub use request_metrics::ProxyTraffic;
use response_recorder::Recordings;
pub(crate) use tenant::TenantProxy;
pub use throttled_log::ThrottledLog;
pub(crate) use tls::OverTls;
pub use tls::ServerTls;
pub use token_guard::TokenGuard;
use unrecorded::UnrecordedLog;
pub use upstream::Upstreams;

/// What clients of a provider with the API's prefix ask for beside its endpoints.
const PROVIDER_MODELS: &str = "/api/v1/models";

struct Proxy {
    access: Arc<Access>,
    tenants: Arc<Tenants>,
    token_guard: Arc<TokenGuard>,
    upstreams: Upstreams,
    clients: HttpClients,
    request_metrics: ProxyMetrics,
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
    tls: Option<ServerTls>,
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
        tenants: Arc<Tenants>,
        token_guard: TokenGuard,
        limits: ProxyLimits,
    ) -> Result<ProxyServer, ServerError> {
        let Self { listener, address, upstreams, notify } = self;
        let proxy = Proxy {
            access,
            tenants,
            token_guard: Arc::new(token_guard),
            upstreams,
            clients: HttpClients::new()?,
            request_metrics: ProxyMetrics::default(),
            unrecorded: UnrecordedLog::new(notify),
            recordings: Recordings::default(),
            is_ending: AtomicBool::new(false),
        };
        Ok(ProxyServer {
            listener,
            address,
            proxy: Arc::new(proxy),
            mcp: None,
            api: None,
            tls: None,
            limits,
            notify,
        })
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

    pub fn with_tls(self, tls: Option<ServerTls>) -> Self {
        Self { tls, ..self }
    }

    /// Serves until `end` resolves, then finishes open streams and records what is pending. Returns what came through.
    pub async fn run_until(
        self,
        end: impl Future<Output = ()> + Send + 'static,
    ) -> Result<ProxyTraffic, ServerError> {
        let Self { listener, address: _, proxy, mcp, api, tls, limits, notify } = self;
        let mcp_router = mcp.map_or_else(Router::new, McpHttp::into_router);
        let api_router = api.map_or_else(Router::new, |api| api.into_router(Some(proxy.clone())));
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
            proxy.tenants.end_streams();
        };
        listen::serve(listener, router, tls, &limits, ending).await;
        proxy.recordings.finish().await;
        let left = proxy.tenants.finish().await as u64;
        proxy.access.finish().await;
        if left > 0 {
            let left = plural(left, "request");
            notify(format!("{left} could not be recorded; the clients' next requests contain them again"));
        }
        Ok(proxy.request_metrics.traffic())
    }
}

impl Proxy {
    /// Whose request it is, and what serves that tenant.
    async fn tenant_of(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<(Grant, Arc<Services>, Arc<TenantProxy>), ProxyError> {
        let grant = match self.access.check(method, headers, Need::Proxy).await {
            Ok(Some(grant)) => grant,
            Ok(None) => return Err(ProxyError::Refused(Refused::NoKey)),
            Err(Refused::Origin(reason)) => return Err(ProxyError::Forbidden(reason)),
            Err(refused) => return Err(ProxyError::Refused(refused)),
        };
        let unavailable = || ProxyError::Refused(Refused::Unavailable);
        let services = self.tenants.of(&grant).await.map_err(|NotServed| unavailable())?;
        let tenant = services.proxy.clone().ok_or_else(unavailable)?;
        Ok((grant, services, tenant))
    }
}

impl ProxyView for Proxy {
    fn relays(&self, path: &str) -> bool {
        let path = path::normalized(path);
        parse_endpoint(&path).is_some() || path.starts_with(PROVIDER_MODELS)
    }

    fn relay(self: Arc<Self>, request: Request) -> Pin<Box<dyn Future<Output = Response> + Send>> {
        Box::pin(relay::relay(State(self), request))
    }
}

async fn ready(State(proxy): State<Arc<Proxy>>) -> impl IntoResponse {
    let RecordingStatus { failing, waiting, .. } = proxy.tenants.recording_status();
    match (proxy.is_ending.load(Ordering::Relaxed), failing) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "ending\n".to_owned()),
        // Whoever has no key learns nothing of a tenant, such as its name in a path.
        (false, Some(_)) if proxy.access.is_keyed() => {
            (StatusCode::SERVICE_UNAVAILABLE, "not recording\n".to_owned())
        }
        (false, Some(reason)) => {
            let text = format!("not recording: {reason}; {waiting} waiting to be recorded\n");
            (StatusCode::SERVICE_UNAVAILABLE, text)
        }
        (false, None) => (StatusCode::OK, "ready\n".to_owned()),
    }
}

async fn metrics(State(proxy): State<Arc<Proxy>>, method: Method, headers: HeaderMap) -> Response {
    if let Err(refused) = proxy.access.check(&method, &headers, Need::Server).await {
        return refusal(refused);
    }
    let text = proxy.request_metrics.to_prometheus(proxy.unrecorded.count(), &proxy.tenants.recording_status());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
