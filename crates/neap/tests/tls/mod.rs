//! A provider that speaks TLS: HTTP/2 or HTTP/1.1, as it chooses in the handshake. The binary trusts its certificate
//! by `SSL_CERT_FILE`.

use std::future::poll_fn;
use std::io::Cursor;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use h2::Reason;
use h2::server::SendResponse;
use http::Version;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::server::TlsStream;

pub(crate) const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tls/cert.pem");
const KEY: &[u8] = include_bytes!("../fixtures/tls/key.der");

/// What is done to the first HTTP/2 connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Stay,
    /// It takes no more requests after an answer.
    GoAway,
    /// It is closed without a word when answers are released.
    Close,
    /// Its second request is refused once, before anything is done for it.
    RefuseOne,
}

#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Counted from 1.
    pub(crate) connection: usize,
    pub(crate) version: Version,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Behaviour {
    pub(crate) protocol: &'static str,
    pub(crate) streams_max: u32,
    pub(crate) then: Then,
}

impl Behaviour {
    pub(crate) const HTTP_2: Self = Self { protocol: "h2", streams_max: 100, then: Then::Stay };
    pub(crate) const HTTP_1: Self = Self { protocol: "http/1.1", ..Self::HTTP_2 };
}

/// In a request's body: its answer's second half comes when the provider is told so.
pub(crate) const HOLD: &str = "hold-this-answer";

pub(crate) struct TlsProvider {
    address: String,
    shared: Arc<Shared>,
}

struct Shared {
    behaviour: Behaviour,
    halves: [String; 2],
    seen: Mutex<Vec<Seen>>,
    /// Answers that their client no longer wanted.
    given_up: AtomicUsize,
    /// Whether both sides have closed the first connection.
    is_closed: AtomicBool,
    is_released: watch::Sender<bool>,
}

impl TlsProvider {
    pub(crate) fn start(behaviour: Behaviour, halves: [String; 2]) -> Self {
        let shared = Shared {
            behaviour,
            halves,
            seen: Mutex::default(),
            given_up: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            is_released: watch::channel(false).0,
        };
        let shared = Arc::new(shared);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("an address").to_string();
        let ours = shared.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(serve(listener, ours));
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().expect("a log").clone()
    }

    pub(crate) fn given_up(&self) -> usize {
        self.shared.given_up.load(Ordering::SeqCst)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shared.is_closed.load(Ordering::SeqCst)
    }

    pub(crate) fn release(&self) {
        self.shared.is_released.send_replace(true);
    }
}

async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = TcpListener::from_std(listener).expect("a socket");
    let certificate = CertificateDer::from_pem_file(CERTIFICATE).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    // Chooses how the program encrypts.
    let _ = neap_model::client::http_client();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key);
    let mut config = config.expect("a key");
    config.alpn_protocols = vec![shared.behaviour.protocol.into()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    for connection in 1.. {
        let Ok((socket, _)) = listener.accept().await else { return };
        let (acceptor, shared) = (acceptor.clone(), shared.clone());
        tokio::spawn(async move {
            let socket = socket.into_std().expect("a socket");
            let raw = TcpStream::from_std(socket.try_clone().expect("a socket")).expect("a socket");
            let Ok(tls) = acceptor.accept(TcpStream::from_std(socket).expect("a socket")).await else { return };
            match tls.get_ref().1.alpn_protocol() {
                Some(b"h2") => serve_http2(tls, connection, &shared, raw).await,
                _ => serve_http1(tls, connection, shared).await,
            }
        });
    }
}

async fn serve_http2(tls: TlsStream<TcpStream>, connection: usize, shared: &Arc<Shared>, raw: TcpStream) {
    let Behaviour { streams_max, then, .. } = shared.behaviour;
    let then = if connection == 1 { then } else { Then::Stay };
    let handshake = h2::server::Builder::new().max_concurrent_streams(streams_max).handshake(tls).await;
    let mut http2 = handshake.expect("HTTP/2");
    let (answered, mut is_answered) = watch::channel(false);
    let mut is_released = shared.is_released.subscribe();
    let mut count = 0;
    loop {
        let (request, mut respond) = tokio::select! {
            accepted = http2.accept() => match accepted {
                Some(Ok(accepted)) => accepted,
                Some(Err(_)) | None => return,
            },
            _ = is_answered.changed(), if then == Then::GoAway => {
                http2.graceful_shutdown();
                continue;
            }
            _ = is_released.changed(), if then == Then::Close => return close(raw, shared).await,
        };
        count += 1;
        if then == Then::RefuseOne && count == 2 {
            respond.send_reset(Reason::REFUSED_STREAM);
            continue;
        }
        let (shared, answered) = (shared.clone(), answered.clone());
        tokio::spawn(async move {
            let (head, mut incoming) = request.into_parts();
            let mut body = Vec::new();
            while let Some(Ok(data)) = incoming.data().await {
                let _ = incoming.flow_control().release_capacity(data.len());
                body.extend_from_slice(&data);
            }
            let is_held = shared.note(connection, head.version, body);
            if respond_http2(&mut respond, is_held, &shared).await.is_none() {
                shared.given_up.fetch_add(1, Ordering::SeqCst);
            }
            answered.send_replace(true);
        });
    }
}

/// Without a word, as a lost machine does; returns when the client has noticed.
async fn close(mut raw: TcpStream, shared: &Shared) {
    raw.shutdown().await.expect("a socket");
    while raw.read(&mut [0; 4096]).await.is_ok_and(|count| count > 0) {}
    shared.is_closed.store(true, Ordering::SeqCst);
}

/// `None` if the client gave the answer up.
async fn respond_http2(respond: &mut SendResponse<Cursor<Vec<u8>>>, is_held: bool, shared: &Shared) -> Option<()> {
    let head = http::Response::builder().header("content-type", "text/event-stream").body(()).expect("a head");
    let mut stream = respond.send_response(head, false).ok()?;
    let [first, second] = shared.halves.each_ref().map(|half| Cursor::new(half.clone().into_bytes()));
    stream.send_data(first, false).ok()?;
    if is_held {
        let mut is_released = shared.is_released.subscribe();
        tokio::select! {
            _ = is_released.wait_for(|is_released| *is_released) => {}
            _ = poll_fn(|cx| stream.poll_reset(cx)) => return None,
        }
    }
    stream.send_data(second, true).ok()
}

/// With an announced length, or in chunks if it is held; the connection stays.
async fn serve_http1(tls: TlsStream<TcpStream>, connection: usize, shared: Arc<Shared>) {
    let mut tls = BufReader::new(tls);
    while let Some(body) = read_http1(&mut tls).await {
        let is_held = shared.note(connection, Version::HTTP_11, body);
        let [first, second] = &shared.halves;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
        let text = match is_held {
            false => format!("{head}content-length: {}\r\n\r\n{first}{second}", first.len() + second.len()),
            true => {
                let begun = format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n", first.len());
                if tls.write_all(begun.as_bytes()).await.is_err() || tls.flush().await.is_err() {
                    return;
                }
                let _ = shared.is_released.subscribe().wait_for(|is_released| *is_released).await;
                format!("{:x}\r\n{second}\r\n0\r\n\r\n", second.len())
            }
        };
        if tls.write_all(text.as_bytes()).await.is_err() || tls.flush().await.is_err() {
            return;
        }
    }
}

async fn read_http1(tls: &mut BufReader<TlsStream<TcpStream>>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if tls.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().ok()?,
            _ if line == "\r\n" => break,
            Some(_) | None => {}
        }
    }
    let mut body = vec![0; length];
    tls.read_exact(&mut body).await.ok()?;
    Some(body)
}

impl Shared {
    /// Whether the answer is to be held.
    fn note(&self, connection: usize, version: Version, body: Vec<u8>) -> bool {
        let is_held = String::from_utf8_lossy(&body).contains(HOLD);
        self.seen.lock().expect("a log").push(Seen { connection, version, body });
        is_held
    }
}
