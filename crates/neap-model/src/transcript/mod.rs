//! Transcripts that other programs write, read to what the rules take in. Text in, records out: no file is opened here.
//!
//! Readers are tolerant: a line that is no JSON, or a record of an unknown kind, is counted and passed over. What a program says to
//! itself (reminders, listings, the state of its window) is left out; what people, models and tools said is kept.

mod chatgpt;
mod claude_ai;
mod claude_code;
mod codex;
mod export;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use neap_core::ids::Stamp;
use neap_core::ingest::{Block, Item, Speaker};
use neap_core::tokens::Tokens;
use neap_core::transcript::{Program, Sayings, Transcript};
use serde::Serialize;

use crate::wire::json::Object;

/// What was read of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// The conversations in it.
    pub transcripts: Vec<Transcript>,
    /// What could not be used.
    pub left: Left,
}

/// What of a file was not used, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Records of kinds that are not known, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, u64>,
    /// Lines or records that cannot be read.
    pub damaged: u64,
    /// Records in which nobody says anything.
    pub silent: u64,
}

impl Left {
    /// Adds what another file left.
    pub fn add(&mut self, other: &Left) {
        for (kind, count) in &other.unknown {
            *self.unknown.entry(kind.clone()).or_default() += count;
        }
        self.damaged += other.damaged;
        self.silent += other.silent;
    }

    fn unknown(&mut self, kind: &str) {
        let kind = if kind.is_empty() { "(none)" } else { kind };
        *self.unknown.entry(kind.chars().take(60).collect()).or_default() += 1;
    }
}

/// Reads a file of a program. `name` is the file's name without its ending: some conversations are called by it.
pub fn read(program: Program, name: &str, text: &str) -> Read {
    match program {
        Program::ClaudeCode => claude_code::read(name, &mut lines(text, 0), &mut Sayings::default()),
        Program::Codex => codex::read(codex::session_of(name), &mut lines(text, 0), &mut Sayings::default()),
        Program::ChatGpt => chatgpt::read(text),
        Program::ClaudeAi => claude_ai::read(text),
    }
}

/// Reads a part of a file that is written line by line, as it grows: whole lines only, from `offset` on. `session` is what the program
/// calls the conversation, `sayings` what was seen in the file before. Programs that do not write so have nothing to read.
pub fn read_more(program: Program, session: &str, text: &str, offset: u64, sayings: &mut Sayings) -> Read {
    match program {
        Program::ClaudeCode => claude_code::read(session, &mut lines(text, offset), sayings),
        Program::Codex => codex::read(session, &mut lines(text, offset), sayings),
        Program::ChatGpt | Program::ClaudeAi => Read::default(),
    }
}

/// The lines that have an end, each with where it stands: one that has none is still being written. The last line of a file counts if it
/// can be read.
fn lines(text: &str, offset: u64) -> impl Iterator<Item = (u64, &str)> {
    let rest = text.rsplit_once('\n').map_or(text, |(_, rest)| rest);
    let is_whole = rest.trim().is_empty() || Object::parse(rest).is_ok();
    let whole = if is_whole { text } else { &text[..text.len() - rest.len()] };
    let mut next = offset;
    whole
        .split_inclusive('\n')
        .map(move |line| {
            let place = next;
            next += line.len() as u64;
            (place, line.trim())
        })
        .filter(|(_, line)| !line.is_empty())
}

/// A moment as programs write it: `2026-05-01T09:30:00.123Z`.
fn stamp(text: Option<String>) -> Option<Stamp> {
    let moment: jiff::Timestamp = text?.parse().ok()?;
    Some(Stamp(moment.as_millisecond()))
}

/// Seconds since 1970, with a fraction.
fn seconds(since: Option<f64>) -> Option<Stamp> {
    since.filter(|since| since.is_finite() && *since > 0.0).map(|since| Stamp((since * 1_000.0).round() as i64))
}

fn item(speaker: Speaker, blocks: Vec<Block>) -> Item {
    Item { speaker, blocks: blocks.into(), tokens: Tokens::ZERO, marks: 0 }
}
