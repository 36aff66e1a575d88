//! HTTP/2 to the provider: `neap serve` and `neap chat` in front of a provider that speaks TLS. Elsewhere than on
//! Linux, which certificates are trusted is the system's to say.

use std::io::Read;
use std::net::TcpStream;

use crate::mock::Speaks;
use crate::rig::Neap;
use crate::tls::{Behaviour, CERTIFICATE, HOLD, Then, TlsProvider};
use crate::wait::wait_until;
use crate::wire::{Proxy, answer, unchunked};
use http::Version;

const PATH: &str = "/v1/chat/completions";
const TRUST: (&str, &str) = ("SSL_CERT_FILE", CERTIFICATE);

/// An answer, in two parts.
fn halves() -> [String; 2] {
    let whole = Speaks::Chat.words(&["Hel", "lo"]);
    let at = whole.find("\n\n").expect("an event") + 2;
    [whole[..at].to_owned(), whole[at..].to_owned()]
}

fn started(behaviour: Behaviour) -> (TlsProvider, Proxy) {
    let provider = TlsProvider::start(behaviour, halves());
    let proxy = Proxy::with(&["--upstream", &provider.url()], &[TRUST]);
    (provider, proxy)
}

fn body(text: &str) -> String {
    format!(r#"{{"model":"m","stream":true,"messages":[{{"role":"user","content":"{text}"}}]}}"#)
}

/// A request whose answer does not end; returns when the first part of the answer has come.
fn held(proxy: &Proxy, text: &str) -> (TcpStream, Vec<u8>) {
    let mut connection = proxy.open("POST", PATH, &[], body(&format!("{HOLD} {text}")).as_bytes());
    let (mut bytes, first) = (Vec::new(), halves()[0].clone());
    loop {
        let mut piece = [0; 4096];
        let count = connection.read(&mut piece).expect("the first part of an answer");
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&piece[..count]);
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if head.is_some_and(|at| unchunked(&bytes[at + 4..]).0 == first.as_bytes()) {
            return (connection, bytes);
        }
    }
}

/// The whole of such an answer.
fn rest((mut connection, mut bytes): (TcpStream, Vec<u8>)) -> (Vec<u8>, bool) {
    connection.read_to_end(&mut bytes).expect("the rest of an answer");
    let at = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    unchunked(&bytes[at + 4..])
}

fn ask(proxy: &Proxy, text: &str) {
    let answer = answer(proxy.open("POST", PATH, &[], body(text).as_bytes()));
    assert_eq!((answer.status, answer.is_whole, answer.text()), (200, true, halves().concat()), "{}", proxy.log());
}

#[test]
fn a_provider_that_offers_http_2_streams_over_it_on_one_connection() {
    let (provider, proxy) = started(Behaviour::HTTP_2);
    let stream = held(&proxy, "this");
    provider.release();
    assert_eq!(rest(stream), (halves().concat().into_bytes(), true));
    ask(&proxy, "next");
    let upload = vec![b'u'; 3 << 20];
    assert_eq!(proxy.ask("POST", "/v1/files", &[], &upload).status, 200);
    let seen = provider.seen();
    assert_eq!(
        seen.iter().map(|seen| (seen.version, seen.connection)).collect::<Vec<_>>(),
        [(Version::HTTP_2, 1); 3]
    );
    assert!(seen[2].body == upload, "{} bytes of the upload came", seen[2].body.len());
}

#[test]
fn open_streams_hold_up_no_other_request() {
    let (provider, proxy) = started(Behaviour { streams_max: 2, ..Behaviour::HTTP_2 });
    let open: Vec<_> = (0..5).map(|number| held(&proxy, &number.to_string())).collect();
    ask(&proxy, "while those are open");
    provider.release();
    for stream in open {
        assert_eq!(rest(stream), (halves().concat().into_bytes(), true));
    }
    // What was opened for them serves the next.
    let connections = provider.seen().iter().map(|seen| seen.connection).max();
    ask(&proxy, "after them");
    assert!(provider.seen().iter().all(|seen| Some(seen.connection) <= connections), "{:?}", provider.seen());
}

#[test]
fn a_connection_that_the_provider_ends_costs_no_request() {
    for then in [Then::GoAway, Then::Close, Then::RefuseOne] {
        let (provider, proxy) = started(Behaviour { then, ..Behaviour::HTTP_2 });
        ask(&proxy, "first");
        if then == Then::Close {
            provider.release();
            // A request that is on its way when a connection breaks is lost over HTTP/1.1, too.
            wait_until("the connection is closed", || provider.is_closed());
        }
        for number in 1..=3 {
            ask(&proxy, &number.to_string());
        }
        let seen = provider.seen();
        assert_eq!(seen.len(), 4, "{then:?}: each was answered once: {seen:?}");
        assert_eq!(seen[3].connection > 1, then != Then::RefuseOne, "{then:?}: {seen:?}");
    }
}

#[test]
fn an_answer_that_its_client_gives_up_is_given_up_at_the_provider() {
    let (provider, proxy) = started(Behaviour::HTTP_2);
    drop(held(&proxy, "this"));
    wait_until("the provider is told", || provider.given_up() == 1);
    ask(&proxy, "next");
}

#[test]
fn a_provider_without_http_2_keeps_its_connection() {
    let (provider, proxy) = started(Behaviour::HTTP_1);
    ask(&proxy, "of a known length");
    let stream = held(&proxy, "in chunks");
    provider.release();
    assert_eq!(rest(stream), (halves().concat().into_bytes(), true));
    for number in 0..8 {
        ask(&proxy, &number.to_string());
    }
    let seen = provider.seen();
    assert!(seen.iter().all(|seen| seen.version == Version::HTTP_11));
    // A request that comes at once may find the connection not free yet.
    assert!(seen[9].connection < 6, "{seen:?}");
}

#[test]
fn a_chat_speaks_http_2_too() {
    let provider = TlsProvider::start(Behaviour::HTTP_2, halves());
    let neap = Neap::with(&[TRUST, ("OPENAI_API_KEY", "k")]);
    let ran = neap.fed(&["chat", "--model", "m", "--base-url", &format!("{}/v1", provider.url())], "hi\n");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert!(ran.out.contains("Hello"), "{}", ran.out);
    assert_eq!(provider.seen()[0].version, Version::HTTP_2);
}
