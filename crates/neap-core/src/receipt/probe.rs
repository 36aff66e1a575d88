//! What is looked for in an original: the things a reader would miss, or be misled without.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::clause::{self, Clause};
use super::hard::{self, Key};
use crate::message::{Message, Role};

/// Probes of one kind that are looked for, at most.
pub const PROBES_PER_KIND_MAX: usize = 64;
/// Longest value that a probe or a receipt repeats, in characters.
pub const VALUE_CHARS_MAX: usize = 80;
/// What is looked at of one message, from its head and from its tail, in bytes each.
const WINDOW_BYTES: usize = 64 * 1024;

/// What sort of thing a probe looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    /// A name that a machine knows: `getUser`, `E0382`, `--no-cache`.
    Identifier,
    /// A file or a folder.
    Path,
    /// A number with its unit.
    Number,
    /// A date, a time, a weekday.
    Date,
    /// An address.
    Url,
    /// Something denied, known by the words it denies.
    Negation,
    /// Something promised or due.
    Commitment,
    /// A question that was left open.
    Question,
}

impl ProbeKind {
    /// All of them, in order.
    pub const ALL: [ProbeKind; 8] = [
        ProbeKind::Identifier,
        ProbeKind::Path,
        ProbeKind::Number,
        ProbeKind::Date,
        ProbeKind::Url,
        ProbeKind::Negation,
        ProbeKind::Commitment,
        ProbeKind::Question,
    ];

    /// The word for it in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            ProbeKind::Identifier => "identifier",
            ProbeKind::Path => "path",
            ProbeKind::Number => "number",
            ProbeKind::Date => "date",
            ProbeKind::Url => "url",
            ProbeKind::Negation => "negation",
            ProbeKind::Commitment => "commitment",
            ProbeKind::Question => "question",
        }
    }
}

/// One thing to look for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Probe {
    /// What sort of thing.
    pub kind: ProbeKind,
    /// As it was first written, cut to [`VALUE_CHARS_MAX`].
    pub value: String,
}

/// What to look for in a summary of these messages: each thing once, in the order of first appearance.
pub fn probes(messages: &[Message]) -> Vec<Probe> {
    sought(messages).into_iter().map(|sought| sought.probe).collect()
}

/// A probe with that by which it is found again.
#[derive(Debug, Clone)]
pub(super) struct Sought {
    pub(super) probe: Probe,
    pub(super) by: By,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    Value(Key),
    Words(Vec<String>),
}

pub(super) fn sought(messages: &[Message]) -> Vec<Sought> {
    let mut found = Found::default();
    let answers = Answers::of(messages);
    for (at, message) in messages.iter().enumerate() {
        let answered = answers.to(at, message.role);
        for text in texts(message) {
            for window in windows(text) {
                found.look(window, answered);
            }
        }
    }
    found.out
}

/// What a message says, with what it asks of tools.
pub(super) fn texts(message: &Message) -> impl Iterator<Item = &str> {
    let calls = message.tool_calls.iter().flat_map(|call| [call.name.as_str(), call.arguments.as_str()]);
    std::iter::once(&*message.content).chain(calls)
}

/// The head and the tail of a text; all of it, if it is short.
pub(super) fn windows(text: &str) -> impl Iterator<Item = &str> {
    let head = text.floor_char_boundary(WINDOW_BYTES);
    let tail = text.ceil_char_boundary(text.len().saturating_sub(WINDOW_BYTES).max(head));
    [&text[..head], &text[tail..]].into_iter().filter(|window| !window.is_empty())
}

#[derive(Default)]
struct Found {
    out: Vec<Sought>,
    seen: BTreeSet<(ProbeKind, By)>,
    of_kind: BTreeMap<ProbeKind, usize>,
}

impl Found {
    fn look(&mut self, text: &str, answered: bool) {
        for value in hard::values(text) {
            self.add(value.kind, &text[value.range], By::Value(value.key));
        }
        for range in clause::sentences(text) {
            let sentence = &text[range];
            if clause::is_question(sentence) && !answered {
                self.add_words(ProbeKind::Question, sentence, clause::key(sentence));
            }
            for clause in clause::clauses(sentence) {
                self.add_words(ProbeKind::Negation, clause.text, clause.denies.clone());
                if clause.is_duty {
                    self.add_words(ProbeKind::Commitment, clause.text, clause.key());
                }
            }
        }
    }

    fn add_words(&mut self, kind: ProbeKind, text: &str, words: Vec<String>) {
        if !words.is_empty() {
            self.add(kind, text, By::Words(words));
        }
    }

    fn add(&mut self, kind: ProbeKind, text: &str, by: By) {
        let count = self.of_kind.entry(kind).or_default();
        if *count < PROBES_PER_KIND_MAX && self.seen.insert((kind, by.clone())) {
            *count += 1;
            self.out.push(Sought { probe: Probe { kind, value: cut(text) }, by });
        }
    }
}

/// One line of at most [`VALUE_CHARS_MAX`] characters.
pub(super) fn cut(text: &str) -> String {
    let flat = text.split_whitespace().take(VALUE_CHARS_MAX).collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(VALUE_CHARS_MAX) {
        Some((at, _)) => flat[..at].trim_end().to_owned(),
        None => flat,
    }
}

/// The last message of each speaker that tells something: it answers what another asked before it.
#[derive(Default)]
struct Answers {
    user: Option<usize>,
    assistant: Option<usize>,
}

impl Answers {
    fn of(messages: &[Message]) -> Self {
        let last = |role: Role| messages.iter().rposition(|message| message.role == role && tells(message));
        Self { user: last(Role::User), assistant: last(Role::Assistant) }
    }

    /// Whether what this message asks was answered; a question that nobody asked counts as such.
    fn to(&self, at: usize, asker: Role) -> bool {
        match asker {
            Role::User => self.assistant.is_some_and(|answer| answer > at),
            Role::Assistant => self.user.is_some_and(|answer| answer > at),
            Role::System | Role::Tool => true,
        }
    }
}

fn tells(message: &Message) -> bool {
    let tail = windows(&message.content).last().unwrap_or_default();
    clause::sentences(tail).into_iter().any(|range| !clause::is_question(&tail[range]))
}

/// The clauses of all messages that deny nothing, by their content words.
pub(super) fn plain_clauses(messages: &[Message]) -> Vec<BTreeSet<String>> {
    let windows = messages.iter().flat_map(texts).flat_map(windows);
    windows
        .flat_map(|text| clause::sentences(text).into_iter().flat_map(move |range| clause::clauses(&text[range])))
        .filter(|clause| clause.denies.is_empty())
        .map(|clause: Clause<'_>| clause.terms())
        .collect()
}
