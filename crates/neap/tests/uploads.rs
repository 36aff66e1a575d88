//! Bodies that are not histories go on while they come: of any length, in constant memory, at the provider's pace.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use serde_json::json;

use crate::mock::{Mock, Reply};
use crate::wire::{Answer, Proxy, answer};

const MIB: usize = 1 << 20;
const TOKEN: &str = "0f3c9a77e1b24d58a6c0";
const BY_WORDS: (&str, &str) = ("NEAP_EMBEDDER", "none");

/// What a provider got of an upload.
#[derive(Debug, PartialEq, Eq)]
struct Got {
    head: String,
    bytes: usize,
    /// Whether all of them were what was sent.
    is_same: bool,
    has_token: bool,
}

/// The byte at a place of an upload.
fn byte_at(at: usize) -> u8 {
    (at % 251) as u8
}

/// A provider that counts what comes, and keeps none of it. A chunked body ends with an empty chunk.
fn counter() -> (String, Receiver<Got>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (tell, got) = channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.expect("a proxy");
            let told = count(BufReader::new(&connection));
            let _ =
                (&connection).write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
            let _ = tell.send(told);
        }
    });
    (url, got)
}

fn count(mut reader: BufReader<&TcpStream>) -> Got {
    let mut got = Got { head: String::new(), bytes: 0, is_same: true, has_token: false };
    while !got.head.ends_with("\r\n\r\n") && reader.read_line(&mut got.head).is_ok_and(|read| read > 0) {}
    let length = got
        .head
        .to_lowercase()
        .split_once("content-length: ")
        .map(|(_, rest)| rest.lines().next().and_then(|length| length.parse().ok()).expect("a length"));
    let mut tail = Vec::new();
    let mut piece = vec![0; 64 << 10];
    while length.is_none_or(|length| got.bytes < length) {
        if length.is_none() {
            let mut size = String::new();
            reader.read_line(&mut size).expect("a size");
            let Ok(mut left) = usize::from_str_radix(size.trim(), 16) else { break };
            if left == 0 {
                reader.read_line(&mut size).expect("the end");
                break;
            }
            while left > 0 {
                let most = left.min(piece.len());
                reader.read_exact(&mut piece[..most]).expect("a chunk");
                take(&mut got, &mut tail, &piece[..most]);
                left -= most;
            }
            reader.read_line(&mut size).expect("a chunk's end");
            continue;
        }
        match reader.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(read) => take(&mut got, &mut tail, &piece[..read]),
        }
    }
    got
}

fn take(got: &mut Got, tail: &mut Vec<u8>, piece: &[u8]) {
    got.is_same &= piece.iter().enumerate().all(|(at, byte)| *byte == byte_at(got.bytes + at));
    tail.extend_from_slice(piece);
    got.has_token |= tail.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes());
    tail.drain(..tail.len().saturating_sub(TOKEN.len()));
    got.bytes += piece.len();
}

/// Sends a body of many bytes as it is made, in chunks if no length is told.
fn upload(proxy: &Proxy, path: &str, bytes: usize, is_chunked: bool) -> Answer {
    let kind = "content-type: multipart/form-data; boundary=x";
    let length = match is_chunked {
        true => "transfer-encoding: chunked".to_owned(),
        false => format!("content-length: {bytes}"),
    };
    let mut connection = TcpStream::connect(&proxy.address).expect("a proxy");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{kind}\r\n{length}\r\n\r\n",
        proxy.address
    );
    connection.write_all(head.as_bytes()).expect("it takes the head");
    let mut sent = 0;
    while sent < bytes {
        let piece: Vec<u8> = (sent..bytes.min(sent + MIB)).map(byte_at).collect();
        if is_chunked {
            write!(connection, "{:x}\r\n", piece.len()).expect("it takes a size");
        }
        connection.write_all(&piece).expect("it takes a piece");
        if is_chunked {
            connection.write_all(b"\r\n").expect("it takes an end");
        }
        sent += piece.len();
    }
    if is_chunked {
        connection.write_all(b"0\r\n\r\n").expect("it takes the end");
    }
    answer(connection)
}

/// The most memory that the proxy held so far, in MiB.
#[cfg(target_os = "linux")]
fn peak_mib(proxy: &Proxy) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", proxy.id())).expect("a process");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a figure");
    peak.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") >> 10
}

/// A file of 96 MiB, with and without its length told, with a token that is looked for, under a budget.
#[cfg(target_os = "linux")]
#[test]
fn a_large_file_is_forwarded_in_little_memory() {
    const BYTES: usize = 96 * MIB;
    let (url, got) = counter();
    let args = ["--upstream", &url, "--budget", "8000"];
    let proxy = Proxy::with(&args, &[("NEAP_MCP_TOKEN", TOKEN), BY_WORDS]);
    let before = peak_mib(&proxy);
    for (path, is_chunked) in
        [("/v1/files", false), ("/v1/audio/transcriptions", true), ("/v1/some/upload", false)]
    {
        let answer = upload(&proxy, path, BYTES, is_chunked);
        assert_eq!((answer.status, answer.text().as_str()), (200, "{}"), "{path}");
        let Got { head, bytes, is_same, has_token } = got.recv().expect("an upload");
        assert!(head.starts_with(&format!("POST {path} ")), "{head}");
        assert_eq!((bytes, is_same, has_token), (BYTES, true, false), "{path}");
        assert_eq!(head.to_lowercase().contains(&format!("content-length: {BYTES}")), !is_chunked, "{head}");
    }
    let more = peak_mib(&proxy) - before;
    assert!(more < 32, "the proxy took {more} MiB more for files of {} MiB", BYTES / MIB);
}

/// Whatever the border between two pieces, the token goes to no provider, and the client is told.
#[test]
fn an_upload_with_our_token_is_stopped_before_it() {
    let (url, got) = counter();
    let proxy = Proxy::with(&["--upstream", &url], &[("NEAP_MCP_TOKEN", TOKEN), BY_WORDS]);
    let long: Vec<u8> = (0..3 * MIB).map(byte_at).collect();
    for at in [10, 64 << 10, MIB - 7, 2 * MIB + 1] {
        let mut connection = TcpStream::connect(&proxy.address).expect("a proxy");
        let length = long.len() + TOKEN.len();
        let head = format!(
            "POST /v1/files HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n",
            proxy.address
        );
        connection.write_all(head.as_bytes()).expect("it takes the head");
        connection
            .write_all(&long[..at])
            .and_then(|()| connection.write_all(&TOKEN.as_bytes()[..9]))
            .expect("taken");
        connection.flush().expect("taken");
        let rest = [&TOKEN.as_bytes()[9..], &long[at..]].concat();
        connection.write_all(&rest).expect("it takes all of a refused request");
        let answer = answer(connection);
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (403, &json!("own_token")), "{at}");
        assert!(!answer.text().contains(TOKEN));
    }
    assert_eq!(upload(&proxy, "/v1/files", MIB, false).status, 200);
    // What reached the provider of the others ends before the token. It takes one after the other.
    let mut all = vec![got.recv().expect("an upload")];
    while all.last().is_some_and(|got| got.bytes != MIB) {
        all.push(got.recv().expect("another"));
    }
    assert!(all.iter().all(|got| !got.has_token && got.is_same), "{all:?}");
}

/// What a budget counts is read first, and refused with the limit's name where it is too long to be read.
#[test]
fn what_is_counted_is_read_and_what_is_not_is_forwarded() {
    let mock = Mock::start(|_, _| Reply::new(200, "application/json", "{}"));
    let with = |more: &[&str]| Proxy::with(&[&["--upstream", &mock.url("")], more].concat(), &[BY_WORDS]);
    let (counting, plain) = (with(&["--budget", "8000"]), with(&[]));
    let prompt = json!({"model": "m", "prompt": "It rains. ".repeat(20_000)}).to_string();
    let refused = counting.post("/v1/completions", &prompt);
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!("context_length_exceeded")));
    assert_eq!(mock.requests().len(), 0);
    assert_eq!(plain.post("/v1/completions", &prompt).status, 200);
    assert_eq!(counting.post("/v1/embeddings", &prompt).status, 200);
    assert!(mock.requests().iter().all(|request| request.body == prompt) && mock.requests().len() == 2);
    let long = json!({"prompt": "x".repeat(65 * MIB)}).to_string();
    let refused = counting.post("/v1/completions", &long);
    assert_eq!(refused.status, 413, "{}", refused.text());
    let message = refused.json()["error"]["message"].as_str().expect("words").to_owned();
    assert!(message.contains("67108864 bytes (64 MiB)") && message.contains("hint:"), "{message}");
    assert_eq!(plain.post("/v1/completions", &long).status, 200, "nobody has to read it here");
    // A compressed body is only understood where somebody looks into it.
    let packed = zstd::encode_all(prompt.as_bytes(), 1).expect("memory");
    assert_eq!(plain.ask("POST", "/v1/files", &[("content-encoding", "br")], &packed).status, 200);
    assert_eq!(counting.ask("POST", "/v1/completions", &[("content-encoding", "zstd")], &packed).status, 400);
    assert_eq!(counting.ask("POST", "/v1/completions", &[("content-encoding", "br")], &packed).status, 415);
}
