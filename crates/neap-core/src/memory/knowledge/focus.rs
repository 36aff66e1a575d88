//! The current task and open threads (003, Layer 4).
//!
//! The task is the active effort's name or else the last substantive question; a short follow-up ("and the second
//! one?", "yes", "go on") keeps it. Threads are the other open efforts and the session's decisions without an
//! outcome. Beyond [`ITEMS_MAX`] items the least important is dropped, among equals the oldest.

use crate::base::ids::Stamp;
use crate::memory::Stakes;
use crate::text::reference::folded_words;
use crate::text::sanitize::sanitize_inline;
use crate::text::terms::query_terms;

/// Limit on task and threads together.
pub const ITEMS_MAX: usize = 20;
const TEXT_CHARS_MAX: usize = 200;
/// Longer texts are cut before they are sanitized.
const TEXT_BYTES_MAX: usize = 4_096;
/// Only a message of at most this many words can be a follow-up by its first word.
const LINKED_WORDS_MAX: usize = 8;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Focus {
    /// One line.
    pub task: Option<String>,
    /// Most important first, among equals the newest.
    pub threads: Vec<OpenThread>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenThread {
    /// One line.
    pub text: String,
    pub priority: Stakes,
    pub since: Stamp,
}

impl Focus {
    pub fn with_task(task: Option<&str>) -> Self {
        Self { task: task.map(to_one_line).filter(|task| !task.is_empty()), threads: Vec::new() }
    }

    /// Adds a thread; at the limit the least important is dropped, among equals the oldest.
    pub fn add_thread(&mut self, text: &str, priority: Stakes, since: Stamp) {
        let text = to_one_line(text);
        if text.is_empty() {
            return;
        }
        self.threads.push(OpenThread { text, priority, since });
        self.threads
            .sort_by(|a, b| (b.priority, b.since).cmp(&(a.priority, a.since)).then_with(|| a.text.cmp(&b.text)));
        self.threads.truncate(ITEMS_MAX - usize::from(self.task.is_some()));
    }

    pub fn is_empty(&self) -> bool {
        self.task.is_none() && self.threads.is_empty()
    }
}

/// The task after a message: the message itself if it has content of its own, else the previous task.
pub fn task_after(before: Option<&str>, message: &str) -> Option<String> {
    let content_count = content_terms(message).len();
    let keeps = if before.is_some() { is_follow_up(message) } else { content_count == 0 };
    let task = if keeps { before.unwrap_or_default() } else { message };
    Some(to_one_line(task)).filter(|task| !task.is_empty())
}

/// Whether a message only continues the previous one: it has fewer than two content terms, or is short and begins
/// with a linking word ("and", "what about").
pub fn is_follow_up(message: &str) -> bool {
    let words = folded_words(message);
    let first: Vec<&str> = words.iter().map(String::as_str).take(2).collect();
    let linked = matches!(first.as_slice(), ["and" | "or" | "but" | "also" | "so" | "then", ..])
        || matches!(first.as_slice(), ["what" | "how", "about"]);
    content_terms(message).len() < 2 || (linked && words.len() <= LINKED_WORDS_MAX)
}

fn content_terms(message: &str) -> Vec<String> {
    query_terms(message).into_iter().filter(|term| !FILLERS.contains(&term.as_str())).collect()
}

/// Terms that refer back, agree or greet.
const FILLERS: [&str; 41] = [
    "one", "two", "three", "first", "second", "third", "next", "last", "go", "ok", "okay", "sure", "yeah", "yep",
    "no", "nope", "thank", "hello", "hi", "hey", "continu", "proceed", "anoth", "thing", "way", "good", "great",
    "nice", "cool", "fine", "right", "correct", "exact", "tell", "show", "mean", "sorri", "work", "explain",
    "want", "well",
];

/// A sanitized single line, cut at a word.
fn to_one_line(text: &str) -> String {
    let sanitized = sanitize_inline(&text[..text.floor_char_boundary(TEXT_BYTES_MAX)]);
    let line = sanitized.trim_start_matches(['#', '-', '*', '+', '>', '/', '[', '=', ' ']);
    match line.char_indices().nth(TEXT_CHARS_MAX) {
        None => line.to_owned(),
        Some((end, _)) => {
            let part = &line[..end];
            let whole = part.rfind(' ').filter(|at| *at >= end / 2).map_or(part, |at| &part[..at]);
            format!("{whole} …")
        }
    }
}
