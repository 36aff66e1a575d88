//! Ids and numbers. An id is a slug, safe in a path, a URL and a prompt; `text::naming` makes
//! one of a name from outside.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Long enough for a title, short enough for a file name.
pub(crate) const SLUG_CHARS_MAX: usize = 64;
/// File systems allow 255 bytes for a name, and ours has a suffix.
pub(crate) const SLUG_BYTES_MAX: usize = 160;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing but punctuation, symbols or white space.
    #[error("the name has no letters or digits in it")]
    Empty,
    #[error("'{0}' is not a valid id")]
    NotCanonical(String),
}

/// Letters and digits in lower case, everything else a single `-`. Also returns whether all of the name is in it.
pub(crate) fn slug(name: &str, chars_max: usize, bytes_max: usize) -> Result<(String, bool), NameError> {
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
            if chars + 1 + usize::from(gap) > chars_max || out.len() + need > bytes_max {
                return Ok((out, false));
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
    if out.is_empty() { Err(NameError::Empty) } else { Ok((out, true)) }
}

/// A slug that drops what does not fit.
pub(crate) fn cut_slug(name: &str) -> Result<String, NameError> {
    slug(name, SLUG_CHARS_MAX, SLUG_BYTES_MAX).map(|(slug, _)| slug)
}

fn parse_slug(text: &str) -> Result<String, NameError> {
    match cut_slug(text) {
        Ok(slug) if slug == text => Ok(slug),
        Ok(_) | Err(NameError::Empty | NameError::NotCanonical(_)) => {
            Err(NameError::NotCanonical(text.chars().take(80).collect()))
        }
    }
}

/// Reads and writes an id as text.
macro_rules! text_id {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.as_str().to_owned()
            }
        }
    };
}

macro_rules! slug_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The caller vouches that it is a slug without secrets.
            pub(crate) fn from_slug(slug: String) -> Self {
                Self(slug.into())
            }

            /// Accepts only text that already is an id.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                parse_slug(text).map(Self::from_slug)
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        text_id!($name);
    };
}

slug_id! {
    /// An effort's id: the slug of the name it was opened with, unique in its session.
    EffortId
}
slug_id! {
    /// An agent's id: the slug of its name. It owns memories; sessions are its conversations.
    AgentId
}

/// The id of a stream of events: a session's, or an agent's with its memories.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StreamId(Arc<str>);

/// A session's id: the slug of its name. It is the id of the session's stream.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(StreamId);

/// Prefix of the ids of agents' streams, which no slug has.
const AGENT: char = '@';

impl AgentId {
    /// The stream of its memories.
    pub fn stream(&self) -> StreamId {
        StreamId(format!("{AGENT}{}", self.0).into())
    }
}

impl StreamId {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        match text.strip_prefix(AGENT) {
            Some(name) => AgentId::parse(name).map(|agent| agent.stream()),
            None => SessionId::parse(text).map(|session| session.0),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The agent, if this is an agent's stream.
    pub fn agent(&self) -> Option<AgentId> {
        self.0.strip_prefix(AGENT).map(|name| AgentId(name.into()))
    }

    /// The session, if this is a session's stream.
    pub fn session(&self) -> Option<SessionId> {
        (!self.0.starts_with(AGENT)).then(|| SessionId(self.clone()))
    }
}

impl SessionId {
    /// The caller vouches that it is a slug without secrets.
    pub(crate) fn from_slug(slug: String) -> Self {
        Self(StreamId(slug.into()))
    }

    /// Accepts only text that already is an id.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        parse_slug(text).map(Self::from_slug)
    }

    /// The id by the old rule, which dropped what does not fit; streams of that time still have it.
    pub fn from_name_truncated(name: &str) -> Result<Self, NameError> {
        cut_slug(name).map(Self::from_slug)
    }
}

/// A session's id can be used wherever a stream's is asked for.
impl std::ops::Deref for SessionId {
    type Target = StreamId;

    fn deref(&self) -> &StreamId {
        &self.0
    }
}

impl From<SessionId> for StreamId {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

impl PartialEq<StreamId> for SessionId {
    fn eq(&self, other: &StreamId) -> bool {
        self.0 == *other
    }
}

impl PartialEq<SessionId> for StreamId {
    fn eq(&self, other: &SessionId) -> bool {
        *self == other.0
    }
}

text_id!(StreamId);
text_id!(SessionId);

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
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
    /// The position of an event in its stream, from 1; 0 means "nothing yet".
    Seq
}

impl TurnNo {
    pub fn since(self, earlier: TurnNo) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Milliseconds since 1970 in UTC. The core never reads a clock; callers pass the time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stamp(pub i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_text_parses() {
        for text in ["Auth-Bug", "a b", "-a", "a-", "a--b", "../x", ""] {
            assert!(EffortId::parse(text).is_err(), "{text:?}");
        }
        assert!(serde_json::from_str::<EffortId>("\"../x\"").is_err());
    }
}
