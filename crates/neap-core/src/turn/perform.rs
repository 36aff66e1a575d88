//! Carrying out one tool call, over as many steps as it takes.

use serde_json::json;

use super::concluding::{Concluded, Concluding};
use super::desk::Desk;
use super::learning::{learn_input, learned, stamped};
use super::search::Wanted;
use super::step::{Input, Step};
use super::summing::{self, Summing};
use super::text::TextAsked;
use crate::assemble::Selection;
use crate::event::{CollapseCause, Event};
use crate::handle::Handle;
use crate::ids::{EffortId, TurnNo};
use crate::learn::{LearnInput, LearnStep, Learning};
use crate::message::{Message, Seal, ToolCall};
use crate::secrets::mask_call;
use crate::state::SessionState;
use crate::summary::{Made, SummaryBy};
use crate::tokens::Tokens;
use crate::tools::{Banner, Call, Plan, Refusal, fetched, plan, status, success};

/// A call that waits for something.
#[derive(Debug)]
pub(super) struct Performing {
    /// The turn that called; others may have begun since.
    turn: TurnNo,
    waiting: Waiting,
}

#[derive(Debug)]
enum Waiting {
    ForHost,
    ToConclude { concluding: Concluding },
    ToSummarize { summing: Summing, asked: TextAsked },
    ForLogs { what: Measured },
    ForCandidates { wanted: Wanted },
    ForWords { handle: Handle, offset: usize },
    ToLearn { learning: Box<Learning> },
    ForNothing,
}

/// From where a call comes.
pub(super) enum Caller {
    /// The model, in a turn that said this until now: the summary of an effort that it closes covers that, too, and
    /// is made again, off the reply's path, once the turn is over.
    InTurn { said: Vec<Message> },
    /// A person or a host, outside any turn: nothing comes after.
    Outside,
}

/// A call whose effect on the context is told in tokens.
#[derive(Debug)]
enum Measured {
    Expand(EffortId),
    Collapse(EffortId),
}

/// How a call came out.
#[derive(Debug, Clone)]
pub(super) struct Performed {
    /// What the model reads.
    pub(super) text: String,
    /// What happened, if anything did.
    pub(super) event: Option<Event>,
    pub(super) banner: Option<Banner>,
    /// Set if it was refused.
    pub(super) refusal: Option<String>,
    /// The effort it was about: a reference (DESIGN, decision 2).
    pub(super) touched: Option<EffortId>,
    pub(super) by_host: bool,
    /// Whether it had effects outside the session, and must not be carried out again.
    pub(super) once: bool,
    /// What proves a host's answer.
    pub(super) seal: Option<Seal>,
}

impl Performed {
    /// The answer of a host's tool.
    pub(super) fn by_host(text: String, seal: Option<Seal>) -> Self {
        Self { by_host: true, once: true, seal, ..Self::answer(text) }
    }

    pub(super) fn answer(text: String) -> Self {
        Self {
            text,
            event: None,
            banner: None,
            refusal: None,
            touched: None,
            by_host: false,
            once: false,
            seal: None,
        }
    }

    pub(super) fn refused(refusal: &Refusal) -> Self {
        Self { refusal: Some(refusal.error.clone()), ..Self::answer(refusal.to_json()) }
    }

    fn happened(id: EffortId, event: Event, banner: Banner, text: String) -> Self {
        Self { event: Some(event), banner: Some(banner), touched: Some(id), ..Self::answer(text) }
    }
}

#[allow(clippy::large_enum_variant, reason = "taken apart at once, never kept")]
pub(super) enum Progress {
    Ask(Step),
    Finished(Performed),
}

impl Performing {
    /// Reads and checks a call, and carries it out if nothing is needed for it.
    pub(super) fn start(desk: &mut Desk<'_>, turn: TurnNo, caller: Caller, call: ToolCall) -> (Self, Progress) {
        if desk.tools.is_host_tool(&call.name) {
            return (Self { turn, waiting: Waiting::ForHost }, Progress::Ask(Step::CallTool(call)));
        }
        // What is made of a call is stored, named and searched for: it never has its secrets.
        let call = mask_call(desk.state.masking(), call);
        let planned = Call::parse(&call).and_then(|call| plan(desk.state, turn, call));
        let (waiting, progress) = match planned {
            Ok(Plan::Memory(asked)) => match stamped(desk, turn, &caller, &call, asked) {
                Ok(wish) => learn(desk, Box::new(Learning::new(wish)), LearnInput::Begin),
                Err(refusal) => (Waiting::ForNothing, Progress::Finished(Performed::refused(&refusal))),
            },
            Ok(plan) => begin(desk, turn, caller, plan),
            Err(refusal) => (Waiting::ForNothing, Progress::Finished(Performed::refused(&refusal))),
        };
        (Self { turn, waiting }, progress)
    }

    /// Goes on with what came.
    pub(super) fn step(&mut self, desk: &mut Desk<'_>, input: Input) -> Progress {
        match (std::mem::replace(&mut self.waiting, Waiting::ForNothing), input) {
            (Waiting::ForHost, Input::ToolAnswered { text, seal }) => {
                Progress::Finished(Performed::by_host(text, seal))
            }
            (Waiting::ToConclude { concluding }, input) => self.conclude(desk, concluding, input),
            (Waiting::ToSummarize { mut summing, asked }, input) => {
                let progress = summing.step(desk.counter, desk.state.policy(), input);
                let (waiting, progress) = summarize(summing, asked, progress);
                self.waiting = waiting;
                progress
            }
            (Waiting::ForLogs { what }, Input::Loaded(loaded)) => {
                desk.hold(loaded);
                Progress::Finished(what.done(desk, self.turn))
            }
            (Waiting::ForCandidates { wanted }, Input::Found(found)) => {
                Progress::Finished(Performed::answer(wanted.answer(desk.state, &found)))
            }
            (Waiting::ForWords { handle, offset }, Input::Fetched(exchanges)) => {
                let page = fetched(desk.counter, desk.state.policy(), &handle, &exchanges, offset);
                Progress::Finished(match page {
                    Ok(text) => Performed::answer(text),
                    Err(refusal) => Performed::refused(&refusal),
                })
            }
            (Waiting::ToLearn { learning }, input) => {
                let (waiting, progress) = learn(desk, learning, learn_input(input));
                self.waiting = waiting;
                progress
            }
            (waiting, input) => panic!("the driver answered {waiting:?} with {input:?}"),
        }
    }

    fn conclude(&mut self, desk: &Desk<'_>, mut concluding: Concluding, input: Input) -> Progress {
        let id = concluding.id().clone();
        match concluding.step(desk, input) {
            summing::Progress::Ask(step) => {
                self.waiting = Waiting::ToConclude { concluding };
                Progress::Ask(step)
            }
            summing::Progress::Ready(Ok(Concluded { id, summary, receipt })) => {
                let text = success("concluded", &id, &[("summary", json!(summary.text))]);
                let banner = Banner::Concluded { id: id.clone(), summary: summary.text.clone() };
                let (turn, next_active) = (self.turn, next_active(desk.state, &id));
                let (receipt, provisional) = (Some(receipt), concluding.is_provisional());
                let event =
                    Event::EffortConcluded { id: id.clone(), summary, turn, next_active, provisional, receipt };
                Progress::Finished(Performed::happened(id, event, banner, text))
            }
            summing::Progress::Ready(Err(why)) => {
                let refusal = Refusal::new(format!("Could not summarize '{id}': {why}."))
                    .hint("the effort stays open with its whole log; try again later");
                Progress::Finished(Performed::refused(&refusal))
            }
        }
    }
}

fn begin(desk: &Desk<'_>, turn: TurnNo, caller: Caller, plan: Plan) -> (Waiting, Progress) {
    let finished = |performed| (Waiting::ForNothing, Progress::Finished(performed));
    match plan {
        Plan::Apply { event, status, id, banner } => {
            let text = success(status, &id, &[]);
            finished(Performed::happened(id, event, banner, text))
        }
        Plan::Conclude { id } => {
            // Until now this turn was said to the active effort; a summary of another does not cover it.
            let is_active = desk.state.active().is_some_and(|effort| effort.id == id);
            let (also, by) = match caller {
                Caller::InTurn { said } if is_active => (said, SummaryBy::BuiltIn),
                Caller::InTurn { .. } => (Vec::new(), SummaryBy::BuiltIn),
                Caller::Outside => (Vec::new(), SummaryBy::Configured),
            };
            let (concluding, step) = Concluding::start(desk, id, also, by);
            (Waiting::ToConclude { concluding }, Progress::Ask(step))
        }
        Plan::Summarize(text) => {
            let (asked, wish) = TextAsked::of(desk, text);
            let (summing, progress) = Summing::of(desk.counter, desk.state.policy(), wish);
            summarize(summing, asked, progress)
        }
        Plan::Expand { id } => {
            let mut selection = Selection::of(desk.state);
            selection = desk.state.effort(&id).map_or(selection.clone(), |effort| selection.with_expanded(effort));
            measure(desk, turn, &selection, Measured::Expand(id))
        }
        Plan::Collapse { id } => measure(desk, turn, &Selection::of(desk.state), Measured::Collapse(id)),
        Plan::Status { id } => {
            let text = status(desk.state, id.as_ref());
            finished(Performed { touched: id, ..Performed::answer(text) })
        }
        Plan::Fetch { handle, offset } => {
            let step = Step::Fetch(handle.clone());
            (Waiting::ForWords { handle, offset }, Progress::Ask(step))
        }
        Plan::Memory(_) => unreachable!("taken care of before"),
        Plan::Search { query, logs } => match Wanted::of(desk.state, &query, logs) {
            Err(refusal) => finished(Performed::refused(&refusal)),
            Ok(wanted) => {
                let step = Step::Search(Box::new(wanted.search(desk.state, desk.now)));
                (Waiting::ForCandidates { wanted }, Progress::Ask(step))
            }
        },
    }
}

/// Nothing happens to the session by this: what is made is only told.
fn summarize(summing: Summing, asked: TextAsked, progress: summing::Progress<Made>) -> (Waiting, Progress) {
    let performed = match progress {
        summing::Progress::Ask(step) => return (Waiting::ToSummarize { summing, asked }, Progress::Ask(step)),
        summing::Progress::Ready(Ok(made)) => Performed::answer(asked.answer(&made)),
        summing::Progress::Ready(Err(why)) => {
            Performed::refused(&Refusal::new(format!("Could not summarize the text: {why}.")))
        }
    };
    (Waiting::ForNothing, Progress::Finished(performed))
}

/// Goes on with what was asked of the agent's memory.
fn learn(desk: &mut Desk<'_>, mut learning: Box<Learning>, input: LearnInput) -> (Waiting, Progress) {
    let Some(mut agent) = desk.agent() else {
        let refusal = Refusal::new("Nothing is remembered here beyond this conversation.");
        return (Waiting::ForNothing, Progress::Finished(Performed::refused(&refusal)));
    };
    match learning.step(&mut agent, input) {
        LearnStep::Ask(ask) => (Waiting::ToLearn { learning }, Progress::Ask(Step::Recall(ask))),
        LearnStep::Commit(events) => (Waiting::ToLearn { learning }, Progress::Ask(Step::Learn(events))),
        LearnStep::Done(answer) => (Waiting::ForNothing, Progress::Finished(learned(&answer))),
    }
}

/// What changes the context is measured against all of it, so every log must be at hand.
fn measure(desk: &Desk<'_>, turn: TurnNo, selection: &Selection<'_>, what: Measured) -> (Waiting, Progress) {
    let missing = desk.missing(selection);
    if missing.is_empty() {
        return (Waiting::ForNothing, Progress::Finished(what.done(desk, turn)));
    }
    (Waiting::ForLogs { what }, Progress::Ask(Step::Load(missing)))
}

impl Measured {
    fn done(&self, desk: &Desk<'_>, turn: TurnNo) -> Performed {
        match self {
            Measured::Expand(id) => expand(desk, turn, id),
            Measured::Collapse(id) => collapse(desk, turn, id),
        }
    }
}

/// The open effort that was active most recently takes over; if another was closed, nothing changes.
fn next_active(state: &SessionState, closing: &EffortId) -> Option<EffortId> {
    match state.active() {
        Some(active) if active.id != *closing => Some(active.id.clone()),
        Some(_) | None => state
            .open()
            .filter(|effort| effort.id != *closing)
            .max_by_key(|effort| (effort.last_active, effort.created, effort.id.clone()))
            .map(|effort| effort.id.clone()),
    }
}

fn expand(desk: &Desk<'_>, turn: TurnNo, id: &EffortId) -> Performed {
    let now = Selection::of(desk.state);
    let tokens_loaded = match desk.state.effort(id) {
        Some(effort) => desk.cost(&now.clone().with_expanded(effort)).saturating_sub(desk.cost(&now)),
        None => Tokens::ZERO,
    };
    let text = success("expanded", id, &[("tokens_loaded", json!(tokens_loaded))]);
    let event = Event::EffortExpanded { id: id.clone(), turn, tokens_loaded };
    Performed::happened(id.clone(), event, Banner::Expanded { id: id.clone(), tokens_loaded }, text)
}

fn collapse(desk: &Desk<'_>, turn: TurnNo, id: &EffortId) -> Performed {
    let event = collapsed(desk, turn, id, CollapseCause::Asked);
    let text = success("collapsed", id, &[]);
    Performed::happened(id.clone(), event, Banner::Collapsed { id: id.clone() }, text)
}

/// The event of an expansion that ends, with what that frees.
pub(super) fn collapsed(desk: &Desk<'_>, turn: TurnNo, id: &EffortId, cause: CollapseCause) -> Event {
    let now = Selection::of(desk.state);
    let tokens_freed = match desk.state.effort(id) {
        Some(effort) => desk.cost(&now).saturating_sub(desk.cost(&now.clone().with_collapsed(effort))),
        None => Tokens::ZERO,
    };
    Event::EffortCollapsed { id: id.clone(), turn, cause, tokens_freed }
}
