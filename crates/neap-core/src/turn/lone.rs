//! A tool call from outside a turn: a person's command, or a host that runs the model itself.

use super::censoring::refused_call;
use super::desk::Desk;
use super::perform::{Caller, Performed, Performing, Progress};
use super::step::{Input, Step};
use crate::event::{Event, RoundVisibility};
use crate::message::{Message, ToolCall, ToolRound};
use crate::tools::Banner;

/// What a lone call asks for, or how it came out.
#[derive(Debug)]
pub enum LoneStep {
    /// To be performed as in a turn.
    Ask(Step),
    /// It is over.
    Done(LoneOutcome),
}

/// How a lone call came out.
#[derive(Debug, Clone, PartialEq)]
pub struct LoneOutcome {
    /// What the tool answered.
    pub text: String,
    /// What the human is told.
    pub banner: Option<Banner>,
    /// Set if it was refused.
    pub refusal: Option<String>,
}

/// A call in progress.
#[derive(Debug)]
pub struct LoneCall {
    call: ToolCall,
    performing: Option<Performing>,
    performed: Option<Performed>,
}

impl LoneCall {
    /// A call to carry out.
    pub fn new(call: ToolCall) -> Self {
        Self { call, performing: None, performed: None }
    }

    /// Takes what the last step gave, and says what to do next.
    pub fn step(&mut self, desk: &mut Desk<'_>, input: Input) -> LoneStep {
        let progress = match (&mut self.performing, input) {
            (_, Input::Begin | Input::Stale) => {
                if let Some((refusal, met)) = refused_call(desk, &self.call) {
                    return self.finished(desk, Performed { event: Some(met), ..Performed::refused(&refusal) });
                }
                // What was done outside the session is not done again.
                if let Some(performed) = self.performed.take().filter(|performed| performed.once) {
                    return self.finished(desk, performed);
                }
                let turn = desk.state.turn();
                let (performing, progress) = Performing::start(desk, turn, Caller::Outside, self.call.clone());
                self.performing = Some(performing);
                progress
            }
            (_, Input::Committed) => {
                let performed = self.performed.take().expect("a commit follows a performed call");
                return LoneStep::Done(outcome(performed));
            }
            (Some(performing), input) => performing.step(desk, input),
            (None, input) => panic!("the driver began a call with {input:?}"),
        };
        match progress {
            Progress::Ask(step) => LoneStep::Ask(step),
            Progress::Finished(performed) => self.finished(desk, performed),
        }
    }

    fn finished(&mut self, desk: &mut Desk<'_>, performed: Performed) -> LoneStep {
        let turn = desk.state.turn();
        let touched = performed.touched.clone().filter(|_| performed.event.is_none());
        let mut events: Vec<Event> = performed.event.clone().into_iter().collect();
        let concluded = touched.filter(|id| desk.state.effort(id).is_some_and(|e| e.is_concluded()));
        events.extend(concluded.map(|id| Event::EffortsReferenced { turn, ids: vec![id] }));
        if events.is_empty() {
            return LoneStep::Done(outcome(performed));
        }
        let assistant = Message { tool_calls: vec![self.call.clone()], ..Message::assistant("") };
        let result = desk.count(Message::tool(self.call.id.as_str(), performed.text.as_str()));
        let round = ToolRound {
            assistant: desk.count(assistant),
            results: vec![result],
            seals: Vec::new(),
            notes: Vec::new(),
        };
        events.push(Event::ToolsCalled { turn, round, visibility: RoundVisibility::ThisTurn });
        let batch = events.into_iter().map(|event| desk.state.record(desk.now, event)).collect();
        self.performed = Some(performed);
        LoneStep::Ask(Step::Commit(batch))
    }
}

fn outcome(performed: Performed) -> LoneOutcome {
    LoneOutcome { text: performed.text, banner: performed.banner, refusal: performed.refusal }
}
