//! What is sent in place of a history that was cut: the same for as long as the cut holds, and more at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::atoms::{Pairs, Place};
use super::bound::Bounds;
use super::chain::{Chain, Digest};
use super::cut::Cut;
use super::heard::{Api, Block, Heard, Item, Speaker};
use crate::excerpt::{EXCERPT_TOKENS_MIN, excerpt};
use crate::handle::Handle;
use crate::ids::TurnNo;
use crate::tokens::{TokenCounter, Tokens};

/// Places that a provider caches up to, in one request.
const MARKS_MAX: usize = 4;
/// What surrounds a text of ours on the wire.
const AROUND: Tokens = Tokens(24);
/// What the quotes around a text cost, at most.
const QUOTES: Tokens = Tokens(2);
/// Texts that are shown in part, at most: if so many are not enough, it does not fit.
const SHORT_MAX: usize = 64;

/// One part of what is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// An item of the client's, as it was written but for what is named.
    Item {
        /// Which.
        at: usize,
        /// Blocks that are left out.
        without: Vec<usize>,
        /// Blocks whose words are shown in part.
        short: Vec<(usize, Arc<str>)>,
        /// What is added at its end.
        more: Option<Arc<str>>,
    },
    /// What stands for items that are left out.
    Note {
        /// What it says.
        text: Arc<str>,
        /// Whether the provider is asked to cache up to here.
        mark: bool,
    },
}

/// How what is sent differs from what came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// Items that are left out.
    pub dropped: usize,
    /// Thoughts that are left out.
    pub thoughts: usize,
    /// Calls without an answer, or answers without a call, that are left out.
    pub orphans: usize,
    /// Texts that are shown in part.
    pub shortened: usize,
    /// Texts of ours that were put in.
    pub added: usize,
}

impl Changes {
    /// All of them.
    pub fn total(&self) -> usize {
        let Changes { dropped, thoughts, orphans, shortened, added } = *self;
        dropped + thoughts + orphans + shortened + added
    }
}

/// What is sent in place of the items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// In order.
    pub pieces: Vec<Piece>,
    /// What the request costs with them.
    pub tokens: Tokens,
    /// How it differs from what came.
    pub changes: Changes,
}

/// A cut that holds: an epoch of a client's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frozen {
    /// Which it is, of this history; the first is 1.
    pub number: u64,
    /// How many items there were, and what stands for them.
    seen: usize,
    at: Digest,
    dropped: Vec<Range<usize>>,
    note: Arc<str>,
    note_tokens: Tokens,
    /// Texts that are shown in part.
    short: BTreeMap<Place, Arc<str>>,
    /// What the items cost in which they are.
    short_tokens: BTreeMap<usize, Tokens>,
    orphans: BTreeSet<Place>,
    /// What was recalled for turns, by the item that begins them; empty where nothing was.
    recalled: BTreeMap<usize, (Arc<str>, Tokens)>,
    /// The end of what was last sent.
    sent: Option<Digest>,
}

impl Frozen {
    /// How many things it holds, and how many bytes of text.
    pub fn held(&self) -> (usize, usize) {
        let texts = self.short.values().chain(self.recalled.values().map(|(text, _)| text)).chain([&self.note]);
        let entries = self.dropped.len() + self.short.len() + self.orphans.len() + self.recalled.len();
        (entries, texts.map(|text| text.len()).sum())
    }

    /// Makes a cut for good. `turn_of` says in which turn an item is recorded. None if it does not fit, whatever is
    /// shown in part.
    pub fn new(
        number: u64,
        (heard, chain): (&Heard, &Chain),
        cut: &Cut,
        note: &str,
        counter: &dyn TokenCounter,
        bounds: &Bounds,
        turn_of: &dyn Fn(usize) -> TurnNo,
    ) -> Option<Self> {
        let seen = chain.stem();
        let mut frozen = Self {
            number,
            seen,
            at: chain.asked(),
            dropped: cut.dropped.clone(),
            note: note.into(),
            note_tokens: Self::cost(counter, note),
            short: BTreeMap::new(),
            short_tokens: BTreeMap::new(),
            orphans: BTreeSet::new(),
            recalled: BTreeMap::new(),
            sent: None,
        };
        let pairs = Pairs::of(&heard.items);
        frozen.orphans = pairs.orphans.into_iter().filter(|(at, _)| !frozen.drops(*at) && *at < seen).collect();
        for _ in 0..SHORT_MAX {
            let tokens = frozen.lay_out(heard).tokens;
            if tokens <= bounds.budget {
                return Some(frozen);
            }
            frozen.shorten(heard, counter, tokens.saturating_sub(bounds.budget), turn_of)?;
        }
        None
    }

    /// What a text of ours costs.
    pub fn cost(counter: &dyn TokenCounter, text: &str) -> Tokens {
        written(counter, text) + AROUND
    }

    /// What a page may cost by what [`OnWire`] counts, so that all of it costs no more than there is room for.
    pub fn page_room(room: Tokens) -> Tokens {
        room.saturating_sub(AROUND + QUOTES)
    }

    /// Whether it is still a history that begins as the one that was cut.
    pub fn holds(&self, chain: &Chain) -> bool {
        self.seen <= chain.stem() && chain.upto(self.seen) == self.at
    }

    /// Remembers that it was sent for a request: the same again is sent the same.
    pub fn send(&mut self, chain: &Chain) {
        self.sent = Some(chain.asked());
    }

    /// Whether it was last sent for this request.
    pub(super) fn was_sent(&self, chain: &Chain) -> bool {
        self.sent == Some(chain.asked())
    }

    /// How many items are left out from the first gap on, and the first that is kept after it.
    pub fn gap(&self) -> Range<usize> {
        self.dropped.first().cloned().unwrap_or(0..0)
    }

    /// Whether an item is left out.
    pub fn drops(&self, at: usize) -> bool {
        self.dropped.iter().any(|gap| gap.contains(&at))
    }

    /// The turn that something may be recalled for: the newest that a person began, if nothing was yet.
    pub fn awaits_recall(&self, heard: &Heard) -> Option<usize> {
        let at = heard.items[..heard.stem()].iter().rposition(Item::begins_turn)?;
        (!self.recalled.contains_key(&at) && !self.drops(at)).then_some(at)
    }

    /// Takes up what was recalled for a turn; there it stays.
    pub fn recall(&mut self, at: usize, text: &str, counter: &dyn TokenCounter) {
        // What is there already need not be said again.
        let is_there = self.recalled.values().any(|(there, _)| **there == *text);
        let text = if is_there { "" } else { text };
        let tokens = if text.is_empty() { Tokens::ZERO } else { Self::cost(counter, text) };
        self.recalled.entry(at).or_insert_with(|| (text.into(), tokens));
    }

    /// What is sent for a request.
    pub fn lay_out(&self, heard: &Heard) -> Layout {
        let (mut pieces, mut tokens, mut changes) = (Vec::new(), heard.fixed, Changes::default());
        let kept_marks: usize =
            heard.items.iter().enumerate().filter(|(at, _)| !self.drops(*at)).map(|(_, item)| item.marks).sum();
        let mark = heard.api == Api::Messages && heard.marks + kept_marks < MARKS_MAX;
        for (at, item) in heard.items.iter().enumerate() {
            if self.gap().start == at && !self.gap().is_empty() && !self.note.is_empty() {
                pieces.push(Piece::Note { text: self.note.clone(), mark });
                tokens += self.note_tokens;
                changes.added += 1;
            }
            if self.drops(at) {
                changes.dropped += 1;
                continue;
            }
            let (without, thoughts, orphans) = self.without(at, item);
            changes.thoughts += thoughts;
            changes.orphans += orphans;
            if without.len() == item.blocks.len() && !item.blocks.is_empty() {
                continue;
            }
            let of_item = self.short.range((at, 0)..(at + 1, 0));
            let short: Vec<_> = of_item.map(|((_, nth), text)| (*nth, text.clone())).collect();
            changes.shortened += short.len();
            tokens += self.short_tokens.get(&at).copied().unwrap_or(item.tokens);
            let more = self.recalled.get(&at).filter(|(text, _)| !text.is_empty());
            tokens += more.map_or(Tokens::ZERO, |(_, tokens)| *tokens);
            changes.added += usize::from(more.is_some());
            pieces.push(Piece::Item { at, without, short, more: more.map(|(text, _)| text.clone()) });
        }
        Layout { pieces, tokens, changes }
    }

    /// Thoughts of before the cut are bound to what is no longer sent.
    fn without(&self, at: usize, item: &Item) -> (Vec<usize>, usize, usize) {
        if at >= self.seen {
            return (Vec::new(), 0, 0);
        }
        let (mut thoughts, mut orphans) = (0, 0);
        let mut without: Vec<usize> = Vec::new();
        for (nth, block) in item.blocks.iter().enumerate() {
            let is_thought = matches!(block, Block::Thinking);
            let is_orphan = self.orphans.contains(&(at, nth));
            thoughts += usize::from(is_thought);
            orphans += usize::from(is_orphan);
            if is_thought || is_orphan {
                without.push(nth);
            }
        }
        // Where nothing else is said, what is empty goes along.
        let rest = |(nth, block): (usize, &Block)| {
            without.contains(&nth) || matches!(block, Block::Text(text) if text.is_empty())
        };
        if !without.is_empty() && item.blocks.iter().enumerate().all(rest) {
            without = (0..item.blocks.len()).collect();
        }
        (without, thoughts, orphans)
    }

    /// Shows the longest text in part, by as much as is too much; none if no text is long enough.
    fn shorten(
        &mut self,
        heard: &Heard,
        counter: &dyn TokenCounter,
        excess: Tokens,
        turn_of: &dyn Fn(usize) -> TurnNo,
    ) -> Option<()> {
        let mut longest: Option<(Tokens, Place, String)> = None;
        for (at, item) in heard.items.iter().enumerate().take(self.seen) {
            if self.drops(at) || item.speaker == Speaker::System {
                continue;
            }
            for (nth, block) in item.blocks.iter().enumerate() {
                let is_text = matches!(block, Block::Text(_) | Block::Answer { .. });
                if !is_text || self.orphans.contains(&(at, nth)) || self.short.contains_key(&(at, nth)) {
                    continue;
                }
                let words = block.words();
                let tokens = written(counter, &words);
                if longest.as_ref().is_none_or(|(most, ..)| tokens > *most) {
                    longest = Some((tokens, (at, nth), words.into_owned()));
                }
            }
        }
        let (whole, (at, nth), words) =
            longest.filter(|(tokens, ..)| *tokens > EXCERPT_TOKENS_MIN + EXCERPT_TOKENS_MIN)?;
        let wanted = whole.saturating_sub(excess).max(EXCERPT_TOKENS_MIN);
        let mut max = wanted;
        let (text, tokens) = loop {
            let (text, _) = excerpt(counter, &words, whole, &Handle::Turn(turn_of(at)), max);
            let tokens = written(counter, &text);
            if tokens <= wanted || max.0 < 16 {
                break (text, tokens);
            }
            max = max.percent(80);
        };
        let before = self.short_tokens.get(&at).copied().unwrap_or(heard.items[at].tokens);
        let saved = whole.saturating_sub(tokens);
        self.short_tokens.insert(at, (before + AROUND).saturating_sub(saved));
        self.short.insert((at, nth), text.into());
        Some(())
    }
}

/// What a text costs as it stands on the wire, in quotes.
fn written(counter: &dyn TokenCounter, text: &str) -> Tokens {
    counter.count(&quoted(text))
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Counts texts as they stand on the wire, without the quotes. Lines that begin with a bracket add up there as well.
pub struct OnWire<'a>(pub &'a dyn TokenCounter);

impl TokenCounter for OnWire<'_> {
    fn encoding(&self) -> &str {
        self.0.encoding()
    }

    fn count(&self, text: &str) -> Tokens {
        let quoted = quoted(text);
        let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        self.0.count(inside.unwrap_or(&quoted))
    }
}
