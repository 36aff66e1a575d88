//! Detects where efforts begin and end in conversations with models that do not call our tools, from what the
//! person says. An effort begins where a person says so ([`find_opening`]), or asks for something that shares no file,
//! no identifier and hardly a word with the current topic; after a long pause less is needed. It ends only on an explicit
//! sign: never on a pause, never because another begins.

use std::collections::{BTreeMap, BTreeSet};

use super::{ContentBlock, HistoryItem};
use crate::base::ids::Stamp;
use crate::text::completion::{Addressee, find_completion};
use crate::text::identifiers::find_names;
use crate::text::opening::{OpeningKind, find_opening, opening_name};
use crate::text::phrases::{FOLLOW_UP, normalize};
use crate::text::terms::terms;

/// Recent turns that make up the current topic.
const TURNS_IN_PLAY: u64 = 8;
/// A message with fewer content words has no topic, unless it announces work or is the first that states some.
const WORDS_MIN: usize = 5;
/// Most words of a message that may be current where it begins a new topic, in per cent.
const SHARED_MAX_PERCENT: usize = 8;
/// The same where the message states work.
const SHARED_MAX_REQUEST_PERCENT: usize = 34;
/// The same after a long pause.
const SHARED_MAX_PAUSED_PERCENT: usize = 50;
pub(super) const PAUSE_MS: i64 = 4 * 3_600 * 1_000;
/// Bytes scanned from the start of a text.
const SCAN_BYTES: usize = 4_096;
pub(super) const NAME_WORDS: usize = 4;

/// How a message relates to the current work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopicChange {
    /// It continues the work, or has no topic.
    Continues,
    Opens(String),
    Closes,
}

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
        let change = if is_completion_claim(text) {
            TopicChange::Closes
        } else if self.is_new_topic(text, is_first, paused) {
            opening_name(text, NAME_WORDS).map_or(TopicChange::Continues, TopicChange::Opens)
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

    /// Takes an item of a history; only one that starts a turn changes the topic.
    pub(super) fn observe_item(&mut self, item: &HistoryItem, at: Stamp) -> TopicChange {
        if !item.is_turn_start() {
            self.observe(&item.text());
            return TopicChange::Continues;
        }
        // Programs put their own text before the person's, and an effort is named after the person's.
        let text = item.blocks.iter().rev().map(ContentBlock::text).find(|text| !text.trim().is_empty());
        text.map_or(TopicChange::Continues, |text| self.observe_user(&text, at))
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
        let opening = find_opening(text).map(|opening| opening.kind);
        let is_declared = opening == Some(OpeningKind::Declared);
        if words.len() < WORDS_MIN && !is_declared && !(is_first && opening.is_some()) {
            return false;
        }
        if is_first || is_declared {
            return true;
        }
        let plain = normalize(text);
        if (!paused && FOLLOW_UP.begins(&plain))
            || identifiers(text).iter().any(|identifier| self.identifiers.contains_key(identifier))
        {
            return false;
        }
        let shared = words.iter().filter(|word| self.words.contains_key(*word)).count();
        let max_percent = if paused {
            SHARED_MAX_PAUSED_PERCENT
        } else if opening.is_some() {
            SHARED_MAX_REQUEST_PERCENT
        } else {
            SHARED_MAX_PERCENT
        };
        shared * 100 <= words.len() * max_percent
    }
}

/// Whether a person says that the work in hand is done.
pub fn is_completion_claim(text: &str) -> bool {
    find_completion(&text[..text.floor_char_boundary(SCAN_BYTES)], Addressee::Agent).is_some()
}

/// File names, identifiers and ticket numbers, in lower case.
fn identifiers(text: &str) -> BTreeSet<String> {
    find_names(text).into_iter().map(|name| name.trim_matches(['.', '/', '-']).to_lowercase()).collect()
}
