//! Renders a history that was cut. While the cut holds, what was sent stays the same and only grows at its end.

mod fit;
mod json_tokens;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use crate::base::digest::Digest;
use crate::base::ids::TurnNo;
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::client::chain::Chain;
use crate::client::cut::bounds::Bounds;
use crate::client::cut::history_cut::HistoryCut;
use crate::client::cut::points::{BlockPos, ToolPairs};
use crate::client::request::{ClientRequest, ContentBlock, HistoryItem};
use json_tokens::json_tokens;

pub use json_tokens::JsonTokenCounter;

/// Wire overhead of a text that we add.
const TEXT_OVERHEAD: Tokens = Tokens(24);
const NOTICE_TOKENS: Tokens = Tokens(48);
/// Most that the quotes around a text cost.
const QUOTE_TOKENS: Tokens = Tokens(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryPart {
    /// A client's item, as written except for these changes; `omitted` and `shortened` are by block index.
    Item { at: usize, omitted: Vec<usize>, shortened: Vec<(usize, Arc<str>)>, appended: Option<Arc<str>> },
    /// Replaces dropped items.
    Note { text: Arc<str> },
}

/// How the rendered history differs from the client's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    pub dropped: usize,
    pub thinking: usize,
    /// Omitted calls without a result, and results without a call.
    pub orphans: usize,
    pub shortened: usize,
    /// Results shown in short from the first time on that they were sent.
    pub trimmed: usize,
    pub added: usize,
}

impl Changes {
    pub fn total(&self) -> usize {
        let Changes { dropped, thinking, orphans, shortened, trimmed, added } = *self;
        dropped + thinking + orphans + shortened + trimmed + added
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedHistory {
    pub parts: Vec<HistoryPart>,
    /// Cost of the whole request.
    pub tokens: Tokens,
    pub changes: Changes,
}

/// A cut; it holds for one epoch of a client's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutPlan {
    /// Counts from 1 in each history.
    pub epoch: u64,
    /// The items at the time of the cut, by number and digest.
    item_count: usize,
    prefix: Digest,
    dropped: Vec<Range<usize>>,
    tail_start: usize,
    note: Arc<str>,
    note_tokens: Tokens,
    shortened: BTreeMap<BlockPos, Arc<str>>,
    /// Wire cost of each changed item.
    changed_tokens: BTreeMap<usize, Tokens>,
    orphans: BTreeSet<BlockPos>,
    omitted: BTreeSet<BlockPos>,
    /// The item with the notice that the model's own messages are shown in part; those carry no notice.
    notice_at: Option<usize>,
    /// Recalled text by the item that starts its turn; empty if nothing was found.
    recalled: BTreeMap<usize, (Arc<str>, Tokens)>,
    /// The request for which it was last sent.
    last_sent: Option<Digest>,
    spent_before: u64,
}

#[derive(Clone, Copy)]
pub struct CutInputs<'a> {
    pub counter: &'a dyn TokenCounter,
    /// Cost of a part on the wire.
    pub part_tokens: &'a dyn Fn(&HistoryPart) -> Tokens,
    pub turn_of: &'a dyn Fn(usize) -> TurnNo,
    /// Whether what is left out can be read later.
    pub is_stored: bool,
}

impl CutPlan {
    /// Number of entries and bytes of text held.
    pub fn footprint(&self) -> (usize, usize) {
        let texts =
            self.shortened.values().chain(self.recalled.values().map(|(text, _)| text)).chain([&self.note]);
        let entries = self.dropped.len() + self.shortened.len() + self.orphans.len() + self.recalled.len();
        (entries, texts.map(|text| text.len()).sum())
    }

    /// Shrinks what is kept until it fits. Fails with the smallest possible size if that exceeds the budget.
    pub fn new(
        epoch: u64,
        (request, chain): (&ClientRequest, &Chain),
        cut: &HistoryCut,
        note: &str,
        inputs: CutInputs<'_>,
        bounds: &Bounds,
    ) -> Result<Self, Tokens> {
        let item_count = chain.stable_len();
        let mut plan = Self {
            epoch,
            item_count,
            prefix: chain.stable_digest(),
            dropped: cut.dropped.clone(),
            tail_start: cut.tail_start,
            note: note.into(),
            note_tokens: Self::text_tokens(inputs.counter, note),
            shortened: BTreeMap::new(),
            changed_tokens: BTreeMap::new(),
            orphans: BTreeSet::new(),
            omitted: cut.omitted.clone(),
            notice_at: None,
            recalled: BTreeMap::new(),
            last_sent: None,
            spent_before: cut.spent_before,
        };
        let pairs = ToolPairs::of(&request.items);
        plan.orphans =
            pairs.orphans.into_iter().filter(|(at, _)| !plan.is_dropped(*at) && *at < item_count).collect();
        let edits = plan.replace_stale(request, cut, inputs);
        if !cut.dropped.is_empty() {
            plan.shrink_old(request, (&edits, &cut.files), inputs, bounds);
        }
        plan.shrink_to_fit(request, &edits, inputs, bounds)?;
        Ok(plan)
    }

    fn shortened_in(&self, at: usize) -> Vec<(usize, Arc<str>)> {
        self.shortened.range((at, 0)..(at + 1, 0)).map(|((_, nth), text)| (*nth, text.clone())).collect()
    }

    /// Wire cost of a text that we add.
    pub fn text_tokens(counter: &dyn TokenCounter, text: &str) -> Tokens {
        json_tokens(counter, text) + TEXT_OVERHEAD
    }

    /// The budget for a page counted with [`JsonTokenCounter`], so that it costs at most `budget` on the wire.
    pub fn page_budget(budget: Tokens) -> Tokens {
        budget.saturating_sub(TEXT_OVERHEAD + QUOTE_TOKENS)
    }

    pub(super) fn item_count(&self) -> usize {
        self.item_count
    }

    pub(super) fn spent_before(&self) -> u64 {
        self.spent_before
    }

    /// Number of leading items that are sent as before the cut.
    pub fn unchanged_len(&self) -> usize {
        let changed = self.changed_tokens.keys().next().copied();
        let gap = self.dropped.first().map(|gap| gap.start);
        let recalled = self.recalled.iter().find(|(_, (text, _))| !text.is_empty()).map(|(at, _)| *at);
        [changed, gap, self.notice_at, recalled].into_iter().flatten().fold(self.item_count, usize::min)
    }

    /// Tokens that are sent for an item, with the note before it and the text after it.
    pub(super) fn item_tokens(&self, at: usize, item: &HistoryItem) -> Tokens {
        let note = if self.has_note_at(at) { self.note_tokens } else { Tokens::ZERO };
        if self.is_dropped(at) {
            return note;
        }
        let own = self.changed_tokens.get(&at).copied().unwrap_or(item.tokens);
        note + own + if own.is_zero() { Tokens::ZERO } else { self.appended_text(at).1 }
    }

    fn has_note_at(&self, at: usize) -> bool {
        self.dropped.first().is_some_and(|gap| gap.start == at) && !self.note.is_empty()
    }

    /// Whether the history still starts with the one that was cut.
    pub fn is_valid_for(&self, chain: &Chain) -> bool {
        self.item_count <= chain.stable_len() && chain.prefix_digest(self.item_count) == self.prefix
    }

    /// Records that it was sent for this request: a retry is sent the same.
    pub fn mark_sent(&mut self, chain: &Chain) {
        self.last_sent = Some(chain.stable_digest());
    }

    pub(super) fn was_sent(&self, chain: &Chain) -> bool {
        self.last_sent == Some(chain.stable_digest())
    }

    /// The first dropped range; empty if there is none.
    pub fn first_gap(&self) -> Range<usize> {
        self.dropped.first().cloned().unwrap_or(0..0)
    }

    /// The first item behind the omitted turns, if there are any.
    pub fn tail_start(&self) -> Option<usize> {
        (!self.dropped.is_empty()).then_some(self.tail_start)
    }

    pub fn is_dropped(&self, at: usize) -> bool {
        let nth = self.dropped.partition_point(|gap| gap.end <= at);
        self.dropped.get(nth).is_some_and(|gap| gap.contains(&at))
    }

    /// The newest turn start, unless something was recalled for it already or it is dropped.
    pub fn recall_target(&self, request: &ClientRequest) -> Option<usize> {
        let at = request.items[..request.stable_len()].iter().rposition(HistoryItem::is_turn_start)?;
        (!self.recalled.contains_key(&at) && !self.is_dropped(at)).then_some(at)
    }

    /// The texts that the model sees besides the item at `newest`: the items from `visible_from` on and before the gap.
    /// What the note names it does not have: a summary is no answer.
    pub fn seen_texts<'a>(
        &'a self,
        request: &'a ClientRequest,
        newest: usize,
        visible_from: usize,
    ) -> impl Iterator<Item = Cow<'a, str>> {
        let is_seen = move |at: usize| at != newest && (at >= visible_from || at < self.first_gap().start);
        let items = request.items.iter().enumerate().filter(move |(at, _)| is_seen(*at) && !self.is_dropped(*at));
        let text = |block: &'a ContentBlock| match block {
            ContentBlock::ToolCall(call) => Cow::Borrowed(call.arguments.as_str()),
            ContentBlock::Text(_)
            | ContentBlock::ToolResult { .. }
            | ContentBlock::Thinking
            | ContentBlock::Other { .. } => block.text(),
        };
        items.flat_map(move |(_, item)| item.blocks.iter().map(text))
    }

    /// Adds the text recalled for a turn, for good. A text that is present already is not repeated.
    pub fn add_recalled(&mut self, at: usize, text: &str, counter: &dyn TokenCounter) {
        let is_present = self.recalled.values().any(|(other, _)| **other == *text);
        let text = if is_present { "" } else { text };
        let tokens = if text.is_empty() { Tokens::ZERO } else { Self::text_tokens(counter, text) };
        self.recalled.entry(at).or_insert_with(|| (text.into(), tokens));
    }

    pub fn render(&self, request: &ClientRequest) -> RenderedHistory {
        let (mut parts, mut tokens, mut changes) = (Vec::new(), request.fixed_tokens, Changes::default());
        for (at, item) in request.items.iter().enumerate() {
            tokens += self.item_tokens(at, item);
            if self.has_note_at(at) {
                parts.push(HistoryPart::Note { text: self.note.clone() });
                changes.added += 1;
            }
            if self.is_dropped(at) {
                changes.dropped += 1;
                continue;
            }
            let (omitted, thinking, orphans) = self.omitted_blocks(at, item);
            changes.thinking += thinking;
            changes.orphans += orphans;
            if omitted.len() == item.blocks.len() && !item.blocks.is_empty() {
                continue;
            }
            let shortened = self.shortened_in(at);
            changes.shortened += shortened.len();
            let is_trimmed = |(_, nth): &&BlockPos| {
                !omitted.contains(nth) && shortened.iter().all(|(shorter, _)| shorter != nth)
            };
            changes.trimmed += request.trimmed.range((at, 0)..(at + 1, 0)).filter(is_trimmed).count();
            let (appended, _) = self.appended_text(at);
            changes.added += usize::from(appended.is_some());
            parts.push(HistoryPart::Item { at, omitted, shortened, appended });
        }
        RenderedHistory { parts, tokens, changes }
    }

    fn appended_text(&self, at: usize) -> (Option<Arc<str>>, Tokens) {
        let recalled = self.recalled.get(&at).filter(|(text, _)| !text.is_empty());
        match (recalled, self.notice_at == Some(at)) {
            (None, false) => (None, Tokens::ZERO),
            (Some((text, tokens)), false) => (Some(text.clone()), *tokens),
            (None, true) => (Some(prompt::SHOWN_IN_PART.trim().into()), NOTICE_TOKENS),
            (Some((text, tokens)), true) => {
                (Some(format!("{}\n\n{text}", prompt::SHOWN_IN_PART.trim()).into()), *tokens + NOTICE_TOKENS)
            }
        }
    }

    /// The omitted blocks, and how many are thinking and orphans. Thinking from before the cut is bound to text
    /// that is no longer sent.
    fn omitted_blocks(&self, at: usize, item: &HistoryItem) -> (Vec<usize>, usize, usize) {
        if at >= self.item_count {
            return (Vec::new(), 0, 0);
        }
        let (mut thinking, mut orphans) = (0, 0);
        let mut gone = vec![false; item.blocks.len()];
        for (nth, block) in item.blocks.iter().enumerate() {
            let is_thinking = matches!(block, ContentBlock::Thinking);
            let is_orphan = self.orphans.contains(&(at, nth));
            thinking += usize::from(is_thinking);
            orphans += usize::from(is_orphan);
            gone[nth] = is_thinking || is_orphan || self.omitted.contains(&(at, nth));
        }
        // If only empty texts would remain, they go too.
        let is_blank = |(nth, block): (usize, &ContentBlock)| {
            gone[nth] || matches!(block, ContentBlock::Text(text) if text.is_empty())
        };
        if gone.contains(&true) && item.blocks.iter().enumerate().all(is_blank) {
            gone.fill(true);
        }
        (gone.iter().enumerate().filter(|(_, gone)| **gone).map(|(nth, _)| nth).collect(), thinking, orphans)
    }
}
