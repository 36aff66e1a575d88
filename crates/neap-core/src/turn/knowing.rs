//! What the agent knows, for this turn: looked up when what is loaded does not serve, and counted when it was used.

use super::desk::Desk;
use super::learning::{learn_input, learned};
use super::step::{Input, Outcome, Step};
use super::{Phase, Turn};
use crate::assemble::memory_room;
use crate::event::Event;
use crate::knowledge::{LoadCause, Loaded};
use crate::learn::{LearnInput, LearnStep, Learning, MemoryGiven, Use, Wish};
use crate::memory::{Body, Confidence, Fact, MemoryDraft, MemoryId, MemoryKind, Provenance};
use crate::standing::stated;

/// What standing instructions and preferences are about, as facts.
const STANDING: &str = "standing instruction";

impl Turn {
    /// Asks for what bears on the message, if what is loaded does not.
    pub(super) fn know(&mut self, desk: &mut Desk<'_>) -> Step {
        if let Some(reason) = self.check_input(desk) {
            return self.abandon(desk, reason);
        }
        let text = self.message.message.content.clone();
        let (state, now) = (&*desk.state, desk.now);
        match desk.mind.as_mut().and_then(|mind| mind.wants(state, &text, now)) {
            Some((cause, ask)) => {
                self.phase = Phase::Recalling { cause };
                Step::Recall(ask)
            }
            None => self.load(desk),
        }
    }

    /// Chooses from what was found.
    pub(super) fn known(&mut self, desk: &mut Desk<'_>, cause: LoadCause, given: MemoryGiven) -> Step {
        let MemoryGiven::Recalled(recalled) = given else { panic!("the driver gave versions for a search") };
        let text = self.message.message.content.clone();
        let room = memory_room(desk.state.policy(), desk.tools, desk.counter);
        let (state, counter, now) = (&*desk.state, desk.counter, desk.now);
        let loaded =
            desk.mind.as_mut().map(|mind| mind.choose(state, &text, &recalled, cause, room, counter, now));
        if let Some(loaded) = loaded {
            self.record_found(desk, Event::MemoriesLoaded { turn: self.turn, loaded: Box::new(loaded) });
        }
        self.load(desk)
    }

    /// Tells of memories that left for lack of room, once for as long as the same ones are out.
    pub(super) fn note_pressure(&mut self, desk: &mut Desk<'_>, pressed: Option<&Loaded>) {
        let is_new = desk.mind.as_mut().is_some_and(|mind| mind.known.note_pressed(pressed));
        if let (true, Some(left)) = (is_new, pressed) {
            self.record_found(desk, Event::MemoriesLoaded { turn: self.turn, loaded: Box::new(left.clone()) });
        }
    }

    /// Memories that the reply is the first to make use of; procedures among them count as followed.
    pub(super) fn note_uses(&mut self, desk: &mut Desk<'_>, reply: &str) -> Vec<MemoryId> {
        let used = desk.mind.as_mut().map_or_else(Vec::new, |mind| mind.known.note_used(reply));
        let followed = used.iter().filter(|id| id.kind() == MemoryKind::Procedure);
        self.uses.extend(followed.map(|id| (*id, Use::Activated)));
        used
    }

    /// The turn is durable: what it used is counted, and what the person wants to hold from now on is kept.
    pub(super) fn learn_from_it(&mut self, desk: &mut Desk<'_>, outcome: Box<Outcome>) -> Step {
        let uses = std::mem::take(&mut self.uses);
        self.wishes.extend((!uses.is_empty()).then_some(Wish::Use(uses)));
        if desk.mind.is_some() && outcome.reply.is_ok() {
            self.wishes.extend(self.standing(desk));
        }
        self.learn_next(desk, outcome)
    }

    fn learn_next(&mut self, desk: &mut Desk<'_>, outcome: Box<Outcome>) -> Step {
        match self.wishes.pop_front() {
            Some(wish) => self.go_on_counting(desk, Box::new(Learning::new(wish)), outcome, LearnInput::Begin),
            None => Step::Done(outcome),
        }
    }

    /// Standing instructions and preferences that the message states, as facts that are to be always loaded. Where nobody
    /// vouches that a person said them they are only proposed (see [`MemoryDraft::pinned`]).
    fn standing(&self, desk: &Desk<'_>) -> Vec<Wish> {
        let keep = |(nth, sentence): (usize, &str)| {
            let fact = Fact::new(STANDING, sentence, Confidence::FULL);
            let source = Some(format!("stated in turn {}, {}", self.turn, nth + 1));
            let (session, turn) = (desk.state.head().session.clone(), Some(self.turn));
            let by = Provenance { session, turn, source, ..Provenance::of(self.author) };
            Wish::Remember(Box::new(MemoryDraft { pinned: true, ..MemoryDraft::new(Body::Fact(fact), by) }))
        };
        stated(&self.message.message.content).into_iter().enumerate().map(keep).collect()
    }

    pub(super) fn count_uses(
        &mut self,
        desk: &mut Desk<'_>,
        learning: Box<Learning>,
        outcome: Box<Outcome>,
        input: Input,
    ) -> Step {
        self.go_on_counting(desk, learning, outcome, learn_input(input))
    }

    fn go_on_counting(
        &mut self,
        desk: &mut Desk<'_>,
        mut learning: Box<Learning>,
        mut outcome: Box<Outcome>,
        input: LearnInput,
    ) -> Step {
        let Some(mut agent) = desk.agent() else { return Step::Done(outcome) };
        let step = match learning.step(&mut agent, input) {
            LearnStep::Ask(ask) => Step::Recall(ask),
            LearnStep::Commit(events) => Step::Learn(events),
            LearnStep::Done(answer) => {
                outcome.banners.extend(learned(&answer).banner);
                return self.learn_next(desk, outcome);
            }
        };
        self.phase = Phase::Counting { learning, outcome };
        step
    }
}
