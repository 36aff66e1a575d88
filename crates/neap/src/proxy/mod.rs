//! The proxy: any client in front, any provider behind. What it changes of a request is decided in one place ([`decide`]);
//! everything else here carries bytes.
//!
//! A request is looked at before it is let in ([`gate`]), read and unpacked ([`body`]), led to its provider ([`upstream`]), and its
//! answer handed on as it comes ([`relay`]), while somebody listens ([`ear`]). What the store could not take in time is counted and said
//! ([`unrecorded`]). Nothing of a caller's key is stored or logged.

mod body;
mod complaints;
mod decide;
mod ear;
mod fault;
mod gate;
mod guard;
mod hops;
mod limits;
mod linger;
mod listen;
mod meter;
mod other;
mod path;
mod recent;
mod relay;
mod route;
mod unrecorded;
mod upstream;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Router, middleware};
use neap_engine::RecordingStatus;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::mcp::Mcp;
use crate::out::{self, Failure};
pub(crate) use complaints::Complaints;
pub(crate) use decide::Decider;
use ear::Answered;
pub(crate) use gate::Gate;
pub(crate) use guard::Guard;
pub(crate) use limits::Limits;
pub(crate) use linger::is_too_slow;
use meter::Meter;
use recent::Recent;
pub(crate) use recent::{PATH as RECENT, Seen, Told, Used};
pub(crate) use relay::told as reason;
use unrecorded::Unrecorded;
use upstream::Askers;
pub(crate) use upstream::Upstreams;

/// What every request needs.
struct Proxy {
    gate: Gate,
    guard: Guard,
    upstreams: Upstreams,
    askers: Askers,
    decider: Arc<Decider>,
    meter: Arc<Meter>,
    recent: Arc<Recent>,
    unrecorded: Arc<Unrecorded>,
    answers: mpsc::UnboundedSender<Answered>,
    is_ending: AtomicBool,
}

/// A proxy that listens, but does not answer yet.
pub(crate) struct Serving {
    listener: TcpListener,
    address: SocketAddr,
    proxy: Arc<Proxy>,
    recorder: JoinHandle<()>,
    mcp: Option<Mcp>,
    limits: Limits,
}

/// A place to listen at, and where requests go from there.
pub(crate) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    upstreams: Upstreams,
}

impl Bound {
    /// Takes the place, before anything else is made.
    pub(crate) async fn at(listen: SocketAddr, upstreams: Upstreams) -> Result<Self, Failure> {
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            Failure::new(format!("cannot listen at {listen}: {error}")).hint("name another place with --listen")
        })?;
        let address = listener.local_addr()?;
        upstreams.refuse_own(address)?;
        Ok(Self { listener, address, upstreams })
    }

    /// Where it is.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// A proxy there. It may be called by these names, beside addresses and `localhost`.
    pub(crate) fn serving(
        self,
        hosts: Vec<String>,
        decider: Decider,
        guard: Guard,
        limits: Limits,
    ) -> Result<Serving, Failure> {
        let Self { listener, address, upstreams } = self;
        let (answers, heard) = mpsc::unbounded_channel();
        let (decider, meter) = (Arc::new(decider), Arc::new(Meter::default()));
        let (recent, unrecorded) = (Arc::new(Recent::default()), Arc::new(Unrecorded::default()));
        let recording = ear::record(heard, decider.clone(), meter.clone(), recent.clone(), unrecorded.clone());
        let recorder = tokio::spawn(recording);
        let askers = Askers::new()?;
        let gate = Gate::new(hosts);
        let is_ending = AtomicBool::new(false);
        let proxy =
            Proxy { gate, guard, upstreams, askers, decider, meter, recent, unrecorded, answers, is_ending };
        Ok(Serving { listener, address, proxy: Arc::new(proxy), recorder, mcp: None, limits })
    }
}

impl Serving {
    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// With the MCP server beside the proxy.
    pub(crate) fn with_mcp(self, mcp: Mcp) -> Self {
        Self { mcp: Some(mcp), ..self }
    }

    /// Answers until the end is called for; then streams that have begun are finished, and what was heard is recorded.
    pub(crate) async fn until(self, end: impl Future<Output = ()> + Send + 'static) -> Result<(), Failure> {
        let Self { listener, address: _, proxy, recorder, mcp, limits } = self;
        let (beside, end_beside) = mcp.map_or_else(|| (Router::new(), None), |mcp| (mcp.router, Some(mcp.end)));
        let decider = proxy.decider.clone();
        let router = Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(ready))
            .route("/metrics", get(metrics))
            .route(RECENT, get(recent::recent))
            .fallback(relay::relay)
            .with_state(proxy.clone())
            .merge(beside)
            .layer(middleware::map_request_with_state(limits.clone(), linger::lingering));
        let ending = async move {
            end.await;
            proxy.is_ending.store(true, Ordering::Relaxed);
            if let Some(end) = end_beside {
                end();
            }
        };
        listen::serve(listener, router, &limits, ending).await;
        // The last one who could tell of an answer is gone: the rest is recorded, then this ends.
        recorder.await.map_err(|error| Failure::new(error.to_string()))?;
        let left = decider.finish().await as u64;
        if left > 0 {
            out::aside(format!(
                "{} could not be recorded, and will come with its client's next request",
                out::count(left, "request")
            ));
        }
        Ok(())
    }
}

async fn ready(State(proxy): State<Arc<Proxy>>) -> impl IntoResponse {
    let RecordingStatus { failing, waiting, .. } = proxy.decider.recording_status();
    match (proxy.is_ending.load(Ordering::Relaxed), failing) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "ending\n".to_owned()),
        (false, Some(reason)) => {
            let told = format!("not recording: {reason}; {waiting} waiting to be recorded\n");
            (StatusCode::SERVICE_UNAVAILABLE, told)
        }
        (false, None) => (StatusCode::OK, "ready\n".to_owned()),
    }
}

async fn metrics(State(proxy): State<Arc<Proxy>>) -> impl IntoResponse {
    let text = proxy.meter.written(proxy.unrecorded.count(), &proxy.decider.recording_status());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}
