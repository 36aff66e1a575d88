//! When a cut pays before the budget is full: as soon as carrying what it would omit has cost what it costs. Then the
//! conversation never costs more than twice as much as with the best cuts in hindsight.

use super::limits::CutLimits;
use super::outline::Outline;
use super::plan::CutPlan;
use super::prices::Prices;
use super::spending::Spending;
use crate::base::tokens::Tokens;
use crate::client::request::{ClientRequest, ContentBlock};
use crate::session::request_account::RequestClass;

/// The model's thinking is bound to what it has read: a loop with thinking goes on uncut.
pub(super) fn may_cut_early(request: &ClientRequest, class: RequestClass) -> bool {
    match class {
        RequestClass::MainTurn | RequestClass::Subagent => true,
        RequestClass::ToolLoop => {
            let of_turn = request.items.iter().rev().take_while(|item| !item.is_turn_start());
            !of_turn.flat_map(|item| item.blocks.iter()).any(|block| matches!(block, ContentBlock::Thinking))
        }
        RequestClass::ClientCompaction
        | RequestClass::Title
        | RequestClass::CountTokens
        | RequestClass::Prewarm
        | RequestClass::Unsure => false,
    }
}

/// What a cut costs is the least that it would have cost at any request since the last one: a bound that holds for
/// every sequence of requests needs the least, not the newest.
pub(super) fn does_cut_pay(
    outline: &Outline<'_>,
    limits: &CutLimits,
    spending: &Spending,
    plan: Option<&CutPlan>,
    prices: Prices,
) -> bool {
    let cut_at = plan.map_or(0, CutPlan::item_count);
    let since = spending.ends().partition_point(|end| *end <= cut_at);
    let (mut carried, mut least) = (0, u64::MAX);
    for end in &spending.ends()[since..] {
        let gaps = outline.gaps(limits.head, *end, limits.low, limits.high);
        let in_gaps: Tokens = gaps.into_iter().map(|gap| spending.sent_tokens(gap)).sum();
        let omittable = in_gaps.saturating_sub(limits.note);
        if omittable.is_zero() {
            continue;
        }
        let tail = spending.sent_tokens(limits.head..*end).saturating_sub(in_gaps);
        carried += omittable.0 * prices.cache_read;
        least = least.min((limits.note + tail).0 * prices.cache_write.saturating_sub(prices.cache_read));
    }
    limits.is_affordable && carried >= least
}
