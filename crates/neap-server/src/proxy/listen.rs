//! Accepts connections up to a limit, and limits the time and size of each request's head.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::limits::ProxyLimits;
use super::tls::{Connection, OverTls, ServerTls};
use crate::access::take_key_from_path;

/// How long a rejected client has to read why.
const REJECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Rejections answered at once; further connections are just closed.
const REJECTS_MAX: usize = 64;
/// Wait after a failed accept, usually for want of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Serves until `end` resolves, then finishes the requests in flight.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    tls: Option<ServerTls>,
    limits: &ProxyLimits,
    end: impl Future<Output = ()> + Send,
) {
    let mut http = http1::Builder::new();
    // The timeout also covers a kept-alive connection waiting for its next request.
    http.timer(TokioTimer::new()).header_read_timeout(limits.head_timeout).max_header_size(limits.head_bytes_max);
    let permits = Arc::new(Semaphore::new(limits.connections_max));
    let reject_permits = Arc::new(Semaphore::new(REJECTS_MAX));
    let graceful = GracefulShutdown::new();
    let mut end = pin!(end);
    loop {
        let accepted = tokio::select! {
            // First, so that it listens for its signal before anybody is served.
            biased;
            () = &mut end => break,
            accepted = listener.accept() => accepted,
        };
        let (client, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(target: "neap::proxy", %error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            }
        };
        let Ok(permit) = permits.clone().try_acquire_owned() else {
            // Over TLS, a handshake would cost more than the word is worth.
            if tls.is_none()
                && let Ok(reject_permit) = reject_permits.clone().try_acquire_owned()
            {
                let most = limits.connections_max;
                tokio::spawn(async move {
                    reject_connection(client, most).await;
                    drop(reject_permit);
                });
            }
            continue;
        };
        // Send each token as it arrives.
        if let Err(error) = client.set_nodelay(true) {
            tracing::debug!(target: "neap::proxy", %error, "cannot set TCP_NODELAY; tokens may arrive late");
        }
        let service = connection_service(&router, peer, tls.is_some());
        let (http, watcher, tls) = (http.clone(), graceful.watcher(), tls.clone());
        tokio::spawn(async move {
            let connection = match tls {
                Some(tls) => tls.accept(client).await,
                None => Ok(Connection::Plain(client)),
            };
            match connection {
                Ok(connection) => {
                    let served = watcher.watch(http.serve_connection(TokioIo::new(connection), service)).await;
                    if let Err(error) = served {
                        tracing::debug!(target: "neap::proxy", %error, "a connection ended");
                    }
                }
                Err(error) => tracing::debug!(target: "neap::proxy", %error, "a client did not shake hands"),
            }
            drop(permit);
        });
    }
    // Stop accepting.
    drop(listener);
    graceful.shutdown().await;
}

fn connection_service(
    router: &Router,
    peer: SocketAddr,
    is_tls: bool,
) -> impl Service<
    Request<Incoming>,
    Response = axum::response::Response,
    Error = std::convert::Infallible,
    Future = impl Future<Output = Result<axum::response::Response, std::convert::Infallible>> + Send + 'static,
> + Send
+ 'static {
    let service = TowerToHyperService::new(router.clone());
    service_fn(move |mut request: Request<Incoming>| {
        take_key_from_path(&mut request);
        request.extensions_mut().insert(ConnectInfo(peer));
        if is_tls {
            request.extensions_mut().insert(OverTls);
        }
        service.call(request)
    })
}

async fn reject_connection(mut client: TcpStream, most: usize) {
    let body = format!(
        "{{\"error\":{{\"message\":\"neap serves {most} connections at once, and all are in use; try again\",\"type\":\"server_error\",\
         \"param\":null,\"code\":\"too_many_connections\"}}}}"
    );
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {}\r\nretry-after: 1\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let reply = async {
        client.write_all(answer.as_bytes()).await?;
        client.shutdown().await?;
        // Read what the client sends: closing earlier would reset the connection and lose the response.
        let mut unwanted = [0; 4096];
        while client.read(&mut unwanted).await? > 0 {}
        std::io::Result::Ok(())
    };
    let _ = timeout(REJECT_TIMEOUT, reply).await;
}

#[cfg(test)]
mod tests;
