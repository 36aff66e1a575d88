//! Runs one tool call, over as many steps as it needs.

use serde_json::json;

use super::context::TurnContext;
use super::effort_search::EffortQuery;
use super::effort_summary::{EffortSummarization, EffortSummary};
use super::learning::learn_input;
use super::memory_calls::{memory_outcome, stamp_command};
use super::step::{Input, Step};
use super::summarization::{self, Summarization};
use super::text_summary::TextSummary;
use crate::base::handle::Handle;
use crate::base::ids::{EffortId, TurnNo};
use crate::base::message::{Message, Seal, ToolCall};
use crate::base::refusal::Refusal;
use crate::base::tokens::Tokens;
use crate::context::Selection;
use crate::memory::learn::{LearnInput, LearnMachine, LearnStep, MemoryHit};
use crate::session::event::{CollapseCause, EffortEvent, Event};
use crate::session::state::SessionState;
use crate::session::summary::{CheckedSummary, SummarizerKind};
use crate::text::secrets::mask_call;
use crate::turn::tools::{Banner, CallPlan, OwnToolCall, effort_result, effort_status, original_page, plan_call};

#[derive(Debug)]
pub(super) struct ToolExecution {
    /// The calling turn; others may have begun since.
    turn: TurnNo,
    awaiting: Awaiting,
}

#[derive(Debug)]
enum Awaiting {
    HostTool,
    Conclusion { summarization: EffortSummarization },
    Summary { summarization: Summarization, text: TextSummary },
    Logs { change: ContextChange },
    SearchHits { query: EffortQuery },
    Original { handle: Handle, offset: usize },
    Memory { learning: Box<LearnMachine> },
    Nothing,
}

pub(super) enum CallOrigin {
    /// The model, in a turn with these messages so far. The summary of an effort that it closes covers them, and
    /// is made again off the reply's path once the turn is over.
    InTurn { messages: Vec<Message> },
    /// A person or a host, outside any turn: no further messages follow.
    Outside {
        /// Whether nobody may wait for a model's summary: it is made again later, by upkeep.
        is_awaited: bool,
    },
}

/// A call that reports its effect on the context in tokens.
#[derive(Debug)]
enum ContextChange {
    Expand(EffortId),
    Collapse(EffortId),
}

#[derive(Debug, Clone)]
pub(super) struct ToolOutcome {
    /// What the model reads.
    pub(super) text: String,
    pub(super) event: Option<Event>,
    pub(super) banner: Option<Banner>,
    pub(super) refusal: Option<String>,
    /// The effort it refers to: a tool call about an effort is a reference.
    pub(super) touched_effort: Option<EffortId>,
    pub(super) is_host_tool: bool,
    /// Whether it had effects outside the session and must not run again.
    pub(super) has_side_effects: bool,
    /// Proof of a host's result.
    pub(super) seal: Option<Seal>,
    /// Memories that it found, for hosts that read fields rather than text.
    pub(super) hits: Vec<MemoryHit>,
}

impl ToolOutcome {
    pub(super) fn host_answer(text: String, seal: Option<Seal>) -> Self {
        Self { is_host_tool: true, has_side_effects: true, seal, ..Self::from_text(text) }
    }

    pub(super) fn from_text(text: String) -> Self {
        Self {
            text,
            event: None,
            banner: None,
            refusal: None,
            touched_effort: None,
            is_host_tool: false,
            has_side_effects: false,
            seal: None,
            hits: Vec::new(),
        }
    }

    pub(super) fn refused(refusal: &Refusal) -> Self {
        Self { refusal: Some(refusal.error.clone()), ..Self::from_text(refusal.to_json()) }
    }

    fn applied(id: EffortId, event: EffortEvent, banner: Banner, text: String) -> Self {
        Self { event: Some(event.into()), banner: Some(banner), touched_effort: Some(id), ..Self::from_text(text) }
    }
}

#[allow(clippy::large_enum_variant, reason = "taken apart at once, never kept")]
pub(super) enum ToolProgress {
    Ask(Step),
    Finished(ToolOutcome),
}

impl ToolExecution {
    /// Parses and checks a call, and runs it if nothing else is needed.
    pub(super) fn start(
        cx: &mut TurnContext<'_>,
        turn: TurnNo,
        caller: CallOrigin,
        call: ToolCall,
    ) -> (Self, ToolProgress) {
        if cx.tools.is_host_tool(&call.name) {
            return (Self { turn, awaiting: Awaiting::HostTool }, ToolProgress::Ask(Step::CallTool(call)));
        }
        // What a call produces is stored, named and searched, so its secrets are masked first.
        let call = mask_call(cx.state.masking(), call);
        let planned = OwnToolCall::parse(&call).and_then(|call| plan_call(cx.state, turn, call));
        let (awaiting, progress) = match planned {
            Ok(CallPlan::Memory(memory_call)) => match stamp_command(cx, turn, &caller, &call, memory_call) {
                Ok(command) => step_memory_command(cx, Box::new(LearnMachine::new(command)), LearnInput::Begin),
                Err(refusal) => (Awaiting::Nothing, ToolProgress::Finished(ToolOutcome::refused(&refusal))),
            },
            Ok(plan) => start_plan(cx, turn, caller, plan),
            Err(refusal) => (Awaiting::Nothing, ToolProgress::Finished(ToolOutcome::refused(&refusal))),
        };
        (Self { turn, awaiting }, progress)
    }

    pub(super) fn step(&mut self, cx: &mut TurnContext<'_>, input: Input) -> ToolProgress {
        match (std::mem::replace(&mut self.awaiting, Awaiting::Nothing), input) {
            (Awaiting::HostTool, Input::ToolAnswered { text, seal }) => {
                ToolProgress::Finished(ToolOutcome::host_answer(text, seal))
            }
            (Awaiting::Conclusion { summarization }, input) => self.conclude(cx, summarization, input),
            (Awaiting::Summary { mut summarization, text }, input) => {
                let progress = summarization.step(cx.counter, cx.state.policy(), input);
                let (awaiting, progress) = summarize(summarization, text, progress);
                self.awaiting = awaiting;
                progress
            }
            (Awaiting::Logs { change }, Input::LogsLoaded(loaded)) => {
                cx.cache_logs(loaded);
                ToolProgress::Finished(change.finish(cx, self.turn))
            }
            (Awaiting::SearchHits { query }, Input::Found(found)) => {
                ToolProgress::Finished(ToolOutcome::from_text(query.render_results(cx.state, &found)))
            }
            (Awaiting::Original { handle, offset }, Input::Fetched(exchanges)) => {
                let page = original_page(cx.counter, cx.state.policy(), &handle, &exchanges, offset);
                ToolProgress::Finished(match page {
                    Ok(text) => ToolOutcome::from_text(text),
                    Err(refusal) => ToolOutcome::refused(&refusal),
                })
            }
            (Awaiting::Memory { learning }, input) => {
                let (awaiting, progress) = step_memory_command(cx, learning, learn_input(input));
                self.awaiting = awaiting;
                progress
            }
            (awaiting, input) => panic!("the driver answered {awaiting:?} with {input:?}"),
        }
    }

    fn conclude(
        &mut self,
        cx: &TurnContext<'_>,
        mut summarization: EffortSummarization,
        input: Input,
    ) -> ToolProgress {
        let id = summarization.id().clone();
        match summarization.step(cx, input) {
            summarization::SummaryProgress::Ask(step) => {
                self.awaiting = Awaiting::Conclusion { summarization };
                ToolProgress::Ask(step)
            }
            summarization::SummaryProgress::Ready(Ok(EffortSummary { id, summary, receipt })) => {
                let text = effort_result("concluded", &id, &[("summary", json!(summary.text))]);
                let banner = Banner::Concluded { id: id.clone(), summary: summary.text.clone() };
                let (turn, next_active) = (self.turn, next_active(cx.state, &id));
                let (receipt, provisional) = (Some(receipt), summarization.is_provisional());
                let event =
                    EffortEvent::Concluded { id: id.clone(), summary, turn, next_active, provisional, receipt };
                ToolProgress::Finished(ToolOutcome::applied(id, event, banner, text))
            }
            summarization::SummaryProgress::Ready(Err(why)) => {
                let refusal = Refusal::new(format!("Could not summarize '{id}': {why}."))
                    .hint("the effort stays open with its whole log; try again later");
                ToolProgress::Finished(ToolOutcome::refused(&refusal))
            }
        }
    }
}

fn start_plan(cx: &TurnContext<'_>, turn: TurnNo, caller: CallOrigin, plan: CallPlan) -> (Awaiting, ToolProgress) {
    let finished = |outcome| (Awaiting::Nothing, ToolProgress::Finished(outcome));
    match plan {
        CallPlan::Apply { event, status, id, banner } => {
            let text = effort_result(status, &id, &[]);
            finished(ToolOutcome::applied(id, event, banner, text))
        }
        CallPlan::Conclude { id } => {
            // This turn's messages so far belong to the active effort; a summary of another does not cover them.
            let is_active = cx.state.active_effort().is_some_and(|effort| effort.id == id);
            let (extra_messages, summarizer) = match caller {
                CallOrigin::InTurn { messages } if is_active => (messages, SummarizerKind::BuiltIn),
                CallOrigin::InTurn { .. } => (Vec::new(), SummarizerKind::BuiltIn),
                CallOrigin::Outside { is_awaited: true } => (Vec::new(), SummarizerKind::BuiltIn),
                CallOrigin::Outside { is_awaited: false } => (Vec::new(), SummarizerKind::Configured),
            };
            let (summarization, step) = EffortSummarization::start(cx, id, extra_messages, summarizer);
            (Awaiting::Conclusion { summarization }, ToolProgress::Ask(step))
        }
        CallPlan::Summarize(text) => {
            let (text, job) = TextSummary::start(cx, text);
            let (summarization, progress) = Summarization::start(cx.counter, cx.state.policy(), job);
            summarize(summarization, text, progress)
        }
        CallPlan::Expand { id } => {
            let mut selection = Selection::of(cx.state);
            selection = cx.state.effort(&id).map_or(selection.clone(), |effort| selection.with_expanded(effort));
            measure_change(cx, turn, &selection, ContextChange::Expand(id))
        }
        CallPlan::Collapse { id } => {
            measure_change(cx, turn, &Selection::of(cx.state), ContextChange::Collapse(id))
        }
        CallPlan::Status { id } => {
            let text = effort_status(cx.state, id.as_ref());
            finished(ToolOutcome { touched_effort: id, ..ToolOutcome::from_text(text) })
        }
        CallPlan::Fetch { handle, offset } => {
            let step = Step::Fetch(handle.clone());
            (Awaiting::Original { handle, offset }, ToolProgress::Ask(step))
        }
        CallPlan::Memory(_) => unreachable!("taken care of before"),
        CallPlan::Search { query, logs } => match EffortQuery::parse(cx.state, &query, logs) {
            Err(refusal) => finished(ToolOutcome::refused(&refusal)),
            Ok(query) => {
                let step = Step::Search(Box::new(query.to_search(cx.state, cx.now)));
                (Awaiting::SearchHits { query }, ToolProgress::Ask(step))
            }
        },
    }
}

/// Changes nothing in the session: the summary is only returned.
fn summarize(
    summarization: Summarization,
    text: TextSummary,
    progress: summarization::SummaryProgress<CheckedSummary>,
) -> (Awaiting, ToolProgress) {
    let outcome = match progress {
        summarization::SummaryProgress::Ask(step) => {
            return (Awaiting::Summary { summarization, text }, ToolProgress::Ask(step));
        }
        summarization::SummaryProgress::Ready(Ok(summary)) => ToolOutcome::from_text(text.render_result(&summary)),
        summarization::SummaryProgress::Ready(Err(why)) => {
            ToolOutcome::refused(&Refusal::new(format!("Could not summarize the text: {why}.")))
        }
    };
    (Awaiting::Nothing, ToolProgress::Finished(outcome))
}

/// Continues a memory command.
fn step_memory_command(
    cx: &mut TurnContext<'_>,
    mut learning: Box<LearnMachine>,
    input: LearnInput,
) -> (Awaiting, ToolProgress) {
    let Some(context) = cx.learn_context() else {
        let refusal = Refusal::new("Nothing is remembered here beyond this conversation.");
        return (Awaiting::Nothing, ToolProgress::Finished(ToolOutcome::refused(&refusal)));
    };
    match learning.step(&context, input) {
        LearnStep::Query(query) => (Awaiting::Memory { learning }, ToolProgress::Ask(Step::Recall(query))),
        LearnStep::Commit(writes) => {
            (Awaiting::Memory { learning }, ToolProgress::Ask(Step::CommitMemories(cx.record_writes(writes))))
        }
        LearnStep::Done(response) => (Awaiting::Nothing, ToolProgress::Finished(memory_outcome(&response))),
    }
}

/// A change is measured against the whole context, so every log must be loaded.
fn measure_change(
    cx: &TurnContext<'_>,
    turn: TurnNo,
    selection: &Selection<'_>,
    change: ContextChange,
) -> (Awaiting, ToolProgress) {
    let missing = cx.missing_logs(selection);
    if missing.is_empty() {
        return (Awaiting::Nothing, ToolProgress::Finished(change.finish(cx, turn)));
    }
    (Awaiting::Logs { change }, ToolProgress::Ask(Step::LoadLogs(missing)))
}

impl ContextChange {
    fn finish(&self, cx: &TurnContext<'_>, turn: TurnNo) -> ToolOutcome {
        match self {
            ContextChange::Expand(id) => expand(cx, turn, id),
            ContextChange::Collapse(id) => collapse(cx, turn, id),
        }
    }
}

/// The most recently active open effort takes over; if the closed effort was not active, nothing changes.
fn next_active(state: &SessionState, closing: &EffortId) -> Option<EffortId> {
    match state.active_effort() {
        Some(active) if active.id != *closing => Some(active.id.clone()),
        Some(_) | None => state
            .open_efforts()
            .filter(|effort| effort.id != *closing)
            .max_by_key(|effort| (effort.last_active, effort.created, effort.id.clone()))
            .map(|effort| effort.id.clone()),
    }
}

fn expand(cx: &TurnContext<'_>, turn: TurnNo, id: &EffortId) -> ToolOutcome {
    let now = Selection::of(cx.state);
    let tokens_loaded = match cx.state.effort(id) {
        Some(effort) => {
            cx.context_tokens(&now.clone().with_expanded(effort)).saturating_sub(cx.context_tokens(&now))
        }
        None => Tokens::ZERO,
    };
    let text = effort_result("expanded", id, &[("tokens_loaded", json!(tokens_loaded))]);
    let event = EffortEvent::Expanded { id: id.clone(), turn, tokens_loaded };
    ToolOutcome::applied(id.clone(), event, Banner::Expanded { id: id.clone(), tokens_loaded }, text)
}

fn collapse(cx: &TurnContext<'_>, turn: TurnNo, id: &EffortId) -> ToolOutcome {
    let event = collapse_event(cx, turn, id, CollapseCause::Asked);
    let text = effort_result("collapsed", id, &[]);
    ToolOutcome::applied(id.clone(), event, Banner::Collapsed { id: id.clone() }, text)
}

/// The event that ends an expansion, with the tokens it frees.
pub(super) fn collapse_event(
    cx: &TurnContext<'_>,
    turn: TurnNo,
    id: &EffortId,
    cause: CollapseCause,
) -> EffortEvent {
    let now = Selection::of(cx.state);
    let tokens_freed = match cx.state.effort(id) {
        Some(effort) => {
            cx.context_tokens(&now).saturating_sub(cx.context_tokens(&now.clone().with_collapsed(effort)))
        }
        None => Tokens::ZERO,
    };
    EffortEvent::Collapsed { id: id.clone(), turn, cause, tokens_freed }
}
