//! Makes a cut fit its budget: replaces what is stale, and shrinks what is kept if it is still too long.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{CutInputs, CutPlan, HistoryPart, JsonTokenCounter};
use crate::base::handle::Handle;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::client::cut::bounds::Bounds;
use crate::client::cut::history_cut::HistoryCut;
use crate::client::cut::outline::new_from;
use crate::client::cut::points::BlockPos;
use crate::client::cut::room::Room;
use crate::client::cut::shorten::{shorten, shortenable_text, stale_text};
use crate::client::cut::shrink::{Edits, ShrinkPlanner};
use crate::client::request::{ClientRequest, HistoryItem, Speaker};

/// Shrink attempts before everything removable is removed: savings are only estimated beforehand.
const ATTEMPTS_MAX: usize = 12;
/// Saved beyond the shortfall, so that the next attempt succeeds.
const ATTEMPT_MARGIN: Tokens = Tokens(16);

/// What a cut changed in items that stay.
pub(super) struct CutEdits {
    /// In place of stale blocks.
    lines: BTreeMap<BlockPos, Arc<str>>,
    omitted: BTreeSet<BlockPos>,
}

impl CutPlan {
    pub(super) fn replace_stale(
        &mut self,
        request: &ClientRequest,
        cut: &HistoryCut,
        inputs: CutInputs<'_>,
    ) -> CutEdits {
        for (place, reason) in &cut.stale {
            let handle = inputs.is_stored.then(|| Handle::Turn((inputs.turn_of)(place.0)));
            let block = &request.items[place.0].blocks[place.1];
            let text = stale_text(inputs.counter, block, *reason, handle.as_ref());
            self.shortened.insert(*place, text.into());
        }
        self.place_notice(request);
        self.count_changed(request, inputs);
        CutEdits { lines: self.shortened.clone(), omitted: self.omitted.clone() }
    }

    /// Frees half of the room, less what is new: what the model has read, such as a long question, is shortened for it.
    /// Items before the gap stay: they are short, and the provider has them cached.
    pub(super) fn shrink_old(
        &mut self,
        request: &ClientRequest,
        (cut, files): (&CutEdits, &BTreeSet<usize>),
        inputs: CutInputs<'_>,
        bounds: &Bounds,
    ) {
        let room = Room::of(request, bounds);
        let new_from = new_from(&request.items[..self.item_count]);
        let new: Tokens = request.items[new_from..self.item_count].iter().map(|item| item.tokens).sum();
        let whole = self.render(request).tokens;
        let before_gap = 0..self.first_gap().start;
        let head: Tokens = before_gap.clone().skip(room.system_len()).map(|at| request.items[at].tokens).sum();
        let target = room.fixed() + room.kept_max().max(head + self.note_tokens + new);
        let is_old =
            |at: usize| at < new_from && !before_gap.contains(&at) && !files.contains(&at) && !self.is_dropped(at);
        if whole > target {
            let planner = self.planner(request, inputs, is_old);
            let edits = planner.plan_shortening(whole.saturating_sub(target));
            self.apply_edits(request, &edits, cut, inputs);
        }
    }

    fn planner(
        &self,
        request: &ClientRequest,
        inputs: CutInputs<'_>,
        is_kept: impl Fn(usize) -> bool,
    ) -> ShrinkPlanner {
        let lines: BTreeMap<BlockPos, Tokens> =
            self.shortened.iter().map(|(place, text)| (*place, inputs.counter.count(text))).collect();
        let is_gone = |place| self.orphans.contains(&place) || self.omitted.contains(&place);
        ShrinkPlanner::new(request, inputs.counter, is_kept, is_gone, &lines)
    }

    pub(super) fn shrink_to_fit(
        &mut self,
        request: &ClientRequest,
        cut: &CutEdits,
        inputs: CutInputs<'_>,
        bounds: &Bounds,
    ) -> Result<(), Tokens> {
        if self.render(request).tokens <= bounds.budget {
            return Ok(());
        }
        // Texts that were shortened before may have to be shorter.
        self.apply_edits(request, &Edits::default(), cut, inputs);
        let whole = self.render(request).tokens;
        let planner = self.planner(request, inputs, |at| !self.is_dropped(at) && at < self.item_count);
        let mut target = Room::of(request, bounds).high_water();
        for _ in 0..ATTEMPTS_MAX {
            let Some(edits) = planner.plan_edits(whole.saturating_sub(target)) else { break };
            self.apply_edits(request, &edits, cut, inputs);
            let tokens = self.render(request).tokens;
            if tokens <= bounds.budget {
                return Ok(());
            }
            target = target.saturating_sub(tokens.saturating_sub(bounds.budget) + ATTEMPT_MARGIN);
        }
        self.apply_edits(request, &planner.harshest_edits(), cut, inputs);
        if self.render(request).tokens > bounds.budget {
            // Not even the note fits.
            (self.note, self.note_tokens) = ("".into(), Tokens::ZERO);
        }
        let least = self.render(request).tokens;
        if least <= bounds.budget { Ok(()) } else { Err(least) }
    }

    /// Edits what `cut` left.
    fn apply_edits(&mut self, request: &ClientRequest, edits: &Edits, cut: &CutEdits, inputs: CutInputs<'_>) {
        self.omitted = edits.omitted.union(&cut.omitted).copied().collect();
        self.shortened.clone_from(&cut.lines);
        self.shortened.retain(|place, _| !edits.omitted.contains(place));
        for ((at, nth), max) in &edits.shortened {
            let item = &request.items[*at];
            let block = &item.blocks[*nth];
            let Some(text) = shortenable_text(block) else { continue };
            let handle = Handle::Turn((inputs.turn_of)(*at));
            let whole = JsonTokenCounter(inputs.counter).count(&text);
            let text = shorten(inputs.counter, (item.speaker, block), (&text, whole), &handle, *max);
            self.shortened.insert((*at, *nth), text.into());
        }
        self.place_notice(request);
        self.count_changed(request, inputs);
    }

    /// Puts the notice that the model's own messages are shown in part where it does not read it as its own.
    fn place_notice(&mut self, request: &ClientRequest) {
        let hides_own_words =
            self.shortened.keys().any(|(at, _)| request.items[*at].speaker == Speaker::Assistant);
        let question = request.items[..self.item_count].iter().rposition(HistoryItem::is_turn_start);
        self.notice_at = question.filter(|at| hides_own_words && !self.is_dropped(*at));
    }

    fn count_changed(&mut self, request: &ClientRequest, inputs: CutInputs<'_>) {
        let mut changed = BTreeMap::new();
        for (at, item) in
            request.items.iter().enumerate().take(self.item_count).filter(|(at, _)| !self.is_dropped(*at))
        {
            let (omitted, ..) = self.omitted_blocks(at, item);
            let shortened = self.shortened_in(at);
            if omitted.is_empty() && shortened.is_empty() {
                continue;
            }
            if omitted.len() == item.blocks.len() {
                changed.insert(at, Tokens::ZERO);
                continue;
            }
            let is_shortened = !shortened.is_empty();
            let tokens = (inputs.part_tokens)(&HistoryPart::Item { at, omitted, shortened, appended: None });
            // Part of an item may be counted elsewhere: without shortening, never count more than before.
            changed.insert(at, if is_shortened { tokens } else { tokens.min(item.tokens) });
        }
        self.changed_tokens = changed;
    }
}
