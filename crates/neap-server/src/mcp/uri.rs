//! Resource URIs: `neap://session/NAME/context`, `…/effort/ID`, `…/effort/ID/raw` (`?after=TURN` for a later
//! page), `neap://memory/ID`.

use std::fmt;

use neap_core::base::ids::{EffortId, SessionId, TurnNo};
use neap_core::memory::MemoryId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Uri {
    Context(SessionId),
    Effort(SessionId, EffortId),
    Raw(SessionId, EffortId, TurnNo),
    Memory(MemoryId),
}

impl Uri {
    /// Parses a URI. Ids must be in canonical form, so that each resource has one URI.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (text, after) = match text.split_once("?after=") {
            Some((text, after)) => (text, parse_turn(after)?),
            None => (text, TurnNo(0)),
        };
        let path = percent_decoded(text.strip_prefix("neap://")?)?;
        let parts: Vec<&str> = path.split('/').collect();
        let session = |name: &str| SessionId::parse(name).ok();
        let effort = |name: &str| EffortId::parse(name).ok();
        match parts[..] {
            ["session", name, "effort", id, "raw"] => Some(Uri::Raw(session(name)?, effort(id)?, after)),
            // Only logs have pages.
            _ if after != TurnNo(0) => None,
            ["session", name, "context"] => Some(Uri::Context(session(name)?)),
            ["session", name, "effort", id] => Some(Uri::Effort(session(name)?, effort(id)?)),
            ["memory", id] => {
                let memory: MemoryId = id.parse().ok()?;
                (memory.to_string() == id).then_some(Uri::Memory(memory))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Uri::Context(session) => write!(f, "neap://session/{}/context", percent_encoded(session.as_str())),
            Uri::Effort(session, id) => {
                write!(
                    f,
                    "neap://session/{}/effort/{}",
                    percent_encoded(session.as_str()),
                    percent_encoded(id.as_str())
                )
            }
            Uri::Raw(session, id, after) => {
                write!(
                    f,
                    "neap://session/{}/effort/{}/raw",
                    percent_encoded(session.as_str()),
                    percent_encoded(id.as_str())
                )?;
                if *after == TurnNo(0) { Ok(()) } else { write!(f, "?after={after}") }
            }
            Uri::Memory(id) => write!(f, "neap://memory/{id}"),
        }
    }
}

fn parse_turn(text: &str) -> Option<TurnNo> {
    let number: u64 = text.parse().ok()?;
    (number > 0 && i64::try_from(number).is_ok() && number.to_string() == text).then_some(TurnNo(number))
}

/// A slug has letters, digits and hyphens; non-ASCII letters must be escaped.
fn percent_encoded(slug: &str) -> String {
    let byte = |byte: u8| if byte.is_ascii() { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    slug.bytes().map(byte).collect()
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let session = || SessionId::from_name("Größe 1").expect("a slug");
        let effort = || EffortId::from_name("auth bug").expect("a slug");
        let memory: MemoryId = "f7".parse().expect("an id");
        let table = [
            (Uri::Context(session()), "neap://session/gr%C3%B6%C3%9Fe-1/context"),
            (Uri::Effort(session(), effort()), "neap://session/gr%C3%B6%C3%9Fe-1/effort/auth-bug"),
            (Uri::Raw(session(), effort(), TurnNo(0)), "neap://session/gr%C3%B6%C3%9Fe-1/effort/auth-bug/raw"),
            (
                Uri::Raw(session(), effort(), TurnNo(12)),
                "neap://session/gr%C3%B6%C3%9Fe-1/effort/auth-bug/raw?after=12",
            ),
            (Uri::Memory(memory), "neap://memory/f7"),
        ];
        for (uri, text) in table {
            assert_eq!(uri.to_string(), text);
            assert_eq!(Uri::parse(text), Some(uri));
        }
    }

    #[test]
    fn hostile_names_are_no_names() {
        let hostile = [
            "",
            "neap://",
            "neap://session/../context",
            "neap://session/%2e%2e/context",
            "neap://session/a%2Fb/context",
            "neap://session/A/context",
            "neap://session/@default/context",
            "neap://session/a/context/",
            "neap://session/a/context?x=1",
            "neap://session/a/context?after=1",
            "neap://session/a/effort/b?after=1",
            "neap://session/a/effort/b/raw?after=0",
            "neap://session/a/effort/b/raw?after=01",
            "neap://session/a/effort/b/raw?after=+1",
            "neap://session/a/effort/b/raw?after=18446744073709551615",
            "neap://session/a/effort/b/raw?after=-1",
            "neap://session/a/effort/b/raw?after=99999999999999999999",
            "neap://session/a/effort/b/raw?after=1?after=1",
            "neap://session/a/effort//raw",
            "neap://session/a%/context",
            "neap://session/a%zz/context",
            "neap://session/%ff/context",
            "neap://session/a\u{0}/context",
            "neap://memory/../f7",
            "neap://memory/f07",
            "neap://memory/q1",
            "file:///etc/passwd",
            "NEAP://memory/f7",
        ];
        for text in hostile {
            assert_eq!(Uri::parse(text), None, "{text}");
        }
    }
}
