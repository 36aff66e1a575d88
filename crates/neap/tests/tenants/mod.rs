//! A server with keys: whose data a key opens, and that nothing else opens any.
#![allow(clippy::disallowed_methods, reason = "tests make files on purpose")]

mod commands;
mod limits;
mod proxy;
mod routes;
#[cfg(target_os = "linux")]
mod tls;

use serde_json::Value;

use crate::mock::{Mock, Reply, Request, Speaks};
use crate::rig::Neap;
use crate::wire::{Answer, Proxy};

/// Planted in everything that each tenant stores.
const OURS: &str = "QX7-ACME-HERON";
const THEIRS: &str = "QX9-BETA-OSPREY";
/// Planted in one memory of one agent, and said in no conversation.
const REMEMBERED: &str = "QX5-ACME-MAGPIE";
/// What the provider takes.
const PROVIDER_KEY: &str = "Bearer sk-the-providers-own-key-4f9aT7bQ2mX8";

/// A key, as its owner has it.
#[derive(Debug, Clone)]
struct Key {
    id: String,
    text: String,
}

fn new_key(neap: &Neap, tenant: &str, args: &[&str]) -> Key {
    let ran = neap.run(&[&["access", "key", "add", tenant, "--json"], args].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    read_key(&ran.out)
}

fn read_key(out: &str) -> Key {
    let value: Value = serde_json::from_str(out).expect("JSON");
    let text = |name: &str| value[name].as_str().expect("a text").to_owned();
    Key { id: text("id"), text: text("key") }
}

/// Runs a command on a tenant's own data.
fn on_tenant(neap: &Neap, tenant: &str, args: &[&str], input: &str) -> String {
    let folder = neap.data().join("tenants").join(tenant);
    let folder = folder.to_str().expect("a plain path");
    let ran = neap.fed(&[&["--data-dir", folder], args].concat(), input);
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    ran.out
}

/// Two tenants with the same names of everything, and a marker in all that each has stored.
struct Place {
    server: Proxy,
    mock: Mock,
    ours: Key,
    theirs: Key,
    /// Of whoever runs the server.
    own: Key,
}

impl Place {
    fn start() -> Self {
        Self::over(Self::planted())
    }

    fn planted() -> Neap {
        let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
        for (tenant, marker) in [("acme", OURS), ("beta", THEIRS)] {
            neap.ok(&["access", "tenant", "add", tenant]);
            let said = format!(
                "users get a 401 with {marker}, help me\nthe token of {marker} expires\nfixed, that is done\nnow help me \
                 to write a changelog for {marker}"
            );
            on_tenant(&neap, tenant, &["chat"], &said);
            let fact = format!("The code of {marker} is on the shelf");
            on_tenant(&neap, tenant, &["remember", &fact, "--subject", marker], "");
            on_tenant(&neap, tenant, &["remember", &format!("Staging of {marker} runs PostgreSQL")], "");
            let decision = format!("Use {marker} for sessions");
            on_tenant(&neap, tenant, &["memory", "decide", &decision, "--confidence", "0.7"], "");
            let rule = format!("delete {marker}");
            on_tenant(&neap, tenant, &["memory", "censor", "add", &rule, "--reason", marker], "");
        }
        on_tenant(&neap, "acme", &["remember", &format!("The door of {REMEMBERED} is green")], "");
        neap
    }

    fn over(neap: Neap) -> Self {
        let (ours, theirs) =
            (new_key(&neap, "acme", &["--scope", "admin"]), new_key(&neap, "beta", &["--scope", "admin"]));
        let own = new_key(&neap, "local", &["--scope", "read"]);
        let mock = provider();
        let server = Proxy::over(neap, &["--upstream", &mock.url("/v1")], &[("NEAP_LOG", "debug")]);
        Self { server, mock, ours, theirs, own }
    }

    /// Below the API's prefix.
    fn ask(&self, key: &str, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let text = body.map(Value::to_string).unwrap_or_default();
        let headers = [("x-neap-key", key), ("content-type", "application/json")];
        self.server.ask(method, &format!("/api/v1{path}"), &headers, text.as_bytes())
    }

    /// Through the proxy, as a client that has the provider's key as well.
    fn chat(&self, key: &str, session: &str, text: &str) -> Answer {
        let body = serde_json::json!({"model": "gpt-4o", "messages": [{"role": "user", "content": text}]});
        let headers = [
            ("x-neap-key", key),
            ("authorization", PROVIDER_KEY),
            ("x-neap-session", session),
            ("content-type", "application/json"),
        ];
        self.server.ask("POST", "/v1/chat/completions", &headers, body.to_string().as_bytes())
    }

    /// Everything that the server printed and counts, for a look at what it should not contain.
    fn said(&self) -> String {
        let metrics = self.server.ask("GET", "/metrics", &[("x-neap-key", &self.own.text)], b"");
        assert_eq!(metrics.status, 200, "{}", metrics.text());
        let ready = self.server.ask("GET", "/readyz", &[], b"").text();
        self.server.log() + &metrics.text() + &ready
    }
}

fn provider() -> Mock {
    Mock::start(|request: &Request, _| {
        let speaks = match request.path.split('?').next().unwrap_or_default() {
            "/v1/responses" => Speaks::Responses,
            "/v1/messages" => Speaks::Messages,
            _ => Speaks::Chat,
        };
        Reply::stream(speaks.words(&["Noted", "."]))
    })
}

/// An answer, whole: its headers as well.
fn whole(answer: &Answer) -> String {
    format!("{:?}\n{}", answer.headers, answer.text())
}
