//! The records message, right after the system text: summaries, memories and the efforts in play.
//!
//! What changes least comes first, for the provider's cache. Every line is Neap's own or begins with `- ` and an
//! id, and stored text is folded to one line: it can begin no line, so it can neither close the records nor pass
//! for Neap's text. Each section ends in a newline and the next begins with a letter, `#` or a mark, so that their
//! counts add up.

use super::select::{Selection, summary_tokens};
use super::system::{self, MESSAGE_OVERHEAD, NOTE_TOKENS_MAX};
use super::tools::ToolSet;
use crate::base::ids::{EffortId, Stamp};
use crate::base::ledger::{Layer, Ledger};
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::session::effort::{Effort, Summary};
use crate::text::render;

/// Most ids named of each kind of effort in play.
const IDS_MAX: usize = 8;
/// Omitted where it would be the whole line.
const NOTHING_ACTIVE: &str = "No effort is active.";

/// What surrounds the records: marks, the provider's message overhead, and the efforts in play. The note's layer
/// pays for it, with or without records.
pub(super) struct RecordsWrapper {
    efforts_note: String,
    note_tokens: Tokens,
    marker_tokens: Tokens,
}

impl RecordsWrapper {
    pub(super) fn of(counter: &dyn TokenCounter, selection: &Selection<'_>, tools: &ToolSet) -> Self {
        let marker_tokens = MESSAGE_OVERHEAD + counter.count(prompt::RECORDS) + counter.count(prompt::RECORDS_END);
        let room = NOTE_TOKENS_MAX.saturating_sub(counter.count(system::note(tools)) + marker_tokens);
        let efforts_note = efforts_note(counter, selection, tools, room);
        let note_tokens = counter.count(&efforts_note);
        Self { efforts_note, note_tokens, marker_tokens }
    }

    /// What it costs if there are records or something is in play.
    pub(super) fn tokens(&self) -> Tokens {
        self.marker_tokens + self.note_tokens
    }

    /// The sections of the message. If there is nothing to say, returns none and refunds the ledger.
    pub(super) fn wrap(self, records: Vec<(Layer, String)>, ledger: &mut Ledger) -> Vec<(Layer, String)> {
        let records: Vec<(Layer, String)> = records.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        if records.is_empty() && self.efforts_note.is_empty() {
            ledger.tokens.subtract(Layer::Note, self.tokens());
            ledger.naive_tokens -= self.tokens();
            return records;
        }
        let open = std::iter::once((Layer::Note, prompt::RECORDS.to_owned()));
        let close = [(Layer::Note, self.efforts_note), (Layer::Note, prompt::RECORDS_END.to_owned())];
        open.chain(records).chain(close).filter(|(_, text)| !text.is_empty()).collect()
    }
}

/// One line about the efforts in play and how many are not shown; empty if there is nothing to say.
fn efforts_note(counter: &dyn TokenCounter, selection: &Selection<'_>, tools: &ToolSet, room: Tokens) -> String {
    let not_shown = match selection.evicted {
        0 => String::new(),
        1 => " 1 older effort is not shown.".to_owned(),
        n => format!(" {n} older efforts are not shown."),
    };
    let fits = |line: &String| counter.count(line) <= room && line.trim_end() != NOTHING_ACTIVE;
    efforts_text(selection, tools, &format!("{not_shown}\n"), fits)
}

/// The efforts in play, for a growing prompt; empty if the effort tools are not offered.
pub(crate) fn efforts_line(counter: &dyn TokenCounter, selection: &Selection<'_>, tools: &ToolSet) -> String {
    efforts_text(selection, tools, "", |line| counter.count(line) <= NOTE_TOKENS_MAX)
}

/// With their ids if that fits, else with their numbers.
fn efforts_text(selection: &Selection<'_>, tools: &ToolSet, end: &str, fits: impl Fn(&String) -> bool) -> String {
    let ways: [fn(&[&Effort]) -> String; 2] = [join_ids, |efforts| efforts.len().to_string()];
    let lines = ways.into_iter().filter(|_| tools.has_effort_tools());
    lines.map(|name| format!("{}{end}", describe_efforts(selection, name))).find(fits).unwrap_or_default()
}

fn describe_efforts(selection: &Selection<'_>, name: fn(&[&Effort]) -> String) -> String {
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

fn join_ids(efforts: &[&Effort]) -> String {
    let all: Vec<&str> = efforts.iter().map(|e| e.id.as_str()).collect();
    let (named, more) = all.split_at(all.len().min(IDS_MAX));
    match more.len() {
        0 => named.join(", "),
        n => format!("{} and {n} more", named.join(", ")),
    }
}

/// Renders the summaries that fit: chosen by most recent reference, listed oldest first.
pub(super) fn render_summaries(
    selection: &Selection<'_>,
    heading: Tokens,
    room: Tokens,
    ledger: &mut Ledger,
) -> String {
    let mut used = heading;
    let mut shown: Vec<&Effort> = Vec::new();
    for effort in &selection.summaries {
        let tokens = summary_tokens(effort);
        if used + tokens <= room {
            used += tokens;
            shown.push(effort);
        } else {
            ledger.omit_summary(&effort.id);
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
    /// Folds the text to one line and counts that line once.
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
