//! Reads recorded sessions: one JSON object per line, `{"id", "turns": [{"who": "User" | "Agent", "text"}]}`.
//!
//! A user's text starts a turn. The agent's text before a tool block is a reply that calls that tool, and the
//! block is the tool's result. The text after the last block ends the turn.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use neap_core::base::message::ToolCall;
use neap_core::turn::ModelReply;
use neap_store::bounded_lines::{self, LINE_BYTES_MAX, json_lines};
use serde::Deserialize;

use super::raw_line;
use crate::LabError;

/// Tool rounds per turn; a longer turn is split.
const ROUNDS_MAX: usize = 90;

#[derive(Deserialize)]
struct SessionLine {
    #[serde(default)]
    id: String,
    turns: Vec<SessionItem>,
}

#[derive(Deserialize)]
struct SessionItem {
    who: String,
    #[serde(default)]
    text: String,
}

#[derive(Debug, Default)]
pub(super) struct RecordedSession {
    pub(super) id: String,
    pub(super) turns: Vec<RecordedTurn>,
    pub(super) tools: BTreeSet<String>,
}

#[derive(Debug, Default)]
pub(super) struct RecordedTurn {
    pub(super) user: String,
    pub(super) replies: Vec<ModelReply>,
    pub(super) results: Vec<(String, String)>,
}

/// `-` is standard input.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<RecordedSession>, LabError> {
    let mut sessions = Vec::new();
    for path in files {
        let file = bounded_lines::open_input(path).map_err(|error| read_error(path, None, &error.to_string()))?;
        for (at, line) in json_lines::<SessionLine>(file, LINE_BYTES_MAX) {
            sessions.push(RecordedSession::of(line.map_err(|error| read_error(path, Some(at), &error))?));
        }
    }
    Ok(sessions)
}

fn read_error(path: &Path, line: Option<usize>, error: &str) -> LabError {
    let place = line.map_or_else(String::new, |line| format!(", line {line}"));
    LabError::new(format!("cannot read {}{place}: {error}", path.display())).hint(
        r#"each line is {"id": "…", "turns": [{"who": "User", "text": "…"}, {"who": "Agent", "text": "…"}]}; unpack it first if it is packed (gunzip -c FILE | neap lab proof window --transcripts -)"#,
    )
}

impl RecordedSession {
    fn of(line: SessionLine) -> Self {
        let mut session = Self { id: line.id, ..Self::default() };
        let mut open: Option<TurnBuilder> = None;
        let mut calls = 0;
        for item in line.turns {
            if item.who == "User" {
                session.turns.extend(open.take().map(TurnBuilder::finish));
                open = Some(TurnBuilder::new(item.text));
                continue;
            }
            let turn = open.get_or_insert_with(|| TurnBuilder::new("Go on.".to_owned()));
            if turn.turn.replies.len() >= ROUNDS_MAX {
                let full = std::mem::replace(turn, TurnBuilder::new("Go on.".to_owned()));
                session.turns.push(full.finish());
            }
            turn.add_text(item.text, &mut calls, &mut session.tools);
        }
        session.turns.extend(open.map(TurnBuilder::finish));
        session
    }

    pub(super) fn raw_bytes(&self) -> u64 {
        let line = |role: &str, content: &str| raw_line(role, content).len() as u64;
        let turn_bytes = |turn: &RecordedTurn| {
            let replies = turn.replies.iter().map(|reply| line("assistant", &reply.text));
            let results = turn.results.iter().map(|(_, text)| line("tool", text));
            line("user", &turn.user) + replies.sum::<u64>() + results.sum::<u64>()
        };
        self.turns.iter().map(turn_bytes).sum()
    }
}

struct TurnBuilder {
    turn: RecordedTurn,
    /// Text not yet in a reply.
    words: Vec<String>,
}

impl TurnBuilder {
    fn new(user: String) -> Self {
        Self { turn: RecordedTurn { user, ..RecordedTurn::default() }, words: Vec::new() }
    }

    fn add_text(&mut self, text: String, calls: &mut usize, tools: &mut BTreeSet<String>) {
        let (before, blocks) = tool_blocks(&text);
        if !before.trim().is_empty() {
            self.words.push(before.trim().to_owned());
        }
        if blocks.is_empty() {
            return;
        }
        let mut tool_calls = Vec::new();
        for block in blocks {
            *calls += 1;
            let (id, name) = (format!("call_{calls}"), tool_name(block));
            tools.insert(name.clone());
            self.turn.results.push((id.clone(), block.to_owned()));
            tool_calls.push(ToolCall { id, name, arguments: "{}".to_owned() });
        }
        let text = std::mem::take(&mut self.words).join("\n\n");
        self.turn.replies.push(ModelReply { text, calls: tool_calls, is_truncated: false });
    }

    fn finish(mut self) -> RecordedTurn {
        let text = if self.words.is_empty() { "Done.".to_owned() } else { self.words.join("\n\n") };
        self.turn.replies.push(ModelReply { text, calls: Vec::new(), is_truncated: false });
        self.turn
    }
}

/// The text before the first tool block, and the blocks.
fn tool_blocks(text: &str) -> (&str, Vec<&str>) {
    let mut starts: Vec<usize> = text.match_indices("<tool-use").map(|(at, _)| at).collect();
    let before = &text[..starts.first().copied().unwrap_or(text.len())];
    starts.push(text.len());
    (before, starts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect())
}

/// The tool's name, in characters that providers accept.
fn tool_name(block: &str) -> String {
    let named = block.split_once("data-tool-name=\"").and_then(|(_, rest)| rest.split_once('"'));
    let name = named.map_or("tool", |(name, _)| name);
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(64).collect();
    if name.is_empty() { "tool".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_words_and_blocks_become_replies_and_results() {
        let line: SessionLine = serde_json::from_str(
            r#"{"id": "s", "turns": [
                {"who": "User", "text": "fix it"},
                {"who": "Agent", "text": "I look."},
                {"who": "Agent", "text": "<tool-use data-tool-name=\"read file\">one</tool-use>\n<tool-use>two</tool-use>"},
                {"who": "Agent", "text": "Fixed."},
                {"who": "User", "text": "thanks"}]}"#,
        )
        .unwrap();
        let read = RecordedSession::of(line);
        let [first, second] = read.turns.as_slice() else { panic!("two turns: {read:?}") };
        let said: Vec<(&str, usize)> = first.replies.iter().map(|r| (r.text.as_str(), r.calls.len())).collect();
        assert_eq!(said, [("I look.", 2), ("Fixed.", 0)]);
        assert_eq!(first.results[0].1, "<tool-use data-tool-name=\"read file\">one</tool-use>\n");
        assert_eq!((second.user.as_str(), second.replies[0].text.as_str()), ("thanks", "Done."));
        assert_eq!(read.tools.iter().map(String::as_str).collect::<Vec<_>>(), ["read_file", "tool"]);
    }
}
