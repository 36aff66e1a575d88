//! `neap hook` beside a `neap mcp` that stays: the one passes events on, the other answers them, and nothing hangs on it.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

mod client;
mod rig;

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use client::Client;
use rig::Neap;
use serde_json::{Value, json};

const PROMPT: &str = "Which port does the staging database use?";

/// An agent that was told something once, by words alone: meaning takes long in a build for tests.
fn neap() -> Neap {
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
    neap.chat(&["The staging database is heron-7 and listens on port 6543.", "/quit"]);
    neap
}

fn asked(prompt: &str, id: &str) -> Value {
    json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/", "prompt": prompt, "prompt_id": id})
}

fn head(neap: &Neap, version: &str, agent: &str) -> String {
    let found = std::fs::metadata(neap.database()).expect("a store");
    json!({"version": version, "agent": agent, "store": [found.dev(), found.ino()], "program": "claude-code"})
        .to_string()
}

/// What a hook prints.
fn hook(neap: &Neap, event: &Value) -> String {
    let ran = neap.fed(&["hook", "claude-code"], event.to_string());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.out
}

/// What a process that stays says to bytes.
fn said(neap: &Neap, bytes: &str) -> String {
    let mut line = UnixStream::connect(neap.data().join("hooks/line")).expect("somebody listens");
    line.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
    line.write_all(bytes.as_bytes()).expect("it listens");
    line.shutdown(Shutdown::Write).expect("all is said");
    let mut heard = String::new();
    line.read_to_string(&mut heard).expect("an answer");
    heard
}

/// A server that answers hooks.
fn staying(neap: &Neap) -> Client {
    let server = Client::of(neap, "2025-11-25");
    let began = Instant::now();
    while UnixStream::connect(neap.data().join("hooks/line")).is_err() {
        assert!(began.elapsed() < Duration::from_secs(60), "nobody listens");
        std::thread::sleep(Duration::from_millis(20));
    }
    server
}

#[test]
fn a_process_that_stays_answers_those_of_its_kind() {
    let neap = neap();
    let server = staying(&neap);
    let version = env!("CARGO_PKG_VERSION");
    let event = asked(PROMPT, "p1");
    let answer: Value =
        serde_json::from_str(&said(&neap, &format!("{}\n{event}", head(&neap, version, "default"))))
            .expect("JSON");
    assert!(answer["answer"].as_str().is_some_and(|told| told.contains("port 6543")), "{answer}");
    for other in [
        format!("{}\n{event}", head(&neap, "0.0.1", "default")),
        format!("{}\n{event}", head(&neap, version, "somebody")),
        format!("{}\n{{", head(&neap, version, "default")),
        head(&neap, version, "default"),
        String::new(),
        "[".repeat(100_000),
    ] {
        assert_eq!(said(&neap, &other), "", "{other:.80}");
    }
    // A hook that the same is told as well has nothing to add.
    assert!(hook(&neap, &event).contains("port 6543"));
    let told: Vec<Value> = neap.events("claude-code-s");
    assert_eq!(told.iter().filter(|event| event["event"]["type"] == "turn_started").count(), 1);
    assert_eq!(server.hang_up(), 0);
    // Of a store that came in the place of the one it has open, it knows nothing.
    let server = staying(&neap);
    let copy = neap.place().join("copy");
    std::fs::copy(neap.database(), &copy).and_then(|_| std::fs::rename(&copy, neap.database())).expect("a copy");
    let event = asked(PROMPT, "p3");
    assert_eq!(said(&neap, &format!("{}\n{event}", head(&neap, version, "default"))), "");
    server.kill();
    // Its socket is left over: the next hook does it by itself, the next server makes it anew.
    assert!(hook(&neap, &asked(PROMPT, "p2")).contains("port 6543"));
    drop(staying(&neap));
}

#[test]
fn a_hook_passes_on_what_it_is_told_and_goes_on_alone_where_nobody_answers() {
    let neap = neap();
    std::fs::create_dir_all(neap.data().join("hooks")).expect("a folder");
    let listener = UnixListener::bind(neap.data().join("hooks/line")).expect("a socket");
    let event = asked(PROMPT, "p1");
    let wanted =
        [serde_json::from_str(&head(&neap, env!("CARGO_PKG_VERSION"), "default")).expect("JSON"), event.clone()];
    let served = std::thread::spawn(move || {
        let mut heard = Vec::new();
        // Answered, answered that there is nothing to say, not answered, answered with nonsense.
        for reply in [r#"{"answer":"it is passed on"}"#, r#"{"answer":null}"#, "", "{"] {
            let (mut line, _) = listener.accept().expect("a hook");
            heard.push(String::new());
            line.read_to_string(heard.last_mut().expect("one")).expect("text");
            line.write_all(reply.as_bytes()).expect("it listens");
        }
        (heard, listener)
    });
    assert_eq!(hook(&neap, &event), "it is passed on\n");
    assert_eq!(hook(&neap, &event), "");
    assert!(hook(&neap, &event).contains("port 6543"), "nobody of its kind");
    assert!(hook(&neap, &event).contains("port 6543"), "nonsense");
    let (heard, listener) = served.join().expect("all were heard");
    assert!(heard.iter().all(|heard| rig::objects(heard) == wanted), "{heard:?}");
    assert!(hook(&neap, &event).contains("port 6543"), "silence");
    drop(listener);
}
