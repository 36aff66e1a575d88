//! A client's request, independent of its wire format.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::blocks::ContentBlocks;
use super::signals::Signals;
use crate::base::message::ToolCall;
use crate::base::tokens::Tokens;
use crate::session::request_account::TokenUsage;

/// A provider's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireApi {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

impl WireApi {
    pub const ALL: [WireApi; 3] = [WireApi::Chat, WireApi::Responses, WireApi::Messages];

    pub fn as_str(self) -> &'static str {
        match self {
            WireApi::Chat => "chat",
            WireApi::Responses => "responses",
            WireApi::Messages => "messages",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    Generate,
    CountTokens,
    Compact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// `developer` is the same.
    System,
    /// The person. Some formats send tool results in this role, too.
    User,
    Assistant,
    Tool,
    /// An unknown role, or an item without one.
    Other,
}

impl Speaker {
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentBlock {
    Text(String),
    /// Thinking, which only the provider that made it can read.
    Thinking,
    ToolCall(ToolCall),
    ToolResult {
        id: String,
        content: Vec<ContentBlock>,
        failed: bool,
    },
    /// Anything else: an image, or a kind that is unknown here.
    Other {
        kind: String,
        json: serde_json::Value,
    },
}

impl ContentBlock {
    /// Its text; the parts of a tool result are joined by newlines.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            ContentBlock::Text(text) => Cow::Borrowed(text),
            ContentBlock::ToolResult { content, .. } => match content.as_slice() {
                [one] => one.text(),
                several => Cow::Owned(join_text(several)),
            },
            ContentBlock::Thinking | ContentBlock::ToolCall(_) => Cow::Borrowed(""),
            ContentBlock::Other { kind, .. } => Cow::Owned(format!("[{kind}]")),
        }
    }
}

impl ContentBlock {
    fn text_bytes(&self) -> usize {
        match self {
            ContentBlock::Text(text) => text.len(),
            ContentBlock::ToolCall(call) => call.arguments.len(),
            ContentBlock::ToolResult { content, .. } => content.iter().map(ContentBlock::text_bytes).sum(),
            ContentBlock::Thinking | ContentBlock::Other { .. } => 0,
        }
    }

    pub fn is_image(&self) -> bool {
        let ContentBlock::Other { kind, .. } = self else { return false };
        ["image", "image_url", "input_image"].contains(&kind.as_str())
    }

    /// Whether it is an image, audio or a file that models do not read as text.
    pub fn is_media(&self) -> bool {
        let ContentBlock::Other { kind, json } = self else { return false };
        let names =
            ["image", "image_url", "input_image", "document", "file", "input_file", "input_audio", "audio"];
        names.contains(&kind.as_str()) && !is_text_file(json)
    }
}

/// Whether a file is plain text or a list of parts, which models read as text whatever its kind.
fn is_text_file(file: &serde_json::Value) -> bool {
    let source = &file["source"];
    let is_text = matches!(source["type"].as_str(), Some("text" | "content"));
    let data = [&file["file_data"], &file["file"]["file_data"]].into_iter().find_map(serde_json::Value::as_str);
    // Other files are sent as data URLs.
    is_text || data.is_some_and(|data| !data.starts_with("data:") || data.starts_with("data:text/"))
}

/// One item of a history as the client sent it: a message, or whatever else its format lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryItem {
    pub speaker: Speaker,
    pub blocks: ContentBlocks,
    /// Counted as the client wrote it.
    pub tokens: Tokens,
}

impl HistoryItem {
    pub fn uncounted(speaker: Speaker, blocks: impl Into<ContentBlocks>) -> Self {
        Self { speaker, blocks: blocks.into(), tokens: Tokens::ZERO }
    }

    pub fn text(&self) -> String {
        join_text(&self.blocks)
    }

    /// Size of its text and call arguments.
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(ContentBlock::text_bytes).sum()
    }

    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks
            .iter()
            .filter_map(|block| if let ContentBlock::ToolCall(call) = block { Some(call) } else { None })
    }

    pub fn answered_call_ids(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| {
            if let ContentBlock::ToolResult { id, .. } = block { Some(id.as_str()) } else { None }
        })
    }

    /// Whether it starts a person's turn: user content that answers no call.
    pub fn is_turn_start(&self) -> bool {
        self.speaker == Speaker::User && self.answered_call_ids().next().is_none() && !self.has_no_content()
    }

    /// Whether it holds nothing but thinking and empty text.
    pub fn has_no_content(&self) -> bool {
        self.blocks.iter().all(|block| match block {
            ContentBlock::Thinking => true,
            ContentBlock::Text(text) => text.is_empty(),
            ContentBlock::ToolCall(_) | ContentBlock::ToolResult { .. } | ContentBlock::Other { .. } => false,
        })
    }
}

fn join_text(blocks: &[ContentBlock]) -> String {
    let texts: Vec<Cow<'_, str>> = blocks.iter().map(ContentBlock::text).filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRequest {
    pub api: WireApi,
    pub endpoint: Endpoint,
    pub signals: Signals,
    /// The system prompt, where it is not part of the history.
    pub system: String,
    pub tool_count: usize,
    /// Cost of everything but the items.
    pub fixed_tokens: Tokens,
    pub output_tokens_max: Option<u64>,
    /// Whether it says that no reply is wanted.
    pub is_prewarm: bool,
    pub items: Vec<HistoryItem>,
    /// The last item that replaces a history compacted here.
    pub compaction_at: Option<usize>,
    /// Results that are shown in short, by item and block.
    pub trimmed: BTreeSet<(usize, usize)>,
}

impl ClientRequest {
    pub fn tokens(&self) -> Tokens {
        self.fixed_tokens + self.items.iter().map(|item| item.tokens).sum()
    }

    /// Tokens that came after the last request: the model's latest message and everything behind it.
    pub fn new_tokens(&self) -> Tokens {
        let is_assistant = |item: &HistoryItem| item.speaker == Speaker::Assistant;
        let Some(last) = self.items.iter().rposition(is_assistant) else { return self.tokens() };
        let first = self.items[..last].iter().rposition(|item| !is_assistant(item)).map_or(0, |before| before + 1);
        self.items[first..].iter().map(|item| item.tokens).sum()
    }

    /// Whether a provider's count of it is a count of its text: no media, no history that only the provider has.
    pub fn is_text_only(&self) -> bool {
        let has_media = |item: &HistoryItem| item.blocks.iter().any(ContentBlock::is_media);
        self.signals.previous_response.is_none() && !self.items.iter().any(has_media)
    }

    /// Tokens of the prompt that an earlier request had which `known_items` of the items are of. A reply at their end
    /// came after it.
    pub fn tokens_asked_before(&self, known_items: usize) -> Tokens {
        let known = &self.items[..known_items.min(self.items.len())];
        let asked = known.iter().rposition(|item| item.speaker != Speaker::Assistant).map_or(0, |at| at + 1);
        self.fixed_tokens + known[..asked].iter().map(|item| item.tokens).sum()
    }

    /// Number of items before trailing system items, which may move.
    pub fn stable_len(&self) -> usize {
        let spoken = self.items.iter().rposition(|item| item.speaker != Speaker::System);
        spoken.map_or(self.items.len(), |at| at + 1)
    }
}

/// Items up to the first non-system message. Histories that share no more than these have nothing in common.
pub fn items_to_first_message(request: &ClientRequest) -> usize {
    let spoken = request.items.iter().position(|item| item.speaker != Speaker::System && !item.has_no_content());
    spoken.map_or(usize::MAX, |at| at + 1)
}

/// Items up to the model's first reply. Only a history that shares as many may be a fork: programs begin many
/// histories with the same text.
pub fn items_to_first_reply(request: &ClientRequest) -> usize {
    let reply = request.items.iter().position(|item| item.speaker == Speaker::Assistant && !item.has_no_content());
    reply.map_or(usize::MAX, |at| at + 1)
}

/// A model's reply, independent of its wire format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderReply {
    pub text: String,
    pub calls: Vec<ToolCall>,
    /// The provider's id, which a later request may name in place of the history.
    pub id: Option<String>,
    pub usage: Option<TokenUsage>,
    /// How often the model called our tools first; `usage` is of these calls, too.
    pub own_tool_rounds: u64,
    /// Whether it broke off: the text is all that arrived.
    pub is_truncated: bool,
}

impl ProviderReply {
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// Calls of the model that `usage` is of.
    pub fn model_calls(&self) -> u64 {
        self.own_tool_rounds + 1
    }

    /// The items as the client will send them back.
    pub fn items(&self, api: WireApi) -> Vec<HistoryItem> {
        let text = (!self.text.is_empty()).then(|| ContentBlock::Text(self.text.clone()));
        let blocks = text.into_iter().chain(self.calls.iter().cloned().map(ContentBlock::ToolCall));
        match api {
            WireApi::Chat | WireApi::Messages => {
                vec![HistoryItem::uncounted(Speaker::Assistant, blocks.collect::<Vec<_>>())]
            }
            WireApi::Responses => {
                blocks.map(|block| HistoryItem::uncounted(Speaker::Assistant, vec![block])).collect()
            }
        }
    }
}
