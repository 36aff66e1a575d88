//! Requests as real clients send them: whose each is, of which kind, and what it is to those before it, is golden.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::path::Path;
use std::sync::Arc;

use crate::replay;
use neap_engine::Engine;
use neap_store::MemStore;

/// Each client speaks to a store of its own.
fn check(client: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/traffic/{client}.json"));
    let engine = Engine::builder(Arc::new(MemStore::new())).build();
    let mut lines = String::new();
    for request in replay::requests(&path).unwrap() {
        let plan = runtime.block_on(replay::send(&engine, &request));
        assert_eq!(plan.body, None, "{}: all of it fits", request.name);
        lines.push_str(&format!("{:<42} {}\n", request.name, replay::line(&plan)));
    }
    insta::assert_snapshot!(client, lines);
}

#[test]
fn claude_code() {
    check("claude-code");
}

#[test]
fn codex() {
    check("codex");
}

#[test]
fn opencode() {
    check("opencode");
}

#[test]
fn copilot() {
    check("copilot");
}

#[test]
fn aider() {
    check("aider");
}

#[test]
fn sdk() {
    check("sdk");
}
