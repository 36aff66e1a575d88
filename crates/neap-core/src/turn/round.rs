//! A round of tool calls: carried out one after the other, committed with their effects in one piece.

use std::collections::BTreeMap;

use super::censoring::Checked;
use super::desk::Desk;
use super::intake;
use super::perform::{Caller, Performed, Performing, Progress};
use super::step::{Input, Step};
use super::{Phase, Turn};
use crate::event::{Event, RoundVisibility};
use crate::message::{Message, ToolCall, ToolRound};

/// One round of tool calls, as far as it has come. Kept until it is committed, to be decided again if stale.
#[derive(Debug)]
pub(super) struct Round {
    text: String,
    calls: Vec<ToolCall>,
    performing: Option<Performing>,
    performed: Vec<Performed>,
    /// Calls that had effects outside the session, as they came out: they are never carried out twice.
    kept: BTreeMap<usize, Performed>,
    /// What rules say about the calls, for the model to read.
    notes: Vec<String>,
}

impl Round {
    pub(super) fn new(text: String, calls: Vec<ToolCall>) -> Self {
        Self { text, calls, performing: None, performed: Vec::new(), kept: BTreeMap::new(), notes: Vec::new() }
    }
}

impl Turn {
    pub(super) fn call(&mut self, desk: &mut Desk<'_>, mut round: Box<Round>, mut input: Input) -> Step {
        let performing = round.performing.as_mut().expect("a call is being performed in this phase");
        if let Input::ToolAnswered { text, seal } = &mut input {
            let bytes = text.len();
            *text = intake::limit(std::mem::take(text), desk.state.policy());
            // A seal is of the whole text; it would not fit what is left.
            *seal = seal.take().filter(|_| text.len() == bytes);
        }
        let progress = performing.step(desk, input);
        self.progress(desk, round, progress)
    }

    pub(super) fn start_next_call(&mut self, desk: &mut Desk<'_>, mut round: Box<Round>) -> Step {
        let at = round.performed.len();
        if let Some(performed) = round.kept.get(&at).cloned() {
            return self.progress(desk, round, Progress::Finished(performed));
        }
        match self.check_call(desk, &round.calls[at]) {
            Checked::Passed => {}
            Checked::Steered(note) => round.notes.push(note),
            Checked::Refused(refusal) => {
                let performed = Performed::refused(&refusal);
                return self.progress(desk, round, Progress::Finished(performed));
            }
            Checked::Ended(reason) => return self.abandon(desk, reason),
        }
        let caller = Caller::InTurn { said: self.said_so_far(&round.text) };
        let (performing, progress) = Performing::start(desk, self.turn, caller, round.calls[at].clone());
        round.performing = Some(performing);
        self.progress(desk, round, progress)
    }

    fn progress(&mut self, desk: &mut Desk<'_>, mut round: Box<Round>, progress: Progress) -> Step {
        let performed = match progress {
            Progress::Ask(step) => {
                self.phase = Phase::Calling(round);
                return step;
            }
            Progress::Finished(performed) => performed,
        };
        round.performing = None;
        if performed.once {
            round.kept.insert(round.performed.len(), performed.clone());
        }
        if let Some(event) = performed.event.clone() {
            self.record(desk, event);
        }
        round.performed.push(performed);
        if round.performed.len() < round.calls.len() {
            return self.start_next_call(desk, round);
        }
        let (tool_round, visibility) = self.tool_round(desk, &round);
        self.record(desk, Event::ToolsCalled { turn: self.turn, round: tool_round, visibility });
        self.commit(Phase::Called(round))
    }

    /// Effects, calls and results were committed together; now they count.
    pub(super) fn called(&mut self, desk: &mut Desk<'_>, round: Round) -> Step {
        self.rounds.push(self.tool_round(desk, &round));
        self.calls_made += round.calls.len() as u64;
        for performed in round.performed {
            self.banners.extend(performed.banner);
            self.refusals.extend(performed.refusal);
            self.touched.extend(performed.touched);
        }
        self.load(desk)
    }

    pub(super) fn call_again(&mut self, desk: &mut Desk<'_>, round: Round) -> Step {
        self.start_next_call(
            desk,
            Box::new(Round { performing: None, performed: Vec::new(), notes: Vec::new(), ..round }),
        )
    }

    fn tool_round(&self, desk: &Desk<'_>, round: &Round) -> (ToolRound, RoundVisibility) {
        let assistant = Message { tool_calls: round.calls.clone(), ..Message::assistant(round.text.as_str()) };
        let results = round.calls.iter().zip(&round.performed);
        let results = results.map(|(call, done)| desk.count(Message::tool(call.id.as_str(), done.text.as_str())));
        let seals = round.performed.iter().filter_map(|done| done.seal.clone()).collect();
        let results = results.collect();
        let notes = round.notes.iter().map(|note| desk.count(Message::user(note.as_str()))).collect();
        let whole = ToolRound { assistant: desk.count(assistant), results, seals, notes };
        debug_assert!(whole.is_whole(), "I7: each call has its result");
        let visibility = match round.performed.iter().any(|performed| performed.by_host) {
            true => RoundVisibility::Transcript,
            false => RoundVisibility::ThisTurn,
        };
        (whole, visibility)
    }
}
