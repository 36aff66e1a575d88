//! A client of `neap mcp` that speaks line by line, so that it can say anything.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::Neap;

/// The revisions that have a handshake.
pub(crate) const WITH_HANDSHAKE: [&str; 2] = ["2025-06-18", "2025-11-25"];
/// The one without.
pub(crate) const STATELESS: &str = "2026-07-28";

/// A server that says nothing for so long says nothing any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server and a line to it.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: u64,
    /// What every request carries in the revision without a handshake.
    meta: Option<Value>,
    /// Notifications that came while an answer was waited for.
    pub(crate) heard: Vec<Value>,
}

impl Client {
    /// A server that was not spoken to yet.
    pub(crate) fn start(neap: &Neap, args: &[&str]) -> Self {
        let mut command = neap.command(&[&["mcp"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the binary runs");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sent, lines) = channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sent.send(line)));
        Self { child, stdin, lines, last_id: 0, meta: None, heard: Vec::new() }
    }

    /// One that has shaken hands, for a client that can do this.
    pub(crate) fn greeted(neap: &Neap, args: &[&str], version: &str, can: Value) -> Self {
        let mut client = Self::start(neap, args);
        let hello = json!({"protocolVersion": version, "capabilities": can, "clientInfo": {"name": "tester", "version": "1"}});
        let answer = client.ask("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// One of the revision without a handshake.
    pub(crate) fn stateless(neap: &Neap, args: &[&str], can: Value) -> Self {
        let mut client = Self::start(neap, args);
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": can,
        }));
        client
    }

    /// Of any revision.
    pub(crate) fn of(neap: &Neap, version: &str) -> Self {
        match version {
            STATELESS => Self::stateless(neap, &[], json!({})),
            _ => Self::greeted(neap, &[], version, json!({})),
        }
    }

    /// Sends bytes as they are, and a line's end.
    pub(crate) fn write(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().expect("it is still spoken to");
        stdin.write_all(line).and_then(|()| stdin.write_all(b"\n")).expect("it listens");
    }

    pub(crate) fn say(&mut self, message: &Value) {
        self.write(message.to_string().as_bytes());
    }

    /// The next message of the server's.
    pub(crate) fn hear(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("the server says something");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request without waiting; gives its id.
    pub(crate) fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.last_id += 1;
        if let Some(meta) = &self.meta {
            let own = params["_meta"].take();
            params["_meta"] = meta.clone();
            if let (Value::Object(own), Some(all)) = (own, params["_meta"].as_object_mut()) {
                all.extend(own);
            }
        }
        self.say(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}));
        self.last_id
    }

    /// The answer to a request; what else comes is kept.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.hear();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// The next request of the server's; what else comes is kept.
    pub(crate) fn asked(&mut self) -> Value {
        loop {
            let message = self.hear();
            if message.get("method").is_some() && message.get("id").is_some() {
                return message;
            }
            self.heard.push(message);
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// The result of a request that succeeds.
    #[track_caller]
    pub(crate) fn ok(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.ask(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// What a tool answers, which has a text twin.
    #[track_caller]
    pub(crate) fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let mut result = self.ok("tools/call", json!({"name": name, "arguments": arguments}));
        assert_eq!(result["isError"], false, "{name}: {result}");
        let twin: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
        let mut fields = result["structuredContent"].take();
        let all = fields.clone();
        // Records as fields are for programs: the text has them in words.
        if let Some(object) = fields.as_object_mut() {
            object
                .remove("results")
                .filter(|_| name != "recall")
                .map(|results| object.insert("results".into(), results));
        }
        assert_eq!(twin, fields, "{name}");
        all
    }

    /// Why a tool refuses, as the model reads it.
    #[track_caller]
    pub(crate) fn refused(&mut self, name: &str, arguments: Value) -> String {
        let result = self.ok("tools/call", json!({"name": name, "arguments": arguments}));
        assert_eq!(result["isError"], true, "{name}: {result}");
        assert!(result.get("structuredContent").is_none(), "{result}");
        result["content"][0]["text"].as_str().expect("text").to_owned()
    }

    /// The code of the error that a request gets.
    #[track_caller]
    pub(crate) fn code(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.ask(method, params);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// Ends as a client does, by hanging up; gives the exit code.
    pub(crate) fn hang_up(mut self) -> i32 {
        drop(self.stdin.take());
        self.child.wait().expect("it ends").code().unwrap_or(-1)
    }

    /// Ends it at once.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
