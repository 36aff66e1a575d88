//! A tool call from outside a turn: a person's command, or a host that runs the model itself.

use super::censor_checks::check_standalone_call;
use super::context::TurnContext;
use super::step::{Input, Machine, Progress, Step};
use super::tool_execution::{CallOrigin, ToolExecution, ToolOutcome, ToolProgress};
use crate::base::message::{Message, ToolCall, ToolRound};
use crate::memory::learn::MemoryHit;
use crate::session::event::{EffortEvent, Event, RoundVisibility, TurnEvent};
use crate::turn::tools::Banner;

#[derive(Debug, Clone, PartialEq)]
pub struct StandaloneOutcome {
    pub text: String,
    pub banner: Option<Banner>,
    pub refusal: Option<String>,
    /// Memories that it found, best first.
    pub hits: Vec<MemoryHit>,
}

#[derive(Debug)]
pub struct StandaloneToolCall {
    call: ToolCall,
    is_awaited: bool,
    execution: Option<ToolExecution>,
    outcome: Option<ToolOutcome>,
}

impl StandaloneToolCall {
    pub fn new(call: ToolCall) -> Self {
        Self { call, is_awaited: false, execution: None, outcome: None }
    }

    /// For somebody who waits: a summary is made at once, and again by upkeep.
    pub fn awaited(call: ToolCall) -> Self {
        Self { is_awaited: true, ..Self::new(call) }
    }

    fn finish(&mut self, cx: &mut TurnContext<'_>, outcome: ToolOutcome) -> Progress<StandaloneOutcome> {
        let turn = cx.state.turn();
        let touched = outcome.touched_effort.clone().filter(|_| outcome.event.is_none());
        let mut events: Vec<Event> = outcome.event.clone().into_iter().collect();
        let concluded = touched.filter(|id| cx.state.effort(id).is_some_and(|e| e.is_concluded()));
        events.extend(concluded.map(|id| Event::Effort(EffortEvent::Referenced { turn, ids: vec![id] })));
        if events.is_empty() {
            return Progress::Done(standalone_outcome(outcome));
        }
        let assistant = Message { tool_calls: vec![self.call.clone()], ..Message::assistant("") };
        let result = cx.mask_and_count(Message::tool(self.call.id.as_str(), outcome.text.as_str()));
        let round = ToolRound {
            assistant: cx.mask_and_count(assistant),
            results: vec![result],
            seals: Vec::new(),
            notes: Vec::new(),
        };
        events.push(Event::Turn(TurnEvent::ToolsCalled { turn, round, visibility: RoundVisibility::ThisTurn }));
        let batch = events.into_iter().map(|event| cx.state.record(cx.now, event)).collect();
        self.outcome = Some(outcome);
        Progress::Perform(Step::Commit(batch))
    }
}

impl Machine for StandaloneToolCall {
    type Outcome = StandaloneOutcome;

    fn step(&mut self, cx: &mut TurnContext<'_>, input: Input) -> Progress<StandaloneOutcome> {
        let progress = match (&mut self.execution, input) {
            (_, Input::Begin | Input::Stale) => {
                if let Some((refusal, event)) = check_standalone_call(cx, &self.call) {
                    return self
                        .finish(cx, ToolOutcome { event: Some(event.into()), ..ToolOutcome::refused(&refusal) });
                }
                // Effects outside the session must not happen twice.
                if let Some(outcome) = self.outcome.take().filter(|outcome| outcome.has_side_effects) {
                    return self.finish(cx, outcome);
                }
                let turn = cx.state.turn();
                let caller = CallOrigin::Outside { is_awaited: self.is_awaited };
                let (execution, progress) = ToolExecution::start(cx, turn, caller, self.call.clone());
                self.execution = Some(execution);
                progress
            }
            (_, Input::Committed) => {
                let outcome = self.outcome.take().expect("a commit follows a performed call");
                return Progress::Done(standalone_outcome(outcome));
            }
            (Some(execution), input) => execution.step(cx, input),
            (None, input) => panic!("the driver began a call with {input:?}"),
        };
        match progress {
            ToolProgress::Ask(step) => Progress::Perform(step),
            ToolProgress::Finished(outcome) => self.finish(cx, outcome),
        }
    }
}

fn standalone_outcome(outcome: ToolOutcome) -> StandaloneOutcome {
    let ToolOutcome { text, banner, refusal, hits, .. } = outcome;
    StandaloneOutcome { text, banner, refusal, hits }
}
