//! The proxy while its store fails: the real binary over a real store that is locked, broken, full or read-only, and a provider that counts
//! what it is sent. Nothing goes over the budget, nothing is silent, and in the end nothing is missing and nothing is doubled.
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::path::Path;

use crate::disk::Disk;
use crate::mock::{ALL, Mock, Reply, Speaks};
use crate::rig::Neap;
use crate::wire::{Answer, Proxy};
use neap_model::bpe::counter_for;
use rusqlite::Connection;
use serde_json::{Value, json};

const BUDGET: u64 = 3_000;
/// Embedding is slow where it is not optimised, as in tests.
const BY_WORDS: [(&str, &str); 1] = [("NEAP_EMBEDDER", "none")];
/// Tables of SQLite are made to fail from outside, as a disk that fails would have them.
const BREAK: &str = "CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'disk failure'); END";
const MEND: &str = "DROP TRIGGER broken";

/// A client whose conversation has a name, and no two texts alike.
struct Client {
    speaks: Speaks,
    name: String,
    history: Vec<Value>,
    said: Vec<String>,
}

impl Client {
    fn new(speaks: Speaks, name: &str) -> Self {
        Self { speaks, name: format!("{name}-{}", speaks.name()), history: Vec::new(), said: Vec::new() }
    }

    fn path(&self) -> String {
        let path = match self.speaks {
            Speaks::Chat => "/v1/chat/completions",
            Speaks::Responses => "/v1/responses",
            Speaks::Messages => "/v1/messages",
        };
        format!("/s/{}{path}", self.name)
    }

    /// Says something; `long` is about how many words.
    fn say(&mut self, proxy: &Proxy, long: usize) -> Answer {
        let nth = self.said.len() / 2;
        let asked = format!("question {nth} of {}: {}", self.name, "harbour lantern quarry ".repeat(long / 3));
        self.history.push(json!({"role": "user", "content": asked}));
        let list = if self.speaks == Speaks::Responses { "input" } else { "messages" };
        let mut body = json!({"model": "m-unknown", "stream": true, "max_tokens": 500});
        body[list] = json!(self.history);
        let answer = proxy.post(&self.path(), &body.to_string());
        assert_eq!((answer.status, answer.is_whole), (200, true), "{}", answer.text());
        let reply = format!("reply to {asked}");
        let reply = reply[..reply.len().min(60)].trim().to_owned();
        self.history.push(json!({"role": "assistant", "content": reply}));
        self.said.extend([asked.trim().to_owned(), reply]);
        answer
    }

    /// What is stored of the conversation, in order.
    fn stored(&self, proxy: &Proxy) -> Vec<String> {
        let sessions = proxy.neap.json(&["session", "list"]);
        let named =
            sessions.as_array().expect("a list").iter().map(|info| info["session"].as_str().expect("a name"));
        let own: Vec<&str> = named.filter(|session| session.contains(&self.name)).collect();
        let [session] = own[..] else { panic!("{} is in {own:?}", self.name) };
        let events = proxy.neap.events(session);
        let texts = events.iter().filter_map(|event| event["event"]["message"]["content"].as_str());
        texts.map(|text| text.trim().to_owned()).collect()
    }
}

/// A provider that answers with the beginning of what it was asked.
fn provider() -> Mock {
    Mock::start(|request, _| {
        let speaks = Speaks::of(request.path.as_str());
        let body = request.json();
        let list = if speaks == Speaks::Responses { "input" } else { "messages" };
        let items = body[list].as_array().expect("a history");
        let last = items.iter().rev().find(|item| item["role"] == "user").expect("a question");
        let content = &last["content"];
        let asked = content.as_str().or(content[0]["text"].as_str()).expect("words");
        let reply = format!("reply to {asked}");
        Reply::stream(speaks.words(&[reply[..reply.len().min(60)].trim()]))
    })
}

/// Every request that reached the provider, counted by itself.
fn check_budget(mock: &Mock) {
    let counter = counter_for("o200k_base");
    for request in mock.requests() {
        let tokens = counter.count(&request.body).0;
        assert!(tokens <= BUDGET, "{tokens} of {BUDGET}: {:.300}", request.body);
    }
}

fn start(mock: &Mock, neap: Neap) -> Proxy {
    Proxy::over(neap, &["--upstream", &mock.url(""), "--budget", &BUDGET.to_string()], &BY_WORDS)
}

/// A fault of the store: how it comes, how it goes, and what is said of it.
struct Fault<'a> {
    name: &'a str,
    comes: Box<dyn Fn() + 'a>,
    goes: Box<dyn Fn() + 'a>,
    reason: &'a str,
}

/// Conversations of all protocols, through a time in which the store fails.
fn through(proxy: &Proxy, mock: &Mock, fault: &Fault<'_>, shapes: &[usize]) {
    let recorded = |answer: &Answer| answer.header("x-neap-recorded").expect("it is said").to_owned();
    let mut clients: Vec<Client> = ALL.iter().map(|speaks| Client::new(*speaks, fault.name)).collect();
    for client in &mut clients {
        assert_eq!(recorded(&client.say(proxy, 30)), "yes", "{}", client.name);
    }
    assert_eq!((proxy.ask("GET", "/readyz", &[], b"").status, proxy.metric("neap_store_ok")), (200, Some(1)));
    let before = proxy.metric("neap_requests_unrecorded_total").expect("a figure");
    (fault.comes)();
    for long in shapes {
        for client in &mut clients {
            assert_eq!(
                recorded(&client.say(proxy, *long)),
                format!("no; {}", fault.reason),
                "{}: {}",
                client.name,
                proxy.log()
            );
        }
    }
    let ready = proxy.ask("GET", "/readyz", &[], b"");
    assert_eq!(ready.status, 503, "{}: {}", fault.name, ready.text());
    assert!(ready.text().starts_with(&format!("not recording: {}; ", fault.reason)), "{}", ready.text());
    assert_eq!(proxy.ask("GET", "/healthz", &[], b"").status, 200);
    let count = (shapes.len() * clients.len()) as u64;
    assert_eq!(proxy.metric("neap_store_ok"), Some(0));
    assert_eq!(proxy.metric("neap_requests_unrecorded_total"), Some(before + count));
    proxy.wait_for("neap_answers_unrecorded_total", before + count);
    (fault.goes)();
    proxy.wait_for("neap_recordings_waiting", 0);
    proxy.wait_for("neap_store_ok", 1);
    // Nobody has asked since: what was said, and what was answered, is there all the same.
    for client in &clients {
        assert_eq!(client.stored(proxy), client.said, "{}", client.name);
    }
    for client in &mut clients {
        assert_eq!(recorded(&client.say(proxy, 30)), "yes", "{}", client.name);
        assert_eq!(client.stored(proxy), client.said, "{}", client.name);
    }
    assert_eq!(proxy.ask("GET", "/readyz", &[], b"").status, 200);
    check_budget(mock);
}

/// Short and long messages, some longer than the budget, up to several times of it together.
const SHAPES: [usize; 8] = [30, 400, 900, 5_000, 60, 700, 700, 30];

/// Issue: 11,089 tokens of 3,000 went on, with status 200 and not a word.
#[test]
fn a_store_that_is_locked_or_broken_is_done_without_and_caught_up_with() {
    let mock = provider();
    let proxy = start(&mock, Neap::new());
    let database = proxy.neap.database();
    let other = Connection::open(&database).expect("a store");
    let run = |sql: &'static str| Box::new(|| other.execute_batch(sql).expect("it is done"));
    for (name, comes, goes, reason) in [
        ("locked", "BEGIN IMMEDIATE", "ROLLBACK", "the store is locked by another process"),
        ("exclusive", "BEGIN EXCLUSIVE", "ROLLBACK", "the store is locked by another process"),
        ("broken", BREAK, MEND, "the store failed"),
    ] {
        through(&proxy, &mock, &Fault { name, comes: run(comes), goes: run(goes), reason }, &SHAPES);
    }
    // Said once a minute, not for each request; and without any log being asked for.
    let lines = proxy.log().lines().filter(|line| line.starts_with("not recorded: ")).count();
    assert!((1..=2).contains(&lines), "{}", proxy.log());
    proxy.signal("-TERM");
    let (status, log) = proxy.ended();
    assert!(status.success() && !log.contains("could not be recorded"), "{log}");
}

/// Fills a disk to the last page.
fn fill(filler: &Path) {
    let mut size = 32 << 20;
    let mut all = Vec::new();
    while size >= 512 {
        all.resize(all.len() + size, b'x');
        if std::fs::write(filler, &all).is_err() {
            all.truncate(all.len() - size);
            size /= 2;
        }
    }
}

#[test]
fn a_disk_that_is_full_is_done_without_and_caught_up_with() {
    let neap = Neap::new();
    let Some(_disk) = Disk::mount(&neap.data(), "size=24m") else { return };
    let (mock, filler) = (provider(), neap.data().join("filler"));
    let proxy = start(&mock, neap);
    let database = proxy.neap.database();
    let other = Connection::open(&database).expect("a store");
    let comes = || {
        // A write-ahead log that was checkpointed is written from its start again, without any new room.
        let has_room = || std::fs::metadata(database.with_extension("db-wal")).is_ok_and(|log| log.len() > 0);
        loop {
            let is_busy = other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
            fill(&filler);
            if is_busy == Ok(0) && !has_room() {
                break;
            }
            std::fs::remove_file(&filler).expect("it is tried again");
        }
    };
    let goes = || std::fs::remove_file(&filler).expect("there is room again");
    let fault = Fault {
        name: "full",
        comes: Box::new(comes),
        goes: Box::new(goes),
        reason: "no space left for the store",
    };
    through(&proxy, &mock, &fault, &SHAPES);
}

/// A store that can only be read when the proxy begins is written to as soon as it can be.
#[test]
fn a_disk_that_is_read_only_is_done_without_and_caught_up_with() {
    let neap = Neap::with(&BY_WORDS);
    let Some(disk) = Disk::mount(&neap.data(), "size=24m") else { return };
    neap.chat(&["The store is made here.", "/quit"]);
    neap.ok(&["store", "keys", "list"]);
    // It makes the tokens.
    let ran = neap.fed(&["ui", "--listen", "127.0.0.1:0", "--no-open", "--until-stdin-closes"], String::new());
    assert_eq!(ran.code, 0, "{}", ran.err);
    neap.ok(&["remember", "a command leaves its log of writes to the next one"]);
    disk.remount("ro");
    let mock = provider();
    let proxy = start(&mock, neap);
    let mut clients: Vec<Client> = ALL.iter().map(|speaks| Client::new(*speaks, "ro")).collect();
    for long in SHAPES {
        for client in &mut clients {
            let answer = client.say(&proxy, long);
            assert_eq!(answer.header("x-neap-recorded"), Some("no; the store is read-only"), "{}", client.name);
        }
    }
    let ready = proxy.ask("GET", "/readyz", &[], b"");
    assert_eq!((ready.status, ready.text().starts_with("not recording: the store is read-only")), (503, true));
    disk.remount("rw");
    proxy.wait_for("neap_recordings_waiting", 0);
    for client in &mut clients {
        assert_eq!(client.stored(&proxy), client.said, "{}", client.name);
        assert_eq!(client.say(&proxy, 30).header("x-neap-recorded"), Some("yes"));
        assert_eq!(client.stored(&proxy), client.said, "{}", client.name);
    }
    check_budget(&mock);
}

/// A proxy that ends while the store fails says what it could not record.
#[cfg(unix)]
#[test]
fn what_is_not_recorded_at_the_end_is_said() {
    let mock = provider();
    let proxy = start(&mock, Neap::new());
    let other = Connection::open(proxy.neap.database()).expect("a store");
    other.execute_batch(BREAK).expect("it is broken");
    Client::new(Speaks::Chat, "last").say(&proxy, 30);
    proxy.signal("-TERM");
    let (status, log) = proxy.ended();
    assert!(status.success() && log.contains("1 request could not be recorded"), "{log}");
}
