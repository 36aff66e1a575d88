//! Decides whether a request is forwarded unchanged, with the existing cut, or with a new one.

use super::chain::Chain;
use super::cut::{HistoryCut, choose_cut};
use super::cut_plan::CutPlan;
use super::cut_points::ToolPairs;
use super::prices::Prices;
use super::request::ClientRequest;
use crate::base::tokens::Tokens;
use crate::session::request_account::RequestClass;

/// A new cut must save at least this share of what is sent: less is not worth reading everything anew.
const GAIN_PERCENT: u64 = 15;
/// Share of the budget for recalled text.
const RECALL_PERCENT: u64 = 6;
const RECALL_MIN: Tokens = Tokens(64);

/// Token limits of a forwarded request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub budget: Tokens,
    /// Fullness at which a history is cut.
    pub high_percent: u64,
    pub prices: Prices,
}

impl Bounds {
    /// Cuts at 90 %, at the usual prices.
    pub fn new(budget: Tokens) -> Self {
        Self { budget, high_percent: 90, prices: Prices::default() }
    }

    pub fn high_water(&self) -> Tokens {
        self.budget.percent(self.high_percent)
    }

    /// At most half of what `sent` leaves. None if that is too little to recall anything.
    pub fn recall_budget(&self, sent: Tokens) -> Option<Tokens> {
        let left = self.budget.saturating_sub(sent);
        let budget = self.budget.percent(RECALL_PERCENT).min(Tokens(left.0 / 2));
        (budget >= RECALL_MIN).then_some(budget)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForwardDecision {
    Unchanged,
    ReuseCut,
    NewCut(HistoryCut),
    /// Nothing can be omitted, and it does not fit.
    TooLarge,
}

/// A tool loop is cut only when it must be: the model's thinking is bound to what it has read.
pub fn decide_forward(
    request: &ClientRequest,
    chain: &Chain,
    class: RequestClass,
    plan: Option<&CutPlan>,
    bounds: &Bounds,
) -> ForwardDecision {
    let limit = match class {
        RequestClass::MainTurn | RequestClass::Subagent => bounds.high_water(),
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
    if now <= limit || (is_retry && now <= bounds.budget) {
        return current;
    }
    match choose_cut(request, &ToolPairs::of(&request.items), bounds) {
        Some(cut) if now > bounds.budget || is_worth_cutting(&cut, now) => ForwardDecision::NewCut(cut),
        Some(_) | None if now <= bounds.budget => current,
        Some(_) | None => ForwardDecision::TooLarge,
    }
}

fn is_worth_cutting(cut: &HistoryCut, now: Tokens) -> bool {
    cut.kept_tokens + cut.note_budget <= now.saturating_sub(now.percent(GAIN_PERCENT))
}
