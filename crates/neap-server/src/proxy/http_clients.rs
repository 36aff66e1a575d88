//! HTTP clients for requests to providers, one request on each at a time.
//!
//! Over HTTP/2 all requests of a client share one connection, and a provider answers only so many at once on it: the
//! others would wait, however long the open streams last. So a request has a client, and with it a connection, of
//! its own, as over HTTP/1.1, and the next request takes both over.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::http::{self, HeaderMap, Method};
use http_body::{Frame, SizeHint};
use neap_model::client::{BaseUrl, http_client, root_cause};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};

use super::error::ProxyError;
use crate::ServerError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Until a response begins, and between two chunks of it; a model may think for long in silence.
const READ_TIMEOUT: Duration = Duration::from_secs(900);
/// Clients kept for an origin while no request needs them; a client closes a connection that is idle for 90 seconds.
const IDLE_MAX: usize = 32;

/// By the origin (scheme, host, port) that a client is connected with; the last used is used first.
type IdleClients = HashMap<String, Vec<Client>>;

pub(crate) struct HttpClients {
    idle: Arc<Mutex<IdleClients>>,
}

impl HttpClients {
    /// Fails where no client can be made, so that it is told at the start.
    pub(crate) fn new() -> Result<Self, ServerError> {
        let failed = |error: reqwest::Error| ServerError::new(format!("cannot create an HTTP client: {error}"));
        client(true).and(client(false)).map_err(failed)?;
        Ok(Self { idle: Arc::default() })
    }

    /// Returns when the response begins. Its client is used again if its body is read to the end; otherwise, and after
    /// an upload, which may still be running then, it is dropped, which closes its connection.
    pub(crate) async fn send(
        &self,
        (method, url): (Method, Url),
        headers: HeaderMap,
        body: Option<reqwest::Body>,
    ) -> Result<Response, ProxyError> {
        let origin = url.origin().ascii_serialization();
        let unreachable =
            |error: reqwest::Error| ProxyError::Unreachable(format!("{} ({origin})", root_cause(&error)));
        let idle = lock(&self.idle).get_mut(&origin).and_then(Vec::pop);
        let client = match idle {
            Some(client) => client,
            None => client(is_local(&url)).map_err(unreachable)?,
        };
        let is_upload = body.as_ref().is_some_and(|body| body.as_bytes().is_none());
        let mut request = client.request(method, url).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        let response = request.send().await.map_err(unreachable)?;
        let (head, body) = http::Response::<reqwest::Body>::from(response).into_parts();
        let lease = Lease { client, origin, idle: self.idle.clone() };
        let mut body = LeasedBody { body, lease: Some(lease).filter(|_| !is_upload) };
        if body.is_end_stream() {
            body.end();
        }
        Ok(http::Response::from_parts(head, reqwest::Body::wrap(body)).into())
    }
}

fn is_local(url: &Url) -> bool {
    BaseUrl::parse(url.as_str()).is_ok_and(|base| base.is_loopback())
}

/// A client for this machine ignores the system's proxy settings.
fn client(is_local: bool) -> Result<Client, reqwest::Error> {
    let builder = http_client().connect_timeout(CONNECT_TIMEOUT).read_timeout(READ_TIMEOUT);
    // Redirects are the client's to follow.
    let builder = builder.redirect(Policy::none());
    if is_local { builder.no_proxy().build() } else { builder.build() }
}

fn lock(idle: &Mutex<IdleClients>) -> MutexGuard<'_, IdleClients> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client in use.
struct Lease {
    client: Client,
    origin: String,
    idle: Arc<Mutex<IdleClients>>,
}

impl Lease {
    fn give_back(self) {
        let Self { client, origin, idle } = self;
        let mut idle = lock(&idle);
        let idle = idle.entry(origin).or_default();
        if idle.len() < IDLE_MAX {
            idle.push(client);
        }
    }
}

/// A response's body, which gives its client back at its end.
struct LeasedBody {
    body: reqwest::Body,
    lease: Option<Lease>,
}

impl LeasedBody {
    fn end(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.give_back();
        }
    }
}

impl HttpBody for LeasedBody {
    type Data = Bytes;
    type Error = reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, reqwest::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        // Nobody asks for more after the last byte of a known length.
        if frame.is_none() || self.body.is_end_stream() {
            self.end();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
