//! Recorded sessions: one JSON object a line, `{"id", "turns": [{"who": "User" | "Agent", "text"}]}`.
//!
//! What a user says begins a turn. What the agent says, up to a tool's block, is one reply that calls that tool; the
//! block is what the tool answers. The words after the last block end the turn.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use neap_core::message::ToolCall;
use neap_core::turn::ModelReply;
use neap_store::reading::{self, LINE_BYTES_MAX, Line as Found, Lines};
use serde::Deserialize;

use super::kpi::raw_line;
use crate::out::Failure;

/// Rounds of calls that one turn may have here; what has more goes on in another turn.
const ROUNDS_MAX: usize = 90;

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: String,
    turns: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    who: String,
    #[serde(default)]
    text: String,
}

/// A session to be played again.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) id: String,
    pub(super) turns: Vec<Turn>,
    /// Names of the tools that it calls.
    pub(super) tools: BTreeSet<String>,
}

/// One turn of it.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) user: String,
    pub(super) replies: Vec<ModelReply>,
    /// What the tools answer, by the ids of the calls.
    pub(super) results: Vec<(String, String)>,
}

/// Reads files; `-` is standard input.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Transcript>, Failure> {
    let mut out = Vec::new();
    for path in files {
        let reader: Box<dyn BufRead> = if path == Path::new("-") {
            Box::new(BufReader::new(std::io::stdin()))
        } else {
            let file = reading::open(path).map_err(|error| wrong(path, None, &error.to_string()))?;
            Box::new(BufReader::new(file.ok_or_else(|| wrong(path, None, "there is no such file"))?))
        };
        for (at, line) in Lines::new(reader, LINE_BYTES_MAX).enumerate() {
            let wrong = |error: &str| wrong(path, Some(at + 1), error);
            let line = match line.map_err(|error| wrong(&error.to_string()))? {
                Found::Whole(line) if line.trim_ascii().is_empty() => continue,
                Found::Whole(line) => line,
                Found::TooLong { bytes } => return Err(wrong(&format!("it has {bytes} bytes"))),
            };
            let line: Line = serde_json::from_slice(&line).map_err(|error| wrong(&error.to_string()))?;
            out.push(Transcript::of(line));
        }
    }
    Ok(out)
}

fn wrong(path: &Path, line: Option<usize>, error: &str) -> Failure {
    let place = line.map_or_else(String::new, |line| format!(", line {line}"));
    Failure::new(format!("cannot read {}{place}: {error}", path.display())).hint(
        r#"each line is {"id": "…", "turns": [{"who": "User", "text": "…"}, {"who": "Agent", "text": "…"}]}; unpack it first if it is packed (gunzip -c FILE | neap proof window --transcripts -)"#,
    )
}

impl Transcript {
    fn of(line: Line) -> Self {
        let mut out = Self { id: line.id, ..Self::default() };
        let mut open: Option<Open> = None;
        let mut calls = 0;
        for item in line.turns {
            if item.who == "User" {
                out.turns.extend(open.take().map(Open::end));
                open = Some(Open::new(item.text));
                continue;
            }
            let turn = open.get_or_insert_with(|| Open::new("Go on.".to_owned()));
            if turn.turn.replies.len() >= ROUNDS_MAX {
                let full = std::mem::replace(turn, Open::new("Go on.".to_owned()));
                out.turns.push(full.end());
            }
            turn.take(item.text, &mut calls, &mut out.tools);
        }
        out.turns.extend(open.map(Open::end));
        out
    }
}

impl Transcript {
    /// What a bare log of the same messages takes, a line of JSON each.
    pub(super) fn raw_bytes(&self) -> u64 {
        let line = |role: &str, content: &str| raw_line(role, content).len() as u64;
        let of_turn = |turn: &Turn| {
            let said = turn.replies.iter().map(|reply| line("assistant", &reply.text));
            let results = turn.results.iter().map(|(_, text)| line("tool", text));
            line("user", &turn.user) + said.sum::<u64>() + results.sum::<u64>()
        };
        self.turns.iter().map(of_turn).sum()
    }
}

/// A turn that is being read.
struct Open {
    turn: Turn,
    /// Words that no reply has yet.
    words: Vec<String>,
}

impl Open {
    fn new(user: String) -> Self {
        Self { turn: Turn { user, ..Turn::default() }, words: Vec::new() }
    }

    fn take(&mut self, text: String, calls: &mut usize, tools: &mut BTreeSet<String>) {
        let (before, blocks) = tool_blocks(&text);
        if !before.trim().is_empty() {
            self.words.push(before.trim().to_owned());
        }
        if blocks.is_empty() {
            return;
        }
        let mut made = Vec::new();
        for block in blocks {
            *calls += 1;
            let (id, name) = (format!("call_{calls}"), tool_name(block));
            tools.insert(name.clone());
            self.turn.results.push((id.clone(), block.to_owned()));
            made.push(ToolCall { id, name, arguments: "{}".to_owned() });
        }
        let text = std::mem::take(&mut self.words).join("\n\n");
        self.turn.replies.push(ModelReply { text, calls: made, is_cut: false });
    }

    fn end(mut self) -> Turn {
        let text = if self.words.is_empty() { "Done.".to_owned() } else { self.words.join("\n\n") };
        self.turn.replies.push(ModelReply { text, calls: Vec::new(), is_cut: false });
        self.turn
    }
}

/// The words before the first block, and the blocks.
fn tool_blocks(text: &str) -> (&str, Vec<&str>) {
    let mut starts: Vec<usize> = text.match_indices("<tool-use").map(|(at, _)| at).collect();
    let before = &text[..starts.first().copied().unwrap_or(text.len())];
    starts.push(text.len());
    (before, starts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect())
}

/// The tool's name, as a provider would accept it.
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
        let line: Line = serde_json::from_str(
            r#"{"id": "s", "turns": [
                {"who": "User", "text": "fix it"},
                {"who": "Agent", "text": "I look."},
                {"who": "Agent", "text": "<tool-use data-tool-name=\"read file\">one</tool-use>\n<tool-use>two</tool-use>"},
                {"who": "Agent", "text": "Fixed."},
                {"who": "User", "text": "thanks"}]}"#,
        )
        .unwrap();
        let read = Transcript::of(line);
        let [first, second] = read.turns.as_slice() else { panic!("two turns: {read:?}") };
        let said: Vec<(&str, usize)> = first.replies.iter().map(|r| (r.text.as_str(), r.calls.len())).collect();
        assert_eq!(said, [("I look.", 2), ("Fixed.", 0)]);
        assert_eq!(first.results[0].1, "<tool-use data-tool-name=\"read file\">one</tool-use>\n");
        assert_eq!((second.user.as_str(), second.replies[0].text.as_str()), ("thanks", "Done."));
        assert_eq!(read.tools.iter().map(String::as_str).collect::<Vec<_>>(), ["read_file", "tool"]);
    }
}
