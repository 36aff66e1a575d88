//! Tests of the limits, with short timeouts.

use axum::body::Body;
use axum::middleware;
use axum::routing::{get, post};
use neap_core::client::WireApi;
use tokio::sync::oneshot;

use super::super::{body, drain_body};
use super::*;

/// A test that waits this long has failed.
const NEVER: Duration = Duration::from_secs(600);
const SOON: Duration = Duration::from_millis(50);

fn patient() -> ProxyLimits {
    ProxyLimits { head_timeout: NEVER, body_frame_timeout: NEVER, body_timeout: NEVER, ..ProxyLimits::default() }
}

/// A server that responds with the length of the body.
struct Served {
    address: SocketAddr,
    _end: oneshot::Sender<()>,
}

async fn served(limits: ProxyLimits) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let read = |request: axum::extract::Request| async {
        let (parts, body) = request.into_parts();
        match body::read(body, &parts.headers).await {
            Ok(bytes) => axum::response::Response::new(Body::from(bytes.len().to_string())),
            Err(fault) => fault.response(WireApi::Chat),
        }
    };
    let router = Router::new()
        .route("/", post(read))
        .route("/hello", get(|| async { "hello" }))
        .layer(middleware::map_request_with_state(limits.clone(), drain_body::drain_on_drop));
    let (end, ended) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let ended = async {
            let _ = ended.await;
        };
        serve(listener, router, None, &limits, ended).await;
    });
    Served { address, _end: end }
}

async fn exchange(served: &Served, bytes: &[u8]) -> String {
    let mut connection = TcpStream::connect(served.address).await.expect("a server");
    connection.write_all(bytes).await.expect("it takes them");
    ended(connection).await
}

async fn ended(mut connection: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = connection.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// Section 8: a head that never ends does not hold its connection.
#[tokio::test]
async fn a_head_that_does_not_end_is_given_up() {
    let served = served(ProxyLimits { head_timeout: SOON, ..patient() }).await;
    for begun in ["", "GET /hello HTTP/1.1\r\n", "GET /hello HTTP/1.1\r\nhost: localhost\r\nx-slow: "] {
        assert_eq!(exchange(&served, begun.as_bytes()).await, "", "{begun:?}: the connection ends");
    }
    // A kept-alive connection that stays silent is closed.
    let answer = exchange(&served, b"GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(answer.ends_with("hello"), "{answer}");
}

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let slow_next = ProxyLimits { body_frame_timeout: SOON, ..patient() };
    let slow_whole = ProxyLimits { body_timeout: SOON, ..patient() };
    for limits in [slow_next, slow_whole] {
        let served = served(limits).await;
        for begun in [
            "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\n",
            "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nhal",
            "POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhal\r\n",
        ] {
            let answer = exchange(&served, begun.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("request_timeout"), "{answer}");
        }
        let whole = b"POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 5\r\n\r\nwhole";
        assert!(exchange(&served, whole).await.ends_with("\r\n\r\n5"));
    }
}

/// A body whose frames each arrive in time still has a deadline.
#[tokio::test]
async fn a_body_that_trickles_is_given_up() {
    let served = served(ProxyLimits { body_timeout: SOON, ..patient() }).await;
    let mut connection = TcpStream::connect(served.address).await.expect("a server");
    connection
        .write_all(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10000000\r\n\r\n")
        .await
        .expect("it takes the head");
    let (read, mut write) = connection.into_split();
    let trickle = tokio::spawn(async move {
        while write.write_all(b"x").await.is_ok() {
            tokio::task::yield_now().await;
        }
    });
    let mut read = read;
    let mut answer = [0; 12];
    read.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 408");
    trickle.abort();
}

/// RELIABILITY: at the limit, and one byte above it.
#[tokio::test]
async fn a_head_is_as_long_as_it_may_be() {
    let limits = ProxyLimits { head_bytes_max: 1_000, ..patient() };
    let served = served(limits.clone()).await;
    let head = |bytes: usize| {
        let begin = "GET /hello HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-long: ";
        format!("{begin}{}\r\n\r\n", "a".repeat(bytes - begin.len() - 4))
    };
    let answer = exchange(&served, head(limits.head_bytes_max).as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let answer = exchange(&served, head(limits.head_bytes_max + 1).as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn only_so_many_connections_are_served_at_once() {
    let served = served(ProxyLimits { connections_max: 2, ..patient() }).await;
    let ask = b"GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut connection = TcpStream::connect(served.address).await.expect("a server");
        connection.write_all(ask).await.expect("it takes it");
        let mut begin = [0; 12];
        connection.read_exact(&mut begin).await.expect("an answer");
        assert_eq!(&begin, b"HTTP/1.1 200");
        kept.push(connection);
    }
    let answer = exchange(&served, ask).await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("too_many_connections"), "{answer}");
    // A released permit is used again; the server notices the close a moment later.
    kept.pop();
    let mut answer = String::new();
    for _ in 0..1_000 {
        answer = exchange(&served, b"GET /hello HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await;
        if answer.starts_with("HTTP/1.1 200 ") {
            break;
        }
    }
    assert!(answer.ends_with("hello"), "{answer}");
}

/// A response may take longer than any timeout on requests.
#[tokio::test]
async fn a_long_answer_is_not_cut_off() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let slow = get(|| async {
        tokio::time::sleep(SOON * 6).await;
        "late"
    });
    let limits =
        ProxyLimits { head_timeout: SOON, body_frame_timeout: SOON, body_timeout: SOON, ..ProxyLimits::default() };
    let router = Router::new()
        .route("/", slow)
        .layer(middleware::map_request_with_state(limits.clone(), drain_body::drain_on_drop));
    tokio::spawn(async move { serve(listener, router, None, &limits, std::future::pending()).await });
    let served = Served { address, _end: oneshot::channel().0 };
    let answer = exchange(&served, b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await;
    assert!(answer.ends_with("late"), "{answer}");
}
