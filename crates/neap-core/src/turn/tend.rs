//! Upkeep between turns, off the reply's path: the summaries that the next turns will need.

use std::collections::BTreeSet;

use super::compacting::{Compacting, Progress};
use super::desk::Desk;
use super::step::{Input, Step};
use crate::assemble::{Selection, ThisTurn};
use crate::message::Scope;
use crate::summary::SummaryBy;
use crate::window::Wish;

/// Summaries made in one go, at most.
const WISHES_MAX: usize = 16;

/// What upkeep asks for.
#[derive(Debug)]
pub enum TendStep {
    /// To be performed as in a turn.
    Ask(Step),
    /// Nothing is left to do; so many summaries were made.
    Done(usize),
}

/// Upkeep in progress. It may be dropped at any time: what it committed stays, the rest was never there.
#[derive(Debug, Default)]
pub struct Tending {
    compacting: Option<Compacting>,
    /// Logs of which no summary could be made that is worth it.
    given_up: BTreeSet<Scope>,
    made: usize,
    is_loaded: bool,
}

impl Tending {
    /// Takes what the last step gave, and says what to do next.
    ///
    /// # Panics
    /// If the input does not answer the last step: that is a fault of the driver.
    pub fn step(&mut self, desk: &mut Desk<'_>, input: Input) -> TendStep {
        match (self.compacting.take(), input) {
            (_, Input::Begin | Input::Stale) => {
                self.is_loaded = false;
                self.next(desk)
            }
            (None, Input::Committed) => {
                self.made += 1;
                self.next(desk)
            }
            (None, Input::Loaded(loaded)) => {
                desk.hold(loaded);
                self.is_loaded = true;
                self.next(desk)
            }
            (Some(mut compacting), input) => {
                let progress = compacting.step(desk, input);
                self.go_on(desk, compacting, progress)
            }
            (None, input) => panic!("the driver answered upkeep with {input:?}"),
        }
    }

    fn next(&mut self, desk: &mut Desk<'_>) -> TendStep {
        let missing = desk.missing(&Selection::of(desk.state));
        if !missing.is_empty() && !self.is_loaded {
            return TendStep::Ask(Step::Load(missing));
        }
        let wish = if self.made < WISHES_MAX { self.due(desk) } else { None };
        let Some(wish) = wish else { return TendStep::Done(self.made) };
        let (compacting, progress) = Compacting::start(desk, wish, SummaryBy::Configured);
        self.go_on(desk, compacting, progress)
    }

    fn go_on(&mut self, desk: &mut Desk<'_>, compacting: Compacting, progress: Progress) -> TendStep {
        match progress {
            Progress::Ask(step) => {
                self.compacting = Some(compacting);
                TendStep::Ask(step)
            }
            Progress::Finished(Some(event)) => {
                TendStep::Ask(Step::Commit(vec![desk.state.record(desk.now, event)]))
            }
            Progress::Finished(None) => {
                self.given_up.insert(compacting.scope().clone());
                self.next(desk)
            }
        }
    }

    /// The first summary that will soon be needed: when the prompt, or its window, is nearly full.
    fn due(&self, desk: &Desk<'_>) -> Option<Wish> {
        let policy = desk.state.policy();
        let near = policy.window_prepare_percent;
        // Without a prompt that grows (a host runs the model, or nothing was sent yet), the window alone tells.
        let percent = if policy.rewrites_every_turn() || !desk.sent.is_growing() {
            near
        } else if desk.sent.tokens() >= policy.context_budget().percent(near) {
            policy.epoch_low_percent
        } else {
            return None;
        };
        let assembled = desk.view().assemble(&Selection::of(desk.state), ThisTurn::default(), percent).ok()?;
        assembled.wishes.into_iter().find(|wish| !self.given_up.contains(wish.scope()))
    }
}
