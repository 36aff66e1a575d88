//! `neap serve`: the real binary between a client and a provider, byte by byte.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, mpsc};

use crate::mock::{ALL, End, Mock, Reply, Speaks};
use crate::rig::{self, Neap};
use crate::wait::wait_until;
use crate::wire::{Proxy, answer};
use serde_json::{Value, json};

const KEY: &str = "key-that-nobody-may-see";

fn path(speaks: Speaks) -> &'static str {
    match speaks {
        Speaks::Chat => "/v1/chat/completions",
        Speaks::Responses => "/v1/responses",
        Speaks::Messages => "/v1/messages",
    }
}

/// With a field, an order and spaces that nobody expects.
fn body(speaks: Speaks) -> String {
    let history = if speaks == Speaks::Responses { "input" } else { "messages" };
    format!(
        "{{ \"zz_unknown\": [1.0, 1e2],\"{history}\" : [{{\"role\":\"user\",\"content\":\"h\\u00e9\", \"x\":null}}],\"stream\":true, \"model\":\"m\"}}"
    )
}

/// What is for Neap itself, and what proves to it who asks, never goes to a provider: with a slash too many, or before a login.
#[test]
fn what_is_for_neap_itself_goes_to_no_provider() {
    let mock = Mock::start(|_, _| Reply::new(200, "application/json", "{}"));
    let proxy = Proxy::with(&["--upstream", &mock.url("")], &[("NEAP_MCP_TOKEN", KEY)]);
    let bearer = format!("Bearer {KEY}");
    for path in ["/mcp/", "/mcp/x", "/s/mine/mcp", "/.well-known/oauth-protected-resource/x"] {
        let answer = proxy.ask("POST", path, &[("authorization", &bearer)], b"{}");
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (404, &json!("not_found")), "{path}");
    }
    assert_eq!(proxy.ask("POST", "/mcp", &[], b"{}").status, 401);
    // What it says of itself is there to be read.
    let told =
        proxy.ask("POST", "/.well-known/oauth-protected-resource/mcp", &[("authorization", &bearer)], b"{}");
    assert_eq!(told.status, 405);
    assert!(mock.requests().is_empty());
}

/// PROTOCOLS: what comes is passed on as it came, both ways, the caller's key with it.
#[test]
fn streams_are_passed_on_byte_for_byte() {
    for speaks in ALL {
        let stream = format!(": ping\n\n{}", speaks.words(&["Hel", "lo é"]));
        let whole = stream.clone();
        let mock = Mock::start(move |_, _| Reply::stream(whole.clone()).header("x-request-id", "r-1"));
        let proxy = Proxy::with(&["--upstream", &mock.url("")], &[("NEAP_LOG", "trace")]);
        let key = if speaks == Speaks::Messages { "x-api-key" } else { "authorization" };
        let headers = [(key, KEY), ("anthropic-beta", "a,b"), ("session-id", "s-1"), ("x-neap-session", "mine")];
        let answer = proxy.ask("POST", path(speaks), &headers, body(speaks).as_bytes());
        assert_eq!((answer.status, answer.is_whole), (200, true), "{speaks:?}");
        assert_eq!(answer.text(), stream, "{speaks:?}");
        assert_eq!(answer.header("x-request-id"), Some("r-1"), "{speaks:?}");
        assert_eq!(answer.header("x-neap-changes"), Some("0"), "{speaks:?}");
        let [request] = &mock.requests()[..] else { panic!("one request") };
        assert_eq!(request.body, body(speaks), "{speaks:?}");
        assert_eq!(
            (request.header(key), request.header("anthropic-beta")),
            (Some(KEY), Some("a,b")),
            "{speaks:?}"
        );
        assert_eq!((request.header("session-id"), request.header("x-neap-session")), (Some("s-1"), None));
        proxy.wait_for("neap_tokens_input_total", 100);
        assert_eq!(proxy.metric("neap_tokens_cached_total"), Some(80), "{speaks:?}");
        let log = proxy.wait_for_log("answered");
        assert!(!log.contains(KEY), "{log}");
        assert_eq!(rig::holding(proxy.neap.place(), KEY), Vec::<std::path::PathBuf>::new());
    }
}

#[test]
fn what_is_not_about_a_history_passes_unseen() {
    let models = r#"{"object":"list", "data":[ ]}"#;
    let mock = Mock::start(move |_, _| Reply::new(200, "application/json", models));
    let proxy = Proxy::start(&mock.url("/v1"));
    for path in ["/v1/models?limit=2", "/v1/files/x/content", "/api/tags"] {
        let answer = proxy.ask("GET", path, &[("authorization", "Bearer k")], b"");
        assert_eq!((answer.status, answer.text().as_str(), answer.header("x-neap-changes")), (200, models, None));
    }
    assert_eq!(proxy.post("/v1/messages/count_tokens", "{}").status, 200);
    let paths: Vec<String> = mock.requests().iter().map(|request| request.path.clone()).collect();
    assert_eq!(paths, ["/v1/models?limit=2", "/v1/files/x/content", "/api/tags", "/v1/messages/count_tokens"]);
}

/// What a provider refuses is the client's to read, with all that helps it to recover.
#[test]
fn errors_of_the_provider_are_passed_on() {
    let error =
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#;
    let mock = Mock::start(move |_, _| Reply::error(429, error).header("retry-after", "7"));
    let proxy = Proxy::start(&mock.url(""));
    let answer = proxy.post("/v1/messages", "this is not JSON");
    assert_eq!((answer.status, answer.text().as_str(), answer.header("retry-after")), (429, error, Some("7")));
    assert_eq!(mock.requests()[0].body, "this is not JSON", "the provider says what is wrong");
    assert_eq!(mock.requests().len(), 1, "and nothing is asked again");
}

#[test]
fn packed_bodies_are_unpacked() {
    let mock = Mock::start(|_, _| Reply::stream(Speaks::Responses.words(&["ok"])));
    let proxy = Proxy::start(&mock.url(""));
    let words = body(Speaks::Responses);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(words.as_bytes()).expect("memory");
    let table = [
        ("gzip", gzip.finish().expect("memory")),
        ("zstd", zstd::encode_all(words.as_bytes(), 1).expect("memory")),
    ];
    for (encoding, packed) in table {
        let headers = [("content-encoding", encoding), ("accept-encoding", "gzip")];
        assert_eq!(proxy.ask("POST", "/v1/responses", &headers, &packed).status, 200, "{encoding}");
        let request = mock.requests().pop().expect("a request");
        assert_eq!(
            (request.body.as_str(), request.header("content-encoding")),
            (words.as_str(), None),
            "{encoding}"
        );
    }
    let answer = proxy.ask("POST", "/v1/responses", &[("content-encoding", "br")], b"x");
    assert_eq!((answer.status, answer.json()["error"]["code"].clone()), (415, json!("unsupported_encoding")));
}

/// Every refusal of our own has the shape that the client's library can read.
#[test]
fn refusals_have_the_providers_shape() {
    let mock = Mock::start(|_, _| Reply::stream(Speaks::Chat.words(&["ok"])));
    let proxy = Proxy::start(&mock.url(""));
    let long = vec![b' '; (64 << 20) + 1];
    type Headers = &'static [(&'static str, &'static str)];
    let table: [(Headers, &[u8], u16); 6] = [
        (&[("host", "evil.example")], b"{}", 403),
        (&[("origin", "https://evil.example")], b"{}", 403),
        (&[("sec-fetch-site", "cross-site")], b"{}", 403),
        (&[("upgrade", "websocket"), ("connection", "upgrade")], b"", 426),
        (&[], &long, 413),
        (&[("content-encoding", "gzip")], b"no gzip", 400),
    ];
    for (headers, body, status) in table {
        let openai = proxy.ask("POST", "/v1/chat/completions", headers, body);
        assert_eq!(openai.status, status, "{headers:?}: {}", openai.text());
        let error = &openai.json()["error"];
        assert!(error["message"].is_string() && error["type"].is_string() && error["code"].is_string(), "{error}");
        let anthropic = proxy.ask("POST", "/v1/messages", headers, body);
        assert_eq!((anthropic.status, &anthropic.json()["type"]), (status, &json!("error")), "{headers:?}");
        assert!(anthropic.json()["error"]["type"].is_string());
    }
    assert_eq!(mock.requests().len(), 0, "nothing of it is passed on");
    let most = vec![b' '; 64 << 20];
    assert_eq!(proxy.ask("POST", "/v1/chat/completions", &[], &most).status, 200, "the longest is taken");
    assert_eq!(proxy.ask("GET", "/healthz", &[], b"").status, 200);
}

#[test]
fn a_provider_that_is_not_there_is_told() {
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", nobody.local_addr().expect("an address"));
    drop(nobody);
    let proxy = Proxy::start(&url);
    let answer = proxy.post("/v1/chat/completions", "{}");
    assert_eq!((answer.status, answer.json()["error"]["code"].clone()), (502, json!("upstream_unreachable")));
    let answer = proxy.post("/v1/messages", "{}");
    assert_eq!((answer.status, answer.json()["error"]["type"].clone()), (502, json!("api_error")));
    assert_eq!(proxy.ask("GET", "/readyz", &[], b"").status, 200, "and the process lives");
    assert_eq!(proxy.metric("neap_requests_total{asks=\"chat\",status=\"5xx\"}"), Some(1));
}

/// RELIABILITY: a stream that breaks, or ends without its end, is never made a good one.
#[test]
fn a_broken_stream_stays_broken() {
    let words = Speaks::Chat.words(&["The port", " is 8080."]);
    let at = words.find(" is").expect("words");
    let half = Reply::stream(words.clone()).cut(at, End::Broken);
    let mock = Mock::start(move |_, _| half.clone());
    let proxy = Proxy::start(&mock.url(""));
    let answer = proxy.post("/v1/chat/completions", "{}");
    assert_eq!((answer.status, answer.is_whole), (200, false), "{}", answer.text());
    assert!(words.starts_with(&answer.text()));
    proxy.wait_for("neap_answers_broken_off_total", 1);
}

/// The next connection, read up to an end.
fn accepted(listener: &TcpListener, end: &[u8]) -> TcpStream {
    let (mut connection, _) = listener.accept().expect("a proxy");
    let mut head = Vec::new();
    while !head.ends_with(end) {
        let mut byte = [0];
        connection.read_exact(&mut byte).expect("a request");
        head.push(byte[0]);
    }
    connection
}

/// A provider that is told when to go on.
fn slow() -> (String, mpsc::Sender<Vec<u8>>, mpsc::Receiver<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (pieces, next) = mpsc::channel::<Vec<u8>>();
    let (tell, gone) = mpsc::channel();
    std::thread::spawn(move || {
        let mut connection = accepted(&listener, b"\r\n\r\n{}");
        let begin = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        connection.write_all(begin).expect("it takes the head");
        for piece in next {
            let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat();
            connection.write_all(&chunk).expect("it takes a piece");
        }
        // Nothing comes back but the end of the connection.
        let mut rest = Vec::new();
        let _ = connection.read_to_end(&mut rest);
        let _ = tell.send(rest.is_empty());
    });
    (url, pieces, gone)
}

/// I2: a provider has a request only when what is new in it is on disk.
#[test]
fn a_request_is_sent_only_when_it_is_durable() {
    let (place, events): (Arc<OnceLock<PathBuf>>, Arc<Mutex<Vec<i64>>>) = Default::default();
    let (database, seen) = (place.clone(), events.clone());
    let mock = Mock::start(move |_, _| {
        let store = rusqlite::Connection::open(database.get().expect("a place")).expect("a store");
        let count = store.query_row("SELECT count(*) FROM events", [], |row| row.get::<_, i64>(0));
        seen.lock().expect("a list").push(count.expect("a table"));
        Reply::stream(Speaks::Chat.words(&["Noted."]))
    });
    let proxy = Proxy::with(&["--upstream", &mock.url("")], &[("NEAP_EMBEDDER", "none")]);
    place.set(proxy.neap.database()).expect("once");
    let mut history = Vec::new();
    for words in ["The staging database is called heron-7.", "And its port?", "And its owner?"] {
        history.push(json!({"role": "user", "content": words}));
        let body = json!({"model": "m", "stream": true, "messages": history}).to_string();
        let answer = proxy.post("/v1/chat/completions", &body);
        assert_eq!((answer.status, answer.header("x-neap-recorded")), (200, Some("yes")));
        history.push(json!({"role": "assistant", "content": "Noted."}));
    }
    let events = events.lock().expect("a list").clone();
    assert!(events[0] > 0 && events.is_sorted_by(|before, after| before < after), "{events:?}");
}

/// Each piece is there before the next is sent; a client that hangs up is followed at once.
#[test]
fn pieces_are_not_held_back_and_a_client_that_leaves_is_followed() {
    let (url, pieces, gone) = slow();
    let proxy = Proxy::start(&url);
    let mut connection = proxy.open("POST", "/v1/chat/completions", &[], b"{}");
    let mut seen = Vec::new();
    for piece in ["data: one\n\n", "data: two\n\n", ": ping\n\n"] {
        pieces.send(piece.as_bytes().to_vec()).expect("a provider");
        while !seen.ends_with(format!("{piece}\r\n").as_bytes()) {
            let mut byte = [0];
            connection.read_exact(&mut byte).expect("the piece comes");
            seen.push(byte[0]);
        }
    }
    drop(connection);
    drop(pieces);
    assert_eq!(gone.recv(), Ok(true), "the provider's connection ends");
    proxy.wait_for("neap_answers_broken_off_total", 1);
}

/// Asked to end, it finishes the streams that have begun.
#[cfg(unix)]
#[test]
fn an_end_waits_for_streams() {
    let (url, pieces, _gone) = slow();
    let proxy = Proxy::start(&url);
    let mut connection = proxy.open("POST", "/v1/chat/completions", &[], b"{}");
    pieces.send(b"data: one\n\n".to_vec()).expect("a provider");
    let mut seen = Vec::new();
    while !seen.ends_with(b"data: one\n\n\r\n") {
        let mut byte = [0];
        connection.read_exact(&mut byte).expect("it begins");
        seen.push(byte[0]);
    }
    proxy.signal("-TERM");
    proxy.wait_for_log("shutting down");
    // The door is shut a moment after that is said.
    wait_until("nobody new is let in", || TcpStream::connect(&proxy.address).is_err());
    pieces.send(b"data: two\n\n".to_vec()).expect("a provider");
    let mut piece = [0; 16];
    connection.read_exact(&mut piece).expect("it goes on");
    assert_eq!(&piece[3..], b"data: two\n\n\r\n");
    drop(pieces);
    drop(connection);
    let (status, log) = proxy.ended();
    assert!(status.success(), "{log}");
}

#[test]
fn nobody_is_their_own_upstream() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let ran = Neap::new().run(&[
        "serve",
        "--listen",
        &free.to_string(),
        "--upstream",
        &format!("http://localhost:{}/v1", free.port()),
    ]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("is this proxy itself") && ran.err.contains("hint:"), "{}", ran.err);
}

/// By default a request goes to where its kind is at home, or where the environment says.
#[test]
fn the_environment_says_where_each_kind_goes() {
    let openai = Mock::start(|_, _| Reply::new(200, "application/json", "{}"));
    let anthropic = Mock::start(|_, _| Reply::new(200, "application/json", "{}"));
    let (one, two) = (openai.url("/v1"), anthropic.url(""));
    let proxy = Proxy::with(&[], &[("OPENAI_BASE_URL", &one), ("ANTHROPIC_BASE_URL", &two)]);
    for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
        assert_eq!(proxy.post(path, "{}").status, 200);
    }
    proxy.ask("GET", "/v1/models", &[("anthropic-version", "2023-06-01")], b"");
    let paths = |mock: &Mock| mock.requests().iter().map(|request| request.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&openai), ["/v1/chat/completions", "/v1/responses"]);
    assert_eq!(paths(&anthropic), ["/v1/messages", "/v1/models"]);
}

/// An answer in one piece is heard, too.
#[test]
fn usage_is_heard_in_answers_of_one_piece() {
    let whole = json!({"choices": [{"message": {"role": "assistant", "content": "hi"}}],
        "usage": {"prompt_tokens": 31, "completion_tokens": 2}});
    let text = whole.to_string();
    let mock = Mock::start(move |_, _| Reply::new(200, "application/json", text.clone()));
    let proxy = Proxy::start(&mock.url(""));
    let answer = answer(proxy.open("POST", "/v1/chat/completions", &[], b"{}"));
    assert_eq!(serde_json::from_slice::<Value>(&answer.body).expect("JSON"), whole);
    proxy.wait_for("neap_tokens_input_total", 31);
    assert_eq!(proxy.metric("neap_answers_broken_off_total"), Some(0));
}
