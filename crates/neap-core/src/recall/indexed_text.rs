//! The texts that the search index contains: messages, summaries and memories.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::ids::{EffortId, Seq, Stamp, StreamId, TurnNo};
use crate::base::memory_id::MemoryId;
use crate::base::memory_id::MemoryKind;
use crate::base::message::Role;
use crate::base::tokens::Tokens;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKey {
    Effort(EffortId),
    Message(Seq),
    Memory(MemoryId),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TextId {
    /// A session's or an agent's.
    pub stream: StreamId,
    pub key: TextKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    User,
    Assistant,
    /// Tool calls and results, by excerpt.
    Tool,
    System,
    Span,
    /// An effort's id, name and summary.
    Effort,
    Memory(MemoryKind),
}

impl TextKind {
    pub fn from_role(role: Role) -> Self {
        match role {
            Role::User => TextKind::User,
            Role::Assistant => TextKind::Assistant,
            Role::Tool => TextKind::Tool,
            Role::System => TextKind::System,
        }
    }

    /// Whether it is a message, rather than derived from messages.
    pub fn is_message(self) -> bool {
        match self {
            TextKind::User | TextKind::Assistant | TextKind::Tool | TextKind::System => true,
            TextKind::Span | TextKind::Effort | TextKind::Memory(_) => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            TextKind::User => "user",
            TextKind::Assistant => "assistant",
            TextKind::Tool => "tool",
            TextKind::System => "system",
            TextKind::Span => "span",
            TextKind::Effort => "effort",
            TextKind::Memory(kind) => kind.as_str(),
        }
    }
}

/// A text to index; replaces an earlier text with the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedText {
    pub key: TextKey,
    pub kind: TextKind,
    /// 0 for an effort or a memory.
    pub turn: TurnNo,
    pub at: Stamp,
    pub speaker: Option<String>,
    pub tokens: Tokens,
    pub text: Arc<str>,
}
