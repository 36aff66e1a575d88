//! The records: summaries, memories and which efforts are in play, in one message of their own right behind the system text.
//!
//! What changes least stands first, so that a provider reads as much of it from its cache as can be. Every line is ours or begins
//! with `- ` and an id of ours, and what is stored is folded to one line: nothing of it can begin a line, so nothing in it can
//! close the records or pass for ours. Each section ends in a newline and the next begins with a letter, `#` or a mark, so that
//! their counts add up.

use super::select::{Selection, summary_tokens};
use super::system::{self, MESSAGE_TOKENS, NOTE_TOKENS_MAX};
use crate::effort::{Effort, Summary};
use crate::ids::{EffortId, Stamp};
use crate::ledger::{Layer, Ledger};
use crate::prompt;
use crate::render;
use crate::tokens::{TokenCounter, Tokens};
use crate::tools::ToolSet;

/// Ids of efforts in play that are named, at most, of each kind.
const IDS_MAX: usize = 8;
/// What is said where nothing is in play: it goes without saying.
const NOTHING_ACTIVE: &str = "No effort is active.";

/// What is around the records: marks, what a provider adds around a message, and which efforts are in play. Paid from the note's
/// layer, whether or not there are records.
pub(super) struct Around {
    standing: String,
    standing_tokens: Tokens,
    marks: Tokens,
}

impl Around {
    pub(super) fn of(counter: &dyn TokenCounter, selection: &Selection<'_>, tools: &ToolSet) -> Self {
        let marks = MESSAGE_TOKENS + counter.count(prompt::RECORDS) + counter.count(prompt::RECORDS_END);
        let room = NOTE_TOKENS_MAX.saturating_sub(counter.count(system::note(tools)) + marks);
        let standing = in_play(counter, selection, tools, room);
        let standing_tokens = counter.count(&standing);
        Self { standing, standing_tokens, marks }
    }

    /// What it costs, if there are records or something is in play.
    pub(super) fn tokens(&self) -> Tokens {
        self.marks + self.standing_tokens
    }

    /// The message, section by section; none if there is nothing to say. Takes back then what it does not cost.
    pub(super) fn put(self, records: Vec<(Layer, String)>, ledger: &mut Ledger) -> Vec<(Layer, String)> {
        let records: Vec<(Layer, String)> = records.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        if records.is_empty() && self.standing.is_empty() {
            ledger.tokens.take(Layer::Note, self.tokens());
            ledger.naive_tokens -= self.tokens();
            return records;
        }
        let open = std::iter::once((Layer::Note, prompt::RECORDS.to_owned()));
        let close = [(Layer::Note, self.standing), (Layer::Note, prompt::RECORDS_END.to_owned())];
        open.chain(records).chain(close).filter(|(_, text)| !text.is_empty()).collect()
    }
}

/// Which efforts are in play and how many are not shown, on one line; nothing where that goes without saying.
fn in_play(counter: &dyn TokenCounter, selection: &Selection<'_>, tools: &ToolSet, room: Tokens) -> String {
    if !tools.has_effort_tools() {
        return String::new();
    }
    let ways: [fn(&[&Effort]) -> String; 2] = [ids, |efforts| efforts.len().to_string()];
    let lines = ways.into_iter().map(|name| {
        let mut line = efforts_in_play(selection, name);
        match selection.evicted {
            0 => {}
            1 => line.push_str(" 1 older effort is not shown."),
            n => line.push_str(&format!(" {n} older efforts are not shown.")),
        }
        format!("{line}\n")
    });
    let fits = |line: &String| counter.count(line) <= room && line.trim_end() != NOTHING_ACTIVE;
    lines.into_iter().find(fits).unwrap_or_default()
}

/// Which efforts are in play, for a prompt that grows; empty where efforts are not announced.
pub(crate) fn standing(counter: &dyn TokenCounter, selection: &Selection<'_>, tools: &ToolSet) -> String {
    if !tools.has_effort_tools() {
        return String::new();
    }
    let ways: [fn(&[&Effort]) -> String; 2] = [ids, |efforts| efforts.len().to_string()];
    let lines = ways.into_iter().map(|name| efforts_in_play(selection, name));
    lines.into_iter().find(|line| counter.count(line) <= NOTE_TOKENS_MAX).unwrap_or_default()
}

fn efforts_in_play(selection: &Selection<'_>, name: fn(&[&Effort]) -> String) -> String {
    let mut line = match selection.active {
        Some(effort) => format!("Active effort: {}.", effort.id),
        None => NOTHING_ACTIVE.to_owned(),
    };
    let parts = [
        (" Open in the background: ", &selection.open),
        (" Open but idle: ", &selection.idle),
        (" Expanded: ", &selection.expanded),
    ];
    for (label, efforts) in parts.into_iter().filter(|(_, efforts)| !efforts.is_empty()) {
        line.push_str(&format!("{label}{}.", name(efforts)));
    }
    line
}

fn ids(efforts: &[&Effort]) -> String {
    let all: Vec<&str> = efforts.iter().map(|e| e.id.as_str()).collect();
    let (named, more) = all.split_at(all.len().min(IDS_MAX));
    match more.len() {
        0 => named.join(", "),
        n => format!("{} and {n} more", named.join(", ")),
    }
}

/// The shown summaries that fit, most recently referenced first in the choice, oldest first on the page.
pub(super) fn summaries(selection: &Selection<'_>, heading: Tokens, room: Tokens, ledger: &mut Ledger) -> String {
    let mut used = heading;
    let mut shown: Vec<&Effort> = Vec::new();
    for effort in &selection.summaries {
        let tokens = summary_tokens(effort);
        if used + tokens <= room {
            used += tokens;
            shown.push(effort);
        } else {
            ledger.leave_out(&effort.id);
        }
    }
    if shown.is_empty() {
        return String::new();
    }
    shown.sort_by_key(|e| (e.created, &e.id));
    ledger.summaries = shown.iter().map(|e| e.id.clone()).collect();
    ledger.tokens.add(Layer::Summaries, used);
    let lines = shown.iter().filter_map(|e| e.summary.as_ref().map(|summary| summary.line(&e.id)));
    std::iter::once(prompt::SUMMARIES.to_owned()).chain(lines).collect()
}

impl Summary {
    /// A summary of an effort, made at a moment: folded to keep it on its line, and counted there, once.
    pub fn new(counter: &dyn TokenCounter, id: &EffortId, text: &str, at: Option<Stamp>) -> Self {
        let mut summary = Self { text: render::one_line(text), tokens: Tokens::ZERO, at };
        summary.tokens = counter.count(&summary.line(id));
        summary
    }

    /// Its line among the records.
    pub(crate) fn line(&self, id: &EffortId) -> String {
        let text = &self.text;
        match self.at {
            Some(at) => format!("- {id}: {text} ({})\n", at.date()),
            None => format!("- {id}: {text}\n"),
        }
    }
}
