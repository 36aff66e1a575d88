//! Sessions found by what a request says.

use neap_core::base::tenant::Tenant;
use neap_core::client::IdentitySource;
use serde_json::{Value, json};

use super::*;

fn tenant() -> Tenant {
    Tenant::from_key(Some("sk-one"))
}

fn signals(path: &str, headers: &[(&str, &str)], body: Value) -> Signals {
    let headers: Vec<(String, String)> = headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let body = Object::parse(&body.to_string()).expect("an object");
    from_request(path, &headers, &body)
}

fn body() -> Value {
    json!({"conversation": "conv_1", "prompt_cache_key": "key-1", "user": "ana"})
}

const CHAT: &str = "/v1/chat/completions";

#[track_caller]
fn check(path: &str, headers: &[(&str, &str)], body: Value, want: Option<(IdentitySource, &str)>) {
    let identity = signals(path, headers, body).identity(&tenant());
    let got = identity.as_ref().map(|identity| {
        let name = identity.name.id();
        let words =
            name.as_str().strip_suffix(&identity.name.digest().to_string()).expect("I11: all of the digest");
        (identity.source, words.trim_end_matches('-').to_owned())
    });
    let got = got.as_ref().map(|(source, words)| (*source, words.as_str()));
    assert_eq!(got, want, "{path} {headers:?}");
}

/// PROTOCOLS, "Which session is this request?": the first match decides.
#[test]
fn the_first_signal_tells() {
    let codex = [("Session-Id", "01a1-b3"), ("thread-id", "01a1-b3")];
    let claude = ("x-claude-code-session-id", "0D2F-93");
    check(CHAT, &[("X-Neap-Session", " My Work "), claude], body(), Some((IdentitySource::Named, "my-work")));
    check("/s/desk/v1/messages", &[claude], body(), Some((IdentitySource::Named, "desk")));
    check("/v1/messages", &[claude], body(), Some((IdentitySource::Client, "claude-code-0d2f-93")));
    check("/v1/responses", &codex, body(), Some((IdentitySource::Client, "codex-01a1-b3")));
    check(CHAT, &[("x-session-id", "ses_e2")], body(), Some((IdentitySource::Client, "opencode-ses-e2")));
    check(CHAT, &[], body(), Some((IdentitySource::Conversation, "conversation-conv-1")));
    let cached = json!({"prompt_cache_key": "key-1", "user": "ana"});
    check(CHAT, &[], cached, Some((IdentitySource::CacheKey, "cached-key-1")));
    check(CHAT, &[], json!({"user": "ana"}), Some((IdentitySource::User, "user-ana")));
    check(CHAT, &[("x-neap-session", "  ")], json!({}), None);
    // A named response is found by its digest, before a cache key.
    check(CHAT, &[], json!({"prompt_cache_key": "key-1", "previous_response_id": "resp_1"}), None);
}

#[test]
fn a_session_in_the_users_id_is_that_session() {
    let user = r#"{"device_id":"d","session_id":"0d2f"}"#;
    let user_signal = |user: &str| {
        let body = json!({"metadata": {"user_id": user}});
        signals("/v1/messages", &[], body).user
    };
    assert_eq!(user_signal(user).as_deref(), Some("0d2f"));
    assert_eq!(user_signal("{\"other\":1}").as_deref(), Some("{\"other\":1}"));
}

#[test]
fn a_helper_is_a_session_of_its_own() {
    let session = ("x-claude-code-session-id", "s1");
    let identify = |headers: &[(&str, &str)]| {
        let signals = signals("/v1/messages", headers, json!({}));
        (signals.subagent.is_some(), signals.identity(&tenant()).expect("it is named").name.id())
    };
    let (main, helper) = (identify(&[session]), identify(&[session, ("x-claude-code-agent-id", "a92")]));
    assert_eq!((main.0, helper.0), (false, true));
    assert_ne!(main.1, helper.1);
    let codex = identify(&[("session-id", "s1"), ("thread-id", "t2")]);
    assert!(codex.0);
}

/// I11, also for names that differ only in what a slug drops.
#[test]
fn no_two_share_a_session_by_its_name() {
    let session_id = |tenant: &Tenant, name: &str| {
        let signals = signals(CHAT, &[("x-neap-session", name)], json!({}));
        signals.identity(tenant).expect("it is named").name.id()
    };
    let (one, two) = (tenant(), Tenant::from_key(Some("sk-two")));
    assert_ne!(session_id(&one, "work"), session_id(&two, "work"));
    assert_ne!(session_id(&one, "Work"), session_id(&one, "work"));
    assert_eq!(session_id(&one, "work"), session_id(&one, "work"));
    // Names that differ only after the part that is shown.
    for chars in [36, 37, 64, 65, 1_000] {
        let [a, b] =
            ["a", "b"].map(|end| session_id(&one, &("same beginning ".repeat(80)[..chars].to_owned() + end)));
        assert_ne!(a, b, "{chars}");
    }
    for odd in ["../../etc", "🐛", &"x".repeat(10_000), "@agent"] {
        let id = session_id(&one, odd);
        assert!(id.as_str().len() <= 160 && id.agent().is_none(), "{id}");
    }
}

/// A session named by a key has it in no id; the legacy id stays what it was.
#[test]
fn ids_have_no_secrets() {
    let key = format!("gs{}_{}", "k", "aB3dE6gH9jK2mN5pQ8sT1vW4".repeat(2));
    let signals = signals(CHAT, &[("x-neap-session", &key)], json!({}));
    let name = signals.identity(&tenant()).expect("it is named").name;
    assert!(!name.id().as_str().contains("ab3de6"), "{}", name.id());
    assert!(name.legacy_id().as_str().contains("ab3de6"), "{}", name.legacy_id());
}

/// An id has the whole digest; the legacy id, which may collide, is still known.
#[test]
fn ids_carry_the_whole_digest() {
    let signals = signals(CHAT, &[("x-claude-code-session-id", "0D2F-93")], json!({}));
    let name = signals.identity(&tenant()).expect("it is named").name;
    assert_eq!(name.id().as_str(), format!("claude-code-0d2f-93-{}", name.digest()));
    assert_eq!(name.digest().bytes().len(), 16);
    assert_eq!(name.legacy_id().as_str(), format!("claude-code-0d2f-93-{}", name.digest().short_hex()));
    let ids: std::collections::BTreeSet<_> = (0..4).map(|others| name.id_after_collisions(others)).collect();
    assert_eq!((ids.len(), ids.contains(&name.id())), (4, true));
}

#[test]
fn a_cache_for_an_hour_is_asked_for_at_the_beginning() {
    let mark =
        |ttl: &str| json!([{ "type": "text", "text": "x", "cache_control": { "type": "ephemeral", "ttl": ttl } }]);
    let table = [
        (json!({ "system": mark("1h") }), true),
        (json!({ "tools": mark("1h") }), true),
        (json!({ "cache_control": { "type": "ephemeral", "ttl": "1h" } }), true),
        (json!({ "system": mark("5m") }), false),
        (json!({ "system": [{ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } }] }), false),
        (json!({ "system": "ttl: 1h" }), false),
        (json!({}), false),
    ];
    for (body, want) in table {
        assert_eq!(signals("/v1/messages", &[], body.clone()).hour_cache, want, "{body}");
    }
}
