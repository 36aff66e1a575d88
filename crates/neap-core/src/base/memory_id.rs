//! Memory kinds, and ids that begin with the kind's letter: `d12`, `f7`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// A choice, its reasons and its outcome.
    Decision,
    /// A statement about the world.
    Fact,
    /// How to do something.
    Procedure,
    /// Something that happened.
    Episode,
    /// A rule about what not to do.
    Censor,
}

impl MemoryKind {
    /// In the order of the context.
    pub const ALL: [MemoryKind; 5] =
        [MemoryKind::Decision, MemoryKind::Fact, MemoryKind::Procedure, MemoryKind::Episode, MemoryKind::Censor];

    pub fn as_str(self) -> &'static str {
        match self {
            MemoryKind::Decision => "decision",
            MemoryKind::Fact => "fact",
            MemoryKind::Procedure => "procedure",
            MemoryKind::Episode => "episode",
            MemoryKind::Censor => "censor",
        }
    }

    /// First letter of its ids.
    pub fn letter(self) -> char {
        match self {
            MemoryKind::Decision => 'd',
            MemoryKind::Fact => 'f',
            MemoryKind::Procedure => 'p',
            MemoryKind::Episode => 'e',
            MemoryKind::Censor => 'c',
        }
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for MemoryKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let folded = text.trim().to_lowercase();
        let singular = folded.strip_suffix('s').unwrap_or(&folded);
        MemoryKind::ALL.into_iter().find(|kind| kind.as_str() == singular).ok_or_else(|| {
            let known = MemoryKind::ALL.map(MemoryKind::as_str).join(", ");
            format!("'{}' is no kind of memory; there are: {known}", text.chars().take(40).collect::<String>())
        })
    }
}

/// The kind's letter and a number, unique in its agent's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MemoryId {
    kind: MemoryKind,
    number: u32,
}

impl MemoryId {
    /// Largest number: an index packs kind and number together.
    pub const NUMBER_MAX: u32 = (1 << 27) - 1;

    /// `None` if the number is out of range.
    pub fn new(kind: MemoryKind, number: u32) -> Option<Self> {
        (1..=Self::NUMBER_MAX).contains(&number).then_some(Self { kind, number })
    }

    pub fn kind(self) -> MemoryKind {
        self.kind
    }

    /// The first of each kind is 1.
    pub fn number(self) -> u32 {
        self.number
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind.letter(), self.number)
    }
}

impl FromStr for MemoryId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let shown: String = text.chars().take(40).collect();
            format!("'{shown}' is no id of a memory; they look like d12, f7, p3, e4 or c1")
        };
        let mut chars = text.trim().chars();
        let letter = chars.next().map(|c| c.to_ascii_lowercase());
        let kind = MemoryKind::ALL.into_iter().find(|kind| Some(kind.letter()) == letter).ok_or_else(wrong)?;
        let digits = chars.as_str();
        if digits.is_empty() || digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        digits.parse().ok().and_then(|number| Self::new(kind, number)).ok_or_else(wrong)
    }
}

impl TryFrom<String> for MemoryId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<MemoryId> for String {
    fn from(id: MemoryId) -> String {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_as_they_are_read() {
        for text in ["d12", "f7", "p1", "e134217727", "c3"] {
            assert_eq!(text.parse::<MemoryId>().map(|id| id.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "d", "d0", "d01", "x1", "d-1", "d1 2", "e134217728", "12", "d99999999999"] {
            assert!(text.parse::<MemoryId>().is_err(), "{text:?}");
        }
        assert_eq!("Decisions".parse(), Ok(MemoryKind::Decision));
        assert!("opinion".parse::<MemoryKind>().is_err());
    }
}
