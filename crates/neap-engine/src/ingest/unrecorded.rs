//! Requests while the store fails: bounded by the same rules, from what stands in the request alone.
//!
//! What is left out has no summaries and nothing is recalled; a note says so. Cuts are kept in memory, so that a conversation that was
//! cut before goes on as it was cut.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use neap_core::ids::TurnNo;
use neap_core::ingest::{Bounds, Chain, Class, Costs, Cut, Decision, Frozen, Overflow, Piece, decide};
use neap_core::prompt;
use neap_core::tokens::{TokenCounter, Tokens};
use neap_model::compute::off_worker;
use neap_model::wire::heard::{Counts, Request};

use super::bounding::{AIMS_MAX, Rendered, overflow, render};
use super::plan::{Incoming, Plan};

/// Cuts that are kept, at most.
const CUTS_MAX: usize = 256;

/// How histories were cut last. They are known by their own digests, which begin with their tenant's (I11).
#[derive(Debug, Default)]
pub(super) struct Cuts(Mutex<VecDeque<Frozen>>);

impl Cuts {
    /// Keeps how a history is cut, in place of how it was.
    pub(super) fn keep(&self, chain: &Chain, cut: &Frozen) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| !other.holds(chain));
        kept.push_back(cut.clone());
        if kept.len() > CUTS_MAX {
            kept.pop_front();
        }
    }

    fn of(&self, chain: &Chain) -> Option<Frozen> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().find(|cut| cut.holds(chain)).cloned()
    }
}

/// Puts into the plan what is sent of a request that is all there is to go by.
pub(super) async fn bound_without_store(
    request: &Arc<Request>,
    chain: &Chain,
    counts: &Counts,
    incoming: &Incoming<'_>,
    cuts: &Cuts,
    plan: &mut Plan,
) {
    let bounding =
        Alone { request: request.clone(), chain: chain.clone(), counts: counts.clone(), budget: incoming.budget };
    let (class, known) = (plan.class, cuts.of(chain));
    match off_worker(incoming.body.len(), move || bounding.bounded(class, known)).await {
        None => {}
        Some(Err(overflow)) => plan.overflow = Some(overflow),
        Some(Ok((mut frozen, rendered))) => {
            rendered.put(plan);
            if plan.class.is_conversation() {
                frozen.send(chain);
                cuts.keep(chain, &frozen);
            }
        }
    }
}

/// A request by itself.
struct Alone {
    request: Arc<Request>,
    chain: Chain,
    counts: Counts,
    budget: Tokens,
}

impl Alone {
    /// How it is cut, and what is sent; none if it is sent as it came.
    fn bounded(&self, class: Class, known: Option<Frozen>) -> Option<Result<(Frozen, Rendered), Overflow>> {
        let (mut aim, mut first) = (self.budget, None);
        for _ in 0..AIMS_MAX {
            let overflow = match self.bounded_to(aim, class, known.clone())? {
                Ok(bounded) => return Some(Ok(bounded)),
                Err(overflow) => overflow,
            };
            first.get_or_insert(overflow);
            let Some(lower) = overflow.lower_aim(aim) else { break };
            aim = lower;
        }
        first.map(Err)
    }

    /// The same, cut to `aim`.
    fn bounded_to(
        &self,
        aim: Tokens,
        class: Class,
        known: Option<Frozen>,
    ) -> Option<Result<(Frozen, Rendered), Overflow>> {
        let Self { request, chain, counts, budget } = self;
        let (heard, counter, bounds) = (request.heard(), counts.counter(), Bounds::new(aim));
        let cut = match decide(heard, chain, class, known.as_ref(), &bounds) {
            Decision::Unchanged => return None,
            Decision::Grow => None,
            Decision::Rewrite(cut) => Some(cut),
            Decision::TooLarge => Some(Cut { dropped: Vec::new(), room: Tokens::ZERO, kept: heard.tokens() }),
        };
        let number = known.as_ref().map_or(0, |known| known.number);
        let frozen = match &cut {
            None => known.ok_or(heard.tokens()),
            Some(cut) => {
                let piece = |piece: &Piece| request.piece_tokens(piece, counts);
                let costs = Costs { counter, piece: &piece, turn_of: &|_| TurnNo(0) };
                Frozen::new(number + 1, (heard, chain), cut, &note(cut, counter), costs, &bounds)
            }
        };
        let frozen = frozen.map_err(|least| overflow(request, counts, least, *budget));
        Some(
            frozen.and_then(|frozen| render(request, &frozen, counts, *budget).map(|rendered| (frozen, rendered))),
        )
    }
}

/// Stands for what is left out; nothing where there is no room for it.
fn note(cut: &Cut, counter: &dyn TokenCounter) -> String {
    let count: usize = cut.dropped.iter().map(ExactSizeIterator::len).sum();
    let text = prompt::fill(prompt::TOLD_UNRECORDED, &[("count", &count.to_string())]);
    if count > 0 && Frozen::cost(counter, &text) <= cut.room { text } else { String::new() }
}
