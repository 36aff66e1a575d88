//! What is left out of the items that a cut keeps, when they still do not fit.
//!
//! First every long text, result and argument is shortened to one common length, the newest ones to a longer one. If that
//! is not enough, parts are left out, the oldest first: a call always with its result. What the newest turn asks, and the end of
//! the newest message, stay to the last. System text, and blocks that nobody here understands, are never touched.
//!
//! Sizes are estimates here; whoever applies the edits counts what was written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::atoms::Place;
use super::heard::{Block, Heard, Item, Speaker};
use super::shorten::text_of;
use crate::tokens::{TokenCounter, Tokens};

/// Texts are not shortened below this while something can be left out instead.
const LENGTH_MIN: Tokens = Tokens(64);
/// Texts are never shortened below this.
const LENGTH_LEAST: Tokens = Tokens(6);
/// The newest message and what the newest turn asks may be this many times as long as other texts.
const NEWEST_WEIGHT: u64 = 4;
/// What surrounds a block on the wire costs at least this.
const ENVELOPE_MIN: Tokens = Tokens(4);

/// What is done to the items that are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Edits {
    /// The length to which a text is shortened, in tokens.
    pub(super) shortened: BTreeMap<Place, Tokens>,
    /// Blocks that are left out.
    pub(super) left_out: BTreeSet<Place>,
}

/// The parts of a history that can be shortened or left out.
pub(super) struct Shrink {
    texts: Vec<Text>,
    /// What is left out together, in the order in which it is.
    units: Vec<Unit>,
}

struct Text {
    place: Place,
    tokens: Tokens,
    weight: u64,
}

impl Text {
    fn length(&self, common: Tokens) -> Tokens {
        self.tokens.min(Tokens(common.0.saturating_mul(self.weight)))
    }
}

struct Unit {
    places: Vec<Place>,
    /// What it costs beside its texts.
    envelope: Tokens,
}

impl Shrink {
    /// Of the items that a predicate keeps. `is_gone` tells the blocks that are left out already.
    pub(super) fn new(
        heard: &Heard,
        counter: &dyn TokenCounter,
        is_kept: impl Fn(usize) -> bool,
        is_gone: impl Fn(Place) -> bool,
    ) -> Self {
        let stem = heard.stem();
        let newest = newest(heard, stem);
        let question = heard.items[..stem].iter().rposition(Item::begins_turn);
        let (mut texts, mut units) = (Vec::new(), Vec::new());
        let mut calls: BTreeMap<&str, Vec<(Place, Tokens)>> = BTreeMap::new();
        let last = newest.clone().next_back();
        for (at, item) in heard.items.iter().enumerate().take(stem).filter(|(at, _)| is_kept(*at)) {
            if item.speaker == Speaker::System {
                continue;
            }
            let is_newest = newest.contains(&at) || question == Some(at);
            let is_protected = last == Some(at) || question == Some(at);
            let weight = if is_newest { NEWEST_WEIGHT } else { 1 };
            let sizes: Vec<Tokens> = item
                .blocks
                .iter()
                .map(|block| text_of(block).map_or(Tokens::ZERO, |t| written(counter, &t)))
                .collect();
            let around = item.tokens.saturating_sub(sizes.iter().copied().sum()).0 / sizes.len().max(1) as u64;
            let envelope = Tokens(around).max(ENVELOPE_MIN);
            let ends = [item.blocks.iter().position(is_text), item.blocks.iter().rposition(is_text)];
            for (nth, block) in item.blocks.iter().enumerate() {
                let place = (at, nth);
                if is_gone(place) {
                    continue;
                }
                if sizes[nth] > Tokens::ZERO {
                    texts.push(Text { place, tokens: sizes[nth], weight });
                }
                match block {
                    Block::Call(call) => calls.entry(&call.id).or_default().push((place, envelope)),
                    Block::Answer { id, .. } => {
                        let call = calls.get_mut(id.as_str()).and_then(Vec::pop);
                        let is_last = last == Some(at) && nth + 1 == item.blocks.len();
                        if let Some((call, of_call)) = call.filter(|_| !is_last) {
                            units.push((place, Unit { places: vec![call, place], envelope: of_call + envelope }));
                        }
                    }
                    Block::Text(_) => {
                        // Of the newest message and of the question, the beginning and the end stay.
                        if !is_protected || !ends.contains(&Some(nth)) {
                            units.push((place, Unit { places: vec![place], envelope }));
                        }
                    }
                    Block::Other { .. } if block.is_media() && !newest.contains(&at) => {
                        units.push((place, Unit { places: vec![place], envelope }));
                    }
                    Block::Thinking | Block::Other { .. } => {}
                }
            }
        }
        let order = |((at, nth), _): &(Place, Unit)| (newest.contains(at) || question == Some(*at), *at, *nth);
        units.sort_by_key(order);
        Self { texts, units: units.into_iter().map(|(_, unit)| unit).collect() }
    }

    /// The mildest edits that save about so much; none if all that may be done does not.
    pub(super) fn edits(&self, excess: Tokens) -> Option<Edits> {
        if let Some(common) = self.common_length(&BTreeSet::new(), excess, LENGTH_MIN) {
            return Some(self.with(common, BTreeSet::new()));
        }
        let sizes: BTreeMap<Place, (Tokens, Tokens)> =
            self.texts.iter().map(|text| (text.place, (text.tokens, text.length(LENGTH_MIN)))).collect();
        let mut saved = self.saved(&BTreeSet::new(), LENGTH_MIN);
        let (mut left_out, mut gone) = (BTreeSet::new(), Tokens::ZERO);
        for unit in &self.units {
            if saved >= excess {
                break;
            }
            for place in &unit.places {
                let (whole, kept) = sizes.get(place).copied().unwrap_or_default();
                saved += kept;
                gone += whole;
                left_out.insert(*place);
            }
            saved += unit.envelope;
            gone += unit.envelope;
        }
        let rest = excess.saturating_sub(gone);
        let common = self.common_length(&left_out, rest, LENGTH_MIN);
        let common = common.or_else(|| self.common_length(&left_out, rest, LENGTH_LEAST))?;
        Some(self.with(common, left_out))
    }

    /// The harshest edits.
    pub(super) fn least(&self) -> Edits {
        self.with(LENGTH_LEAST, self.units.iter().flat_map(|unit| unit.places.iter().copied()).collect())
    }

    /// The longest common length that saves enough, not below `least`.
    fn common_length(&self, left_out: &BTreeSet<Place>, excess: Tokens, least: Tokens) -> Option<Tokens> {
        let saves = |length: u64| self.saved(left_out, Tokens(length)) >= excess;
        if !saves(least.0) {
            return None;
        }
        let longest = self.texts.iter().map(|text| text.tokens.0).max().unwrap_or_default().max(least.0);
        let (mut enough, mut too_long) = (least.0, longest + 1);
        while too_long - enough > 1 {
            let middle = enough + (too_long - enough) / 2;
            if saves(middle) { enough = middle } else { too_long = middle }
        }
        Some(Tokens(enough))
    }

    fn saved(&self, left_out: &BTreeSet<Place>, common: Tokens) -> Tokens {
        let kept = self.texts.iter().filter(|text| !left_out.contains(&text.place));
        kept.map(|text| text.tokens - text.length(common)).sum()
    }

    fn with(&self, common: Tokens, left_out: BTreeSet<Place>) -> Edits {
        let longer = |text: &&Text| text.tokens > text.length(common) && !left_out.contains(&text.place);
        let shortened = self.texts.iter().filter(longer).map(|text| (text.place, text.length(common))).collect();
        Edits { shortened, left_out }
    }
}

/// The newest message: all after the model last spoke, or what it said last.
fn newest(heard: &Heard, stem: usize) -> Range<usize> {
    let spoke = heard.items[..stem].iter().rposition(|item| item.speaker == Speaker::Assistant);
    let start = spoke.map_or(0, |at| at + 1);
    if start < stem { start..stem } else { stem.saturating_sub(1)..stem }
}

fn is_text(block: &Block) -> bool {
    matches!(block, Block::Text(_))
}

/// What a text costs as it stands on the wire, in quotes.
fn written(counter: &dyn TokenCounter, text: &str) -> Tokens {
    counter.count(&serde_json::to_string(text).unwrap_or_default())
}
