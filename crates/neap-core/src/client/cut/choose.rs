//! Chooses what to omit from a history: what is stale, whole turns from its middle and, only if needed, rounds of the
//! current turn. Files in work stay, also where the turn that read them goes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::history_cut::HistoryCut;
use super::limits::CutLimits;
use super::outline::Outline;
use super::points::BlockPos;
use super::stale::StaleReason;
use crate::base::tokens::Tokens;
use crate::client::request::ClientRequest;

/// Keeps as much as `limits` allow. None if nothing can be omitted.
pub(super) fn choose_cut(
    request: &ClientRequest,
    outline: &Outline<'_>,
    limits: &CutLimits,
    spent_before: u64,
) -> Option<HistoryCut> {
    let CutLimits { head, note: note_budget, low, high, kept_max, .. } = *limits;
    let end = outline.items.len();
    let gaps = outline.gaps(head, end, low, high);
    let tail_start = gaps.iter().find(|gap| !gap.is_empty()).map_or(0, |gap| gap.end);
    let gaps: Vec<Range<usize>> = gaps.into_iter().filter(|gap| !gap.is_empty()).collect();
    let in_gaps: Tokens = gaps.iter().map(|gap| outline.lean_sizes.range(gap.clone())).sum();
    let tail = outline.lean_sizes.range(head..end).saturating_sub(in_gaps);
    let islands = Islands::choose(outline, &gaps, (tail, low, kept_max));
    let (dropped, omitted) = islands.cut_out_of(outline, &gaps);
    let is_sent = |place: &BlockPos| {
        !omitted.contains(place) && !dropped.iter().any(|gap: &Range<usize>| gap.contains(&place.0))
    };
    let stale = outline.stale.blocks.iter().filter(|(place, _)| is_sent(place));
    let stale: BTreeMap<BlockPos, StaleReason> = stale.map(|(place, block)| (*place, block.reason)).collect();
    let trailing: Tokens = request.items[end..].iter().map(|item| item.tokens).sum();
    let kept_tokens = request.fixed_tokens + trailing + outline.lean_sizes.range(0..head) + tail + islands.tokens;
    let edited = outline.stale.in_work.iter().filter(|file| file.is_edited);
    let places = edited.flat_map(|file| &file.pairs).flat_map(|(call, result)| [call.0, result.0]);
    let files = places.filter(|at| !dropped.iter().any(|gap: &Range<usize>| gap.contains(at))).collect();
    let cut = HistoryCut { dropped, tail_start, omitted, files, stale, note_budget, kept_tokens, spent_before };
    (!cut.dropped.is_empty() || !cut.stale.is_empty()).then_some(cut)
}

/// Calls and results within the omitted ranges that stay: they have the content of files in work.
#[derive(Default)]
struct Islands {
    places: BTreeSet<BlockPos>,
    tokens: Tokens,
}

impl Islands {
    /// The files that were edited lately, as long as all that is kept stays within `kept_max`; then those that were
    /// read lately, within `low`.
    fn choose(
        outline: &Outline<'_>,
        gaps: &[Range<usize>],
        (tail, low, kept_max): (Tokens, Tokens, Tokens),
    ) -> Self {
        let is_omitted = |at: usize| gaps.iter().any(|gap| gap.contains(&at));
        let mut islands = Self::default();
        for file in &outline.stale.in_work {
            let limit = if file.is_edited { kept_max } else { low };
            let tokens = outline.file_tokens(file, is_omitted);
            if tail + islands.tokens + tokens > limit {
                continue;
            }
            let places = file.pairs.iter().flat_map(|(call, result)| [*call, *result]);
            let new: BTreeSet<BlockPos> = places.filter(|(at, _)| is_omitted(*at)).collect();
            islands.tokens += tokens;
            islands.places.extend(new);
        }
        islands
    }

    /// The omitted ranges without the islands' items, and the blocks of those items that are omitted all the same.
    fn cut_out_of(&self, outline: &Outline<'_>, gaps: &[Range<usize>]) -> (Vec<Range<usize>>, BTreeSet<BlockPos>) {
        let mut dropped = Vec::new();
        let mut omitted = BTreeSet::new();
        let kept: BTreeSet<usize> = self.places.iter().map(|(at, _)| *at).collect();
        for gap in gaps {
            let mut from = gap.start;
            for at in kept.range(gap.clone()) {
                dropped.push(from..*at);
                from = at + 1;
                let blocks = (0..outline.items[*at].blocks.len()).map(|nth| (*at, nth));
                omitted.extend(blocks.filter(|place| !self.places.contains(place)));
            }
            dropped.push(from..gap.end);
        }
        dropped.retain(|gap| !gap.is_empty());
        (dropped, omitted)
    }
}
