//! Finds probes in an original: the details that a reader of the summary would miss.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::clause::{self, Clause};
use super::exact_values::{self, ValueKey};
use crate::base::message::{Message, Role};
use crate::text::own_words::is_own_sentence;

pub const PROBES_PER_KIND_MAX: usize = 64;
/// Longest value in a probe or a receipt.
pub const VALUE_CHARS_MAX: usize = 80;
/// Bytes of one message that are read from its head, and as many from its tail.
const WINDOW_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    /// For example `getUser`, `E0382`, `--no-cache`.
    Identifier,
    Path,
    Number,
    /// A date, time or weekday.
    Date,
    Url,
    /// Identified by the terms it negates.
    Negation,
    Commitment,
    /// A question left unanswered.
    Question,
}

impl ProbeKind {
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

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Probe {
    pub kind: ProbeKind,
    /// As first written, cut to [`VALUE_CHARS_MAX`].
    pub value: String,
}

/// The probes of these messages: each once, in order of first appearance.
pub fn probes(messages: &[Message]) -> Vec<Probe> {
    find_probes(messages).into_iter().map(|keyed| keyed.probe).collect()
}

/// A probe with the key that finds it in a summary.
#[derive(Debug, Clone)]
pub(super) struct KeyedProbe {
    pub(super) probe: Probe,
    pub(super) key: ProbeKey,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProbeKey {
    Value(ValueKey),
    Words(Vec<String>),
}

pub(super) fn find_probes(messages: &[Message]) -> Vec<KeyedProbe> {
    let mut collector = ProbeCollector::default();
    let answers = Answers::new(messages);
    for (at, message) in messages.iter().enumerate() {
        let answered = answers.is_answered(at, message.role);
        let said = without_own_sentences(message);
        for text in std::iter::once(&*said).chain(call_texts(message)) {
            for window in head_and_tail(text) {
                collector.scan(window, answered);
            }
        }
    }
    collector.out
}

pub(super) fn texts(message: &Message) -> impl Iterator<Item = &str> {
    std::iter::once(&*message.content).chain(call_texts(message))
}

fn call_texts(message: &Message) -> impl Iterator<Item = &str> {
    message.tool_calls.iter().flat_map(|call| [call.name.as_str(), call.arguments.as_str()])
}

/// What the built-in model says of its own actions is no detail that a reader would miss.
fn without_own_sentences(message: &Message) -> Cow<'_, str> {
    let text = &*message.content;
    if message.role != Role::Assistant || !text.lines().any(is_own_sentence) {
        return Cow::Borrowed(text);
    }
    let sentences = clause::sentences(text).into_iter().map(|range| &text[range]);
    // A sentence here ends at a semicolon.
    let kept = sentences.filter(|sentence| !is_own_sentence(sentence));
    Cow::Owned(kept.collect::<Vec<_>>().join("\n"))
}

/// The head and the tail of a text; all of it, if it is short.
pub(super) fn head_and_tail(text: &str) -> impl Iterator<Item = &str> {
    let head = text.floor_char_boundary(WINDOW_BYTES);
    let tail = text.ceil_char_boundary(text.len().saturating_sub(WINDOW_BYTES).max(head));
    [&text[..head], &text[tail..]].into_iter().filter(|window| !window.is_empty())
}

#[derive(Default)]
struct ProbeCollector {
    out: Vec<KeyedProbe>,
    seen: BTreeSet<(ProbeKind, ProbeKey)>,
    count_by_kind: BTreeMap<ProbeKind, usize>,
}

impl ProbeCollector {
    fn scan(&mut self, text: &str, answered: bool) {
        for value in exact_values::find_values(text) {
            self.add(value.kind, &text[value.range], ProbeKey::Value(value.key));
        }
        for range in clause::sentences(text) {
            let sentence = &text[range];
            if clause::is_question(sentence) && !answered {
                self.add_words(ProbeKind::Question, sentence, clause::key_terms(sentence));
            }
            for clause in clause::clauses(sentence) {
                self.add_words(ProbeKind::Negation, clause.text, clause.denies.clone());
                if clause.is_duty {
                    self.add_words(ProbeKind::Commitment, clause.text, clause.key_terms());
                }
            }
        }
    }

    fn add_words(&mut self, kind: ProbeKind, text: &str, words: Vec<String>) {
        if !words.is_empty() {
            self.add(kind, text, ProbeKey::Words(words));
        }
    }

    fn add(&mut self, kind: ProbeKind, text: &str, key: ProbeKey) {
        let count = self.count_by_kind.entry(kind).or_default();
        if *count < PROBES_PER_KIND_MAX && self.seen.insert((kind, key.clone())) {
            *count += 1;
            self.out.push(KeyedProbe { probe: Probe { kind, value: truncate_value(text) }, key });
        }
    }
}

/// One line of at most [`VALUE_CHARS_MAX`] characters.
pub(super) fn truncate_value(text: &str) -> String {
    let flat = text.split_whitespace().take(VALUE_CHARS_MAX).collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(VALUE_CHARS_MAX) {
        Some((at, _)) => flat[..at].trim_end().to_owned(),
        None => flat,
    }
}

/// The last statement of each side; it answers the other side's earlier questions.
#[derive(Default)]
struct Answers {
    user: Option<usize>,
    assistant: Option<usize>,
}

impl Answers {
    fn new(messages: &[Message]) -> Self {
        let last =
            |role: Role| messages.iter().rposition(|message| message.role == role && has_statement(message));
        Self { user: last(Role::User), assistant: last(Role::Assistant) }
    }

    /// Whether a question in this message was answered; questions in system and tool messages count as answered.
    fn is_answered(&self, at: usize, asker: Role) -> bool {
        match asker {
            Role::User => self.assistant.is_some_and(|answer| answer > at),
            Role::Assistant => self.user.is_some_and(|answer| answer > at),
            Role::System | Role::Tool => true,
        }
    }
}

fn has_statement(message: &Message) -> bool {
    let tail = head_and_tail(&message.content).last().unwrap_or_default();
    clause::sentences(tail).into_iter().any(|range| !clause::is_question(&tail[range]))
}

pub(super) fn collect_affirmative_clauses(messages: &[Message]) -> Vec<BTreeSet<String>> {
    let windows = messages.iter().flat_map(texts).flat_map(head_and_tail);
    windows
        .flat_map(|text| clause::sentences(text).into_iter().flat_map(move |range| clause::clauses(&text[range])))
        .filter(|clause| clause.denies.is_empty())
        .map(|clause: Clause<'_>| clause.terms())
        .collect()
}
