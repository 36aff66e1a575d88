//! Which session a request is about.
//!
//! The first of: the argument `session`; the header `X-Neap-Session`; the session that the server was started for (`neap mcp
//! --session`); an id of the client's own conversation in the request's `_meta`; else one session for each client and working
//! folder, or for each client where no folder is known.

use std::path::PathBuf;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use neap_core::ids::{AgentId, SessionId};
use neap_core::ingest::Digest;
use neap_core::tools::Refusal;
use rmcp::RoleServer;
use rmcp::model::RequestMetaObject;
use rmcp::service::RequestContext;
use serde_json::Value;

/// The header that names a session, as the proxy knows it.
const HEADER: &str = "x-neap-session";
/// Where Codex puts what it says of a turn.
const CODEX: &str = "x-codex-turn-metadata";
/// Under these names clients send an id of their conversation.
const IDS: [&str; 7] =
    ["neap/session", "sessionId", "session_id", "threadId", "thread_id", "conversationId", "conversation_id"];
/// A name that is longer is told by its digest, so that no two become one.
const NAME_CHARS_MAX: usize = 60;
/// Of the digest of a folder, so much told it from others of its name before; of an id, it stood for it.
const OLD_FOLDER_DIGEST_CHARS: usize = 8;
const OLD_ID_DIGEST_CHARS: usize = 24;

/// Where a server stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// The session that it was started for.
    pub(crate) session: Option<SessionId>,
    /// The folder that it was started in, if a client started it.
    pub(crate) folder: Option<PathBuf>,
    /// The agent whose memories are meant.
    pub(crate) agent: Option<AgentId>,
}

/// The session that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Which {
    pub(super) session: SessionId,
    /// What it was called before names had whole digests: if there is such a session and not the other, it is that one.
    pub(super) old: Option<SessionId>,
    /// Whether the request itself names it.
    pub(super) is_named: bool,
}

/// Which session a request means.
pub(super) fn which(
    place: &Place,
    given: Option<&Value>,
    context: &RequestContext<RoleServer>,
) -> Result<Which, Refusal> {
    let headers = context.extensions.get::<Parts>().map(|parts| &parts.headers);
    let client = context.client_info().map(|client| client.name).unwrap_or_default();
    told(place, given, headers, &context.meta, &client)
}

fn told(
    place: &Place,
    given: Option<&Value>,
    headers: Option<&HeaderMap>,
    meta: &RequestMetaObject,
    client: &str,
) -> Result<Which, Refusal> {
    let named = match given {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) if name.trim().is_empty() => None,
        Some(Value::String(name)) => Some(name.clone()),
        Some(_) => return Err(Refusal::new("Argument 'session' must be text.")),
    };
    let in_header =
        || headers?.get(HEADER)?.to_str().ok().map(str::to_owned).filter(|name| !name.trim().is_empty());
    if let Some(name) = named.or_else(in_header) {
        let session = SessionId::from_name(&name)
            .map_err(|error| Refusal::new(format!("Cannot use this as the name of a session: {error}.")))?;
        let old = SessionId::cut(&name).ok().filter(|old| *old != session);
        return Ok(Which { session, old, is_named: true });
    }
    if let Some(session) = &place.session {
        return Ok(Which { session: session.clone(), old: None, is_named: false });
    }
    let (whole, client) = (trimmed(client), short(client));
    let id = |name: &str| {
        let session = SessionId::from_name(name).or_else(|_| SessionId::from_name("mcp"));
        session.map_err(|error| Refusal::new(error.to_string()))
    };
    let (session, old) = match (id_of(meta), &place.folder) {
        (Some(own), _) => match fitting(&client, &own).filter(|_| client == whole) {
            Some(name) => (id(&name)?, None),
            None => {
                let old = fitting(&client, &own)
                    .unwrap_or_else(|| format!("{client}-{}", old_digest(&own, OLD_ID_DIGEST_CHARS)));
                (SessionId::marked(&client, &digest(&[&whole, &own])), Some(id(&old)?))
            }
        },
        (None, Some(folder)) => {
            let path = folder.to_string_lossy();
            let last = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let last: String = last.chars().take(24).collect();
            let old = format!("{client}-{last}-{}", old_digest(&path, OLD_FOLDER_DIGEST_CHARS));
            let mark = digest(&[&whole, &path]);
            (SessionId::marked(&format!("{client}-{last}"), &mark), Some(id(&old)?))
        }
        (None, None) if client == whole => (id(&client)?, None),
        (None, None) => (SessionId::marked(&client, &digest(&[&whole])), Some(id(&client)?)),
    };
    Ok(Which { session, old, is_named: false })
}

/// An id of the client's conversation.
fn id_of(meta: &RequestMetaObject) -> Option<String> {
    let in_meta = IDS.iter().find_map(|key| text(meta.get(*key)?));
    in_meta.or_else(|| {
        let said = meta.get(CODEX)?;
        let read = said.as_str().and_then(|written| serde_json::from_str::<Value>(written).ok());
        let codex = read.unwrap_or_else(|| said.clone());
        IDS.iter().find_map(|key| text(codex.get(key)?))
    })
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A name with the client's id in it, if all of the id can be.
fn fitting(client: &str, id: &str) -> Option<String> {
    let name = format!("{client}-{id}");
    let is_kept = SessionId::from_name(id).is_ok_and(|slug| slug.as_str() == id);
    (name.chars().count() <= NAME_CHARS_MAX && is_kept).then_some(name)
}

fn digest(parts: &[&str]) -> Digest {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    Digest::of("neap mcp session", &parts)
}

/// A part of a digest, as it was in names before.
fn old_digest(text: &str, chars: usize) -> String {
    digest(&[text]).to_string().chars().take(chars).collect()
}

/// A client's name, without what all of them are.
fn trimmed(client: &str) -> String {
    let name = client.trim().to_lowercase();
    let name = name.strip_suffix("-mcp-client").unwrap_or(&name);
    if name.chars().any(char::is_alphanumeric) { name.to_owned() } else { "mcp".to_owned() }
}

/// What is shown of it.
fn short(client: &str) -> String {
    let name: String = trimmed(client).chars().take(20).collect();
    if name.chars().any(char::is_alphanumeric) { name } else { "mcp".to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(place: &Place, given: Value, header: Option<&str>, meta: Value, client: &str) -> String {
        let mut headers = HeaderMap::new();
        if let Some(name) = header {
            headers.insert(HEADER, name.parse().expect("a value"));
        }
        let Value::Object(meta) = meta else { panic!("an object") };
        let meta = RequestMetaObject::from(meta);
        told(place, Some(&given), Some(&headers), &meta, client).expect("a session").session.to_string()
    }

    #[test]
    fn the_nearest_sign_tells_the_session() {
        let none = Place::default();
        let fixed = Place { session: SessionId::from_name("fixed").ok(), ..Place::default() };
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
        let at = |folder: &str| Place { folder: Some(folder.into()), ..Place::default() };
        let one = ask(&at("/a/shop"), Value::Null, None, json!({}), "opencode");
        let other = ask(&at("/b/shop"), Value::Null, None, json!({}), "opencode");
        assert!(one.starts_with("opencode-shop-") && other.starts_with("opencode-shop-"), "{one} {other}");
        assert_ne!(one, other);
        assert_eq!(one, ask(&at("/a/shop"), Value::Null, None, json!({}), "opencode"));
        let clients = ["a client with a long name 1", "a client with a long name 2"];
        let [a, b] = clients.map(|client| ask(&at("/a/shop"), Value::Null, None, json!({}), client));
        assert_ne!(a, b, "all characters of a client's name count");
    }

    /// What was called otherwise before is found again.
    #[test]
    fn sessions_of_old_are_known_by_their_names() {
        let old = |place: &Place, given: Value, meta: Value| {
            let Value::Object(meta) = meta else { panic!("an object") };
            let which =
                told(place, Some(&given), None, &RequestMetaObject::from(meta), "opencode").expect("a session");
            which.old.map(|old| old.to_string())
        };
        let at = Place { folder: Some("/a/shop".into()), ..Place::default() };
        assert_eq!(old(&at, Value::Null, json!({})).as_deref(), Some("opencode-shop-eb22ccfb"));
        let none = Place::default();
        let long = "y".repeat(100);
        let of_id = old(&none, Value::Null, json!({"sessionId": long})).expect("an old name");
        assert_eq!(of_id.len(), "opencode-".len() + OLD_ID_DIGEST_CHARS);
        assert_eq!(old(&none, json!(long), json!({})), Some("y".repeat(64)));
        assert_eq!(old(&none, json!("short"), json!({})), None);
    }

    #[test]
    fn hostile_names_become_harmless_or_are_refused() {
        let none = Place::default();
        assert_eq!(ask(&none, json!("../../etc/passwd"), None, json!({}), ""), "etc-passwd");
        assert_eq!(ask(&none, json!("@default"), None, json!({}), ""), "default");
        let refused = |given: Value| told(&none, Some(&given), None, &RequestMetaObject::default(), "").is_err();
        assert!(refused(json!("/../")) && refused(json!(7)) && refused(json!(["a"])));
        // Ids that differ late, or in what a slug leaves out, stay apart.
        let of = |id: String| ask(&none, Value::Null, None, json!({"sessionId": id}), "claude-code");
        assert_ne!(of("y".repeat(100) + "1"), of("y".repeat(100) + "2"));
        let apart: std::collections::BTreeSet<String> =
            ["a", "////a", "A", "a/b", "a.b", "a_b", "a-b"].map(|id| of(id.into())).into();
        assert_eq!(apart.len(), 7, "{apart:?}");
    }
}
