//! Reads the identifiers of known programs and providers from a request's path, headers and body.

use neap_core::client::Signals;

use crate::wire::json::{Array, Object};

/// Header names ignore case.
pub(super) fn from_request(path: &str, headers: &[(String, String)], body: &Object) -> Signals {
    let header = |name: &str| {
        let value = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let (thread, session) = (header("thread-id"), header("session-id"));
    let thread_apart = thread.clone().filter(|thread| session.as_ref().is_some_and(|own| own != thread));
    let client_session = header("x-claude-code-session-id")
        .map(|id| ("claude-code", id))
        .or_else(|| session.or(thread).map(|id| ("codex", id)))
        .or_else(|| header("x-session-id").map(|id| ("opencode", id)));
    let conversation = body.get("conversation").and_then(|conversation| {
        conversation
            .read::<String>()
            .or_else(|| Object::from_json(conversation).and_then(|object| object.text_of("id")))
    });
    let user = body.object("metadata").and_then(|metadata| metadata.text_of("user_id"));
    Signals {
        session_name: header("x-neap-session").or_else(|| path_session(path)),
        project: header("x-neap-project"),
        client_session,
        subagent: header("x-claude-code-agent-id").or(thread_apart),
        conversation,
        previous_response: body.text_of("previous_response_id"),
        cache_key: body.text_of("prompt_cache_key"),
        user: user.or_else(|| body.text_of("user")).map(user_session),
        by_person: header("x-initiator").map(|initiator| initiator != "agent"),
        hour_cache: asks_for_hour_cache(body),
    }
}

/// Anthropic's form: for the whole request, or for its beginning, since what is cached longer comes first.
fn asks_for_hour_cache(body: &Object) -> bool {
    let is_hour = |object: &Object| {
        object.object("cache_control").and_then(|cache| cache.text_of("ttl")).is_some_and(|ttl| ttl == "1h")
    };
    let has_hour = |list: Option<Array>| list.is_some_and(|list| list.objects().any(|object| is_hour(&object)));
    is_hour(body) || ["tools", "system"].into_iter().any(|key| has_hour(body.array(key)))
}

/// The name in `/s/<name>/v1/…`.
fn path_session(path: &str) -> Option<String> {
    let name = path.strip_prefix("/s/")?.split('/').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// One program writes its session id into the user id, as JSON.
fn user_session(user: String) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(&user).ok();
    let session = value.as_ref().and_then(|value| value.get("session_id")).and_then(serde_json::Value::as_str);
    session.map_or_else(|| user.clone(), str::to_owned)
}

#[cfg(test)]
#[path = "signals_tests.rs"]
mod tests;
