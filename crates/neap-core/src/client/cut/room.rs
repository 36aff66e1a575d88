//! What a budget leaves for a history, and how that is divided.

use std::ops::Range;

use super::bounds::Bounds;
use crate::base::tokens::Tokens;
use crate::client::request::{ClientRequest, HistoryItem, Speaker};

/// A fixed part that leaves less than this share of the budget, or fewer tokens, leaves no room for a conversation.
const ROOM_PERCENT_MIN: u64 = 5;
const ROOM_MIN: Tokens = Tokens(256);
/// Share of the room for the note that replaces omitted items.
const NOTE_PERCENT: std::ops::RangeInclusive<u64> = 2..=12;
const NOTE_MAX: Tokens = Tokens(3_000);
/// Share of the room for recalled text. Less than the least would hold no answer.
const RECALL_PERCENT: u64 = 6;
const RECALL_RANGE: [Tokens; 2] = [Tokens(200), Tokens(3_000)];
/// Of the room, a cut keeps at most this share, so that the next one is as far away as possible.
const KEPT_PERCENT: u64 = 50;
/// Share of the room that files in work leave to the newest turns.
const TURNS_PERCENT: u64 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    /// The system prompt, the tools and all else that is never omitted.
    fixed: Tokens,
    budget: Tokens,
    high_percent: u64,
    system_len: usize,
}

impl Room {
    pub(super) fn of(request: &ClientRequest, bounds: &Bounds) -> Self {
        let stable_len = request.stable_len();
        let is_system = |item: &&HistoryItem| item.speaker == Speaker::System;
        let system_len = request.items[..stable_len].iter().take_while(is_system).count();
        let system = request.items[..system_len].iter().chain(&request.items[stable_len..]);
        let fixed = request.fixed_tokens + system.map(|item| item.tokens).sum();
        Self { fixed, budget: bounds.budget, high_percent: bounds.high_percent, system_len }
    }

    /// Number of leading system items.
    pub(super) fn system_len(&self) -> usize {
        self.system_len
    }

    pub(super) fn fixed(&self) -> Tokens {
        self.fixed
    }

    /// Most that a history may take.
    pub(super) fn history(&self) -> Tokens {
        self.budget.saturating_sub(self.fixed)
    }

    /// The smallest budget that leaves room, if this one does not.
    pub(super) fn budget_needed(&self) -> Option<Tokens> {
        let needed = Tokens((self.fixed.0 * 100).div_ceil(100 - ROOM_PERCENT_MIN)).max(self.fixed + ROOM_MIN);
        (self.budget < needed).then_some(needed)
    }

    /// The size of a request at which a new turn is cut.
    pub(super) fn high_water(&self) -> Tokens {
        self.fixed + self.history().percent(self.high_percent)
    }

    /// Half of what a cut may write.
    pub(super) fn note_budget(&self, allowance: Tokens) -> Tokens {
        let [least, most] = [NOTE_PERCENT.start(), NOTE_PERCENT.end()].map(|share| self.history().percent(*share));
        Tokens(allowance.0 / 2).clamp(least, most).min(NOTE_MAX)
    }

    pub(super) fn recall_max(&self) -> Tokens {
        let [least, most] = RECALL_RANGE;
        self.history().percent(RECALL_PERCENT).clamp(least, most)
    }

    /// The items that count as the history: between leading and trailing system items, which are fixed.
    pub(super) fn history_items(&self, request: &ClientRequest) -> Range<usize> {
        self.system_len..request.stable_len().max(self.system_len)
    }

    /// Most that a cut keeps of the history, its note included, unless the newest message alone takes more.
    pub(super) fn kept_max(&self) -> Tokens {
        self.history().percent(KEPT_PERCENT)
    }

    /// Of `kept`, how much files in work may take.
    pub(super) fn files_max(&self, kept: Tokens) -> Tokens {
        kept.saturating_sub(self.history().percent(TURNS_PERCENT))
    }

    /// Whether a cut to `tokens` in all leaves as much room as a cut should.
    pub(super) fn is_deep(&self, tokens: Tokens) -> bool {
        tokens <= self.fixed + self.kept_max()
    }
}
