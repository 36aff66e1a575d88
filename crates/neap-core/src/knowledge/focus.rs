//! What is being worked on, and what else is open (003, Layer 4: current task, open threads).
//!
//! The task is the active effort's name or, without one, the last substantive thing that was asked: a short
//! follow-up ("and the second one?", "yes", "go on") keeps it. Threads are the other open efforts and the session's
//! decisions that wait for an outcome. At most [`ITEMS_MAX`] items in all: the least important go first, among
//! equals the oldest.

use crate::ids::Stamp;
use crate::memory::tame::tame;
use crate::memory::{AgentHead, Stakes};
use crate::reference::words;
use crate::state::SessionState;
use crate::terms::query_terms;

/// Task and threads together, at most.
pub const ITEMS_MAX: usize = 20;
/// Longest task or thread, in characters.
const TEXT_CHARS_MAX: usize = 200;
/// No line needs more of a text than this.
const TEXT_BYTES_MAX: usize = 4_096;
/// Longest message that its first word can make a follow-up, in words.
const LINKED_WORDS_MAX: usize = 8;

/// What is being worked on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Focus {
    /// The current task, in one line.
    pub task: Option<String>,
    /// What else is open, the most important first, among equals the newest.
    pub threads: Vec<Thread>,
}

/// Something that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// What, in one line.
    pub text: String,
    /// What hangs on it.
    pub priority: Stakes,
    /// Since when.
    pub since: Stamp,
}

impl Focus {
    /// With this task.
    pub fn on(task: Option<&str>) -> Self {
        Self { task: task.map(one_line).filter(|task| !task.is_empty()), threads: Vec::new() }
    }

    /// Notes a thread; if there are too many, the least important leaves, among equals the oldest.
    pub fn add(&mut self, text: &str, priority: Stakes, since: Stamp) {
        let text = one_line(text);
        if text.is_empty() {
            return;
        }
        self.threads.push(Thread { text, priority, since });
        self.threads
            .sort_by(|a, b| (b.priority, b.since).cmp(&(a.priority, a.since)).then_with(|| a.text.cmp(&b.text)));
        self.threads.truncate(ITEMS_MAX - usize::from(self.task.is_some()));
    }

    /// Whether nothing is open.
    pub fn is_empty(&self) -> bool {
        self.task.is_none() && self.threads.is_empty()
    }
}

/// What a session is working on. `asked` is the last substantive thing that was asked (see [`task_after`]).
///
/// An open effort weighs as much as a decision of medium stakes: it can be taken up again at any time.
pub fn focus(state: &SessionState, agent: &AgentHead, asked: Option<&str>) -> Focus {
    let active = state.active();
    let mut focus = Focus::on(active.map(|effort| effort.name.as_str()).or(asked));
    for effort in state.open().filter(|effort| active.is_none_or(|active| active.id != effort.id)) {
        focus.add(&format!("Open effort: {}", effort.name), Stakes::Medium, effort.created);
    }
    let session = state.head().session.as_ref();
    for pending in agent.pending.iter().filter(|pending| session.is_some() && pending.session.as_ref() == session)
    {
        focus.add(
            &format!("Awaiting the outcome of {}: {}", pending.id, pending.text),
            pending.stakes,
            pending.at,
        );
    }
    focus
}

/// The task after a message: the message itself where it says something of its own, else what it was before.
pub fn task_after(before: Option<&str>, message: &str) -> Option<String> {
    let own = content(message).len();
    let stays = if before.is_some() { is_follow_up(message) } else { own == 0 };
    let task = if stays { before.unwrap_or_default() } else { message };
    Some(one_line(task)).filter(|task| !task.is_empty())
}

/// Whether a message only goes on with what was said before: it has fewer than two terms of its own, or it is
/// short and begins with a word that links it ("and", "what about").
pub fn is_follow_up(message: &str) -> bool {
    let said = words(message);
    let first: Vec<&str> = said.iter().map(String::as_str).take(2).collect();
    let linked = matches!(first.as_slice(), ["and" | "or" | "but" | "also" | "so" | "then", ..])
        || matches!(first.as_slice(), ["what" | "how", "about"]);
    content(message).len() < 2 || (linked && said.len() <= LINKED_WORDS_MAX)
}

/// The terms by which a message says something of its own.
fn content(message: &str) -> Vec<String> {
    query_terms(message).into_iter().filter(|term| !FILLERS.contains(&term.as_str())).collect()
}

/// Terms that point at something said before, agree or greet.
const FILLERS: [&str; 41] = [
    "one", "two", "three", "first", "second", "third", "next", "last", "go", "ok", "okay", "sure", "yeah", "yep",
    "no", "nope", "thank", "hello", "hi", "hey", "continu", "proceed", "anoth", "thing", "way", "good", "great",
    "nice", "cool", "fine", "right", "correct", "exact", "tell", "show", "mean", "sorri", "work", "explain",
    "want", "well",
];

/// A text as one line that imitates nothing of ours, cut at a word.
fn one_line(text: &str) -> String {
    let tamed = tame(&text[..text.floor_char_boundary(TEXT_BYTES_MAX)]);
    let line = tamed.trim_start_matches(['#', '-', '*', '+', '>', '/', '[', '=', ' ']);
    match line.char_indices().nth(TEXT_CHARS_MAX) {
        None => line.to_owned(),
        Some((end, _)) => {
            let part = &line[..end];
            let whole = part.rfind(' ').filter(|at| *at >= end / 2).map_or(part, |at| &part[..at]);
            format!("{whole} …")
        }
    }
}
