//! What a cut omits from a history.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::bounds::Bounds;
use super::plan::CutPlan;
use super::points::BlockPos;
use super::spending::Spending;
use super::stale::StaleReason;
use crate::base::tokens::Tokens;
use crate::client::request::ClientRequest;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryCut {
    /// Omitted items, in order; the note replaces the first range.
    pub dropped: Vec<Range<usize>>,
    /// The first item behind the omitted turns.
    pub(super) tail_start: usize,
    /// Omitted blocks of items that stay for the sake of a file in work.
    pub(super) omitted: BTreeSet<BlockPos>,
    /// Items with files in work, which are shortened only if nothing else helps.
    pub(super) files: BTreeSet<usize>,
    /// Blocks that a line replaces.
    pub(super) stale: BTreeMap<BlockPos, StaleReason>,
    pub note_budget: Tokens,
    /// Tokens of what is kept, the fixed part included.
    pub kept_tokens: Tokens,
    /// What earlier requests cost ([`super::spending`]).
    pub(super) spent_before: u64,
}

impl HistoryCut {
    /// Omits nothing; what does not fit is shortened. `plan` is the cut that held before.
    pub fn nothing(request: &ClientRequest, plan: Option<&CutPlan>, bounds: &Bounds) -> Self {
        let spent_before = Spending::of(request, plan, bounds).before();
        Self { kept_tokens: request.tokens(), spent_before, ..Self::default() }
    }
}
