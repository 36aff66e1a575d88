//! Parses transcripts of other programs into records. Text in, records out: this module opens no file.
//!
//! Parsers are tolerant: they count and skip invalid lines and unknown kinds. They keep what people, models and
//! tools said, and drop a program's own messages (reminders, listings, window state).

mod chatgpt;
mod claude_ai;
mod claude_code;
mod codex;
mod export;
mod program;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use neap_core::base::ids::Stamp;
use neap_core::client::transcript::{PromptOccurrences, Transcript};
use neap_core::client::{ContentBlock, HistoryItem, Speaker};
use serde::Serialize;

use crate::wire::json::Object;
pub use program::Program;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedTranscripts {
    pub transcripts: Vec<Transcript>,
    pub skipped: Skipped,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Skipped {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, u64>,
    pub damaged: u64,
    /// Records without conversation content.
    pub silent: u64,
}

impl Skipped {
    pub fn add(&mut self, other: &Skipped) {
        for (kind, count) in &other.unknown {
            *self.unknown.entry(kind.clone()).or_default() += count;
        }
        self.damaged += other.damaged;
        self.silent += other.silent;
    }

    fn count_unknown(&mut self, kind: &str) {
        let kind = if kind.is_empty() { "(none)" } else { kind };
        *self.unknown.entry(kind.chars().take(60).collect()).or_default() += 1;
    }
}

/// `name` is the file name without extension, which names some conversations.
pub fn read(program: Program, name: &str, text: &str) -> ParsedTranscripts {
    match program {
        Program::ClaudeCode => claude_code::read(name, &mut lines(text, 0), &mut PromptOccurrences::default()),
        Program::Codex => {
            codex::read(codex::session_id(name), &mut lines(text, 0), &mut PromptOccurrences::default())
        }
        Program::ChatGpt => chatgpt::read(text),
        Program::ClaudeAi => claude_ai::read(text),
    }
}

/// Parses the complete lines appended to a file from `offset` on. `session` is the program's name for the
/// conversation; `occurrences` counts the prompts seen earlier in the file. Returns nothing for formats that are
/// not line-based.
pub fn read_appended(
    program: Program,
    session: &str,
    text: &str,
    offset: u64,
    occurrences: &mut PromptOccurrences,
) -> ParsedTranscripts {
    match program {
        Program::ClaudeCode => claude_code::read(session, &mut lines(text, offset), occurrences),
        Program::Codex => codex::read(session, &mut lines(text, offset), occurrences),
        Program::ChatGpt | Program::ClaudeAi => ParsedTranscripts::default(),
    }
}

/// Complete lines with their offsets: an unterminated last line is still being written, unless it parses.
fn lines(text: &str, offset: u64) -> impl Iterator<Item = (u64, &str)> {
    let rest = text.rsplit_once('\n').map_or(text, |(_, rest)| rest);
    let is_whole = rest.trim().is_empty() || Object::parse(rest).is_ok();
    let whole = if is_whole { text } else { &text[..text.len() - rest.len()] };
    let mut next = offset;
    whole
        .split_inclusive('\n')
        .map(move |line| {
            let start = next;
            next += line.len() as u64;
            (start, line.trim())
        })
        .filter(|(_, line)| !line.is_empty())
}

/// Parses a timestamp such as `2026-05-01T09:30:00.123Z`.
fn parse_timestamp(text: Option<String>) -> Option<Stamp> {
    let moment: jiff::Timestamp = text?.parse().ok()?;
    Some(Stamp(moment.as_millisecond()))
}

fn from_unix_seconds(seconds: Option<f64>) -> Option<Stamp> {
    seconds
        .filter(|seconds| seconds.is_finite() && *seconds > 0.0)
        .map(|seconds| Stamp((seconds * 1_000.0).round() as i64))
}

fn uncounted_item(speaker: Speaker, blocks: Vec<ContentBlock>) -> HistoryItem {
    HistoryItem::uncounted(speaker, blocks)
}
