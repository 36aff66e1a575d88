//! What was said: messages, and the exchanges that keep them whole.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{EffortId, Stamp, TurnNo};
use crate::memory::MemoryId;
use crate::tokens::{TokenCounter, Tokens};

/// What a provider adds around each message: delimiters and the role.
const MESSAGE_OVERHEAD: Tokens = Tokens(4);
/// What surrounds a speaker's name.
const NAME_OVERHEAD: Tokens = Tokens(1);
/// What surrounds each tool call: an id, a type, delimiters.
const CALL_OVERHEAD: Tokens = Tokens(12);

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions and our own notes.
    System,
    /// The person, or the program in the person's place.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// A model's wish to call a tool. The arguments are kept as the text the model wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// JSON, or what the model took for JSON.
    pub arguments: String,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said; shared, because a context is rebuilt several times in a turn.
    pub content: Arc<str>,
    /// The speaker's name, where several share a role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Calls the assistant makes with this message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Which call this tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Why it is not all that it might have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<Incomplete>,
}

/// Why a message is not all that it might have been. This stands beside its words and never in them: a model that reads a
/// remark of ours in what it said itself repeats it. Stores of before this was so have such remarks at the end of replies
/// ([`crate::render`] leaves them out of prompts).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Incomplete {
    /// The user stopped it.
    Interrupted,
    /// Its end did not come.
    BrokenOff {
        /// Why, if that is known.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// It was as long as a reply may be.
    AtLimit,
    /// The model said nothing.
    NoAnswer,
    /// The model would have gone on calling tools.
    CallsExhausted,
    /// A rule withheld it.
    Withheld {
        /// Which.
        rule: MemoryId,
        /// What it says.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// It can no longer be read.
    Damaged,
}

impl Incomplete {
    /// In brackets, for people.
    pub fn mark(&self) -> String {
        match self {
            Incomplete::Interrupted => "[interrupted]".to_owned(),
            Incomplete::BrokenOff { reason } if reason.is_empty() => "[broken off]".to_owned(),
            Incomplete::BrokenOff { reason } => format!("[broken off: {reason}]"),
            Incomplete::AtLimit => "[cut off at the reply's limit]".to_owned(),
            Incomplete::NoAnswer => "[the model gave no answer]".to_owned(),
            Incomplete::CallsExhausted => "[stopped: the limit of tool calls in one turn is reached]".to_owned(),
            Incomplete::Withheld { rule, reason } if reason.is_empty() => format!("[withheld by rule {rule}]"),
            Incomplete::Withheld { rule, reason } => format!("[the answer is withheld by rule {rule}: {reason}]"),
            Incomplete::Damaged => "[this part is damaged on disk; run `neap doctor`]".to_owned(),
        }
    }
}

/// A text as people read it, with why it is incomplete at its end.
pub fn for_people(text: &str, incomplete: Option<&Incomplete>) -> String {
    match incomplete {
        None => text.to_owned(),
        Some(why) if text.is_empty() => why.mark(),
        Some(why) => format!("{text} {}", why.mark()),
    }
}

impl Message {
    fn plain(role: Role, content: impl Into<Arc<str>>) -> Self {
        let (name, tool_calls, tool_call_id, incomplete) = (None, Vec::new(), None, None);
        Self { role, content: content.into(), name, tool_calls, tool_call_id, incomplete }
    }

    /// Its words as people read them.
    pub fn for_people(&self) -> String {
        for_people(&self.content, self.incomplete.as_ref())
    }

    /// Instructions.
    pub fn system(content: impl Into<Arc<str>>) -> Self {
        Self::plain(Role::System, content)
    }

    /// The person's words.
    pub fn user(content: impl Into<Arc<str>>) -> Self {
        Self::plain(Role::User, content)
    }

    /// The model's words.
    pub fn assistant(content: impl Into<Arc<str>>) -> Self {
        Self::plain(Role::Assistant, content)
    }

    /// The answer to one call.
    pub fn tool(call_id: impl Into<String>, content: impl Into<Arc<str>>) -> Self {
        Self { tool_call_id: Some(call_id.into()), ..Self::plain(Role::Tool, content) }
    }
}

/// What one message costs in a request.
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

/// A message with what it costs: counted when it was accepted, and never again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// What is said.
    #[serde(flatten)]
    pub message: Message,
    /// What showing it costs.
    pub tokens: Tokens,
}

impl Counted {
    /// Counts a message.
    pub fn new(counter: &dyn TokenCounter, message: Message) -> Self {
        Self { tokens: message_tokens(counter, &message), message }
    }
}

/// A call together with its result. They live in one value so that nothing can part them (I7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRound {
    /// The assistant's message that made the calls.
    pub assistant: Counted,
    /// One result for each call, in the calls' order.
    pub results: Vec<Counted>,
    /// What proves results that came from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seals: Vec<Seal>,
    /// What the program has to say about it, in its own turn: a rule that was met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Counted>,
}

/// What proves that a result is the one that was issued for its call: a signed envelope, less what the round and
/// its session say already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// The call whose result it is.
    pub call_id: String,
    /// Names the result.
    pub result_id: String,
    /// Which key signed.
    pub key_id: String,
    /// When.
    pub issued_at: Stamp,
    /// Used once.
    pub nonce: String,
    /// The signature.
    pub sig: String,
}

impl ToolRound {
    /// The round as messages, the call first.
    pub fn messages(&self) -> impl Iterator<Item = &Counted> {
        std::iter::once(&self.assistant).chain(&self.results)
    }

    /// What showing it costs.
    pub fn tokens(&self) -> Tokens {
        self.messages().map(|counted| counted.tokens).sum()
    }

    /// The round as its own turn shows it.
    pub fn with_notes(&self) -> impl Iterator<Item = &Counted> {
        self.messages().chain(&self.notes)
    }

    /// Whether every call has exactly its own result (I7).
    pub fn is_whole(&self) -> bool {
        let calls = &self.assistant.message.tool_calls;
        calls.len() == self.results.len()
            && calls
                .iter()
                .zip(&self.results)
                .all(|(call, result)| result.message.tool_call_id.as_deref() == Some(call.id.as_str()))
    }
}

/// Where an exchange belongs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Chat outside any effort.
    Ambient,
    /// The log of one effort.
    Effort(EffortId),
}

impl Scope {
    /// The effort, if it is one.
    pub fn effort(&self) -> Option<&EffortId> {
        match self {
            Scope::Ambient => None,
            Scope::Effort(id) => Some(id),
        }
    }
}

/// A user message and all that answered it: the atom of every transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The turn it was.
    pub turn: TurnNo,
    /// When it began.
    pub at: Stamp,
    /// User message first, then whole tool rounds of the host's own tools, then the reply if there was one.
    pub messages: Vec<Counted>,
}

impl Exchange {
    /// What showing it costs.
    pub fn tokens(&self) -> Tokens {
        self.messages.iter().map(|counted| counted.tokens).sum()
    }
}
