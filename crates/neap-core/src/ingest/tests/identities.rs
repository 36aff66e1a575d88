//! Whose conversation it is.

use super::tenant;
use crate::ingest::{BodySignals, Signals, Source, Tenant};

fn signals(path: &str, headers: &[(&str, &str)], body: BodySignals) -> Signals {
    let headers: Vec<(String, String)> = headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Signals::read(path, &headers, body)
}

fn body() -> BodySignals {
    BodySignals {
        conversation: Some("conv_1".to_owned()),
        previous_response: None,
        cache_key: Some("key-1".to_owned()),
        user: Some("ana".to_owned()),
    }
}

const CHAT: &str = "/v1/chat/completions";

#[track_caller]
fn check(path: &str, headers: &[(&str, &str)], body: BodySignals, want: Option<(Source, &str)>) {
    let identity = signals(path, headers, body).identity(&tenant());
    let got = identity.as_ref().map(|identity| {
        let name = identity.name.id();
        let words = name.as_str().strip_suffix(&identity.name.mark().to_string()).expect("I11: all of the digest");
        (identity.source, words.trim_end_matches('-').to_owned())
    });
    let got = got.as_ref().map(|(source, words)| (*source, words.as_str()));
    assert_eq!(got, want, "{path} {headers:?}");
}

/// PROTOCOLS, "Which session is this request?": the first of the list tells.
#[test]
fn the_first_signal_tells() {
    let codex = [("Session-Id", "01a1-b3"), ("thread-id", "01a1-b3")];
    let claude = ("x-claude-code-session-id", "0D2F-93");
    check(CHAT, &[("X-Neap-Session", " My Work "), claude], body(), Some((Source::Named, "my-work")));
    check("/s/desk/v1/messages", &[claude], body(), Some((Source::Named, "desk")));
    check("/v1/messages", &[claude], body(), Some((Source::Client, "claude-code-0d2f-93")));
    check("/v1/responses", &codex, body(), Some((Source::Client, "codex-01a1-b3")));
    check(CHAT, &[("x-session-id", "ses_e2")], body(), Some((Source::Client, "opencode-ses-e2")));
    check(CHAT, &[], body(), Some((Source::Conversation, "conversation-conv-1")));
    let cached = BodySignals { conversation: None, ..body() };
    check(CHAT, &[], cached.clone(), Some((Source::CacheKey, "cached-key-1")));
    check(CHAT, &[], BodySignals { cache_key: None, ..cached.clone() }, Some((Source::User, "user-ana")));
    check(CHAT, &[("x-neap-session", "  ")], BodySignals::default(), None);
    // An earlier answer that is named is found by itself, before a key for the cache.
    check(CHAT, &[], BodySignals { previous_response: Some("resp_1".to_owned()), ..cached }, None);
}

#[test]
fn a_session_in_the_users_id_is_that_session() {
    let user = r#"{"device_id":"d","session_id":"0d2f"}"#;
    let of = |user: &str| {
        let body = BodySignals { user: Some(user.to_owned()), ..BodySignals::default() };
        signals("/v1/messages", &[], body).user
    };
    assert_eq!(of(user).as_deref(), Some("0d2f"));
    assert_eq!(of("{\"other\":1}").as_deref(), Some("{\"other\":1}"));
}

/// A helper has a history of its own.
#[test]
fn a_helper_is_a_session_of_its_own() {
    let session = ("x-claude-code-session-id", "s1");
    let of = |headers: &[(&str, &str)]| {
        let signals = signals("/v1/messages", headers, BodySignals::default());
        (signals.agent.is_some(), signals.identity(&tenant()).expect("it is named").name.id())
    };
    let (main, helper) = (of(&[session]), of(&[session, ("x-claude-code-agent-id", "a92")]));
    assert_eq!((main.0, helper.0), (false, true));
    assert_ne!(main.1, helper.1);
    let codex = of(&[("session-id", "s1"), ("thread-id", "t2")]);
    assert!(codex.0);
}

/// I11, and names that differ only in what a slug leaves out.
#[test]
fn no_two_share_a_session_by_its_name() {
    let of = |tenant: &Tenant, name: &str| {
        let signals = signals(CHAT, &[("x-neap-session", name)], BodySignals::default());
        signals.identity(tenant).expect("it is named").name.id()
    };
    let (one, two) = (tenant(), Tenant::of_key(Some("sk-two")));
    assert_ne!(of(&one, "work"), of(&two, "work"));
    assert_ne!(of(&one, "Work"), of(&one, "work"));
    assert_eq!(of(&one, "work"), of(&one, "work"));
    // Names that differ only after what is shown of them.
    for chars in [36, 37, 64, 65, 1_000] {
        let [a, b] = ["a", "b"].map(|end| of(&one, &("same beginning ".repeat(80)[..chars].to_owned() + end)));
        assert_ne!(a, b, "{chars}");
    }
    for odd in ["../../etc", "🐛", &"x".repeat(10_000), "@agent"] {
        let id = of(&one, odd);
        assert!(id.as_str().len() <= 160 && id.agent().is_none(), "{id}");
    }
}

/// A client that calls its session by a key has it in no id; the one of old is what it was.
#[test]
fn ids_have_no_secrets() {
    let key = format!("gs{}_{}", "k", "aB3dE6gH9jK2mN5pQ8sT1vW4".repeat(2));
    let signals = signals(CHAT, &[("x-neap-session", &key)], BodySignals::default());
    let name = signals.identity(&tenant()).expect("it is named").name;
    assert!(!name.id().as_str().contains("ab3de6"), "{}", name.id());
    assert!(name.old_id().as_str().contains("ab3de6"), "{}", name.old_id());
}

/// An id has the whole digest; the one of old, of which somebody else may have the same, can be told.
#[test]
fn ids_carry_the_whole_digest() {
    let signals = signals(CHAT, &[("x-claude-code-session-id", "0D2F-93")], BodySignals::default());
    let name = signals.identity(&tenant()).expect("it is named").name;
    assert_eq!(name.id().as_str(), format!("claude-code-0d2f-93-{}", name.mark()));
    assert_eq!(name.mark().bytes().len(), 16);
    assert_eq!(name.old_id().as_str(), format!("claude-code-0d2f-93-{}", name.mark().short()));
    let ids: std::collections::BTreeSet<_> = (0..4).map(|others| name.id_beside(others)).collect();
    assert_eq!((ids.len(), ids.contains(&name.id())), (4, true));
}
