//! Who wrote a record, where, and how far it is trusted. Stamped by the engine, never by who writes.

use serde::{Deserialize, Serialize};

use crate::ids::{SessionId, TurnNo};

/// Who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// A person, by command.
    Person,
    /// A model, by tool call.
    Model,
    /// A tool of the host.
    Tool,
    /// A file from elsewhere.
    Import,
}

impl Author {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Author::Person => "person",
            Author::Model => "model",
            Author::Tool => "tool",
            Author::Import => "import",
        }
    }

    /// Whether it may decide what is always loaded, and which rules are in force (DESIGN, decision 25).
    pub fn may_pin(self) -> bool {
        self.trust() == Trust::High
    }

    /// How far what it writes is trusted at first.
    pub fn trust(self) -> Trust {
        match self {
            Author::Person => Trust::High,
            Author::Model => Trust::Medium,
            Author::Tool | Author::Import => Trust::Low,
        }
    }
}

/// How far a record is trusted: the least of its sources. Lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// From a tool or a file.
    Low,
    /// A model's word.
    Medium,
    /// A person's word.
    High,
}

/// Where a record comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Who wrote it.
    pub author: Author,
    /// In which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// In which turn of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnNo>,
    /// By which tool call, or from which file: a write that is sent again changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How far it is trusted.
    pub trust: Trust,
}

impl Provenance {
    /// From this author, outside any session.
    pub fn of(author: Author) -> Self {
        Self { author, session: None, turn: None, source: None, trust: author.trust() }
    }

    /// Whether both are of one author in one turn, or outside turns from one source.
    pub fn is_same_occasion(&self, other: &Provenance) -> bool {
        let same = (self.author, &self.session, self.turn) == (other.author, &other.session, other.turn);
        let in_turn = self.session.is_some() && self.turn.is_some();
        same && (in_turn || (self.source.is_some() && self.source == other.source))
    }

    /// As a line names it: `person`, or `model, main t12`.
    pub fn short(&self) -> String {
        match (&self.session, self.turn) {
            (Some(session), Some(turn)) => format!("{}, {session} t{turn}", self.author.as_str()),
            (Some(_) | None, _) => self.author.as_str().to_owned(),
        }
    }
}
