//! A conversation that another program keeps in a file of its own: its records, and what happens when they are taken in.
//!
//! Each record is known by a [`Digest`] of what names it. What was taken in is linked to its session, so a file can be read again at
//! any time: only what is new in it is taken. Whatever wrote the file, what was said stands in it item by item, as in a client's
//! request; so the same rules say which exchange each item belongs to, where work begins and where it ends.

mod lost;
mod steps;
mod take;
#[cfg(test)]
mod tests;
mod unnamed;

pub use lost::{lost, told};
pub use steps::{Step, steps};
pub use take::Taking;
pub use unnamed::{Saying, Sayings};

use crate::ids::{SessionId, Stamp};
use crate::ingest::{Digest, Item};
use crate::memory::Author;

/// A program whose transcripts can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// An export of ChatGPT.
    ChatGpt,
    /// An export of Claude.ai.
    ClaudeAi,
}

impl Program {
    /// Its name, as in a session's id.
    pub fn as_str(self) -> &'static str {
        match self {
            Program::ClaudeCode => "claude-code",
            Program::Codex => "codex",
            Program::ChatGpt => "chatgpt",
            Program::ClaudeAi => "claude-ai",
        }
    }

    /// The session that its conversation of this name becomes.
    pub fn session(self, name: &str) -> SessionId {
        let text = format!("{} {name}", self.as_str());
        // The program's name is of letters.
        SessionId::from_name(&text).unwrap_or_else(|_| unreachable!("'{text}' has letters"))
    }

    /// What stands for a record of its conversation, by all that names it.
    pub fn key(self, parts: &[&str]) -> Digest {
        let parts: Vec<&[u8]> =
            std::iter::once(self.as_str()).chain(parts.iter().copied()).map(str::as_bytes).collect();
        Digest::of("transcript", &parts)
    }

    /// What stands for what a person asked, where the program gives it an id: known before the record is written. Several things may be
    /// asked under one id.
    pub fn prompt_key(self, id: &str, asked: &str) -> Digest {
        self.key(&["prompt", id, asked.trim()])
    }
}

/// What a record tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Something was said.
    Said(Item),
    /// The program put this in the place of all that was said before.
    Compacted(String),
}

/// One record of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What it is known by: if any of these is known, it was taken in before.
    pub keys: Vec<Digest>,
    /// When.
    pub at: Option<Stamp>,
    /// The message that it is a part of, where one is written in several records.
    pub message: Option<String>,
    /// What it tells.
    pub what: What,
}

/// A conversation as its program wrote it down, or the new part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The session that it becomes.
    pub session: SessionId,
    /// Which program, and what it calls the conversation.
    pub source: String,
    /// Whose words its user messages are: a person's only where the program itself says so at the moment they are
    /// typed (a hook's own prompt); a file's otherwise.
    pub author: Author,
    /// Its records, oldest first.
    pub records: Vec<Record>,
}
