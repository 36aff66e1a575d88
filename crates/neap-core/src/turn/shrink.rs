//! Upkeep of a conversation that is told message by message: the summaries without which it does not fit.

use super::compacting::{Compacting, Progress};
use super::desk::Desk;
use super::step::{Input, Step};
use super::tend::TendStep;
use crate::log::{Log, LogRequest};
use crate::message::{Counted, Scope};
use crate::summary::SummaryBy;
use crate::tokens::Tokens;
use crate::told::Told;

/// Summaries made in one go, at most.
const WISHES_MAX: usize = 16;

/// Upkeep in progress. It may be dropped at any time: what it committed stays, the rest was never there.
#[derive(Debug)]
pub struct Shrinking {
    room: Tokens,
    by: SummaryBy,
    /// The exchange in flight.
    in_flight: Vec<Counted>,
    compacting: Option<Compacting>,
    made: usize,
    /// No summary could be made that is worth it.
    given_up: bool,
}

impl Shrinking {
    /// Makes what is shown in a room of this size better, by summaries of this maker.
    pub fn new(room: Tokens, by: SummaryBy, in_flight: Vec<Counted>) -> Self {
        Self { room, by, in_flight, compacting: None, made: 0, given_up: false }
    }

    /// Takes what the last step gave, and says what to do next.
    ///
    /// # Panics
    /// If the input does not answer the last step: that is a fault of the driver.
    pub fn step(&mut self, desk: &mut Desk<'_>, input: Input) -> TendStep {
        match (self.compacting.take(), input) {
            (_, Input::Begin | Input::Stale) => self.next(desk),
            (None, Input::Committed) => {
                self.made += 1;
                self.next(desk)
            }
            (None, Input::Loaded(loaded)) => {
                desk.hold(loaded);
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
        let Some(log) = desk.logs.get(&Scope::Ambient) else {
            return TendStep::Ask(Step::Load(vec![LogRequest::newest(Scope::Ambient, self.room)]));
        };
        let wish = self.due(desk, log);
        let Some(wish) = wish else { return TendStep::Done(self.made) };
        let (compacting, progress) = Compacting::start(desk, wish, self.by);
        self.go_on(desk, compacting, progress)
    }

    fn due(&self, desk: &Desk<'_>, log: &Log) -> Option<crate::window::Wish> {
        if self.made >= WISHES_MAX || self.given_up {
            return None;
        }
        let told = Told { state: desk.state, log, in_flight: &self.in_flight, counter: desk.counter };
        told.show(self.room).wish
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
                self.given_up = true;
                TendStep::Done(self.made)
            }
        }
    }
}
