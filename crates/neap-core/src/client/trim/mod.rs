//! Shows long tool results in short from the first time on that they are sent, so that a conversation costs less from
//! its first turns. What is shown depends on the result and its call alone: later requests have the same bytes, and
//! the provider's prompt cache still applies.
//!
//! Files, diffs and code stay as they are ([`tool_use`], [`code`]): an agent edits them. Of everything else the errors
//! stay ([`problems`]), at most [`lines::ERRORS_SHOWN_MAX`], and what tells the most by its kind. The first line has the
//! handle of the whole.

mod code;
mod json;
mod lines;
mod listing;
mod problems;
mod rows;
mod tool_use;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::cut::JsonTokenCounter;
use super::request::{ContentBlock, HistoryItem};
use crate::base::digest::Digest;
use crate::base::handle::{Handle, ResultKey};
use crate::base::message::ToolCall;
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::text::excerpt::prefix_within;
use lines::{Ends, RowPicker, count_problems};
use rows::{Fold, Row, rows, without_escapes};

/// Results of fewer tokens are never touched.
pub const TRIM_TOKENS_MIN: Tokens = Tokens(1_500);
/// Most that a result without problems costs afterwards.
const TRIMMED_TOKENS: Tokens = Tokens(500);
/// The same for one with problems: a quarter of the whole, within these.
const TRIMMED_PROBLEM_TOKENS: (u64, u64) = (600, 1_200);
/// Share of its lines, in per cent, that make a text a log.
const LOG_PERCENT: usize = 10;

/// A text of a tool result that may be shown in short.
#[derive(Debug, Clone)]
pub struct LongText<'a> {
    pub text: &'a str,
    /// Of the whole result.
    pub handle: Handle,
    /// The same for all that its short form depends on.
    pub key: Digest,
}

/// A text of a tool result, shown in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrimmedText {
    /// Indexes of the item, of its block, and of the text within the result.
    pub at: usize,
    pub block: usize,
    pub part: usize,
    pub text: Arc<str>,
}

/// The results of a history that are shown in short. `trim` is [`trim_text`], or what it returned for the same key.
pub fn trim_results(
    items: &[HistoryItem],
    mut trim: impl FnMut(&LongText<'_>) -> Option<Arc<str>>,
) -> Vec<TrimmedText> {
    let mut calls: BTreeMap<&str, &ToolCall> = BTreeMap::new();
    let mut trimmed = Vec::new();
    for (at, item) in items.iter().enumerate() {
        for (nth, block) in item.blocks.iter().enumerate() {
            match block {
                ContentBlock::ToolCall(call) => {
                    calls.insert(&call.id, call);
                }
                ContentBlock::ToolResult { id, content, .. } if item.tokens >= TRIM_TOKENS_MIN => {
                    // Without its call, it may be a file.
                    let Some(call) = calls.get(id.as_str()).filter(|_| content.iter().any(is_long)) else {
                        continue;
                    };
                    if tool_use::needs_verbatim(call) {
                        continue;
                    }
                    let digest = ResultKey::text_digest(&block.text());
                    let handle = Handle::Result(ResultKey::from_digest(id, &digest));
                    for (part, content) in content.iter().enumerate().filter(|(_, content)| is_long(content)) {
                        let ContentBlock::Text(text) = content else { continue };
                        let parts: [&[u8]; 3] = [id.as_bytes(), digest.bytes(), &part.to_le_bytes()];
                        let key = Digest::of("trimmed", &parts);
                        let short = trim(&LongText { text, handle: handle.clone(), key });
                        trimmed.extend(short.map(|text| TrimmedText { at, block: nth, part, text }));
                    }
                }
                ContentBlock::ToolResult { .. }
                | ContentBlock::Text(_)
                | ContentBlock::Thinking
                | ContentBlock::Other { .. } => {}
            }
        }
    }
    trimmed
}

/// A token is a byte or more.
fn is_long(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Text(text) if text.len() as u64 >= TRIM_TOKENS_MIN.0)
}

/// The short form of a text; `None` if it stays as it is.
pub fn trim_text(counter: &dyn TokenCounter, long: &LongText<'_>) -> Option<String> {
    let wire = JsonTokenCounter(counter);
    let whole = wire.count(long.text);
    let trimmer = Trimmer { wire: &wire, whole, handle: &long.handle };
    let short = (whole >= TRIM_TOKENS_MIN).then(|| trimmer.trim(long.text, None)).flatten()?;
    // Escapes on the wire may cost more than the text.
    (wire.count(&short) < whole).then_some(short)
}

struct Trimmer<'a> {
    wire: &'a dyn TokenCounter,
    whole: Tokens,
    handle: &'a Handle,
}

impl Trimmer<'_> {
    /// `max` limits it further.
    fn trim(&self, text: &str, max: Option<Tokens>) -> Option<String> {
        let text = without_escapes(text);
        if let Some(value) = json::parse(&text) {
            return self.trim_document(&value, &text, max);
        }
        let is_listing = listing::is_listing(&text);
        if code::is_file_or_diff(&text) || (!is_listing && code::is_source(&text)) {
            return None;
        }
        let rows = match is_listing {
            true => rows(&text, Fold::Nothing, listing::is_entry),
            false => rows(&text, Fold::Numbers, |_| false),
        };
        let limit = self.limit(rows.iter().any(|row| row.severity.is_some())).min(max.unwrap_or(self.whole));
        let lines = rows.last().map_or(0, |row| row.lines.1 + 1);
        let problems = count_problems(&rows);
        if is_listing {
            let ends = Ends { first: 2, last: 2, head_per_tail: (2, 1) };
            let what = format!("Listing of {lines} lines{problems}");
            return Some(self.fit(&what, limit, listing::places_line(&text), &rows, ends));
        }
        let (name, ends) = match is_log(&rows) {
            true => ("Output", Ends { first: 2, last: 4, head_per_tail: (1, 2) }),
            false => ("Text", Ends { first: 2, last: 2, head_per_tail: (2, 1) }),
        };
        Some(self.fit(&format!("{name} of {lines} lines{problems}"), limit, None, &rows, ends))
    }

    fn limit(&self, has_problems: bool) -> Tokens {
        let (least, most) = TRIMMED_PROBLEM_TOKENS;
        if has_problems { Tokens((self.whole.0 / 4).clamp(least, most)) } else { TRIMMED_TOKENS }
    }

    /// Rows under a first line, at most `limit` tokens together.
    fn fit(&self, what: &str, limit: Tokens, places: Option<String>, rows: &[Row<'_>], ends: Ends) -> String {
        let mut room = limit;
        loop {
            let above = self.first_line(what, Tokens::ZERO) + "\n" + places.as_deref().unwrap_or_default();
            let left = room.saturating_sub(self.wire.count(&above));
            let mut body = RowPicker::show(rows, self.wire, left, ends);
            if let Some(places) = &places {
                body = format!("{places}\n{body}");
            }
            let text = format!("{}\n{body}", self.first_line(what, self.wire.count(&body)));
            let tokens = self.wire.count(&text);
            if tokens <= limit {
                return text;
            }
            if left == Tokens::ZERO {
                return prefix_within(self.wire, &text, limit).to_owned();
            }
            room = room.saturating_sub(Tokens((tokens.0 - limit.0).max(8)));
        }
    }

    fn first_line(&self, what: &str, shown: Tokens) -> String {
        let (count, handle) = (self.whole.saturating_sub(shown).to_string(), self.handle.to_string());
        prompt::fill(prompt::TRIMMED, &[("what", what), ("count", &count), ("handle", &handle)])
    }

    fn trim_document(&self, value: &Value, text: &str, max: Option<Tokens>) -> Option<String> {
        let output = max.is_none().then(|| json::take_embedded(value.clone(), text.len())).flatten();
        if let Some((output, mut wrapper)) = output {
            let around = self.wire.count(&wrapper.with(""));
            let max = Tokens(TRIMMED_PROBLEM_TOKENS.1).saturating_sub(around);
            if max >= TRIMMED_TOKENS {
                // It is a text within a text.
                let trimmer = Trimmer { wire: &JsonTokenCounter(self.wire), ..*self };
                return trimmer.trim(&output, Some(max)).map(|short| wrapper.with(&short));
            }
        }
        let problems = json::problems(value);
        let limit = self.limit(!problems.is_empty()).min(max.unwrap_or(self.whole));
        let what = format!("JSON of {} characters", text.chars().count());
        let render = |detail: &json::Detail| {
            let body = json::render(value, &problems, *detail);
            format!("{}\n{body}", self.first_line(&what, self.wire.count(&body)))
        };
        let short = json::DETAILS.iter().map(render).find(|text| self.wire.count(text) <= limit);
        Some(short.unwrap_or_else(|| {
            let harshest = render(&json::DETAILS[json::DETAILS.len() - 1]);
            prefix_within(self.wire, &harshest, limit).to_owned()
        }))
    }
}

/// Whether some lines have a time, a level or the result of a test.
fn is_log(rows: &[Row<'_>]) -> bool {
    let is_logged = |row: &&Row<'_>| {
        let text = row.text.trim_start();
        let has_time = text.get(..8).is_some_and(|start| start.bytes().filter(u8::is_ascii_digit).count() >= 5);
        let has_level =
            || text.split_whitespace().take(4).any(|word| LEVELS.contains(&word.trim_matches(['[', ']', ':'])));
        row.severity.is_some() || has_time || has_level() || text.ends_with(" ok") || text.contains("PASSED")
    };
    rows.iter().filter(is_logged).count() * 100 >= rows.len() * LOG_PERCENT
}

const LEVELS: [&str; 12] = [
    "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "ERROR", "Compiling", "Checking", "Downloaded", "npm", "✓", "PASS",
];
