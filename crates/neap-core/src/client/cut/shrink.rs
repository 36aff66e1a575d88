//! Plans what to shorten or omit in the items that a cut keeps, when they still do not fit. First every long text,
//! result and argument is shortened to one common length, the newest to a longer one. If that is not enough,
//! blocks are omitted, oldest first and a call always with its result. Parts of the newest question and
//! message go last; their first and last text, and the newest result, are shortened but never omitted. System text
//! and blocks of unknown kinds other than media are never touched. Sizes are estimates; the caller counts the result.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::points::BlockPos;
use super::shorten::shortenable_text;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::client::request::{ClientRequest, ContentBlock, HistoryItem, Speaker};
use crate::context::budget::weighted_share;

/// Texts are not shortened below this while blocks can be omitted instead.
const LENGTH_MIN: Tokens = Tokens(64);
/// Texts are never shortened below this.
const LENGTH_FLOOR: Tokens = Tokens(6);
/// The newest message and question may be this many times as long as other texts.
const NEWEST_WEIGHT: u64 = 4;
const OVERHEAD_MIN: Tokens = Tokens(4);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Edits {
    /// Target length of each text.
    pub(super) shortened: BTreeMap<BlockPos, Tokens>,
    pub(super) omitted: BTreeSet<BlockPos>,
}

pub(super) struct ShrinkPlanner {
    texts: Vec<ShrinkableText>,
    /// In the order in which they are omitted.
    units: Vec<RemovableUnit>,
}

struct ShrinkableText {
    place: BlockPos,
    tokens: Tokens,
    weight: u64,
}

impl ShrinkableText {
    fn target_length(&self, common: Tokens) -> Tokens {
        self.tokens.min(Tokens(common.0.saturating_mul(self.weight)))
    }
}

struct RemovableUnit {
    places: Vec<BlockPos>,
    /// Cost beside its texts.
    overhead: Tokens,
}

impl ShrinkPlanner {
    /// Considers the items that `is_kept`; `is_gone` marks blocks that are omitted already, and `lines` has what the
    /// lines in place of others cost.
    pub(super) fn new(
        request: &ClientRequest,
        counter: &dyn TokenCounter,
        is_kept: impl Fn(usize) -> bool,
        is_gone: impl Fn(BlockPos) -> bool,
        lines: &BTreeMap<BlockPos, Tokens>,
    ) -> Self {
        let stable_len = request.stable_len();
        let newest = newest_range(request, stable_len);
        let question = request.items[..stable_len].iter().rposition(HistoryItem::is_turn_start);
        let (mut texts, mut units) = (Vec::new(), Vec::new());
        let mut calls: BTreeMap<&str, Vec<(BlockPos, Tokens)>> = BTreeMap::new();
        let last = newest.clone().next_back();
        for (at, item) in request.items.iter().enumerate().take(stable_len).filter(|(at, _)| is_kept(*at)) {
            if item.speaker == Speaker::System {
                continue;
            }
            let is_newest = newest.contains(&at) || question == Some(at);
            let is_protected = last == Some(at) || question == Some(at);
            let weight = if is_newest { NEWEST_WEIGHT } else { 1 };
            let sizes: Vec<Tokens> = item.blocks.iter().map(|block| text_tokens(counter, block)).collect();
            let around = item.tokens.saturating_sub(sizes.iter().copied().sum()).0 / sizes.len().max(1) as u64;
            let overhead = Tokens(around).max(OVERHEAD_MIN);
            let ends = [item.blocks.iter().position(is_text), item.blocks.iter().rposition(is_text)];
            for (nth, block) in item.blocks.iter().enumerate() {
                let place = (at, nth);
                if is_gone(place) {
                    continue;
                }
                let line = lines.get(&place).copied();
                let overhead = overhead + line.unwrap_or_default();
                if sizes[nth] > Tokens::ZERO && line.is_none() {
                    texts.push(ShrinkableText { place, tokens: sizes[nth], weight });
                }
                let alone = || Some(RemovableUnit { places: vec![place], overhead });
                let unit = match block {
                    ContentBlock::ToolCall(call) => {
                        calls.entry(&call.id).or_default().push((place, overhead));
                        None
                    }
                    ContentBlock::ToolResult { id, .. } => {
                        let call = calls.get_mut(id.as_str()).and_then(Vec::pop);
                        let is_last = last == Some(at) && nth + 1 == item.blocks.len();
                        call.filter(|_| !is_last).map(|(call, call_overhead)| RemovableUnit {
                            places: vec![call, place],
                            overhead: call_overhead + overhead,
                        })
                    }
                    // The newest message and the question keep their first and last text.
                    ContentBlock::Text(_) if !is_protected || !ends.contains(&Some(nth)) => alone(),
                    ContentBlock::Other { .. } if block.is_media() && !newest.contains(&at) => alone(),
                    ContentBlock::Text(_) | ContentBlock::Thinking | ContentBlock::Other { .. } => None,
                };
                units.extend(unit.map(|unit| (place, unit)));
            }
        }
        let order =
            |((at, nth), _): &(BlockPos, RemovableUnit)| (newest.contains(at) || question == Some(*at), *at, *nth);
        units.sort_by_key(order);
        Self { texts, units: units.into_iter().map(|(_, unit)| unit).collect() }
    }

    /// Edits that only shorten, and save about `excess` or as much as they can.
    pub(super) fn plan_shortening(&self, excess: Tokens) -> Edits {
        let common = self.common_length(&BTreeSet::new(), excess, LENGTH_MIN);
        self.edits_at(common.unwrap_or(LENGTH_MIN), BTreeSet::new())
    }

    /// The mildest edits that save about `excess`; none if no edits do.
    pub(super) fn plan_edits(&self, excess: Tokens) -> Option<Edits> {
        if let Some(common) = self.common_length(&BTreeSet::new(), excess, LENGTH_MIN) {
            return Some(self.edits_at(common, BTreeSet::new()));
        }
        let sizes: BTreeMap<BlockPos, (Tokens, Tokens)> =
            self.texts.iter().map(|text| (text.place, (text.tokens, text.target_length(LENGTH_MIN)))).collect();
        let mut saved = self.saved_tokens(&BTreeSet::new(), LENGTH_MIN);
        let (mut omitted, mut gone) = (BTreeSet::new(), Tokens::ZERO);
        for unit in &self.units {
            if saved >= excess {
                break;
            }
            for place in &unit.places {
                let (whole, kept) = sizes.get(place).copied().unwrap_or_default();
                saved += kept;
                gone += whole;
                omitted.insert(*place);
            }
            saved += unit.overhead;
            gone += unit.overhead;
        }
        let rest = excess.saturating_sub(gone);
        let common = self.common_length(&omitted, rest, LENGTH_MIN);
        let common = common.or_else(|| self.common_length(&omitted, rest, LENGTH_FLOOR))?;
        Some(self.edits_at(common, omitted))
    }

    pub(super) fn harshest_edits(&self) -> Edits {
        self.edits_at(LENGTH_FLOOR, self.units.iter().flat_map(|unit| unit.places.iter().copied()).collect())
    }

    /// The longest common length, not below `least`, that saves enough.
    fn common_length(&self, omitted: &BTreeSet<BlockPos>, excess: Tokens, least: Tokens) -> Option<Tokens> {
        let kept = self.texts.iter().filter(|text| !omitted.contains(&text.place));
        let wants: Vec<(Tokens, u64)> = kept.map(|text| (text.tokens, text.weight)).collect();
        let whole: Tokens = wants.iter().map(|(tokens, _)| *tokens).sum();
        let share = weighted_share(Tokens(whole.0.checked_sub(excess.0)?), &wants);
        (share >= least || excess == Tokens::ZERO).then_some(share.max(least))
    }

    fn saved_tokens(&self, omitted: &BTreeSet<BlockPos>, common: Tokens) -> Tokens {
        let kept = self.texts.iter().filter(|text| !omitted.contains(&text.place));
        kept.map(|text| text.tokens - text.target_length(common)).sum()
    }

    fn edits_at(&self, common: Tokens, omitted: BTreeSet<BlockPos>) -> Edits {
        let longer =
            |text: &&ShrinkableText| text.tokens > text.target_length(common) && !omitted.contains(&text.place);
        let shortened =
            self.texts.iter().filter(longer).map(|text| (text.place, text.target_length(common))).collect();
        Edits { shortened, omitted }
    }
}

/// Everything after the model's last message, or else that message.
fn newest_range(request: &ClientRequest, stable_len: usize) -> Range<usize> {
    let spoke = request.items[..stable_len].iter().rposition(|item| item.speaker == Speaker::Assistant);
    let start = spoke.map_or(0, |at| at + 1);
    if start < stable_len { start..stable_len } else { stable_len.saturating_sub(1)..stable_len }
}

fn is_text(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Text(_))
}

/// Zero for a block without a text that can be shortened.
fn text_tokens(counter: &dyn TokenCounter, block: &ContentBlock) -> Tokens {
    let quoted = shortenable_text(block).map(|text| serde_json::to_string(&text).unwrap_or_default());
    quoted.map_or(Tokens::ZERO, |text| counter.count(&text))
}
