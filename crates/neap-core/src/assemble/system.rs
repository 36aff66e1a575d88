//! The system text: rules, shown summaries, and where we are.
//!
//! Each section ends in a newline and begins with a letter or `#`, so that their counts add up.

use super::select::{Selection, summary_tokens};
use crate::effort::{Effort, Summary};
use crate::ids::EffortId;
use crate::ledger::{Layer, Ledger};
use crate::prompt;
use crate::tokens::{TokenCounter, Tokens};
use crate::tools::ToolSet;

/// What a provider adds around the system message.
pub(super) const MESSAGE_TOKENS: Tokens = Tokens(4);

/// Ids named in the note, at most, of each kind.
const NOTE_IDS_MAX: usize = 8;
/// What the note may cost; if its ids are too long for that, it counts instead of naming (I8).
pub(super) const NOTE_TOKENS_MAX: Tokens = Tokens(320);

/// Identity, and the rules where the tools are offered (DESIGN, decision 10).
pub(super) fn protocol(tools: &ToolSet) -> String {
    let efforts = if tools.has_effort_tools() { prompt::EFFORTS } else { "" };
    let memories = if tools.has_memory_tools() { prompt::MEMORIES } else { "" };
    format!("{}{efforts}{memories}", prompt::IDENTITY)
}

/// How to reach what is not shown, and which efforts are in play.
pub(super) fn note(counter: &dyn TokenCounter, selection: &Selection<'_>, tools: &ToolSet) -> String {
    if !tools.has_effort_tools() {
        return String::new();
    }
    let ways: [fn(&[&Effort]) -> String; 2] = [ids, |efforts| efforts.len().to_string()];
    let notes = ways.into_iter().map(|name| format!("{}{}\n", prompt::NOTE, in_play(selection, name)));
    notes
        .into_iter()
        .find(|note| counter.count(note) <= NOTE_TOKENS_MAX)
        .unwrap_or_else(|| prompt::NOTE.to_owned())
}

fn in_play(selection: &Selection<'_>, name: fn(&[&Effort]) -> String) -> String {
    let mut line = efforts_in_play(selection, name);
    match selection.evicted {
        0 => {}
        1 => line.push_str(" 1 older effort is not shown."),
        n => line.push_str(&format!(" {n} older efforts are not shown.")),
    }
    line
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
        None => "No effort is active.".to_owned(),
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
    let (named, more) = all.split_at(all.len().min(NOTE_IDS_MAX));
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
    let lines = shown.iter().filter_map(|e| e.summary.as_ref().map(|s| line(&e.id, &s.text)));
    std::iter::once(prompt::SUMMARIES.to_owned()).chain(lines).collect()
}

fn line(id: &EffortId, text: &str) -> String {
    format!("- {id}: {text}\n")
}

impl Summary {
    /// A summary of an effort: white space folded to keep it on its line, and counted there, once.
    pub fn new(counter: &dyn TokenCounter, id: &EffortId, text: &str) -> Self {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let tokens = counter.count(&line(id, &text));
        Self { text, tokens }
    }
}
