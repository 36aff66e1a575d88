//! Work that begins and ends without anyone saying so to us: a client's model does not call our tools, so what a person says
//! must tell.
//!
//! Work begins where a person says that it is something else, or asks for something that has nothing in common with what is in
//! play: no file, no identifier, hardly a word; after a long pause less is needed. It ends only on an explicit sign (DESIGN,
//! decision 9): never on a pause, never because something else begins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::phrase;
use crate::ids::Stamp;
use crate::terms::terms;

/// So many turns of a conversation are in play.
const TURNS_IN_PLAY: u64 = 8;
/// A message with fewer telling words says nothing about its topic.
const WORDS_MIN: usize = 5;
/// At most this share of a message's words is in play where it begins something, in per cent.
const SHARED_MAX_PERCENT: usize = 8;
/// The same where it says that it begins something.
const SHARED_MAX_SAID_PERCENT: usize = 34;
/// The same after a long pause.
const SHARED_MAX_PAUSED_PERCENT: usize = 50;
/// A long pause, in milliseconds.
const PAUSE: i64 = 4 * 3_600 * 1_000;
/// What is looked at of a text, from its beginning, in bytes.
const LOOK_BYTES: usize = 4_096;
/// Words of a name.
const NAME_WORDS: usize = 4;

/// What a message is to the work in play.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// It goes on with it, or is about nothing.
    GoesOn,
    /// It begins something else, of this name.
    Opens(String),
    /// It says that the work is over.
    Closes,
}

/// A pattern of ours. English words are told by their bytes, which is sooner prepared.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("a pattern of ours"));
    };
}

const SAYS_NEW: &[&str] = &[
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
const BEGINS: &[&str] = &[
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
const FOLLOWS: &[&str] = &[
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
    SAYS_OVER,
    r"(?i-u)\b((that|this|it|all|everything)('s| is| are)? (now )?(fixed|solved|resolved|done|finished|sorted|merged|shipped)|(that|this) (fixed|solved|did) it|we('re| are) done|i('m| am) done|problem solved|issue resolved|case closed|works (now|perfectly)|you can close (it|this)|wrap (it|this) up)\b"
);
/// One of these is in whatever says that it is over: most clauses need not be looked at more closely.
const OVER_SIGNS: &[&str] = &[
    "fixed", "solved", "done", "finished", "sorted", "merged", "shipped", "did it", "closed", "works", "close",
    "wrap",
];
pattern!(
    NOT_OVER,
    r"(?i-u)\b(not|n't|isn't|still|almost|nearly|until|once|when|if|before|unless|should|must|to be|need|later|on hold|for now|but|yet|except|instead|tomorrow)\b|\?"
);

/// What is in play in a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topics {
    /// Words, and files and identifiers, each with the turn in which it was last said.
    words: BTreeMap<String, u64>,
    marks: BTreeMap<String, u64>,
    turn: u64,
    last: Option<Stamp>,
}

impl Topics {
    /// Hears a person. Nothing is in play at first: what is said then begins something, if it is about anything.
    pub fn hear(&mut self, said: &str, at: Stamp) -> Sign {
        let text = &said[..said.floor_char_boundary(LOOK_BYTES)];
        let is_first = self.words.is_empty();
        let paused = self.last.is_some_and(|last| at.0.saturating_sub(last.0) >= PAUSE);
        let sign = if is_over(text) {
            Sign::Closes
        } else if self.begins(text, is_first, paused) {
            name(text).map_or(Sign::GoesOn, Sign::Opens)
        } else {
            Sign::GoesOn
        };
        if matches!(sign, Sign::Opens(_)) {
            self.words.clear();
            self.marks.clear();
        }
        self.turn += 1;
        self.last = Some(at);
        self.take(text);
        sign
    }

    /// What is known of a conversation that goes on: this is in play.
    pub fn resumed(said: &str) -> Self {
        let mut topics = Self::default();
        topics.see(said);
        topics
    }

    /// Sees what else was said: what it names is in play.
    pub fn see(&mut self, said: &str) {
        self.take(&said[..said.floor_char_boundary(LOOK_BYTES)]);
    }

    fn take(&mut self, text: &str) {
        let turn = self.turn;
        self.words.extend(terms(text).into_iter().map(|word| (word, turn)));
        self.marks.extend(marks(text).into_iter().map(|mark| (mark, turn)));
        let is_recent = |last: &mut u64| turn.saturating_sub(*last) < TURNS_IN_PLAY;
        self.words.retain(|_, last| is_recent(last));
        self.marks.retain(|_, last| is_recent(last));
    }

    fn begins(&self, text: &str, is_first: bool, paused: bool) -> bool {
        let words: BTreeSet<String> = terms(text).into_iter().collect();
        if words.len() < WORDS_MIN {
            return false;
        }
        if is_first || phrase::find(text, SAYS_NEW).is_some() {
            return true;
        }
        if (!paused && phrase::begins_with(text, FOLLOWS))
            || marks(text).iter().any(|mark| self.marks.contains_key(mark))
        {
            return false;
        }
        let shared = words.iter().filter(|word| self.words.contains_key(*word)).count();
        let most = if paused {
            SHARED_MAX_PAUSED_PERCENT
        } else if phrase::find(text, BEGINS).is_some() {
            SHARED_MAX_SAID_PERCENT
        } else {
            SHARED_MAX_PERCENT
        };
        shared * 100 <= words.len() * most
    }
}

/// Whether a person says that the work is over: in a clause that nothing takes back.
pub fn says_over(text: &str) -> bool {
    is_over(&text[..text.floor_char_boundary(LOOK_BYTES)])
}

fn is_over(text: &str) -> bool {
    text.split(['.', '!', ';', '\n']).any(|clause| {
        let lower = clause.to_ascii_lowercase();
        let may_be = OVER_SIGNS.iter().any(|sign| lower.contains(sign));
        let is_short = clause.split_whitespace().count() <= 12;
        may_be && is_short && SAYS_OVER.is_match(clause) && !NOT_OVER.is_match(clause)
    }) && !text.contains('?')
}

/// Files, identifiers and numbers of tickets.
fn marks(text: &str) -> BTreeSet<String> {
    phrase::names(text).into_iter().map(|name| name.trim_matches(['.', '/', '-']).to_lowercase()).collect()
}

/// A name from the first telling words of a message.
fn name(text: &str) -> Option<String> {
    let begun = phrase::find(text, BEGINS).map_or(0, |found| found.end);
    let telling = |part: &str| -> Vec<String> {
        let words = part.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        words
            .filter(|word| word.chars().count() > 2 && !crate::reference::is_stop_word(word))
            .take(NAME_WORDS)
            .collect()
    };
    let after = telling(&text[begun..]);
    let words = if after.len() < 2 { telling(text) } else { after };
    (!words.is_empty()).then(|| words.join(" "))
}
