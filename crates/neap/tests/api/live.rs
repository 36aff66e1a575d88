//! Server-sent events: of this process and of others, and after a break.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;

use serde_json::Value;

use super::Api;
use crate::rig::Neap;

/// A connection that hears events.
struct Watcher {
    lines: BufReader<TcpStream>,
}

#[derive(Debug, Clone, PartialEq)]
struct Event {
    id: String,
    name: String,
    data: Value,
}

impl Watcher {
    fn open(api: &Api, last_id: Option<&str>) -> Self {
        let bearer = format!("Bearer {}", api.token);
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(last_id.map(|id| ("last-event-id", id)));
        Self { lines: BufReader::new(api.server.open("GET", "/api/v1/events", &headers, b"")) }
    }

    fn next(&mut self) -> Event {
        let mut event = Event { id: String::new(), name: String::new(), data: Value::Null };
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).expect("an event comes") > 0, "the stream ended");
            let line = line.trim_end();
            if let Some(id) = line.strip_prefix("id: ") {
                event.id = id.to_owned();
            } else if let Some(name) = line.strip_prefix("event: ") {
                event.name = name.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                event.data = serde_json::from_str(data).expect("JSON");
                return event;
            }
        }
    }

    fn until(&mut self, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut heard = Vec::new();
        loop {
            heard.push(self.next());
            if heard.last().is_some_and(&is_it) {
                return heard;
            }
        }
    }
}

fn is(kind: &'static str) -> impl Fn(&Event) -> bool {
    move |event| event.data["kind"] == kind
}

#[test]
fn what_this_and_other_processes_do_is_heard() {
    let api = Api::with_data();
    let mut watcher = Watcher::open(&api, None);
    let open = watcher.next();
    assert_eq!((open.name.as_str(), &open.data["resumed"]), ("open", &Value::Bool(false)));
    // Another process.
    api.server.neap.chat(&["users see a 500 after the deployment, help me", "it is fixed, that is done"]);
    let heard = watcher.until(is("effort_concluded"));
    let started = heard.iter().find(|event| is("turn_started")(event)).expect("a turn");
    assert_eq!((started.name.as_str(), &started.data["session"]), ("turn", &"default".into()));
    assert!(
        started.data["turn"].as_u64() > Some(4) && started.data["seq"].is_u64() && started.data["at"].is_u64()
    );
    let concluded = heard.last().expect("an event");
    assert_eq!((concluded.name.as_str(), concluded.data["ids"].as_array().map(Vec::len)), ("effort", Some(1)));
    assert!(heard.iter().any(|event| event.name == "rewrite"), "{heard:?}");
    // The proxy, here.
    let body = r#"{"model": "gpt-4o", "messages": [{"role": "user", "content": "and now?"}]}"#;
    assert_eq!(api.server.post("/v1/chat/completions", body).status, 200);
    let heard = watcher.until(|event| event.name == "request");
    assert_eq!(heard.last().map(|event| event.data["class"].clone()), Some("main_turn".into()));
    api.server.neap.ok(&["remember", "Tim is away in June"]);
    let heard = watcher.until(|event| event.name == "memory");
    assert_eq!(heard.last().map(|event| event.data["session"].clone()), Some(Value::Null));
    assert_eq!(api.ask("DELETE", "/sessions/default?confirm=default", None).status, 200);
    watcher.until(is("scrubbed"));
}

#[test]
fn a_watcher_that_comes_back_misses_nothing_and_hears_nothing_twice() {
    let api = Api::over(Neap::new());
    let record = |n: u64| {
        let turn = serde_json::json!({"message": format!("message {n}"), "reply": "yes"});
        api.send("PUT", &format!("/sessions/s/turns/{n}"), &turn);
    };
    let mut first = Watcher::open(&api, None);
    let open = first.next();
    record(1);
    let heard = first.until(|event| is("turn_completed")(event));
    drop(first);
    // Nobody watches, or not until the server notices.
    record(2);
    let mut second = Watcher::open(&api, heard.last().map(|event| event.id.as_str()));
    assert_eq!(second.next().data["resumed"], true);
    let after = second.until(|event| is("turn_completed")(event));
    assert!(after.iter().all(|event| event.data["turn"] == 2), "{after:?}");
    let mut third = Watcher::open(&api, Some(&open.id));
    assert_eq!(third.next().data["resumed"], true);
    let again: Vec<Event> = (0..heard.len() + after.len()).map(|_| third.next()).collect();
    assert_eq!(again, [heard, after].concat());
    let mut stranger = Watcher::open(&api, Some("ffff-3"));
    assert_eq!(stranger.next().data["resumed"], false);
}

#[cfg(unix)]
#[test]
fn watchers_do_not_keep_a_server_from_ending() {
    let api = Api::over(Neap::new());
    let mut watcher = Watcher::open(&api, None);
    watcher.next();
    api.server.signal("-TERM");
    let (status, log) = api.server.ended();
    assert!(status.success(), "{log}");
}
