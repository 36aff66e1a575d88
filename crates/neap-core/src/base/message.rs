//! Messages, and the exchanges that keep them together.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::ids::{EffortId, Stamp, TurnNo};
use crate::base::memory_id::MemoryId;
use crate::base::tokens::{TokenCounter, Tokens};

/// Added around each message: delimiters and the role.
const MESSAGE_OVERHEAD: Tokens = Tokens(4);
const NAME_OVERHEAD: Tokens = Tokens(1);
/// Added around each tool call: an id, a type, delimiters.
const CALL_OVERHEAD: Tokens = Tokens(12);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions and our own notes.
    System,
    /// The person, or a program in the person's place.
    User,
    Assistant,
    Tool,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// A model's tool call, with the arguments as the model wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result.
    pub id: String,
    pub name: String,
    /// JSON, or what the model took for JSON.
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    /// Shared, because a context is rebuilt several times in a turn.
    pub content: Arc<str>,
    /// The speaker's name, where several share a role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<Incomplete>,
}

/// Why a message is incomplete. This is stored beside its text and never in it: a model that reads a remark of
/// ours in its own message repeats it. Older stores have such remarks at the end of replies ([`crate::text::render`]
/// leaves them out of prompts).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Incomplete {
    Interrupted,
    /// The stream ended early.
    BrokenOff {
        /// Empty if unknown.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// It reached the length limit of a reply.
    AtLimit,
    NoAnswer,
    /// The model wanted more tool calls than a turn may have.
    CallsExhausted,
    Withheld {
        rule: MemoryId,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    Damaged,
}

impl Incomplete {
    /// In brackets, for people.
    pub fn label(&self) -> String {
        match self {
            Incomplete::Interrupted => "[interrupted]".to_owned(),
            Incomplete::BrokenOff { reason } if reason.is_empty() => "[broken off]".to_owned(),
            Incomplete::BrokenOff { reason } => format!("[broken off: {reason}]"),
            Incomplete::AtLimit => "[cut off at the reply's limit]".to_owned(),
            Incomplete::NoAnswer => "[the model gave no answer]".to_owned(),
            Incomplete::CallsExhausted => "[stopped: the limit of tool calls in one turn is reached]".to_owned(),
            Incomplete::Withheld { rule, reason } if reason.is_empty() => format!("[withheld by rule {rule}]"),
            Incomplete::Withheld { rule, reason } => format!("[the answer is withheld by rule {rule}: {reason}]"),
            Incomplete::Damaged => "[this part is damaged on disk; run `neap store doctor`]".to_owned(),
        }
    }
}

/// A text for people, followed by why it is incomplete.
pub fn display_text(text: &str, incomplete: Option<&Incomplete>) -> String {
    match incomplete {
        None => text.to_owned(),
        Some(why) if text.is_empty() => why.label(),
        Some(why) => format!("{text} {}", why.label()),
    }
}

impl Message {
    fn plain(role: Role, content: impl Into<Arc<str>>) -> Self {
        let (name, tool_calls, tool_call_id, incomplete) = (None, Vec::new(), None, None);
        Self { role, content: content.into(), name, tool_calls, tool_call_id, incomplete }
    }

    pub fn display_text(&self) -> String {
        display_text(&self.content, self.incomplete.as_ref())
    }

    pub fn system(content: impl Into<Arc<str>>) -> Self {
        Self::plain(Role::System, content)
    }

    pub fn user(content: impl Into<Arc<str>>) -> Self {
        Self::plain(Role::User, content)
    }

    pub fn assistant(content: impl Into<Arc<str>>) -> Self {
        Self::plain(Role::Assistant, content)
    }

    pub fn tool(call_id: impl Into<String>, content: impl Into<Arc<str>>) -> Self {
        Self { tool_call_id: Some(call_id.into()), ..Self::plain(Role::Tool, content) }
    }
}

pub(crate) fn total_tokens<'m>(messages: impl IntoIterator<Item = &'m CountedMessage>) -> Tokens {
    messages.into_iter().map(|counted| counted.tokens).sum()
}

pub fn message_tokens(counter: &dyn TokenCounter, message: &Message) -> Tokens {
    let Message { role: _, content, name, tool_calls, tool_call_id, incomplete: _ } = message;
    let calls: Tokens = tool_calls.iter().map(|call| call_tokens(counter, call)).sum();
    let answers = tool_call_id.as_deref().map_or(Tokens::ZERO, |id| counter.count(id));
    let name = name.as_deref().map_or(Tokens::ZERO, |name| NAME_OVERHEAD + counter.count(name));
    MESSAGE_OVERHEAD + name + counter.count(content) + calls + answers
}

fn call_tokens(counter: &dyn TokenCounter, call: &ToolCall) -> Tokens {
    let ToolCall { id, name, arguments } = call;
    CALL_OVERHEAD + counter.count(id) + counter.count(name) + counter.count(arguments)
}

/// A message with its cost, counted once when it was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedMessage {
    #[serde(flatten)]
    pub message: Message,
    pub tokens: Tokens,
}

impl CountedMessage {
    pub fn new(counter: &dyn TokenCounter, message: Message) -> Self {
        Self { tokens: message_tokens(counter, &message), message }
    }
}

/// Tool calls with their results, in one value so that nothing can separate them (I7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRound {
    pub assistant: CountedMessage,
    /// One for each call, in their order.
    pub results: Vec<CountedMessage>,
    /// Proof of results that came from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seals: Vec<Seal>,
    /// Our own notes for this turn: a rule that was met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<CountedMessage>,
}

/// Proof that a result was issued for its call: a signed envelope, without what the round already contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    pub call_id: String,
    pub result_id: String,
    pub key_id: String,
    pub issued_at: Stamp,
    pub nonce: String,
    pub sig: String,
}

impl ToolRound {
    /// The calling message first.
    pub fn messages(&self) -> impl Iterator<Item = &CountedMessage> {
        std::iter::once(&self.assistant).chain(&self.results)
    }

    pub fn tokens(&self) -> Tokens {
        self.messages().map(|counted| counted.tokens).sum()
    }

    /// The round as its own turn shows it.
    pub fn messages_with_notes(&self) -> impl Iterator<Item = &CountedMessage> {
        self.messages().chain(&self.notes)
    }

    /// Whether every call has exactly its own result (I7).
    pub fn is_complete(&self) -> bool {
        let calls = &self.assistant.message.tool_calls;
        calls.len() == self.results.len()
            && calls
                .iter()
                .zip(&self.results)
                .all(|(call, result)| result.message.tool_call_id.as_deref() == Some(call.id.as_str()))
    }
}

/// The log that an exchange belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Chat outside any effort.
    Ambient,
    Effort(EffortId),
}

impl Scope {
    pub fn effort(&self) -> Option<&EffortId> {
        match self {
            Scope::Ambient => None,
            Scope::Effort(id) => Some(id),
        }
    }
}

/// A user message and everything that answered it: the unit of every transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    pub turn: TurnNo,
    /// When it began.
    pub at: Stamp,
    /// The user message, then whole rounds of the host's own tools, then the reply if there is one.
    pub messages: Vec<CountedMessage>,
}

impl Exchange {
    pub fn tokens(&self) -> Tokens {
        self.messages.iter().map(|counted| counted.tokens).sum()
    }
}
