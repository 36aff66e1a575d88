//! A provider on this machine: takes requests, answers as it is told, with every fault a network has.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Its body.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// As it should, and the connection with it.
    Clean,
    /// The connection breaks in the middle.
    Broken,
    /// Nothing comes any more, and the connection stays.
    Silent,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    pieces: Vec<Vec<u8>>,
    end: End,
}

impl Reply {
    pub(crate) fn stream(text: impl Into<String>) -> Self {
        Self::new(200, "text/event-stream", text)
    }

    pub(crate) fn error(status: u16, body: &str) -> Self {
        Self::new(status, "application/json", body)
    }

    pub(crate) fn new(status: u16, kind: &str, body: impl Into<String>) -> Self {
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Self { status, headers, pieces: vec![body.into().into_bytes()], end: End::Clean }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Only its first bytes.
    pub(crate) fn cut(mut self, bytes: usize, end: End) -> Self {
        let whole = self.pieces.concat();
        self.pieces = vec![whole[..bytes.min(whole.len())].to_vec()];
        self.end = end;
        self
    }

    pub(crate) fn ending(self, end: End) -> Self {
        Self { end, ..self }
    }

    fn write(&self, connection: &mut TcpStream) -> std::io::Result<()> {
        write!(
            connection,
            "HTTP/1.1 {} Whatever\r\nconnection: close\r\ntransfer-encoding: chunked\r\n",
            self.status
        )?;
        for (name, value) in &self.headers {
            write!(connection, "{name}: {value}\r\n")?;
        }
        connection.write_all(b"\r\n")?;
        for piece in self.pieces.iter().filter(|piece| !piece.is_empty()) {
            write!(connection, "{:x}\r\n", piece.len())?;
            connection.write_all(piece)?;
            connection.write_all(b"\r\n")?;
            connection.flush()?;
        }
        match self.end {
            End::Clean => connection.write_all(b"0\r\n\r\n"),
            End::Broken => Ok(()),
            End::Silent => {
                // Until the other side gives up.
                let _ = connection.read(&mut [0; 1]);
                Ok(())
            }
        }
    }
}

/// The provider.
pub(crate) struct Mock {
    address: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Mock {
    /// Answers each request by its content and its number.
    pub(crate) fn start(mut answer: impl FnMut(&Request, usize) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
        let log = seen.clone();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let Ok(mut connection) = connection else { continue };
                let Some(request) = take(&connection) else { continue };
                let number = {
                    let mut log = log.lock().expect("a log");
                    log.push(request.clone());
                    log.len() - 1
                };
                let reply = answer(&request, number);
                // A client that has gone away is part of some tests.
                thread::spawn(move || reply.write(&mut connection));
            }
        });
        Self { address, seen }
    }

    /// Answers with these, one after the other, and then with an error.
    pub(crate) fn script(replies: Vec<Reply>) -> Self {
        let ended = || Reply::error(418, r#"{"error":{"message":"the script is at its end"}}"#);
        Self::start(move |_, number| replies.get(number).cloned().unwrap_or_else(ended))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests from this one on.
    pub(crate) fn taken_from(&self, first: usize) -> Vec<Request> {
        self.seen.lock().expect("a log").split_off(first)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen.lock().expect("a log").clone()
    }
}

fn take(connection: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            None => break,
        }
    }
    let mut request = Request { path, headers, body: String::new() };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    Some(request)
}

/// One of the protocols, as a provider speaks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Chat,
    Responses,
    Messages,
}

pub(crate) const ALL: [Speaks; 3] = [Speaks::Chat, Speaks::Responses, Speaks::Messages];

impl Speaks {
    pub(crate) fn of(path: &str) -> Self {
        match path {
            "/v1/chat/completions" => Speaks::Chat,
            "/v1/responses" => Speaks::Responses,
            "/v1/messages" => Speaks::Messages,
            other => panic!("nobody asks {other}"),
        }
    }

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Speaks::Chat => "openai",
            Speaks::Responses => "responses",
            Speaks::Messages => "anthropic",
        }
    }

    /// An answer in words, one event for each; of a hundred tokens sent, eighty were cached.
    pub(crate) fn words(self, words: &[&str]) -> String {
        let mut events = Vec::new();
        match self {
            Speaks::Chat => {
                for word in words {
                    events.push(json!({"choices": [{"index": 0, "delta": {"content": word}}]}));
                }
                events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
                events.push(chat_usage());
            }
            Speaks::Responses => {
                for word in words {
                    events.push(json!({"type": "response.output_text.delta", "delta": word}));
                }
                events.push(response_end());
            }
            Speaks::Messages => {
                events.push(message_start());
                events.push(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}));
                for word in words {
                    let delta = json!({"type": "text_delta", "text": word});
                    events.push(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
                }
                events.push(message_end("end_turn"));
                events.push(json!({"type": "message_stop"}));
            }
        }
        self.written(&events)
    }

    /// An answer that thinks, then calls a tool.
    pub(crate) fn call(self, id: &str, name: &str, arguments: &Value) -> String {
        let text = arguments.to_string();
        let events = match self {
            Speaks::Chat => vec![
                json!({"choices": [{"index": 0, "delta": {"reasoning_content": "thought"}}]}),
                json!({"choices": [{"index": 0, "delta": {"tool_calls": [
                    {"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": text}}]}}]}),
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
                chat_usage(),
            ],
            Speaks::Responses => vec![
                json!({"type": "response.output_item.done", "output_index": 0, "item":
                    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "thought"}}),
                json!({"type": "response.output_item.done", "output_index": 1, "item":
                    {"type": "function_call", "call_id": id, "name": name, "arguments": text}}),
                response_end(),
            ],
            Speaks::Messages => vec![
                message_start(),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "thought"}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "signed"}}),
                json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}}),
                json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": text}}),
                message_end("tool_use"),
                json!({"type": "message_stop"}),
            ],
        };
        self.written(&events)
    }

    fn written(self, events: &[Value]) -> String {
        let mut text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        if self == Speaks::Chat {
            text.push_str("data: [DONE]\n\n");
        }
        text
    }
}

fn chat_usage() -> Value {
    let details = json!({"cached_tokens": 80});
    json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": details}})
}

fn response_end() -> Value {
    let usage = json!({"input_tokens": 100, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 80}});
    json!({"type": "response.completed", "response": {"usage": usage}})
}

fn message_start() -> Value {
    let usage = json!({"input_tokens": 20, "cache_read_input_tokens": 80, "output_tokens": 1});
    json!({"type": "message_start", "message": {"usage": usage}})
}

fn message_end(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}})
}
