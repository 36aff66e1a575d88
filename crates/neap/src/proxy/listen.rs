//! Takes connections, as many at once as there may be, and gives each request's head only so much time and room.

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

use super::limits::Limits;

/// Whoever is turned away is given so long to read why.
const TURNED_AWAY_LIMIT: Duration = Duration::from_secs(2);
/// So many are told why at once; more are only closed.
const TURNED_AWAY_MAX: usize = 64;
/// After a connection could not be taken, since descriptors ran out.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers until the end is called for; then requests that have begun are finished.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: &Limits,
    end: impl Future<Output = ()> + Send,
) {
    let mut http = http1::Builder::new();
    // A connection that is kept alive waits for its next head, and so has the same time.
    http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_header_size(limits.head_bytes_max);
    let seats = Arc::new(Semaphore::new(limits.connections_max));
    let refusals = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
    let graceful = GracefulShutdown::new();
    let mut end = pin!(end);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
        };
        let (client, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(target: "neap::proxy", %error, "a connection could not be taken");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Ok(seat) = seats.clone().try_acquire_owned() else {
            if let Ok(told) = refusals.clone().try_acquire_owned() {
                let most = limits.connections_max;
                tokio::spawn(async move {
                    turn_away(client, most).await;
                    drop(told);
                });
            }
            continue;
        };
        // Each token goes out as it comes, and waits for no other.
        if let Err(error) = client.set_nodelay(true) {
            tracing::debug!(target: "neap::proxy", %error, "a client's tokens may be held back");
        }
        let connection = graceful.watch(http.serve_connection(TokioIo::new(client), answering(&router, peer)));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(target: "neap::proxy", %error, "a connection ended");
            }
            drop(seat);
        });
    }
    // Nobody new is let in.
    drop(listener);
    graceful.shutdown().await;
}

/// Who answers on a connection.
fn answering(
    router: &Router,
    peer: SocketAddr,
) -> impl Service<
    Request<Incoming>,
    Response = axum::response::Response,
    Error = std::convert::Infallible,
    Future = impl Future<Output = Result<axum::response::Response, std::convert::Infallible>> + Send + 'static,
> + Send
+ 'static {
    let service = TowerToHyperService::new(router.clone());
    service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        service.call(request)
    })
}

/// Tells whoever comes when all seats are taken.
async fn turn_away(mut client: TcpStream, most: usize) {
    let body = format!(
        "{{\"error\":{{\"message\":\"neap serves {most} connections at once, and all are in use; try again\",\"type\":\"server_error\",\
         \"param\":null,\"code\":\"too_many_connections\"}}}}"
    );
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {}\r\nretry-after: 1\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let told = async {
        client.write_all(answer.as_bytes()).await?;
        client.shutdown().await?;
        // What it sends is read: a connection that is closed before that takes the answer with it.
        let mut unwanted = [0; 4096];
        while client.read(&mut unwanted).await? > 0 {}
        std::io::Result::Ok(())
    };
    let _ = timeout(TURNED_AWAY_LIMIT, told).await;
}

#[cfg(test)]
mod tests;
