//! A round of tool calls: run one after the other, committed atomically with their effects.

use std::collections::BTreeMap;

use super::censor_checks::CallVerdict;
use super::context::TurnContext;
use super::limits;
use super::step::{Input, Progress, TurnProgress};
use super::tool_execution::{CallOrigin, ToolExecution, ToolOutcome, ToolProgress};
use super::{Phase, Turn};
use crate::base::message::{Message, ToolCall, ToolRound};
use crate::session::event::{RoundVisibility, TurnEvent};

/// A round in progress. Retained until it is committed, to be decided again if stale.
#[derive(Debug)]
pub(super) struct PendingRound {
    text: String,
    calls: Vec<ToolCall>,
    execution: Option<ToolExecution>,
    outcomes: Vec<ToolOutcome>,
    /// Outcomes of calls with effects outside the session, which are never run twice.
    side_effect_outcomes: BTreeMap<usize, ToolOutcome>,
    /// What censors say about the calls, for the model to read.
    notes: Vec<String>,
}

impl PendingRound {
    pub(super) fn new(text: String, calls: Vec<ToolCall>) -> Self {
        Self {
            text,
            calls,
            execution: None,
            outcomes: Vec::new(),
            side_effect_outcomes: BTreeMap::new(),
            notes: Vec::new(),
        }
    }
}

impl Turn {
    pub(super) fn step_call(
        &mut self,
        cx: &mut TurnContext<'_>,
        mut round: Box<PendingRound>,
        mut input: Input,
    ) -> TurnProgress {
        let execution = round.execution.as_mut().expect("a call is being performed in this phase");
        if let Input::ToolAnswered { text, seal } = &mut input {
            let bytes = text.len();
            *text = limits::truncate_message(std::mem::take(text), cx.state.policy());
            // A seal covers the whole text, so it does not fit a truncated one.
            *seal = seal.take().filter(|_| text.len() == bytes);
        }
        let progress = execution.step(cx, input);
        self.apply_progress(cx, round, progress)
    }

    pub(super) fn start_next_call(
        &mut self,
        cx: &mut TurnContext<'_>,
        mut round: Box<PendingRound>,
    ) -> TurnProgress {
        let at = round.outcomes.len();
        if let Some(outcome) = round.side_effect_outcomes.get(&at).cloned() {
            return self.apply_progress(cx, round, ToolProgress::Finished(outcome));
        }
        match self.check_call(cx, &round.calls[at]) {
            CallVerdict::Allowed => {}
            CallVerdict::Steered(note) => round.notes.push(note),
            CallVerdict::Refused(refusal) => {
                let outcome = ToolOutcome::refused(&refusal);
                return self.apply_progress(cx, round, ToolProgress::Finished(outcome));
            }
            CallVerdict::Aborted(reason) => return self.abandon(cx, reason),
        }
        let caller = CallOrigin::InTurn { messages: self.messages_so_far(&round.text) };
        let (execution, progress) = ToolExecution::start(cx, self.turn, caller, round.calls[at].clone());
        round.execution = Some(execution);
        self.apply_progress(cx, round, progress)
    }

    fn apply_progress(
        &mut self,
        cx: &mut TurnContext<'_>,
        mut round: Box<PendingRound>,
        progress: ToolProgress,
    ) -> TurnProgress {
        let outcome = match progress {
            ToolProgress::Ask(step) => {
                self.phase = Phase::CallingTools(round);
                return Progress::Perform(step);
            }
            ToolProgress::Finished(outcome) => outcome,
        };
        round.execution = None;
        if outcome.has_side_effects {
            round.side_effect_outcomes.insert(round.outcomes.len(), outcome.clone());
        }
        if let Some(event) = outcome.event.clone() {
            self.record(cx, event);
        }
        round.outcomes.push(outcome);
        if round.outcomes.len() < round.calls.len() {
            return self.start_next_call(cx, round);
        }
        let (tool_round, visibility) = self.tool_round(cx, &round);
        self.record(cx, TurnEvent::ToolsCalled { turn: self.turn, round: tool_round, visibility });
        self.commit(Phase::CommittingRound(round))
    }

    /// Counts a committed round.
    pub(super) fn finish_round(&mut self, cx: &mut TurnContext<'_>, round: PendingRound) -> TurnProgress {
        self.rounds.push(self.tool_round(cx, &round));
        self.calls_made += round.calls.len() as u64;
        for outcome in round.outcomes {
            self.banners.extend(outcome.banner);
            self.refusals.extend(outcome.refusal);
            self.touched_efforts.extend(outcome.touched_effort);
        }
        self.load_logs(cx)
    }

    pub(super) fn restart_round(&mut self, cx: &mut TurnContext<'_>, round: PendingRound) -> TurnProgress {
        self.start_next_call(
            cx,
            Box::new(PendingRound { execution: None, outcomes: Vec::new(), notes: Vec::new(), ..round }),
        )
    }

    fn tool_round(&self, cx: &TurnContext<'_>, round: &PendingRound) -> (ToolRound, RoundVisibility) {
        let assistant = Message { tool_calls: round.calls.clone(), ..Message::assistant(round.text.as_str()) };
        let results = round.calls.iter().zip(&round.outcomes);
        let results = results
            .map(|(call, outcome)| cx.mask_and_count(Message::tool(call.id.as_str(), outcome.text.as_str())));
        let seals = round.outcomes.iter().filter_map(|outcome| outcome.seal.clone()).collect();
        let results = results.collect();
        let notes = round.notes.iter().map(|note| cx.mask_and_count(Message::user(note.as_str()))).collect();
        let whole = ToolRound { assistant: cx.mask_and_count(assistant), results, seals, notes };
        debug_assert!(whole.is_complete(), "I7: each call has its result");
        let visibility = match round.outcomes.iter().any(|outcome| outcome.is_host_tool) {
            true => RoundVisibility::Transcript,
            false => RoundVisibility::ThisTurn,
        };
        (whole, visibility)
    }
}
