//! The HTTP API over a real server: every route of its document, and who may ask.
#![allow(clippy::disallowed_methods, reason = "a test may write the document")]

mod access;
mod answers;
pub(crate) mod calls;
mod fuzz;
mod host_entries;
mod live;
mod pages;
mod prompts;
mod schema;
mod writes;

use serde_json::{Value, json};

use crate::mock::{Mock, Reply, Speaks};
use crate::rig::Neap;
use crate::wire::{Answer, Proxy};

/// A server over some data, and its token.
pub(crate) struct Api {
    pub(crate) server: Proxy,
    pub(crate) token: String,
    /// The session of a proxied conversation, if there was one.
    pub(crate) proxied: String,
    // The provider behind the proxy.
    _mock: Mock,
}

impl Api {
    /// Over a chat with efforts, memories, and a proxied conversation.
    pub(crate) fn with_data() -> Self {
        Self::with_data_in(Neap::new())
    }

    /// The same, but nothing is compared by meaning: in a build for tests that takes its time, and may not be ready.
    pub(crate) fn with_data_by_words() -> Self {
        Self::with_data_in(Neap::with(&[("NEAP_EMBEDDER", "none")]))
    }

    fn with_data_in(neap: Neap) -> Self {
        neap.chat(&[
            "users get a 401 an hour after login, help me",
            "the refresh token expires after 3600 seconds, see auth.rs line 42",
            "fixed, that is done",
            "now help me to write the changelog for version 2.31.0",
        ]);
        neap.ok(&["remember", "Tim prefers Celsius", "--always"]);
        neap.ok(&["remember", "Staging runs PostgreSQL 15", "--subject", "staging database"]);
        neap.ok(&["remember", "Staging runs PostgreSQL 16", "--subject", "staging database"]);
        neap.ok(&["memory", "decide", "Use Redis for sessions", "--confidence", "0.7"]);
        neap.ok(&["memory", "censor", "add", "delete production", "--reason", "ask first"]);
        let mut api = Self::over(neap);
        let body = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "what is in the proxy?"}]});
        let headers = [("content-type", "application/json"), ("x-neap-session", "proxied")];
        let answer = api.server.ask("POST", "/v1/chat/completions", &headers, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        api.proxied = answer.header("x-neap-session").expect("a session").to_owned();
        api
    }

    pub(crate) fn over(neap: Neap) -> Self {
        let mock = Mock::start(|_, _| Reply::stream(Speaks::Chat.words(&["it ", "is there"])));
        let server = Proxy::over(neap, &["--upstream", &mock.url("/v1")], &[]);
        let token = std::fs::read_to_string(server.neap.data().join("keys/api.token")).expect("a token");
        Self { server, token: token.trim().to_owned(), proxied: String::new(), _mock: mock }
    }

    /// Asks below the prefix, with the token.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.ask_with(method, path, &[], body)
    }

    pub(crate) fn ask_with(
        &self,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![("authorization", bearer.as_str())];
        let text = body.map(Value::to_string);
        if text.is_some() {
            headers.push(("content-type", "application/json"));
        }
        headers.extend(more);
        let bytes = text.unwrap_or_default();
        self.server.ask(method, &format!("/api/v1{path}"), &headers, bytes.as_bytes())
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, None);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    #[track_caller]
    pub(crate) fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.ask(method, path, Some(body));
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }
}

/// The document as it is checked in.
pub(crate) fn document() -> Value {
    let text = std::fs::read_to_string(DOCUMENT).expect("a document");
    serde_json::from_str(&text).expect("JSON")
}

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
/// Names the variable that lets the test below write the document.
const WRITE: &str = "NEAP_TEST_WRITE_OPENAPI";

#[test]
fn the_document_is_current() {
    let made = neap_server::api::openapi_document();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(DOCUMENT, &made).expect("it can be written");
    }
    let is_current = std::fs::read_to_string(DOCUMENT).is_ok_and(|text| text == made);
    assert!(
        is_current,
        "docs/openapi.json is not what the routes say: run this test with {WRITE}=1 and look at it"
    );
}
