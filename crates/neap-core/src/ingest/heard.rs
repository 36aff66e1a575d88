//! A client's request, whatever its wire format.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::passed::Used;
use super::signals::Signals;
use crate::message::ToolCall;
use crate::tokens::Tokens;

/// Which of the three wire formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

impl Api {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Api::Chat => "chat",
            Api::Responses => "responses",
            Api::Messages => "messages",
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// An answer.
    Answer,
    /// How many tokens it would be.
    Count,
    /// The history in short.
    Compact,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// Whoever set it up; `developer` is the same.
    System,
    /// The person, or what answers in the person's place: results of calls come from here in some formats.
    User,
    /// The model.
    Assistant,
    /// What a call answered.
    Tool,
    /// Someone unknown, or an item that nobody says.
    Other,
}

impl Speaker {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Speaker::System => "system",
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
            Speaker::Tool => "tool",
            Speaker::Other => "other",
        }
    }
}

/// A part of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Words.
    Text(String),
    /// What the model thought; whoever made it can read it again.
    Thinking,
    /// A wish to call a tool.
    Call(ToolCall),
    /// What a call answered.
    Answer {
        /// Which call.
        id: String,
        /// What it said.
        content: Vec<Block>,
        /// Whether it failed.
        failed: bool,
    },
    /// Anything else: an image, a kind that is yet to be invented.
    Other {
        /// What it calls itself.
        kind: String,
        /// All of it.
        json: serde_json::Value,
    },
}

impl Block {
    /// Its words; what an answer says in several parts stands on lines of its own.
    pub fn words(&self) -> Cow<'_, str> {
        match self {
            Block::Text(text) => Cow::Borrowed(text),
            Block::Answer { content, .. } => match content.as_slice() {
                [one] => one.words(),
                several => Cow::Owned(joined(several)),
            },
            Block::Thinking | Block::Call(_) => Cow::Borrowed(""),
            Block::Other { kind, .. } => Cow::Owned(format!("[{kind}]")),
        }
    }
}

impl Block {
    fn bytes(&self) -> usize {
        match self {
            Block::Text(text) => text.len(),
            Block::Call(call) => call.arguments.len(),
            Block::Answer { content, .. } => content.iter().map(Block::bytes).sum(),
            Block::Thinking | Block::Other { .. } => 0,
        }
    }

    /// Whether it is a picture, a sound or a file, which no model reads as text.
    pub fn is_media(&self) -> bool {
        let Block::Other { kind, json } = self else { return false };
        let names =
            ["image", "image_url", "input_image", "document", "file", "input_file", "input_audio", "audio"];
        names.contains(&kind.as_str()) && !holds_text(json)
    }
}

/// Whether a file is plain text, or a list of parts: a model reads that as text, whatever it is called.
fn holds_text(file: &serde_json::Value) -> bool {
    let source = &file["source"];
    let is_text = matches!(source["type"].as_str(), Some("text" | "content"));
    let data = [&file["file_data"], &file["file"]["file_data"]].into_iter().find_map(serde_json::Value::as_str);
    // A file of another kind comes as a data address.
    is_text || data.is_some_and(|data| !data.starts_with("data:") || data.starts_with("data:text/"))
}

/// One item of a history, as the client sent it: a message, or what else its format lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Who speaks.
    pub speaker: Speaker,
    /// What it is made of.
    pub blocks: Blocks,
    /// What it costs, counted as it was written.
    pub tokens: Tokens,
    /// Places in it that the client asks to be cached up to.
    pub marks: usize,
}

impl Item {
    /// All its words.
    pub fn text(&self) -> String {
        joined(&self.blocks)
    }

    /// How much is in it: its words, and what its calls say.
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(Block::bytes).sum()
    }

    /// The calls it makes.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| if let Block::Call(call) = block { Some(call) } else { None })
    }

    /// The calls it answers, by their ids.
    pub fn answers(&self) -> impl Iterator<Item = &str> {
        self.blocks
            .iter()
            .filter_map(|block| if let Block::Answer { id, .. } = block { Some(id.as_str()) } else { None })
    }

    /// Whether a person's turn begins with it: words that answer no call.
    pub fn begins_turn(&self) -> bool {
        self.speaker == Speaker::User && self.answers().next().is_none() && !self.is_hollow()
    }

    /// Whether nothing is in it but thoughts.
    pub fn is_hollow(&self) -> bool {
        self.blocks.iter().all(|block| match block {
            Block::Thinking => true,
            Block::Text(text) => text.is_empty(),
            Block::Call(_) | Block::Answer { .. } | Block::Other { .. } => false,
        })
    }
}

fn joined(blocks: &[Block]) -> String {
    let words: Vec<Cow<'_, str>> = blocks.iter().map(Block::words).filter(|words| !words.is_empty()).collect();
    words.join("\n")
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Its wire format.
    pub api: Api,
    /// What is asked for.
    pub endpoint: Endpoint,
    /// Whose it says it is.
    pub signals: Signals,
    /// The words of the system prompt, where that stands beside the history.
    pub system: String,
    /// How many tools are offered.
    pub tools: usize,
    /// What everything but the items costs.
    pub fixed: Tokens,
    /// Places outside of the items that the client asks to be cached up to.
    pub marks: usize,
    /// The longest answer that is asked for.
    pub reply_max: Option<u64>,
    /// Whether it says that no answer is wanted.
    pub is_rehearsal: bool,
    /// The history, oldest first.
    pub items: Vec<Item>,
    /// The last item that stands for a history that was put in short here.
    pub opened: Option<usize>,
}

impl Heard {
    /// What all of it costs.
    pub fn tokens(&self) -> Tokens {
        self.fixed + self.items.iter().map(|item| item.tokens).sum()
    }

    /// How many items there are before those at the end that may move: instructions after all that was said.
    pub fn stem(&self) -> usize {
        let spoken = self.items.iter().rposition(|item| item.speaker != Speaker::System);
        spoken.map_or(self.items.len(), |at| at + 1)
    }
}

/// How many items it takes until someone but the program speaks: a history that has no more than those in common with
/// another has nothing in common with it.
pub fn first_spoken(heard: &Heard) -> usize {
    let spoken = heard.items.iter().position(|item| item.speaker != Speaker::System && !item.is_hollow());
    spoken.map_or(usize::MAX, |at| at + 1)
}

/// How many items it takes until the model has spoken: only a history that has as much in common with another may be a fork of
/// it. Programs begin many histories with the same words.
pub fn first_answered(heard: &Heard) -> usize {
    let answered = heard.items.iter().position(|item| item.speaker == Speaker::Assistant && !item.is_hollow());
    answered.map_or(usize::MAX, |at| at + 1)
}

/// What the model answered, whatever its wire format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// Its words.
    pub text: String,
    /// The calls it makes.
    pub calls: Vec<ToolCall>,
    /// What the provider calls it, where a later request may name it in place of the history.
    pub id: Option<String>,
    /// What the provider says it used, if it does.
    pub used: Option<Used>,
    /// Whether it broke off: its words are all that came.
    pub is_half: bool,
}

impl Reply {
    /// Whether there is nothing in it.
    pub fn says_nothing(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// Its items, as the client will send them back.
    pub fn items(&self, api: Api) -> Vec<Item> {
        let item = |blocks: Blocks| Item { speaker: Speaker::Assistant, blocks, tokens: Tokens::ZERO, marks: 0 };
        let text = (!self.text.is_empty()).then(|| Block::Text(self.text.clone()));
        let blocks = text.into_iter().chain(self.calls.iter().cloned().map(Block::Call));
        match api {
            Api::Chat | Api::Messages => vec![item(blocks.collect())],
            Api::Responses => blocks.map(|block| item(vec![block].into())).collect(),
        }
    }
}
