//! Names and numbers that mean one thing each.
//!
//! A name from outside (a model's, a user's) becomes an id only through [`EffortId::from_name`] or
//! [`SessionId::from_name`]: what comes out is a slug that is safe in a path, a URL and a prompt. A session's or an agent's name that is
//! longer than a slug ends in a digest of all of it, so that two long names never become one id (I11).

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ingest::Digest;
use crate::secrets::mask_name;

/// Longest slug, in characters. Long enough to be a title, short enough to be a file name.
const SLUG_CHARS_MAX: usize = 64;
/// So much of a name is looked through for secrets, in bytes: more than can be in an id, so that each is seen whole.
const NAME_BYTES_MAX: usize = 4_096;
/// Longest slug, in bytes: file systems allow 255 for a name, and ours carries an ending.
const SLUG_BYTES_MAX: usize = 160;
/// Characters of a slug that are left for words beside a whole digest. Four bytes each, they fit the bytes as well.
const WORDS_CHARS_MAX: usize = 31;

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

/// Folds a name to its slug: letters and digits in lower case, everything else a single `-`. Says whether all of the name is in it.
fn slug(name: &str, chars_max: usize, bytes_max: usize) -> Result<(String, bool), NameError> {
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

/// A name as it may become an id: without its secrets. Of what is beyond the longest name that is looked through, a digest stays, so that all
/// of it counts.
pub(crate) fn safe(name: &str) -> String {
    let (head, rest) = name.split_at(name.floor_char_boundary(NAME_BYTES_MAX));
    match rest.is_empty() {
        true => mask_name(head),
        false => format!("{} {}", mask_name(head), Digest::of("name", &[rest.as_bytes()])),
    }
}

/// A slug that leaves out what does not fit.
fn cut_slug(name: &str) -> Result<String, NameError> {
    slug(name, SLUG_CHARS_MAX, SLUG_BYTES_MAX).map(|(slug, _)| slug)
}

/// A slug in which every letter and digit of the name counts: what does not fit is told by a digest.
fn whole_slug(name: &str) -> Result<String, NameError> {
    match slug(name, SLUG_CHARS_MAX, SLUG_BYTES_MAX)? {
        (slug, true) => Ok(slug),
        (_, false) => {
            let (whole, _) = slug(name, usize::MAX, usize::MAX)?;
            Ok(marked(&whole, &Digest::of("name", &[whole.as_bytes()])))
        }
    }
}

/// Words for people, and a whole digest that makes them unique.
fn marked(words: &str, mark: &Digest) -> String {
    let words = cut_slug(words).unwrap_or_default();
    let words: String = words.chars().take(WORDS_CHARS_MAX).collect();
    settled(format!("{}-{mark}", words.trim_end_matches('-')).trim_start_matches('-').to_owned())
}

/// An id that is taken for no secret, so that it is found again by its own name: a digest behind some words looks like a key.
fn settled(id: String) -> String {
    let is_settled = |id: &str| mask_name(id) == id;
    if is_settled(&id) {
        return id;
    }
    let (mut words, last) = id.rsplit_once('-').unwrap_or(("", &id));
    while let Some((fewer, _)) = words.rsplit_once('-') {
        words = fewer;
        let shorter = format!("{words}-{last}");
        if is_settled(&shorter) {
            return shorter;
        }
    }
    Digest::of("name", &[id.as_bytes()]).to_string()
}

macro_rules! slug_id {
    ($(#[$doc:meta])* $name:ident made by $make:ident, read by $read:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Makes the id of a free-form name; fails only if nothing is left of it. What is secret in it does not
            /// become part of the id.
            pub fn from_name(name: &str) -> Result<Self, NameError> {
                $make(&safe(name)).map(|slug| Self(settled(slug).into()))
            }

            /// Accepts text that already is an id, and nothing else.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                match cut_slug(text) {
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
    EffortId made by cut_slug, read by parse
}
slug_id! {
    /// A session's id: the slug of its name. An agent's stream has one, too, which no name becomes (see [`AgentId`]).
    SessionId made by whole_slug, read by stored
}
slug_id! {
    /// An agent's id: the slug of its name. It owns memories; sessions are its conversations.
    AgentId made by whole_slug, read by parse
}

impl EffortId {
    /// The id with a number behind it, for which it is shortened where it is too long.
    pub(crate) fn numbered(&self, n: u64) -> Self {
        let end = format!("-{n}");
        let cut = slug(&self.0, SLUG_CHARS_MAX - end.len(), SLUG_BYTES_MAX - end.len());
        let words = cut.map(|(words, _)| words).unwrap_or_default();
        Self(settled(format!("{words}{end}").trim_start_matches('-').to_owned()).into())
    }
}

/// What the id of an agent's stream begins with.
const AGENT: char = '@';

impl AgentId {
    /// An id that words make readable and a whole digest makes unique.
    pub fn marked(words: &str, mark: &Digest) -> Self {
        Self(marked(words, mark).into())
    }

    /// The stream of what it knows: kept like a session's, under an id that no name becomes.
    pub fn stream(&self) -> SessionId {
        SessionId(format!("{AGENT}{}", self.0).into())
    }
}

impl SessionId {
    /// An id that words make readable and a whole digest makes unique.
    pub fn marked(words: &str, mark: &Digest) -> Self {
        Self(marked(words, mark).into())
    }

    /// The id that a name became while what does not fit a slug was left out; streams of that time have it still.
    pub fn cut(name: &str) -> Result<Self, NameError> {
        cut_slug(name).map(|slug| Self(slug.into()))
    }

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

    /// I11: all characters of a name count, also those that a slug has no room for.
    #[test]
    fn long_names_with_one_beginning_stay_apart() {
        let long = "the quarterly planning of the harbour and all of its many smaller piers";
        for (one, two) in [
            (format!("{long} 1"), format!("{long} 2")),
            ("x".repeat(64) + "a", "x".repeat(64) + "b"),
            ("修".repeat(60) + "a", "修".repeat(60) + "b"),
        ] {
            let [a, b] = [&one, &two].map(|name| SessionId::from_name(name).expect("has letters"));
            assert_ne!(a, b);
            assert_eq!(SessionId::cut(&one), SessionId::cut(&two), "they did become one");
            assert_eq!(SessionId::parse(a.as_str()), Ok(a.clone()), "and are ids");
            assert_eq!(
                SessionId::from_name(&one.to_uppercase()),
                Ok(a),
                "large and small letters are the same, as ever"
            );
            assert_ne!(AgentId::from_name(&one), AgentId::from_name(&two));
        }
        let fits = "x".repeat(64);
        assert_eq!(SessionId::from_name(&fits).expect("has letters").as_str(), fits);
        assert_eq!(SessionId::from_name(&format!("{fits}!?")), SessionId::cut(&fits));
    }

    /// What is secret in a name becomes no part of an id, and names stay apart by it, also where they are long.
    #[test]
    fn ids_have_no_secrets_and_count_all_of_a_name() {
        let key = |n: u32| format!("gs{}_{}{n}", "k", "aB3dE6gH9jK2mN5pQ8sT1vW4".repeat(2));
        let [one, two] = [1, 2].map(|n| SessionId::from_name(&format!("rotate {}", key(n))).expect("a name"));
        assert!(one != two && !one.as_str().contains("ab3de6"), "{one}");
        // Without the word that would make a key of the digest behind it.
        assert!(EffortId::from_name(&key(1)).is_ok_and(|id| id.as_str().starts_with("masked-groq-api-")));
        // What was made an id is found by it.
        for words in ["api key", "rotate the mailgun key", "sk", "token"] {
            let marked = SessionId::marked(words, &Digest::of("test", &[words.as_bytes()]));
            assert_eq!(SessionId::from_name(marked.as_str()), Ok(marked.clone()));
        }
        assert_eq!(SessionId::from_name(one.as_str()), Ok(one));
        let long = "x".repeat(NAME_BYTES_MAX);
        let [a, b] = ["a", "b"].map(|end| SessionId::from_name(&format!("{long}{end}")));
        assert_ne!(a, b);
    }

    #[test]
    fn a_marked_id_has_the_whole_digest() {
        let mark = Digest::of("test", &[b"x"]);
        for words in ["", "talk", "../..", &"word ".repeat(40), &"修".repeat(200), &"𝒳".repeat(200)] {
            let id = SessionId::marked(words, &mark);
            assert!(id.as_str().ends_with(&mark.to_string()), "{id}");
            assert_eq!(SessionId::parse(id.as_str()), Ok(id.clone()));
            assert_eq!(AgentId::marked(words, &mark).as_str(), id.as_str());
        }
        assert_eq!(SessionId::marked("talk", &mark).as_str(), format!("talk-{mark}"));
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
