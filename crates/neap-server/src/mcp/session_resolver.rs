//! Finds the session of a request.
//!
//! The first of: the argument `session`; the header `X-Neap-Session`; the session the server was started for
//! (`neap mcp --session`); a conversation id in the request's `_meta`; otherwise one session per client and
//! working folder, or per client where the folder is unknown.

use std::path::PathBuf;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use neap_core::base::ids::{AgentId, SessionId};
use neap_core::base::refusal::Refusal;
use neap_core::client::Digest;
use rmcp::RoleServer;
use rmcp::model::RequestMetaObject;
use rmcp::service::RequestContext;
use serde_json::Value;

/// The same header as the proxy's.
const SESSION_HEADER: &str = "x-neap-session";
const CODEX_META_KEY: &str = "x-codex-turn-metadata";
const CONVERSATION_ID_KEYS: [&str; 7] =
    ["neap/session", "sessionId", "session_id", "threadId", "thread_id", "conversationId", "conversation_id"];
/// Longer names are replaced by a digest, so that they stay distinct.
const NAME_CHARS_MAX: usize = 60;
/// Digest characters in legacy ids: after a folder's name, and in place of a conversation id.
const LEGACY_FOLDER_DIGEST_CHARS: usize = 8;
const LEGACY_ID_DIGEST_CHARS: usize = 24;

#[derive(Debug, Clone, Default)]
pub struct ServerDefaults {
    pub session: Option<SessionId>,
    /// The working folder, if a client started the server.
    pub folder: Option<PathBuf>,
    pub agent: Option<AgentId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedSession {
    pub(super) session: SessionId,
    /// Its id before ids had whole digests; used if only a session with that id exists.
    pub(super) legacy: Option<SessionId>,
    pub(super) is_named: bool,
}

pub(super) fn resolve(
    defaults: &ServerDefaults,
    argument: Option<&Value>,
    context: &RequestContext<RoleServer>,
) -> Result<ResolvedSession, Refusal> {
    let headers = context.extensions.get::<Parts>().map(|parts| &parts.headers);
    let client = context.client_info().map(|client| client.name).unwrap_or_default();
    resolve_from(defaults, argument, headers, &context.meta, &client)
}

fn resolve_from(
    defaults: &ServerDefaults,
    argument: Option<&Value>,
    headers: Option<&HeaderMap>,
    meta: &RequestMetaObject,
    client: &str,
) -> Result<ResolvedSession, Refusal> {
    let named = match argument {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) if name.trim().is_empty() => None,
        Some(Value::String(name)) => Some(name.clone()),
        Some(_) => return Err(Refusal::new("Argument 'session' must be text.")),
    };
    let in_header =
        || headers?.get(SESSION_HEADER)?.to_str().ok().map(str::to_owned).filter(|name| !name.trim().is_empty());
    if let Some(name) = named.or_else(in_header) {
        let session = SessionId::from_name(&name)
            .map_err(|error| Refusal::new(format!("Cannot use this as the name of a session: {error}.")))?;
        let legacy = SessionId::from_name_truncated(&name).ok().filter(|legacy| *legacy != session);
        return Ok(ResolvedSession { session, legacy, is_named: true });
    }
    if let Some(session) = &defaults.session {
        return Ok(ResolvedSession { session: session.clone(), legacy: None, is_named: false });
    }
    let (full_name, client) = (client_name(client), short_client_name(client));
    let id = |name: &str| {
        let session = SessionId::from_name(name).or_else(|_| SessionId::from_name("mcp"));
        session.map_err(|error| Refusal::new(error.to_string()))
    };
    let (session, legacy) = match (conversation_id(meta), &defaults.folder) {
        (Some(conversation), _) => match name_with_id(&client, &conversation).filter(|_| client == full_name) {
            Some(name) => (id(&name)?, None),
            None => {
                let legacy = name_with_id(&client, &conversation).unwrap_or_else(|| {
                    format!("{client}-{}", legacy_digest(&conversation, LEGACY_ID_DIGEST_CHARS))
                });
                (SessionId::with_digest(&client, &digest(&[&full_name, &conversation])), Some(id(&legacy)?))
            }
        },
        (None, Some(folder)) => {
            let path = folder.to_string_lossy();
            let folder_name =
                folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let folder_name: String = folder_name.chars().take(24).collect();
            let legacy = format!("{client}-{folder_name}-{}", legacy_digest(&path, LEGACY_FOLDER_DIGEST_CHARS));
            let folder_digest = digest(&[&full_name, &path]);
            (SessionId::with_digest(&format!("{client}-{folder_name}"), &folder_digest), Some(id(&legacy)?))
        }
        (None, None) if client == full_name => (id(&client)?, None),
        (None, None) => (SessionId::with_digest(&client, &digest(&[&full_name])), Some(id(&client)?)),
    };
    Ok(ResolvedSession { session, legacy, is_named: false })
}

fn conversation_id(meta: &RequestMetaObject) -> Option<String> {
    let in_meta = CONVERSATION_ID_KEYS.iter().find_map(|key| non_empty_text(meta.get(*key)?));
    in_meta.or_else(|| {
        let metadata = meta.get(CODEX_META_KEY)?;
        let parsed = metadata.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let codex = parsed.unwrap_or_else(|| metadata.clone());
        CONVERSATION_ID_KEYS.iter().find_map(|key| non_empty_text(codex.get(key)?))
    })
}

fn non_empty_text(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A name that contains the whole id, if it fits and is a valid slug.
fn name_with_id(client: &str, id: &str) -> Option<String> {
    let name = format!("{client}-{id}");
    let is_slug = SessionId::from_name(id).is_ok_and(|slug| slug.as_str() == id);
    (name.chars().count() <= NAME_CHARS_MAX && is_slug).then_some(name)
}

fn digest(parts: &[&str]) -> Digest {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    Digest::of("neap mcp session", &parts)
}

fn legacy_digest(text: &str, chars: usize) -> String {
    digest(&[text]).to_string().chars().take(chars).collect()
}

/// A client's name without the suffix that many share.
fn client_name(client: &str) -> String {
    let name = client.trim().to_lowercase();
    let name = name.strip_suffix("-mcp-client").unwrap_or(&name);
    if name.chars().any(char::is_alphanumeric) { name.to_owned() } else { "mcp".to_owned() }
}

fn short_client_name(client: &str) -> String {
    let name: String = client_name(client).chars().take(20).collect();
    if name.chars().any(char::is_alphanumeric) { name } else { "mcp".to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(place: &ServerDefaults, given: Value, header: Option<&str>, meta: Value, client: &str) -> String {
        let mut headers = HeaderMap::new();
        if let Some(name) = header {
            headers.insert(SESSION_HEADER, name.parse().expect("a value"));
        }
        let Value::Object(meta) = meta else { panic!("an object") };
        let meta = RequestMetaObject::from(meta);
        resolve_from(place, Some(&given), Some(&headers), &meta, client).expect("a session").session.to_string()
    }

    #[test]
    fn the_nearest_sign_tells_the_session() {
        let none = ServerDefaults::default();
        let fixed = ServerDefaults { session: SessionId::from_name("fixed").ok(), ..ServerDefaults::default() };
        let thread = json!({"threadId": "0199-aa"});
        assert_eq!(ask(&fixed, json!("My Work"), Some("header"), thread.clone(), "x"), "my-work");
        assert_eq!(ask(&fixed, Value::Null, Some("Header 1"), thread.clone(), "x"), "header-1");
        assert_eq!(ask(&fixed, json!(" "), None, thread.clone(), "x"), "fixed");
        assert_eq!(ask(&none, Value::Null, None, thread, "Claude Code"), "claude-code-0199-aa");
        assert_eq!(ask(&none, Value::Null, None, json!({}), "codex-mcp-client"), "codex");
        assert_eq!(ask(&none, Value::Null, None, json!({}), "⚙"), "mcp");
        for codex in [json!({"session_id": "s-1"}), json!(r#"{"session_id":"s-1"}"#)] {
            let meta = json!({"progressToken": 1, "x-codex-turn-metadata": codex});
            assert_eq!(ask(&none, Value::Null, None, meta, "codex-mcp-client"), "codex-s-1");
        }
    }

    #[test]
    fn folders_of_one_name_are_told_apart() {
        let at = |folder: &str| ServerDefaults { folder: Some(folder.into()), ..ServerDefaults::default() };
        let one = ask(&at("/a/shop"), Value::Null, None, json!({}), "opencode");
        let other = ask(&at("/b/shop"), Value::Null, None, json!({}), "opencode");
        assert!(one.starts_with("opencode-shop-") && other.starts_with("opencode-shop-"), "{one} {other}");
        assert_ne!(one, other);
        assert_eq!(one, ask(&at("/a/shop"), Value::Null, None, json!({}), "opencode"));
        let clients = ["a client with a long name 1", "a client with a long name 2"];
        let [a, b] = clients.map(|client| ask(&at("/a/shop"), Value::Null, None, json!({}), client));
        assert_ne!(a, b, "all characters of a client's name count");
    }

    #[test]
    fn sessions_of_old_are_known_by_their_names() {
        let old = |place: &ServerDefaults, given: Value, meta: Value| {
            let Value::Object(meta) = meta else { panic!("an object") };
            let which = resolve_from(place, Some(&given), None, &RequestMetaObject::from(meta), "opencode")
                .expect("a session");
            which.legacy.map(|old| old.to_string())
        };
        let at = ServerDefaults { folder: Some("/a/shop".into()), ..ServerDefaults::default() };
        assert_eq!(old(&at, Value::Null, json!({})).as_deref(), Some("opencode-shop-eb22ccfb"));
        let none = ServerDefaults::default();
        let long = "y".repeat(100);
        let of_id = old(&none, Value::Null, json!({"sessionId": long})).expect("an old name");
        assert_eq!(of_id.len(), "opencode-".len() + LEGACY_ID_DIGEST_CHARS);
        assert_eq!(old(&none, json!(long), json!({})), Some("y".repeat(64)));
        assert_eq!(old(&none, json!("short"), json!({})), None);
    }

    #[test]
    fn hostile_names_become_harmless_or_are_refused() {
        let none = ServerDefaults::default();
        assert_eq!(ask(&none, json!("../../etc/passwd"), None, json!({}), ""), "etc-passwd");
        assert_eq!(ask(&none, json!("@default"), None, json!({}), ""), "default");
        let refused =
            |given: Value| resolve_from(&none, Some(&given), None, &RequestMetaObject::default(), "").is_err();
        assert!(refused(json!("/../")) && refused(json!(7)) && refused(json!(["a"])));
        // Ids that differ late, or only in characters that a slug drops, stay apart.
        let of = |id: String| ask(&none, Value::Null, None, json!({"sessionId": id}), "claude-code");
        assert_ne!(of("y".repeat(100) + "1"), of("y".repeat(100) + "2"));
        let apart: std::collections::BTreeSet<String> =
            ["a", "////a", "A", "a/b", "a.b", "a_b", "a-b"].map(|id| of(id.into())).into();
        assert_eq!(apart.len(), 7, "{apart:?}");
    }
}
