//! The API and the page on a port of their own, without a proxy.

use std::future::Future;
use std::net::SocketAddr;

use axum::http::StatusCode;
use axum::middleware;
use axum::response::IntoResponse;
use tokio::net::TcpListener;

use super::ApiHttp;
use crate::ServerError;
use crate::proxy::{ProxyLimits, drain_on_drop, serve_connections};

/// A bound socket, so that a taken port fails before anything else is set up.
pub struct BoundUi {
    listener: TcpListener,
    address: SocketAddr,
}

pub struct UiServer {
    listener: TcpListener,
    api: ApiHttp,
}

impl BoundUi {
    pub async fn bind(listen: SocketAddr) -> Result<Self, ServerError> {
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            ServerError::new(format!("cannot listen at {listen}: {error}"))
                .hint("choose another address with --listen")
        })?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn into_server(self, api: ApiHttp) -> UiServer {
        UiServer { listener: self.listener, api }
    }
}

impl UiServer {
    /// Serves until `end` resolves, then finishes the requests in flight.
    pub async fn run_until(self, end: impl Future<Output = ()> + Send + 'static) {
        let limits = ProxyLimits::default();
        let tenants = self.api.tenants.clone();
        let router = self.api.into_router(None);
        let nothing = || async { (StatusCode::NOT_FOUND, "The page is at /ui/, the API at /api/v1.\n") };
        let router = router
            .fallback(move || async move { nothing().await.into_response() })
            .layer(middleware::map_request_with_state(limits.clone(), drain_on_drop));
        let ending = async {
            end.await;
            tenants.end_streams();
        };
        serve_connections(self.listener, router, None, &limits, ending).await;
    }
}
