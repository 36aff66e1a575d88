//! What is sent in place of a history that was cut: the same for as long as the cut holds, and more at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::atoms::{Pairs, Place};
use super::bound::Bounds;
use super::chain::{Chain, Digest};
use super::cut::Cut;
use super::heard::{Api, Block, Heard, Item, Speaker};
use super::shorten::{shortened, text_of};
use super::shrink::{Edits, Shrink};
use crate::handle::Handle;
use crate::ids::TurnNo;
use crate::prompt;
use crate::tokens::{TokenCounter, Tokens};

/// Places that a provider caches up to, in one request.
const MARKS_MAX: usize = 4;
/// What surrounds a text of ours on the wire.
const AROUND: Tokens = Tokens(24);
/// What it costs to say that messages are shown in part.
const NOTICE: Tokens = Tokens(48);
/// What the quotes around a text cost, at most.
const QUOTES: Tokens = Tokens(2);
/// So often a request is shrunk a little more before all that can be left out is: what it saves is estimated first.
const ATTEMPTS_MAX: usize = 12;
/// What is asked for beyond what was missed by, so that the next attempt gets there.
const ATTEMPT_MARGIN: Tokens = Tokens(16);

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
    /// What the items cost in which something is changed, as they are written.
    changed_tokens: BTreeMap<usize, Tokens>,
    orphans: BTreeSet<Place>,
    /// Parts that are left out so that the rest fits.
    left_out: BTreeSet<Place>,
    /// Where it is said that the model's own messages are shown in part; it is not said in them.
    notice_at: Option<usize>,
    /// What was recalled for turns, by the item that begins them; empty where nothing was.
    recalled: BTreeMap<usize, (Arc<str>, Tokens)>,
    /// The end of what was last sent.
    sent: Option<Digest>,
}

/// What it takes to make a cut: who counts, what a piece costs as it is written, and in which turn an item is recorded.
#[derive(Clone, Copy)]
pub struct Costs<'a> {
    /// Counts texts.
    pub counter: &'a dyn TokenCounter,
    /// What a piece costs on the wire.
    pub piece: &'a dyn Fn(&Piece) -> Tokens,
    /// The turn in which an item is recorded.
    pub turn_of: &'a dyn Fn(usize) -> TurnNo,
}

impl Frozen {
    /// How many things it holds, and how many bytes of text.
    pub fn held(&self) -> (usize, usize) {
        let texts = self.short.values().chain(self.recalled.values().map(|(text, _)| text)).chain([&self.note]);
        let entries = self.dropped.len() + self.short.len() + self.orphans.len() + self.recalled.len();
        (entries, texts.map(|text| text.len()).sum())
    }

    /// Makes a cut for good, with all that is kept shortened until it fits. Fails with the least that it can be brought to, if
    /// that is over the budget.
    pub fn new(
        number: u64,
        (heard, chain): (&Heard, &Chain),
        cut: &Cut,
        note: &str,
        costs: Costs<'_>,
        bounds: &Bounds,
    ) -> Result<Self, Tokens> {
        let seen = chain.stem();
        let mut frozen = Self {
            number,
            seen,
            at: chain.asked(),
            dropped: cut.dropped.clone(),
            note: note.into(),
            note_tokens: Self::cost(costs.counter, note),
            short: BTreeMap::new(),
            changed_tokens: BTreeMap::new(),
            orphans: BTreeSet::new(),
            left_out: BTreeSet::new(),
            notice_at: None,
            recalled: BTreeMap::new(),
            sent: None,
        };
        let pairs = Pairs::of(&heard.items);
        frozen.orphans = pairs.orphans.into_iter().filter(|(at, _)| !frozen.drops(*at) && *at < seen).collect();
        frozen.count(heard, costs);
        frozen.shrink(heard, costs, bounds)?;
        Ok(frozen)
    }

    /// Shortens and leaves out until all of it fits.
    fn shrink(&mut self, heard: &Heard, costs: Costs<'_>, bounds: &Bounds) -> Result<(), Tokens> {
        let whole = self.lay_out(heard).tokens;
        if whole <= bounds.budget {
            return Ok(());
        }
        let shrink = Shrink::new(
            heard,
            costs.counter,
            |at| !self.drops(at) && at < self.seen,
            |place| self.orphans.contains(&place),
        );
        let mut target = bounds.high();
        for _ in 0..ATTEMPTS_MAX {
            let Some(edits) = shrink.edits(whole.saturating_sub(target)) else { break };
            self.edit(heard, &edits, costs);
            let tokens = self.lay_out(heard).tokens;
            if tokens <= bounds.budget {
                return Ok(());
            }
            target = target.saturating_sub(tokens.saturating_sub(bounds.budget) + ATTEMPT_MARGIN);
        }
        self.edit(heard, &shrink.least(), costs);
        if self.lay_out(heard).tokens > bounds.budget {
            // Not even the record of what is left out has room.
            (self.note, self.note_tokens) = ("".into(), Tokens::ZERO);
        }
        let least = self.lay_out(heard).tokens;
        if least <= bounds.budget { Ok(()) } else { Err(least) }
    }

    /// Puts edits in place of those before.
    fn edit(&mut self, heard: &Heard, edits: &Edits, costs: Costs<'_>) {
        self.left_out.clone_from(&edits.left_out);
        self.short.clear();
        let mut hides_own_words = false;
        for ((at, nth), max) in &edits.shortened {
            let item = &heard.items[*at];
            let block = &item.blocks[*nth];
            let Some(text) = text_of(block) else { continue };
            let handle = Handle::Turn((costs.turn_of)(*at));
            let whole = OnWire(costs.counter).count(&text);
            let text = shortened(costs.counter, (item.speaker, block), (&text, whole), &handle, *max);
            self.short.insert((*at, *nth), text.into());
            hides_own_words |= item.speaker == Speaker::Assistant;
        }
        let question = heard.items[..self.seen].iter().rposition(Item::begins_turn);
        self.notice_at = question.filter(|at| hides_own_words && !self.drops(*at));
        self.count(heard, costs);
    }

    /// Counts the items in which something is changed, as they are written.
    fn count(&mut self, heard: &Heard, costs: Costs<'_>) {
        let mut changed = BTreeMap::new();
        for (at, item) in heard.items.iter().enumerate().take(self.seen).filter(|(at, _)| !self.drops(*at)) {
            let (without, ..) = self.without(at, item);
            let short = self.short_of(at);
            if without.is_empty() && short.is_empty() {
                continue;
            }
            let is_shortened = !short.is_empty();
            let tokens = (costs.piece)(&Piece::Item { at, without, short, more: None });
            // Where only parts are gone, what stands for an item may have been paid for elsewhere.
            changed.insert(at, if is_shortened { tokens } else { tokens.min(item.tokens) });
        }
        self.changed_tokens = changed;
    }

    fn short_of(&self, at: usize) -> Vec<(usize, Arc<str>)> {
        self.short.range((at, 0)..(at + 1, 0)).map(|((_, nth), text)| (*nth, text.clone())).collect()
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
            let short = self.short_of(at);
            changes.shortened += short.len();
            tokens += self.changed_tokens.get(&at).copied().unwrap_or(item.tokens);
            let (more, of_more) = self.more(at);
            tokens += of_more;
            changes.added += usize::from(more.is_some());
            pieces.push(Piece::Item { at, without, short, more });
        }
        Layout { pieces, tokens, changes }
    }

    /// What is added to an item, and what that costs.
    fn more(&self, at: usize) -> (Option<Arc<str>>, Tokens) {
        let recalled = self.recalled.get(&at).filter(|(text, _)| !text.is_empty());
        match (recalled, self.notice_at == Some(at)) {
            (None, false) => (None, Tokens::ZERO),
            (Some((text, tokens)), false) => (Some(text.clone()), *tokens),
            (None, true) => (Some(prompt::SHOWN_IN_PART.trim().into()), NOTICE),
            (Some((text, tokens)), true) => {
                (Some(format!("{}\n\n{text}", prompt::SHOWN_IN_PART.trim()).into()), *tokens + NOTICE)
            }
        }
    }

    /// The blocks that an item loses, how many of them are thoughts, and how many are unpaired. Thoughts of before the cut are
    /// bound to what is no longer sent.
    fn without(&self, at: usize, item: &Item) -> (Vec<usize>, usize, usize) {
        if at >= self.seen {
            return (Vec::new(), 0, 0);
        }
        let (mut thoughts, mut orphans) = (0, 0);
        let mut gone = vec![false; item.blocks.len()];
        for (nth, block) in item.blocks.iter().enumerate() {
            let is_thought = matches!(block, Block::Thinking);
            let is_orphan = self.orphans.contains(&(at, nth));
            thoughts += usize::from(is_thought);
            orphans += usize::from(is_orphan);
            gone[nth] = is_thought || is_orphan || self.left_out.contains(&(at, nth));
        }
        // Where nothing else is said, what is empty goes along.
        let says_nothing =
            |(nth, block): (usize, &Block)| gone[nth] || matches!(block, Block::Text(text) if text.is_empty());
        if gone.contains(&true) && item.blocks.iter().enumerate().all(says_nothing) {
            gone.fill(true);
        }
        (gone.iter().enumerate().filter(|(_, gone)| **gone).map(|(nth, _)| nth).collect(), thoughts, orphans)
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
