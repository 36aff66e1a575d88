//! `neap mcp`: a long call tells how it goes, is given up when the client says so, and holds up nobody else.

use std::io::Read as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::client::{Client, STATELESS, WITH_HANDSHAKE};
use crate::rig::Neap;
use serde_json::{Value, json};

/// What does not happen for so long never does.
const PATIENCE: Duration = Duration::from_secs(60);

/// A model that hears a request and never answers: says when it was asked, and when nobody waits any more.
fn silent() -> (SocketAddr, Receiver<&'static str>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (told, tells) = channel();
    std::thread::spawn(move || {
        for line in listener.incoming() {
            let (Ok(mut line), told) = (line, told.clone()) else { return };
            std::thread::spawn(move || {
                let mut bytes = [0; 4_096];
                let mut was_asked = false;
                while matches!(line.read(&mut bytes), Ok(1..)) {
                    if !std::mem::replace(&mut was_asked, true) {
                        let _ = told.send("asked");
                    }
                }
                let _ = told.send("gone");
            });
        }
    });
    (address, tells)
}

fn summarize(text: &str) -> Value {
    json!({"name": "summarize_text", "arguments": {"text": text, "max_tokens": 60}, "_meta": {"progressToken": "p"}})
}

fn cancel(client: &mut Client, id: u64) {
    let params = json!({"requestId": id, "reason": "the person changed their mind"});
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
}

fn is_answer(said: &Value, id: u64) -> bool {
    said["id"] == id && said.get("method").is_none()
}

#[test]
fn a_call_that_is_cancelled_stops_is_not_answered_and_the_server_lives() {
    for version in WITH_HANDSHAKE.into_iter().chain([STATELESS]) {
        let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
        let (address, tells) = silent();
        let base = format!("http://{address}/v1");
        let args = ["--summary-model", "small-1", "--base-url", &base];
        let mut client = match version {
            STATELESS => Client::stateless(&neap, &args, json!({})),
            _ => Client::greeted(&neap, &args, version, json!({})),
        };
        let id = client.begin("tools/call", summarize(&"The tide is low at seven. ".repeat(400)));
        assert_eq!(tells.recv_timeout(PATIENCE), Ok("asked"), "{version}");
        cancel(&mut client, id);
        // Nobody waits for the model any more: well before the summary's own limit, or the test's would be over.
        assert_eq!(tells.recv_timeout(Duration::from_secs(15)), Ok("gone"), "{version}");
        // One that is not there, and one that is over, are passed over.
        cancel(&mut client, 77);
        cancel(&mut client, id);
        client.tool("effort_status", json!({}));
        client.tool("record_turn", json!({"user": "the server lives"}));
        assert!(!client.heard.iter().any(|said| is_answer(said, id)), "{version}: {:?}", client.heard);
        let progress = client.heard.iter().filter(|said| said["method"] == "notifications/progress");
        let told: Vec<&Value> = progress.map(|said| &said["params"]["message"]).collect();
        assert_eq!(told, ["Summarize a text"], "{version}");
        assert_eq!(client.hang_up(), 0, "{version}");
    }
}

/// What takes the processor cannot be broken off; but others are answered meanwhile, and it is not answered in the end.
#[test]
fn a_call_that_takes_long_holds_up_no_other() {
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
    let mut client = Client::of(&neap, "2025-11-25");
    let text: String =
        (0..40_000).map(|n| format!("Gauge {n} of the harbour shows {} at low tide. ", n * 7)).collect();
    let id = client.begin("tools/call", summarize(&text));
    for _ in 0..3 {
        client.tool("effort_status", json!({}));
    }
    assert!(!client.heard.iter().any(|said| is_answer(said, id)), "it was over too soon to tell");
    cancel(&mut client, id);
    client.tool("effort_status", json!({}));
    assert!(!client.heard.iter().any(|said| is_answer(said, id)), "{:?}", client.heard);
    // Another is answered in its place.
    let other = client.ask("tools/call", summarize("The tide is low at seven. The heron nests at pier 9."));
    assert_eq!(other["result"]["isError"], false, "{other}");
    assert!(!client.heard.iter().any(|said| is_answer(said, id)), "{:?}", client.heard);
}
