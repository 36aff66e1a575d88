//! What requests cost, counted as they are written. Clients send the same again and again: what was counted once is looked up.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use neap_core::ingest::{Api, Block, Digest, Heard};
use neap_core::tokens::{TokenCounter, Tokens};

use super::super::json::Json;
use super::readings::{Reading, Readings, nearest};

/// Texts that are shorter are counted as fast as they are looked up.
const SHORT: usize = 64;

/// What a picture or a file costs at least.
const MEDIA: Tokens = Tokens(2_000);
/// Bytes of one for a token, where it is large.
const MEDIA_BYTES: u64 = 400;
/// What surrounds a part of an item that is counted by its words.
const AROUND: Tokens = Tokens(24);

/// Counts texts, and remembers them.
#[derive(Clone)]
pub struct Counts {
    counter: Arc<dyn TokenCounter>,
    kept: Arc<Mutex<Kept>>,
    readings: Arc<Mutex<Readings>>,
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counts").field("encoding", &self.counter.encoding()).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Kept {
    new: BTreeMap<Digest, Tokens>,
    old: BTreeMap<Digest, Tokens>,
}

impl Counts {
    /// Counts that are kept, at most; the older half of them goes when there are more.
    pub const KEPT_MAX: usize = 65_536;

    /// Counts as this counter does.
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter, kept: Arc::default(), readings: Arc::default() }
    }

    /// Who counts.
    pub fn counter(&self) -> &dyn TokenCounter {
        self.counter.as_ref()
    }

    /// A request that was counted before and begins as this one does, and how many of its items this one has.
    pub(super) fn nearest(&self, api: Api, whole: &str) -> Option<(Arc<Reading>, usize)> {
        let all = self.readings.lock().unwrap_or_else(PoisonError::into_inner).all();
        nearest(&all, api, whole)
    }

    /// Keeps a request that was counted; where it goes on from another, in its place.
    pub(super) fn keep(&self, reading: Reading, nearest: Option<(Arc<Reading>, usize)>) {
        // Where they have less in common than not, they are two conversations that begin alike.
        let from = nearest.filter(|(from, items)| 2 * items >= from.items.len()).map(|(from, _)| from);
        self.readings.lock().unwrap_or_else(PoisonError::into_inner).keep(reading, from.as_ref());
    }

    /// How many texts are remembered.
    pub fn kept(&self) -> usize {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.new.len() + kept.old.len()
    }

    /// How many requests are remembered, and how long they are.
    pub fn readings(&self) -> (usize, usize) {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner).size()
    }

    /// What a text costs.
    pub fn of(&self, text: &str) -> Tokens {
        if text.len() <= SHORT {
            return self.counter.count(text);
        }
        let digest = Digest::of("text", &[text.as_bytes()]);
        let known = |kept: &mut Kept| kept.new.get(&digest).or_else(|| kept.old.get(&digest)).copied();
        if let Some(tokens) = known(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner)) {
            return tokens;
        }
        let tokens = self.counter.count(text);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.new.insert(digest, tokens);
        if kept.new.len() > Self::KEPT_MAX / 2 {
            kept.old = std::mem::take(&mut kept.new);
        }
        tokens
    }
}

impl Counts {
    /// What a request costs as it is written, where no part of it is read as anything but text.
    pub fn of_body(&self, body: &str, heard: &Heard) -> Option<Tokens> {
        let has_media = heard.items.iter().any(|item| item.blocks.iter().any(has_media));
        (!has_media).then(|| self.counter.count(body))
    }
}

/// What an item costs: as it is written, but for pictures and files, which no model reads as text.
pub(super) fn item(counts: &Counts, json: &Json, blocks: &[Block]) -> Tokens {
    if !blocks.iter().any(has_media) {
        return counts.of(json.text()) + Tokens(1);
    }
    blocks.iter().map(|block| of_block(counts, block)).sum::<Tokens>() + AROUND
}

fn of_block(counts: &Counts, block: &Block) -> Tokens {
    match block {
        Block::Other { json, .. } if block.is_media() => {
            MEDIA.max(Tokens(json.to_string().len() as u64 / MEDIA_BYTES))
        }
        Block::Other { json, .. } => counts.of(&json.to_string()) + AROUND,
        Block::Answer { id, content, .. } => {
            content.iter().map(|block| of_block(counts, block)).sum::<Tokens>() + counts.of(id) + AROUND
        }
        Block::Call(call) => counts.of(Json::of(&call.arguments).text()) + counts.of(&call.id) + AROUND,
        Block::Text(text) => counts.of(Json::of(text).text()) + AROUND,
        Block::Thinking => AROUND,
    }
}

fn has_media(block: &Block) -> bool {
    match block {
        Block::Answer { content, .. } => content.iter().any(has_media),
        Block::Text(_) | Block::Thinking | Block::Call(_) | Block::Other { .. } => block.is_media(),
    }
}
