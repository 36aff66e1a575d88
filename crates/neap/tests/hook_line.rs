//! `neap hook` beside a `neap mcp` that stays: the one passes events on, the other answers them, and nothing hangs on it.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use crate::client::Client;
use crate::rig::{self, Neap};
use crate::wait::wait_until;
use serde_json::{Value, json};

const PROMPT: &str = "Which port does the staging database use?";

/// An agent that was told something once, by words alone: meaning takes long in a build for tests.
fn neap() -> Neap {
    // On a machine that is busy a second may not be enough.
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none"), ("NEAP_HOOK_LIMIT_MS", "30000")]);
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
    wait_until("somebody listens", || UnixStream::connect(neap.data().join("hooks/line")).is_ok());
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

/// What one takes in, the next one finds: a short event waits for a long one that came before it. Tools do not.
#[test]
fn events_are_carried_out_one_after_the_other() {
    let neap = neap();
    let mut server = staying(&neap);
    let talk = neap.place().join("long.jsonl");
    let words = "anchor buoy current dock ebb fathom gauge harbour inlet jetty keel lagoon ".repeat(12);
    let record = |n: usize| {
        let message = json!({"role": "assistant", "id": format!("m{n}"), "content": [{"type": "text", "text": format!("{n} {words}")}]});
        json!({"type": "assistant", "uuid": format!("u{n}"), "timestamp": "2026-05-01T10:00:00.000Z", "message": message}).to_string() + "\n"
    };
    std::fs::write(&talk, (0..2_500).map(record).collect::<String>()).expect("a transcript");
    let head = head(&neap, env!("CARGO_PKG_VERSION"), "default");
    let send = |event: Value| {
        let mut line = UnixStream::connect(neap.data().join("hooks/line")).expect("somebody listens");
        line.set_read_timeout(Some(Duration::from_secs(300))).expect("a limit");
        line.write_all(format!("{head}\n{event}").as_bytes()).expect("it listens");
        line.shutdown(Shutdown::Write).expect("all is said");
        line
    };
    let mut long =
        send(json!({"hook_event_name": "PreCompact", "session_id": "s", "transcript_path": talk, "cwd": "/"}));
    // It has begun when its first piece is noted.
    let cursors = neap.data().join("hooks/cursors");
    wait_until("it begins", || cursors.read_dir().is_ok_and(|mut notes| notes.next().is_some()));
    let mut short = send(asked(PROMPT, "p1"));
    server.tool("effort_status", json!({}));
    long.set_nonblocking(true).expect("a line");
    let not_yet = long.read(&mut [0; 1]).expect_err("it was over too soon to tell");
    assert_eq!(not_yet.kind(), std::io::ErrorKind::WouldBlock);
    let mut heard = String::new();
    short.read_to_string(&mut heard).expect("an answer");
    assert!(heard.contains("port 6543"), "{heard}");
    let mut heard = String::new();
    long.read_to_string(&mut heard).expect("it is over: the other came after it");
    assert_eq!(heard, r#"{"answer":null}"#);
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
    for heard in &heard {
        let mut heard = rig::objects(heard);
        let came = heard[0].as_object_mut().expect("a head").remove("came").expect("when it came");
        assert!(came["at"].is_i64() && came["position"] == 0, "{came}");
        assert_eq!(heard, wanted);
    }
    assert!(hook(&neap, &event).contains("port 6543"), "silence");
    drop(listener);
}
