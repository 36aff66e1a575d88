//! Sends a conversation as the proxy does: by the real decisions, with a note of words.

use super::*;
use crate::client::{ForwardDecision, RenderedHistory, classify, decide_forward, recall_budget};

pub(super) struct Drive {
    pub(super) request: ClientRequest,
    pub(super) bounds: Bounds,
    pub(super) plan: Option<CutPlan>,
    pub(super) cuts: usize,
    /// Most words of a note.
    pub(super) note_words: u64,
    /// Whether all is recalled, at each new turn, that may be.
    pub(super) recalls: bool,
}

pub(super) enum Sent {
    /// Cut before, or not at all.
    AsBefore(RenderedHistory),
    NewCut(RenderedHistory),
    /// With the budget, or the tokens, that it needs.
    Refused {
        fixed: bool,
        needed: Tokens,
    },
}

impl Drive {
    pub(super) fn new(fixed: u64, bounds: Bounds) -> Self {
        let request = ClientRequest { fixed_tokens: Tokens(fixed), ..request(Vec::new()) };
        Self { request, bounds, plan: None, cuts: 0, note_words: 400, recalls: false }
    }

    pub(super) fn send(&mut self) -> Sent {
        let request = &self.request;
        let chain = Chain::from_request(&tenant(), request);
        match decide_forward(request, &chain, classify(request), self.plan.as_ref(), &self.bounds) {
            ForwardDecision::Unchanged => Sent::AsBefore(whole(request)),
            ForwardDecision::ReuseCut => {
                let plan = self.plan.as_mut().expect("it is reused");
                plan.mark_sent(&chain);
                if self.recalls {
                    recall(request, plan, &self.bounds);
                }
                Sent::AsBefore(plan.render(request))
            }
            ForwardDecision::NewCut(cut) => {
                let room = CutPlan::page_budget(cut.note_budget).0;
                let words = if cut.dropped.is_empty() { 0 } else { room.min(self.note_words) };
                let note = "word ".repeat(words as usize);
                match make_plan(request, &cut, note.trim_end(), &self.bounds) {
                    Ok(mut plan) => {
                        self.cuts += 1;
                        if self.recalls {
                            recall(request, &mut plan, &self.bounds);
                        }
                        Sent::NewCut(self.plan.insert(plan).render(request))
                    }
                    Err(needed) => Sent::Refused { fixed: false, needed },
                }
            }
            ForwardDecision::TooLarge(needed) => Sent::Refused { fixed: true, needed },
        }
    }
}

/// As the proxy does for the newest turn, with words that no other turn has.
fn recall(request: &ClientRequest, plan: &mut CutPlan, bounds: &Bounds) {
    let Some(at) = plan.recall_target(request) else { return };
    let words = CutPlan::page_budget(recall_budget(request, plan, bounds).unasked).0;
    plan.add_recalled(at, &format!("turn{at} ").repeat(words as usize), &WordCounter);
}

pub(super) fn whole(request: &ClientRequest) -> RenderedHistory {
    let item = |at| HistoryPart::Item { at, omitted: Vec::new(), shortened: Vec::new(), appended: None };
    let parts = (0..request.items.len()).map(item).collect();
    RenderedHistory { parts, tokens: request.tokens(), changes: Default::default() }
}

/// Numbers for generated conversations.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}
