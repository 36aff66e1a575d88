//! Cuts requests while the store fails: by the same rules, without summaries and recall. Cuts stay in memory, so
//! that a conversation that was cut before keeps its prefix.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use neap_core::base::ids::TurnNo;
use neap_core::base::prompt;
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_core::client::{
    Bounds, Chain, CutInputs, CutPlan, ForwardDecision, HistoryCut, HistoryPart, Overflow, RequestClass,
    decide_forward,
};
use neap_model::compute::run_blocking;
use neap_model::wire::request::{CachedCounter, WireRequest};

use super::budgeting::{CUT_ATTEMPTS_MAX, RenderedRequest, overflow, render};
use super::plan::{IncomingRequest, RequestPlan};

const CUTS_MAX: usize = 256;

/// The latest cut of each history, identified by its digests, which begin with its tenant's (I11).
#[derive(Debug, Default)]
pub(super) struct CutPlanCache(Mutex<VecDeque<CutPlan>>);

impl CutPlanCache {
    pub(super) fn insert(&self, chain: &Chain, plan: &CutPlan) {
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        plans.retain(|other| !other.is_valid_for(chain));
        plans.push_back(plan.clone());
        if plans.len() > CUTS_MAX {
            plans.pop_front();
        }
    }

    fn find(&self, chain: &Chain) -> Option<CutPlan> {
        let plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        plans.iter().rev().find(|plan| plan.is_valid_for(chain)).cloned()
    }
}

pub(super) async fn fit_without_store(
    request: &Arc<WireRequest>,
    chain: &Chain,
    counts: &CachedCounter,
    incoming: &IncomingRequest<'_>,
    cuts: &CutPlanCache,
    plan: &mut RequestPlan,
) {
    let budgeter = StorelessBudgeter {
        request: request.clone(),
        chain: chain.clone(),
        counts: counts.clone(),
        budget: plan.budget.ours(),
        economy: incoming.economy,
    };
    let (class, known) = (plan.class, cuts.find(chain));
    match run_blocking(incoming.body.len(), move || budgeter.fit(class, known)).await {
        None => {}
        Some(Err(overflow)) => plan.overflow = Some(overflow),
        Some(Ok((mut cut_plan, rendered))) => {
            rendered.apply_to(plan);
            if plan.class.is_conversation() {
                cut_plan.mark_sent(chain);
                cuts.insert(chain, &cut_plan);
            }
        }
    }
}

struct StorelessBudgeter {
    request: Arc<WireRequest>,
    chain: Chain,
    counts: CachedCounter,
    budget: Tokens,
    economy: bool,
}

impl StorelessBudgeter {
    /// `None` if the request is sent unmodified.
    fn fit(
        &self,
        class: RequestClass,
        known: Option<CutPlan>,
    ) -> Option<Result<(CutPlan, RenderedRequest), Overflow>> {
        let (mut aim, mut first) = (self.budget, None);
        for _ in 0..CUT_ATTEMPTS_MAX {
            let overflow = match self.fit_to(aim, class, known.clone())? {
                Ok(bounded) => return Some(Ok(bounded)),
                Err(overflow) => overflow,
            };
            first.get_or_insert(overflow);
            let Some(lower) = overflow.lower_target(aim) else { break };
            aim = lower;
        }
        first.map(Err)
    }

    fn fit_to(
        &self,
        aim: Tokens,
        class: RequestClass,
        known: Option<CutPlan>,
    ) -> Option<Result<(CutPlan, RenderedRequest), Overflow>> {
        let Self { request, chain, counts, budget, economy } = self;
        let (parsed, counter) = (request.parsed(), counts.counter());
        let bounds = Bounds::of(parsed, aim, *economy);
        let cut = match decide_forward(parsed, chain, class, known.as_ref(), &bounds) {
            ForwardDecision::Unchanged => return None,
            ForwardDecision::ReuseCut => None,
            ForwardDecision::NewCut(cut) => Some(cut),
            ForwardDecision::TooLarge(needed) => return Some(Err(overflow(request, counts, needed, *budget))),
        };
        let number = known.as_ref().map_or(0, |known| known.epoch);
        let cut_plan = match &cut {
            None => known.ok_or(parsed.tokens()),
            Some(cut) => {
                let piece = |piece: &HistoryPart| request.piece_tokens(piece, counts);
                let inputs = CutInputs { counter, part_tokens: &piece, turn_of: &|_| TurnNo(0), is_stored: false };
                CutPlan::new(number + 1, (parsed, chain), cut, &omission_note(cut, counter), inputs, &bounds)
            }
        };
        let cut_plan = cut_plan.map_err(|least| overflow(request, counts, least, *budget));
        Some(
            cut_plan.and_then(|cut_plan| {
                render(request, &cut_plan, counts, *budget).map(|rendered| (cut_plan, rendered))
            }),
        )
    }
}

/// Empty if there is no room for it.
fn omission_note(cut: &HistoryCut, counter: &dyn TokenCounter) -> String {
    let count: usize = cut.dropped.iter().map(ExactSizeIterator::len).sum();
    let text = prompt::fill(prompt::HOST_LOG_UNRECORDED, &[("count", &count.to_string())]);
    if count > 0 && CutPlan::text_tokens(counter, &text) <= cut.note_budget { text } else { String::new() }
}
