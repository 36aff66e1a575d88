//! What is searched: what was said, what stands for it, what is known.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{Event, RoundVisibility};
use crate::ids::{EffortId, Seq, SessionId, Stamp, TurnNo};
use crate::memory::{MemoryId, MemoryKind};
use crate::message::{Counted, Role, ToolRound};
use crate::tokens::Tokens;

/// So much of what a tool was asked and of what it answered is searched, in bytes: its beginning.
const TOOL_BYTES_MAX: usize = 1_200;

/// What a text belongs to, in its stream.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKey {
    /// An effort's id, name and summary.
    Effort(EffortId),
    /// What one event says.
    Message(Seq),
    /// What an agent's memory says.
    Memory(MemoryId),
}

/// A text, among all that there are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TextId {
    /// Whose stream: a session's, or an agent's.
    pub stream: SessionId,
    /// Which of its texts.
    pub key: TextKey,
}

/// What kind of text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// The person's words.
    User,
    /// The model's.
    Assistant,
    /// What tools were asked and answered, by excerpt.
    Tool,
    /// Instructions.
    System,
    /// The summary of a stretch of a log.
    Span,
    /// An effort, by its id, name and summary.
    Effort,
    /// Something an agent knows.
    Memory(MemoryKind),
}

impl TextKind {
    /// The kind of what a role says.
    pub fn of(role: Role) -> Self {
        match role {
            Role::User => TextKind::User,
            Role::Assistant => TextKind::Assistant,
            Role::Tool => TextKind::Tool,
            Role::System => TextKind::System,
        }
    }

    /// Whether it was said, rather than made of what was said.
    pub fn is_said(self) -> bool {
        match self {
            TextKind::User | TextKind::Assistant | TextKind::Tool | TextKind::System => true,
            TextKind::Span | TextKind::Effort | TextKind::Memory(_) => false,
        }
    }

    /// The word for it on the wire and on the screen.
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

/// A text to be found by its words and its meaning, in place of what was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What it belongs to.
    pub key: TextKey,
    /// What kind it is.
    pub kind: TextKind,
    /// Its turn; 0 of an effort or a memory.
    pub turn: TurnNo,
    /// When it was said or written.
    pub at: Stamp,
    /// Who said it, where there is a name.
    pub who: Option<String>,
    /// What showing it costs.
    pub tokens: Tokens,
    /// The words.
    pub text: Arc<str>,
}

/// The text that an event brings to the index, if it says something that is searched. What a store reads again for a
/// [`TextKey::Message`] is the `text` of this.
pub fn text_of(seq: Seq, at: Stamp, event: &Event) -> Option<Text> {
    let text = |kind, turn: &TurnNo, who: Option<&String>, tokens, text: Arc<str>| {
        Some(Text { key: TextKey::Message(seq), kind, turn: *turn, at, who: who.cloned(), tokens, text })
    };
    match event {
        Event::TurnStarted { turn, message, .. }
        | Event::MessageAdded { turn, message }
        | Event::TurnCompleted { turn, reply: message, .. } => {
            let Counted { message, tokens } = message;
            let kind = TextKind::of(message.role);
            text(kind, turn, message.name.as_ref(), *tokens, message.content.clone())
        }
        Event::ToolsCalled { turn, round, visibility: RoundVisibility::Transcript } => {
            text(TextKind::Tool, turn, None, round.tokens(), tool_text(round).into())
        }
        Event::SpanCompacted { turn, span, .. } => {
            text(TextKind::Span, turn, None, span.tokens, span.text.clone())
        }
        Event::ToolsCalled { visibility: RoundVisibility::ThisTurn, .. }
        | Event::SessionCreated { .. }
        | Event::PolicyChanged { .. }
        | Event::EffortOpened { .. }
        | Event::EffortConcluded { .. }
        | Event::EffortSummarized { .. }
        | Event::EffortExpanded { .. }
        | Event::EffortCollapsed { .. }
        | Event::EffortSwitched { .. }
        | Event::EffortReopened { .. }
        | Event::EffortsReferenced { .. }
        | Event::SummariesEvicted { .. }
        | Event::HistoryLinked { .. }
        | Event::RequestPassed { .. }
        | Event::ClientCompacted { .. }
        | Event::EpochBegan { .. }
        | Event::TurnAbandoned { .. }
        | Event::TurnClosed { .. }
        | Event::TurnTakenBack { .. }
        | Event::MemoriesLoaded { .. }
        | Event::CensorTriggered { .. }
        | Event::MemoryChanged { .. }
        | Event::MemoryErased { .. }
        | Event::Scrubbed { .. } => None,
    }
}

/// A round of tool calls as search sees it: what was said with them, then of each call its name, what was asked and what
/// came, by their beginnings.
fn tool_text(round: &ToolRound) -> String {
    let mut out = String::from(&*round.assistant.message.content);
    for (call, result) in round.assistant.message.tool_calls.iter().zip(&round.results) {
        for part in [call.name.as_str(), head(&call.arguments), head(&result.message.content)] {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(part);
        }
    }
    out
}

fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(TOOL_BYTES_MAX)]
}
