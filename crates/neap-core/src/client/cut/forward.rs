//! Decides whether a request is forwarded unchanged, with the existing cut, or with a new one.

use super::bounds::Bounds;
use super::choose::choose_cut;
use super::economy::{does_cut_pay, may_cut_early};
use super::history_cut::HistoryCut;
use super::limits::CutLimits;
use super::outline::Outline;
use super::plan::CutPlan;
use super::room::Room;
use super::spending::Spending;
use crate::base::tokens::Tokens;
use crate::client::chain::Chain;
use crate::client::recall_need::RecallBudget;
use crate::client::request::ClientRequest;
use crate::session::request_account::RequestClass;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForwardDecision {
    Unchanged,
    ReuseCut,
    NewCut(HistoryCut),
    /// It does not fit, and its fixed part leaves no room for a history: the smallest budget that would.
    TooLarge(Tokens),
}

/// A tool loop is cut only when it must be: the model's thinking is bound to what it has read. Whether a request is too
/// large follows from its fixed part alone: then it stays so, however the conversation goes on.
pub fn decide_forward(
    request: &ClientRequest,
    chain: &Chain,
    class: RequestClass,
    plan: Option<&CutPlan>,
    bounds: &Bounds,
) -> ForwardDecision {
    let room = Room::of(request, bounds);
    let limit = match class {
        RequestClass::MainTurn | RequestClass::Subagent => room.high_water(),
        RequestClass::ToolLoop
        | RequestClass::ClientCompaction
        | RequestClass::Title
        | RequestClass::CountTokens
        | RequestClass::Prewarm
        | RequestClass::Unsure => bounds.budget,
    };
    let plan = plan.filter(|plan| plan.is_valid_for(chain));
    let now = plan.map_or_else(|| request.tokens(), |plan| plan.render(request).tokens);
    let current = if plan.is_some() { ForwardDecision::ReuseCut } else { ForwardDecision::Unchanged };
    let is_retry = plan.is_some_and(|plan| plan.was_sent(chain));
    let must_cut = now > bounds.budget;
    let is_full = now > limit;
    let is_early = bounds.economy && !is_full && may_cut_early(request, class);
    if !must_cut && (is_retry || !(is_full || is_early)) {
        return current;
    }
    if let Some(needed) = room.budget_needed() {
        return if must_cut { ForwardDecision::TooLarge(needed) } else { current };
    }
    let (outline, spending) = (Outline::of(request), Spending::of(request, plan, bounds));
    let limits = CutLimits::of(&outline, &room, bounds, &spending);
    if is_early && !does_cut_pay(&outline, &limits, &spending, plan, bounds.prices) {
        return current;
    }
    match choose_cut(request, &outline, &limits, spending.before()) {
        Some(cut) if is_early && cut.kept_tokens > limits.affordable => current,
        Some(cut) if must_cut || room.is_deep(cut.kept_tokens + cut.note_budget) => ForwardDecision::NewCut(cut),
        None if must_cut => ForwardDecision::NewCut(HistoryCut::nothing(request, plan, bounds)),
        Some(_) | None => current,
    }
}

/// How much may be recalled for this request, in either case at most half of what is left of the room. What a message
/// does not ask for is also limited by the bound on the cost, except where a client's own compaction lost it.
pub fn recall_budget(request: &ClientRequest, plan: &CutPlan, bounds: &Bounds) -> RecallBudget {
    let sent = plan.render(request).tokens;
    let left = bounds.budget.saturating_sub(sent);
    let asked = Room::of(request, bounds).recall_max().min(Tokens(left.0 / 2));
    let at = plan.recall_target(request).filter(|_| plan.tail_start().is_some());
    let affordable = at.map(|at| Spending::of(request, Some(plan), bounds).recall_allowance(plan, at));
    // With more than was left out, every later request would cost more than the same one sent whole.
    let affordable = affordable.map(|affordable| affordable.min(request.tokens().saturating_sub(sent)));
    RecallBudget { asked, unasked: asked.min(affordable.unwrap_or(asked)) }
}
