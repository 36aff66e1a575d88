//! What kind of request it is. Programs run errands beside the conversation, under the same name; those are passed on as they came.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::heard::{Block, Endpoint, Heard, Item, Speaker};

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A person said something.
    MainTurn,
    /// Calls of the model's were answered, and it goes on.
    ToolLoop,
    /// A helper that the program sent off, in a history of its own.
    Subagent,
    /// The client wants its history in short.
    ClientCompaction,
    /// A title, a topic, a name for the conversation.
    Title,
    /// How many tokens it would be.
    CountTokens,
    /// Nothing is wanted yet but that the provider gets ready.
    Prewarm,
    /// Anything else.
    Unsure,
}

impl Class {
    /// Whether it is a part of a conversation: recorded, and bounded.
    pub fn is_conversation(self) -> bool {
        match self {
            Class::MainTurn | Class::ToolLoop | Class::Subagent => true,
            Class::ClientCompaction | Class::Title | Class::CountTokens | Class::Prewarm | Class::Unsure => false,
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::MainTurn => "main_turn",
            Class::ToolLoop => "tool_loop",
            Class::Subagent => "subagent",
            Class::ClientCompaction => "client_compaction",
            Class::Title => "title",
            Class::CountTokens => "count_tokens",
            Class::Prewarm => "prewarm",
            Class::Unsure => "unsure",
        }
    }
}

/// Titles are asked for with few messages.
const TITLE_ITEMS_MAX: usize = 6;
/// What is looked at of a text, from its beginning, in bytes.
const LOOK_BYTES: usize = 2_048;

/// A pattern of ours.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("a pattern of ours"));
    };
}

pattern!(
    ASKS_FOR_TITLE,
    r"(?i)\b(generate|write|create|give|suggest|come up with|produce|extract|output)\b[^.\n]{0,60}\b(title|topic name|headline|branch name|session name|conversation name)\b|\bnew conversation topic\b|\btitle generator\b"
);
pattern!(
    ASKS_FOR_SUMMARY,
    r"(?i)\bcontext checkpoint compaction\b|\b(create|write|provide|produce|make)\b[^.\n]{0,40}\bsummary of (the|this|our) (conversation|session|chat)( so far)?\b|\bsummari[sz]e (the|this|our) (conversation|session|chat)( so far)?\b|\bhandoff summary\b"
);

/// What kind of request it is.
pub fn classify(heard: &Heard) -> Class {
    match heard.endpoint {
        Endpoint::Count => return Class::CountTokens,
        Endpoint::Compact => return Class::ClientCompaction,
        Endpoint::Answer => {}
    }
    if heard.has_trigger() {
        return Class::ClientCompaction;
    }
    let Some(last) = heard.items.iter().rev().find(|item| item.speaker != Speaker::System && !item.is_hollow())
    else {
        return if heard.is_rehearsal { Class::Prewarm } else { Class::Unsure };
    };
    if heard.is_rehearsal || heard.reply_max.is_some_and(|tokens| tokens <= 1) {
        return Class::Prewarm;
    }
    if last.begins_turn() && asks_for_summary(last) {
        return Class::ClientCompaction;
    }
    if asks_for_title(heard) {
        return Class::Title;
    }
    let is_answer = last.speaker == Speaker::Tool || last.answers().next().is_some();
    if !is_answer && !last.begins_turn() {
        return Class::Unsure;
    }
    match (&heard.signals.agent, is_answer) {
        (Some(_), _) => Class::Subagent,
        (None, true) => Class::ToolLoop,
        (None, false) => Class::MainTurn,
    }
}

/// Programs put what they ask after what the person said last.
fn asks_for_summary(last: &Item) -> bool {
    let text =
        last.blocks.iter().rev().find_map(|block| if let Block::Text(text) = block { Some(text) } else { None });
    text.is_some_and(|text| ASKS_FOR_SUMMARY.is_match(beginning(text)) && is_instruction(text))
}

/// Someone who asks for a summary in passing says so in a line; a program's instruction is longer.
fn is_instruction(text: &str) -> bool {
    text.len() > 200
}

fn asks_for_title(heard: &Heard) -> bool {
    if heard.tools > 0 || heard.items.len() > TITLE_ITEMS_MAX {
        return false;
    }
    let of_system = heard.items.iter().filter(|item| item.speaker == Speaker::System).map(Item::text);
    let systems = of_system.chain([heard.system.clone()]);
    let is_title = |text: &str| ASKS_FOR_TITLE.is_match(beginning(text));
    // A person may ask for a title, too; a program says so before the person is heard.
    let first = heard.items.iter().find(|item| item.begins_turn()).map(Item::text).unwrap_or_default();
    let users = heard.items.iter().filter(|item| item.begins_turn()).count();
    systems.into_iter().any(|text| is_title(&text)) || (users > 1 && is_title(&first))
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LOOK_BYTES)]
}
