//! Requests while the store fails: bounded by the same rules, from what stands in the request alone.
//!
//! What is left out has no summaries and nothing is recalled; a note says so. Cuts are kept in memory, so that a conversation that was
//! cut before goes on as it was cut.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use neap_core::ids::TurnNo;
use neap_core::ingest::{Bounds, Chain, Costs, Cut, Decision, Frozen, Piece, decide};
use neap_core::prompt;
use neap_core::tokens::{TokenCounter, Tokens};
use neap_model::wire::heard::{Counts, Request};

use super::bounding::{overflow, render};
use super::plan::Plan;

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
pub(super) fn bound_without_store(
    request: &Request,
    chain: &Chain,
    counts: &Counts,
    budget: Tokens,
    cuts: &Cuts,
    plan: &mut Plan,
) {
    let (heard, counter, bounds) = (request.heard(), counts.counter(), Bounds::new(budget));
    let known = cuts.of(chain);
    let cut = match decide(heard, chain, plan.class, known.as_ref(), &bounds) {
        Decision::Unchanged => return,
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
    match frozen {
        Err(least) => plan.overflow = Some(overflow(request, counts, least, budget)),
        Ok(mut frozen) => {
            if render(request, &frozen, counts, budget, plan) && plan.class.is_conversation() {
                frozen.send(chain);
                cuts.keep(chain, &frozen);
            }
        }
    }
}

/// Stands for what is left out; nothing where there is no room for it.
fn note(cut: &Cut, counter: &dyn TokenCounter) -> String {
    let count: usize = cut.dropped.iter().map(ExactSizeIterator::len).sum();
    let text = prompt::fill(prompt::TOLD_UNRECORDED, &[("count", &count.to_string())]);
    if count > 0 && Frozen::cost(counter, &text) <= cut.room { text } else { String::new() }
}
