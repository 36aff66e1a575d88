//! Upkeep between turns, off the reply's path: summaries that cover closing exchanges, and those that the next turns
//! will need.

use std::collections::BTreeSet;

use super::compacting::{Compacting, Progress};
use super::concluding::{Concluded, Concluding};
use super::desk::Desk;
use super::step::{Input, Step};
use super::summing;
use crate::assemble::{Selection, ThisTurn};
use crate::event::Event;
use crate::ids::{EffortId, TurnNo};
use crate::ingest::Reach;
use crate::log::LogRequest;
use crate::message::{Counted, Scope};
use crate::summary::SummaryBy;
use crate::tokens::Tokens;
use crate::told::Told;
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
#[derive(Debug)]
pub struct Tending {
    what: Tended,
    by: SummaryBy,
    doing: Option<Doing>,
    /// Logs of which no summary could be made that is worth it.
    given_up: BTreeSet<Scope>,
    /// Efforts of which no summary could be made: the one of their conclusion stays (I12).
    left_as_is: BTreeSet<EffortId>,
    made: usize,
    is_loaded: bool,
}

/// A summary in the making.
#[derive(Debug)]
enum Doing {
    /// Of a stretch of a log.
    Compacting(Compacting),
    /// Of an effort, with the exchange of this turn, which closed it.
    Concluding(Concluding, TurnNo),
}

/// What is tended.
#[derive(Debug)]
enum Tended {
    /// The windows of a session, before its prompt is full.
    Session,
    /// A conversation that is told message by message, so that it fits.
    Told {
        room: Tokens,
        /// The exchange in flight.
        in_flight: Vec<Counted>,
    },
    /// A client's history, of which a part is left out.
    Heard(Reach),
}

impl Default for Tending {
    /// Of a session, by whoever is configured.
    fn default() -> Self {
        Self::new(Tended::Session, SummaryBy::Configured)
    }
}

impl Tending {
    /// Of a conversation that is told message by message: what is shown of it in a room of this size is made better.
    pub fn told(room: Tokens, by: SummaryBy, in_flight: Vec<Counted>) -> Self {
        Self::new(Tended::Told { room, in_flight }, by)
    }

    /// Of a client's history: what is left out of it gets summaries.
    pub fn heard(reach: Reach, by: SummaryBy) -> Self {
        Self::new(Tended::Heard(reach), by)
    }

    fn new(what: Tended, by: SummaryBy) -> Self {
        let (given_up, left_as_is) = (BTreeSet::new(), BTreeSet::new());
        Self { what, by, doing: None, given_up, left_as_is, made: 0, is_loaded: false }
    }

    /// Takes what the last step gave, and says what to do next.
    ///
    /// # Panics
    /// If the input does not answer the last step: that is a fault of the driver.
    pub fn step(&mut self, desk: &mut Desk<'_>, input: Input) -> TendStep {
        match (self.doing.take(), input) {
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
            (Some(Doing::Compacting(mut compacting)), input) => {
                let progress = compacting.step(desk, input);
                self.go_on(desk, compacting, progress)
            }
            (Some(Doing::Concluding(concluding, turn)), input) => self.conclude(desk, concluding, turn, input),
            (None, input) => panic!("the driver answered upkeep with {input:?}"),
        }
    }

    fn next(&mut self, desk: &mut Desk<'_>) -> TendStep {
        let unfinished = if self.made < WISHES_MAX { self.unfinished(desk) } else { None };
        if let Some((id, turn)) = unfinished {
            let (concluding, step) = Concluding::start(desk, id, Vec::new(), self.by);
            self.doing = Some(Doing::Concluding(concluding, turn));
            return TendStep::Ask(step);
        }
        let missing = self.missing(desk);
        if !missing.is_empty() && !self.is_loaded {
            return TendStep::Ask(Step::Load(missing));
        }
        let wish = if self.made < WISHES_MAX { self.due(desk) } else { None };
        let Some(wish) = wish else { return TendStep::Done(self.made) };
        let (compacting, progress) = Compacting::start(desk, wish, self.by);
        self.go_on(desk, compacting, progress)
    }

    fn go_on(&mut self, desk: &mut Desk<'_>, compacting: Compacting, progress: Progress) -> TendStep {
        match progress {
            Progress::Ask(step) => {
                self.doing = Some(Doing::Compacting(compacting));
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

    /// An effort whose summary was made while the turn that closed it went on, if that turn is over.
    fn unfinished(&self, desk: &Desk<'_>) -> Option<(EffortId, TurnNo)> {
        match &self.what {
            Tended::Session => {}
            Tended::Told { .. } | Tended::Heard(_) => return None,
        }
        let (state, head) = (&*desk.state, desk.state.head());
        let is_due = |id: &EffortId, turn: &TurnNo| {
            let is_concluded = state.effort(id).is_some_and(|effort| effort.is_concluded());
            is_concluded && !head.pending.contains_key(turn) && !self.left_as_is.contains(id)
        };
        let due = head.summaries_due.iter().find(|(id, turn)| is_due(id, turn));
        due.map(|(id, turn)| (id.clone(), *turn))
    }

    /// If the summary fails, the one of the conclusion stays (I12).
    fn conclude(
        &mut self,
        desk: &mut Desk<'_>,
        mut concluding: Concluding,
        turn: TurnNo,
        input: Input,
    ) -> TendStep {
        match concluding.step(desk, input) {
            summing::Progress::Ask(step) => {
                self.doing = Some(Doing::Concluding(concluding, turn));
                TendStep::Ask(step)
            }
            summing::Progress::Ready(Ok(Concluded { id, summary, receipt })) => {
                let event = Event::EffortSummarized { id, summary, turn, receipt: Some(receipt) };
                TendStep::Ask(Step::Commit(vec![desk.state.record(desk.now, event)]))
            }
            summing::Progress::Ready(Err(_)) => {
                self.left_as_is.insert(concluding.id().clone());
                self.next(desk)
            }
        }
    }

    fn missing(&self, desk: &Desk<'_>) -> Vec<LogRequest> {
        match &self.what {
            Tended::Session => desk.missing(&Selection::of(desk.state)),
            Tended::Told { room, .. } => match desk.logs.get(&Scope::Ambient) {
                Some(_) => Vec::new(),
                None => vec![LogRequest::newest(Scope::Ambient, *room)],
            },
            Tended::Heard(_) => Vec::new(),
        }
    }

    /// The first summary that is, or will soon be, needed.
    fn due(&self, desk: &Desk<'_>) -> Option<Wish> {
        let wishes = match &self.what {
            Tended::Session => due_soon(desk),
            Tended::Told { room, in_flight } => {
                let log = desk.logs.get(&Scope::Ambient)?;
                let told = Told { state: desk.state, log, in_flight, counter: desk.counter };
                told.show(*room).wish.into_iter().collect()
            }
            Tended::Heard(reach) => {
                reach.wish(desk.state, |scope| self.given_up.contains(scope)).into_iter().collect()
            }
        };
        wishes.into_iter().find(|wish| !self.given_up.contains(wish.scope()))
    }
}

/// What a session wants when its prompt, or its window, is nearly full.
fn due_soon(desk: &Desk<'_>) -> Vec<Wish> {
    let policy = desk.state.policy();
    let near = policy.window_prepare_percent;
    // Without a prompt that grows (a host runs the model, or nothing was sent yet), the window alone tells.
    let percent = if policy.rewrites_every_turn() || !desk.sent.is_growing() {
        near
    } else if desk.view().epoch_is_near(desk.sent, near, desk.now) {
        // A message comes on top: what is left then must do without another summary.
        (policy.epoch_low_percent * near / 100).max(1)
    } else {
        return Vec::new();
    };
    let assembled = desk.view().assemble(&Selection::of(desk.state), ThisTurn::default(), percent);
    assembled.map(|assembled| assembled.wishes).unwrap_or_default()
}
