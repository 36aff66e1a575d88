//! Names and numbers that mean one thing each.
//!
//! A name from outside (a model's, a user's) becomes an id only through [`EffortId::from_name`] or
//! [`SessionId::from_name`]: what comes out is a slug that is safe in a path, a URL and a prompt.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::secrets::mask_name;

/// Longest slug, in characters. Long enough to be a title, short enough to be a file name.
const SLUG_CHARS_MAX: usize = 64;
/// So much of a name is looked at, in bytes.
const NAME_BYTES_MAX: usize = 4_096;
/// Longest slug, in bytes: file systems allow 255 for a name, and ours carries an ending.
const SLUG_BYTES_MAX: usize = 160;

/// A name that cannot become an id, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing but punctuation, symbols or white space.
    #[error("the name has no letters or digits in it")]
    Empty,
    /// The text is not already in its canonical form.
    #[error("'{0}' is not a valid id")]
    NotCanonical(String),
}

/// Folds a name to its slug: letters and digits in lower case, everything else a single `-`.
fn slug(name: &str) -> Result<String, NameError> {
    let mut out = String::new();
    let mut chars = 0;
    let mut gap = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            gap = !out.is_empty();
            continue;
        }
        for lower in c.to_lowercase().filter(|l| l.is_alphanumeric()) {
            let need = lower.len_utf8() + usize::from(gap);
            if chars + 1 + usize::from(gap) > SLUG_CHARS_MAX || out.len() + need > SLUG_BYTES_MAX {
                return Ok(out);
            }
            if gap {
                out.push('-');
                chars += 1;
                gap = false;
            }
            out.push(lower);
            chars += 1;
        }
    }
    if out.is_empty() { Err(NameError::Empty) } else { Ok(out) }
}

macro_rules! slug_id {
    ($(#[$doc:meta])* $name:ident read by $read:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Makes the id of a free-form name; fails only if nothing is left of it. What is secret in it does not
            /// become part of the id ([`mask_name`]).
            pub fn from_name(name: &str) -> Result<Self, NameError> {
                // More of it than can be in an id, so that what is secret is seen whole.
                let head = &name[..name.floor_char_boundary(NAME_BYTES_MAX)];
                slug(&mask_name(head)).map(|slug| Self(slug.into()))
            }

            /// Accepts text that already is an id, and nothing else.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                match slug(text) {
                    Ok(s) if s == text => Ok(Self(s.into())),
                    Ok(_) | Err(NameError::Empty | NameError::NotCanonical(_)) => {
                        Err(NameError::NotCanonical(text.chars().take(80).collect()))
                    }
                }
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::$read(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.as_ref().to_owned()
            }
        }
    };
}

slug_id! {
    /// An effort's id: the slug of the name it was opened with, unique in its session.
    EffortId read by parse
}
slug_id! {
    /// A session's id: the slug of its name. An agent's stream has one, too, which no name becomes (see [`AgentId`]).
    SessionId read by stored
}
slug_id! {
    /// An agent's id: the slug of its name. It owns memories; sessions are its conversations.
    AgentId read by parse
}

/// What the id of an agent's stream begins with.
const AGENT: char = '@';

impl AgentId {
    /// The stream of what it knows: kept like a session's, under an id that no name becomes.
    pub fn stream(&self) -> SessionId {
        SessionId(format!("{AGENT}{}", self.0).into())
    }
}

impl SessionId {
    /// Whose stream this is, if it is an agent's.
    pub fn agent(&self) -> Option<AgentId> {
        self.0.strip_prefix(AGENT).map(|name| AgentId(name.into()))
    }

    /// Reads an id as it was stored: that of a session, or of an agent's stream.
    pub fn stored(text: &str) -> Result<Self, NameError> {
        match text.strip_prefix(AGENT) {
            Some(name) => AgentId::parse(name).map(|agent| agent.stream()),
            None => Self::parse(text),
        }
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The one after this.
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// The number of a turn within its session; the first is 1.
    TurnNo
}
number! {
    /// The place of an event in its stream; the first is 1, and 0 means "nothing yet".
    Seq
}

impl TurnNo {
    /// How many turns have passed since `earlier`.
    pub fn since(self, earlier: TurnNo) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A moment: milliseconds since 1970 in UTC. The core never reads a clock; it is handed these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stamp(pub i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, want: &str) {
        let id = EffortId::from_name(name).expect("has letters");
        assert_eq!(id.as_str(), want);
        assert_eq!(EffortId::parse(want), Ok(id), "a slug is its own slug");
    }

    /// SOURCES, CCM defects: `../../evil name` accepted as id and path.
    #[test]
    fn ccm_defect_hostile_names_become_harmless_slugs() {
        check("../../evil name", "evil-name");
        check("/etc/passwd", "etc-passwd");
        check("C:\\Windows\\..", "c-windows");
        check("auth_bug", "auth-bug");
        check("  Auth   Bug!! ", "auth-bug");
        check("fix 🐛 now\0", "fix-now");
        check("Über-Größe", "über-größe");
        check("修复登录", "修复登录");
    }

    #[test]
    fn a_name_without_letters_is_refused() {
        for name in ["", "   ", "🐛🐛", "../..", "\0", "---"] {
            assert_eq!(EffortId::from_name(name), Err(NameError::Empty), "{name:?}");
        }
    }

    #[test]
    fn a_four_kilobyte_name_is_cut_to_a_file_name() {
        let id = EffortId::from_name(&"ab ".repeat(1400)).expect("has letters");
        assert!(id.as_str().chars().count() <= SLUG_CHARS_MAX);
        assert!(!id.as_str().ends_with('-'));
        assert_eq!(EffortId::parse(id.as_str()), Ok(id.clone()));
        let wide = EffortId::from_name(&"修".repeat(4000)).expect("has letters");
        assert!(wide.as_str().len() <= SLUG_BYTES_MAX);
    }

    /// An agent's stream is no session that anyone could name.
    #[test]
    fn an_agents_stream_has_an_id_that_no_name_becomes() {
        let agent = AgentId::from_name("Newton").expect("has letters");
        let stream = agent.stream();
        assert_eq!((stream.as_str(), stream.agent()), ("@newton", Some(agent)));
        assert_eq!(serde_json::from_str::<SessionId>("\"@newton\"").expect("stored so"), stream);
        assert!(SessionId::parse("@newton").is_err());
        assert_eq!(SessionId::from_name("@newton").expect("has letters").as_str(), "newton");
        assert!(serde_json::from_str::<SessionId>("\"@../x\"").is_err());
    }

    #[test]
    fn only_canonical_text_parses() {
        for text in ["Auth-Bug", "a b", "-a", "a-", "a--b", "../x", ""] {
            assert!(EffortId::parse(text).is_err(), "{text:?}");
        }
        assert!(serde_json::from_str::<EffortId>("\"../x\"").is_err());
    }

    proptest::proptest! {
        #[test]
        fn every_slug_is_its_own_slug_and_safe(name in "\\PC{0,200}") {
            if let Ok(id) = EffortId::from_name(&name) {
                proptest::prop_assert_eq!(EffortId::parse(id.as_str()), Ok(id.clone()));
                proptest::prop_assert!(!id.as_str().contains(['/', '\\', '.', '\0', ' ']));
            }
        }
    }
}
