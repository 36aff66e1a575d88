//! Origin and trust of a record. The engine stamps it; the author cannot.

use serde::{Deserialize, Serialize};

use crate::base::ids::{SessionId, TurnNo};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// A person, as the surface vouches.
    Person,
    /// A model, or a program on its behalf.
    Model,
    /// A tool of the host.
    Tool,
    /// A file: an import, a transcript, a script.
    Import,
}

impl Author {
    pub fn as_str(self) -> &'static str {
        match self {
            Author::Person => "person",
            Author::Model => "model",
            Author::Tool => "tool",
            Author::Import => "import",
        }
    }

    /// Whether the author may pin records and put rules in force (docs/decisions/0006-trust.md).
    pub fn may_pin(self) -> bool {
        self.trust() == Trust::High
    }

    /// Trust of a new record by this author.
    pub fn trust(self) -> Trust {
        match self {
            Author::Person => Trust::High,
            Author::Model => Trust::Medium,
            Author::Tool | Author::Import => Trust::Low,
        }
    }
}

/// Trust in a record: the lowest of its sources. Ordered lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    Low,
    Medium,
    High,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    pub author: Author,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnNo>,
    /// Tool call or file; makes a resent write a no-op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub trust: Trust,
}

impl Provenance {
    /// Outside any session.
    pub fn from_author(author: Author) -> Self {
        Self { author, session: None, turn: None, source: None, trust: author.trust() }
    }

    /// Whether both have the same author and turn, or, outside turns, the same author and source.
    pub fn is_same_occasion(&self, other: &Provenance) -> bool {
        let same = (self.author, &self.session, self.turn) == (other.author, &other.session, other.turn);
        let in_turn = self.session.is_some() && self.turn.is_some();
        same && (in_turn || (self.source.is_some() && self.source == other.source))
    }

    /// Short label, e.g. `person` or `model, main t12`.
    pub fn label(&self) -> String {
        match (&self.session, self.turn) {
            (Some(session), Some(turn)) => format!("{}, {session} t{turn}", self.author.as_str()),
            (Some(_) | None, _) => self.author.as_str().to_owned(),
        }
    }
}
