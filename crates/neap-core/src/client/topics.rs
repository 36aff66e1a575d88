//! Detects where efforts begin and end in conversations with models that do not call our tools, from what the
//! person says. An effort begins where a person says so, or asks for something that shares no file, no identifier
//! and hardly a word with the current topic; after a long pause less is needed. It ends only on an explicit
//! sign: never on a pause, never because another begins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::phrase;
use crate::base::ids::Stamp;
use crate::text::terms::terms;

/// Recent turns that make up the current topic.
const TURNS_IN_PLAY: u64 = 8;
/// A message with fewer content words has no topic.
const WORDS_MIN: usize = 5;
/// Most words of a message that may be current where it begins a new topic, in per cent.
const SHARED_MAX_PERCENT: usize = 8;
/// The same with a request phrase.
const SHARED_MAX_REQUEST_PERCENT: usize = 34;
/// The same after a long pause.
const SHARED_MAX_PAUSED_PERCENT: usize = 50;
const PAUSE_MS: i64 = 4 * 3_600 * 1_000;
/// Bytes scanned from the start of a text.
const SCAN_BYTES: usize = 4_096;
const NAME_WORDS: usize = 4;

/// How a message relates to the current work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopicChange {
    /// It continues the work, or has no topic.
    Continues,
    Opens(String),
    Closes,
}

/// Without Unicode (`-u`) a pattern compiles faster.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("a pattern of ours"));
    };
}

const NEW_TOPIC_PHRASES: &[&str] = &[
    "new topic",
    "new task",
    "new project",
    "new question",
    "new issue",
    "different topic",
    "different subject",
    "different question",
    "on another note",
    "unrelated",
    "separately",
    "something else",
    "next task",
    "next ticket",
    "next issue",
    "moving on",
    "change of topic",
];
const REQUEST_PHRASES: &[&str] = &[
    "help me",
    "can you help",
    "could you help",
    "i need help",
    "i need you to",
    "i want to",
    "i'd like to",
    "i need to",
    "we need to",
    "let's build",
    "let's plan",
    "let's write",
    "let's create",
    "let's design",
    "let's start",
    "let's fix",
    "let's debug",
    "let's add",
    "let's implement",
    "let's set up",
    "let's look at",
    "please add",
    "please fix",
    "please write",
    "please create",
    "please implement",
    "please build",
    "please find",
    "please look",
    "please make",
    "please update",
    "please investigate",
    "how do i",
    "how do we",
    "how can i",
    "how can we",
    "how should i",
    "how should we",
    "doesn't work",
    "is broken",
    "fails",
    "crash",
    "crashes",
    "crashed",
    "an error",
];
const FOLLOW_UP_PHRASES: &[&str] = &[
    "and",
    "also",
    "then",
    "so",
    "but",
    "or",
    "yes",
    "no",
    "ok",
    "okay",
    "now",
    "why",
    "what about",
    "how about",
    "same",
    "again",
    "that",
    "this",
    "it",
    "these",
    "those",
    "great",
    "thanks",
    "thank you",
    "good",
    "perfect",
    "continue",
    "go on",
    "do it",
    "try",
];
pattern!(
    COMPLETION,
    r"(?i-u)\b((that|this|it|all|everything)('s| is| are)? (now )?(fixed|solved|resolved|done|finished|sorted|merged|shipped)|(that|this) (fixed|solved|did) it|we('re| are) done|i('m| am) done|problem solved|issue resolved|case closed|works (now|perfectly)|you can close (it|this)|wrap (it|this) up)\b"
);
/// Every completion claim contains one of these: a cheap filter before the pattern.
const COMPLETION_WORDS: &[&str] = &[
    "fixed", "solved", "done", "finished", "sorted", "merged", "shipped", "did it", "closed", "works", "close",
    "wrap",
];
pattern!(
    NOT_COMPLETION,
    r"(?i-u)\b(not|n't|isn't|still|almost|nearly|until|once|when|if|before|unless|should|must|to be|need|later|on hold|for now|but|yet|except|instead|tomorrow)\b|\?"
);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopicTracker {
    /// Words, and files and identifiers, each with the turn that last used it.
    words: BTreeMap<String, u64>,
    identifiers: BTreeMap<String, u64>,
    turn: u64,
    last: Option<Stamp>,
}

impl TopicTracker {
    /// Takes a person's message. The first one that has a topic begins something.
    pub fn observe_user(&mut self, message: &str, at: Stamp) -> TopicChange {
        let text = &message[..message.floor_char_boundary(SCAN_BYTES)];
        let is_first = self.words.is_empty();
        let paused = self.last.is_some_and(|last| at.0.saturating_sub(last.0) >= PAUSE_MS);
        let change = if has_completion_clause(text) {
            TopicChange::Closes
        } else if self.is_new_topic(text, is_first, paused) {
            topic_name(text).map_or(TopicChange::Continues, TopicChange::Opens)
        } else {
            TopicChange::Continues
        };
        if matches!(change, TopicChange::Opens(_)) {
            self.words.clear();
            self.identifiers.clear();
        }
        self.turn += 1;
        self.last = Some(at);
        self.add_terms(text);
        change
    }

    pub fn resumed(text: &str) -> Self {
        let mut topics = Self::default();
        topics.observe(text);
        topics
    }

    pub fn observe(&mut self, text: &str) {
        self.add_terms(&text[..text.floor_char_boundary(SCAN_BYTES)]);
    }

    fn add_terms(&mut self, text: &str) {
        let turn = self.turn;
        self.words.extend(terms(text).into_iter().map(|word| (word, turn)));
        self.identifiers.extend(identifiers(text).into_iter().map(|identifier| (identifier, turn)));
        let is_recent = |last: &mut u64| turn.saturating_sub(*last) < TURNS_IN_PLAY;
        self.words.retain(|_, last| is_recent(last));
        self.identifiers.retain(|_, last| is_recent(last));
    }

    fn is_new_topic(&self, text: &str, is_first: bool, paused: bool) -> bool {
        let words: BTreeSet<String> = terms(text).into_iter().collect();
        if words.len() < WORDS_MIN {
            return false;
        }
        if is_first || phrase::find_phrase(text, NEW_TOPIC_PHRASES).is_some() {
            return true;
        }
        if (!paused && phrase::starts_with_phrase(text, FOLLOW_UP_PHRASES))
            || identifiers(text).iter().any(|identifier| self.identifiers.contains_key(identifier))
        {
            return false;
        }
        let shared = words.iter().filter(|word| self.words.contains_key(*word)).count();
        let max_percent = if paused {
            SHARED_MAX_PAUSED_PERCENT
        } else if phrase::find_phrase(text, REQUEST_PHRASES).is_some() {
            SHARED_MAX_REQUEST_PERCENT
        } else {
            SHARED_MAX_PERCENT
        };
        shared * 100 <= words.len() * max_percent
    }
}

/// Whether a person says that the work is done, in a clause that nothing takes back.
pub fn is_completion_claim(text: &str) -> bool {
    has_completion_clause(&text[..text.floor_char_boundary(SCAN_BYTES)])
}

fn has_completion_clause(text: &str) -> bool {
    text.split(['.', '!', ';', '\n']).any(|clause| {
        let lower = clause.to_ascii_lowercase();
        let may_be = COMPLETION_WORDS.iter().any(|word| lower.contains(word));
        let is_short = clause.split_whitespace().count() <= 12;
        may_be && is_short && COMPLETION.is_match(clause) && !NOT_COMPLETION.is_match(clause)
    }) && !text.contains('?')
}

/// File names, identifiers and ticket numbers, in lower case.
fn identifiers(text: &str) -> BTreeSet<String> {
    phrase::find_names(text).into_iter().map(|name| name.trim_matches(['.', '/', '-']).to_lowercase()).collect()
}

fn topic_name(text: &str) -> Option<String> {
    let start = phrase::find_phrase(text, REQUEST_PHRASES).map_or(0, |found| found.end);
    let content_words = |part: &str| -> Vec<String> {
        let words = part.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        words
            .filter(|word| word.chars().count() > 2 && !crate::text::reference::is_stop_word(word))
            .take(NAME_WORDS)
            .collect()
    };
    let after = content_words(&text[start..]);
    let words = if after.len() < 2 { content_words(text) } else { after };
    (!words.is_empty()).then(|| words.join(" "))
}
