//! What an agent is told: parts, each within its room, each marked as data.

use crate::effort::Effort;
use crate::ids::{EffortId, SessionId, Stamp};
use crate::ledger::Layer;
use crate::prompt;
use crate::recall::{Ranked, Recollection};
use crate::render::one_line;
use crate::tokens::{TokenCounter, Tokens};

/// Agents cut what is longer, in characters.
const CHARS_MAX: usize = 9_500;
/// A text that has fewer of a question's words bears on it only by its meaning.
const WORDS_MIN: usize = 2;
/// Nearness of meaning from which a text bears on a question by that alone.
const NEAR_MIN: f64 = 0.6;
/// Efforts that are listed, at most.
const EFFORTS_MAX: usize = 8;

/// The layers of an agent's memory that other agents are told: what is recorded, not the stance.
pub const PARTS: [Layer; 6] =
    [Layer::Profile, Layer::Censors, Layer::Decisions, Layer::Facts, Layer::Procedures, Layer::Episodes];

/// What each part may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rooms {
    /// What the agent's own summary left out.
    pub lost: Tokens,
    /// What is known beyond conversations.
    pub known: Tokens,
    /// Earlier work.
    pub works: Tokens,
    /// What was said before.
    pub past: Tokens,
}

impl Default for Rooms {
    fn default() -> Self {
        Self { lost: Tokens(400), known: Tokens(500), works: Tokens(250), past: Tokens(850) }
    }
}

/// The parts that fit, one after the other; empty if there are none.
pub fn answer(parts: &[String]) -> String {
    let mut out = String::new();
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        let gap = if out.is_empty() { "" } else { "\n\n" };
        if out.chars().count() + gap.len() + part.chars().count() <= CHARS_MAX {
            out.push_str(gap);
            out.push_str(part);
        }
    }
    out
}

/// Whether anything of what was recalled bears on what is asked. Something is always nearest; that alone is no reason to speak.
pub fn bears(recalled: &Recollection) -> bool {
    let is_shown = |ranked: &&Ranked| recalled.shown.iter().any(|shown| shown.card.id == ranked.card.id);
    recalled.ranked.iter().filter(is_shown).any(|Ranked { card, .. }| {
        let words = card.hits.iter().filter(|hits| **hits > 0).count();
        words >= WORDS_MIN.min(card.hits.len()).max(1) || card.near.is_some_and(|near| near >= NEAR_MIN)
    })
}

/// Work that is not concluded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenWork {
    /// In which conversation.
    pub session: SessionId,
    /// Which.
    pub id: EffortId,
    /// When it last changed.
    pub updated: Stamp,
}

/// The open work of conversations, the latest first, as a list; empty if there is none.
pub fn open_work(mut all: Vec<OpenWork>, counter: &dyn TokenCounter, room: Tokens) -> String {
    all.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| (&a.session, &a.id).cmp(&(&b.session, &b.id))));
    let line = |work: &OpenWork| format!("- {} ({}, last {})\n", work.id, work.session, work.updated.date());
    let lines: Vec<String> = all.iter().take(EFFORTS_MAX).map(line).collect();
    marked(prompt::OPEN_WORK, &lines, counter, room)
}

/// Earlier work that bears on something, each by its summary; open work stands by its name alone.
pub fn works<'a>(
    found: impl IntoIterator<Item = (&'a SessionId, &'a Effort)>,
    counter: &dyn TokenCounter,
    room: Tokens,
) -> String {
    let line = |(session, effort): (&SessionId, &Effort)| {
        let said = effort.summary.as_ref().map_or("(open)", |summary| summary.text.as_str());
        // On one line, which begins with ours: it can neither end the list nor speak for another.
        format!("- {} ({session}): {}\n", effort.id, one_line(said))
    };
    let lines: Vec<String> = found.into_iter().take(EFFORTS_MAX).map(line).collect();
    marked(prompt::WORKS, &lines, counter, room)
}

/// As many lines as fit, between marks.
fn marked(head: &str, lines: &[String], counter: &dyn TokenCounter, room: Tokens) -> String {
    let text =
        |count: usize| format!("{}\n{}{}", head.trim_end(), lines[..count].concat(), prompt::WORKS_END.trim_end());
    (1..=lines.len()).rev().map(text).find(|text| counter.count(text) <= room).unwrap_or_default()
}
