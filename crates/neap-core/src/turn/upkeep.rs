//! Upkeep between turns, off the reply's path: makes summaries that cover closing exchanges, and those that the
//! next turns will need.

use std::collections::BTreeSet;

use super::context::TurnContext;
use super::effort_summary::{EffortSummarization, EffortSummary};
use super::span_compaction::{CompactionProgress, SpanCompaction};
use super::step::{Input, Machine, Progress, Step};
use super::summarization;
use crate::base::ids::{EffortId, TurnNo};
use crate::base::message::{CountedMessage, Scope};
use crate::base::tokens::Tokens;
use crate::context::host_log::HostLog;
use crate::context::{Selection, ThisTurn};
use crate::session::coverage::SummaryCoverage;
use crate::session::event::EffortEvent;
use crate::session::log::LogRequest;
use crate::session::summary::SummarizerKind;
use crate::session::window::CompactionRequest;

/// Most summaries made in one run.
const SUMMARIES_MAX: usize = 16;

/// Upkeep in progress. It may be dropped at any time: what it committed stays, nothing else was changed.
#[derive(Debug)]
pub struct Upkeep {
    target: UpkeepTarget,
    summarizer: SummarizerKind,
    task: Option<UpkeepTask>,
    /// Logs for which no worthwhile summary could be made.
    uncompactable: BTreeSet<Scope>,
    /// Efforts that could not be summarised again; they keep the summary of their conclusion (I12).
    unsummarizable: BTreeSet<EffortId>,
    summaries_made: usize,
    is_loaded: bool,
}

#[derive(Debug)]
enum UpkeepTask {
    Compaction(SpanCompaction),
    /// An effort's summary with the exchange of this turn, which closed it.
    Conclusion(EffortSummarization, TurnNo),
}

#[derive(Debug)]
enum UpkeepTarget {
    /// A session's windows, before its prompt is full.
    Session,
    /// A conversation that a host records message by message, so that it fits `room`.
    HostLog { room: Tokens, in_flight: Vec<CountedMessage> },
    /// A client's history, part of which is left out.
    ClientHistory(SummaryCoverage),
}

impl Default for Upkeep {
    /// For a session, by the configured summariser.
    fn default() -> Self {
        Self::new(UpkeepTarget::Session, SummarizerKind::Configured)
    }
}

impl Machine for Upkeep {
    /// The number of summaries made.
    type Outcome = usize;

    fn step(&mut self, cx: &mut TurnContext<'_>, input: Input) -> Progress<usize> {
        match (self.task.take(), input) {
            (_, Input::Begin | Input::Stale) => {
                self.is_loaded = false;
                self.next(cx)
            }
            (None, Input::Committed) => {
                self.summaries_made += 1;
                self.next(cx)
            }
            (None, Input::LogsLoaded(loaded)) => {
                cx.cache_logs(loaded);
                self.is_loaded = true;
                self.next(cx)
            }
            (Some(UpkeepTask::Compaction(mut compaction)), input) => {
                let progress = compaction.step(cx, input);
                self.apply_compaction(cx, compaction, progress)
            }
            (Some(UpkeepTask::Conclusion(summarization, turn)), input) => {
                self.step_conclusion(cx, summarization, turn, input)
            }
            (None, input) => panic!("the driver answered upkeep with {input:?}"),
        }
    }
}

impl Upkeep {
    /// For a conversation that a host records message by message and shows within `room`.
    pub fn for_host_log(room: Tokens, summarizer: SummarizerKind, in_flight: Vec<CountedMessage>) -> Self {
        Self::new(UpkeepTarget::HostLog { room, in_flight }, summarizer)
    }

    /// For a client's history: summarises what is left out of it.
    pub fn for_client_history(coverage: SummaryCoverage, summarizer: SummarizerKind) -> Self {
        Self::new(UpkeepTarget::ClientHistory(coverage), summarizer)
    }

    fn new(target: UpkeepTarget, summarizer: SummarizerKind) -> Self {
        let (uncompactable, unsummarizable) = (BTreeSet::new(), BTreeSet::new());
        Self { target, summarizer, task: None, uncompactable, unsummarizable, summaries_made: 0, is_loaded: false }
    }

    fn next(&mut self, cx: &mut TurnContext<'_>) -> Progress<usize> {
        let unfinished = if self.summaries_made < SUMMARIES_MAX { self.next_provisional(cx) } else { None };
        if let Some((id, turn)) = unfinished {
            let (summarization, step) = EffortSummarization::start(cx, id, Vec::new(), self.summarizer);
            self.task = Some(UpkeepTask::Conclusion(summarization, turn));
            return Progress::Perform(step);
        }
        let missing = self.missing_logs(cx);
        if !missing.is_empty() && !self.is_loaded {
            return Progress::Perform(Step::LoadLogs(missing));
        }
        let request = if self.summaries_made < SUMMARIES_MAX { self.next_compaction(cx) } else { None };
        let Some(request) = request else { return Progress::Done(self.summaries_made) };
        let (compaction, progress) = SpanCompaction::start(cx, request, self.summarizer);
        self.apply_compaction(cx, compaction, progress)
    }

    fn apply_compaction(
        &mut self,
        cx: &mut TurnContext<'_>,
        compaction: SpanCompaction,
        progress: CompactionProgress,
    ) -> Progress<usize> {
        match progress {
            CompactionProgress::Ask(step) => {
                self.task = Some(UpkeepTask::Compaction(compaction));
                Progress::Perform(step)
            }
            CompactionProgress::Finished(Some(event)) => {
                Progress::Perform(Step::Commit(vec![cx.state.record(cx.now, event)]))
            }
            CompactionProgress::Finished(None) => {
                self.uncompactable.insert(compaction.scope().clone());
                self.next(cx)
            }
        }
    }

    /// An effort with a summary made before the turn that closed it was over, if that turn is over now.
    fn next_provisional(&self, cx: &TurnContext<'_>) -> Option<(EffortId, TurnNo)> {
        match &self.target {
            UpkeepTarget::Session => {}
            UpkeepTarget::HostLog { .. } | UpkeepTarget::ClientHistory(_) => return None,
        }
        let (state, head) = (&*cx.state, cx.state.head());
        let is_due = |id: &EffortId, turn: &TurnNo| {
            let is_concluded = state.effort(id).is_some_and(|effort| effort.is_concluded());
            is_concluded && !head.pending.contains_key(turn) && !self.unsummarizable.contains(id)
        };
        let due = head.summaries_due.iter().find(|(id, turn)| is_due(id, turn));
        due.map(|(id, turn)| (id.clone(), *turn))
    }

    /// If the summary fails, the one of the conclusion stays (I12).
    fn step_conclusion(
        &mut self,
        cx: &mut TurnContext<'_>,
        mut summarization: EffortSummarization,
        turn: TurnNo,
        input: Input,
    ) -> Progress<usize> {
        match summarization.step(cx, input) {
            summarization::SummaryProgress::Ask(step) => {
                self.task = Some(UpkeepTask::Conclusion(summarization, turn));
                Progress::Perform(step)
            }
            summarization::SummaryProgress::Ready(Ok(EffortSummary { id, summary, receipt })) => {
                let event = EffortEvent::Summarized { id, summary, turn, receipt: Some(receipt) };
                Progress::Perform(Step::Commit(vec![cx.state.record(cx.now, event)]))
            }
            summarization::SummaryProgress::Ready(Err(_)) => {
                self.unsummarizable.insert(summarization.id().clone());
                self.next(cx)
            }
        }
    }

    fn missing_logs(&self, cx: &TurnContext<'_>) -> Vec<LogRequest> {
        match &self.target {
            UpkeepTarget::Session => cx.missing_logs(&Selection::of(cx.state)),
            UpkeepTarget::HostLog { room, .. } => match cx.logs.get(&Scope::Ambient) {
                Some(_) => Vec::new(),
                None => vec![LogRequest::newest(Scope::Ambient, *room)],
            },
            UpkeepTarget::ClientHistory(_) => Vec::new(),
        }
    }

    /// The first summary that is or will soon be needed.
    fn next_compaction(&self, cx: &TurnContext<'_>) -> Option<CompactionRequest> {
        let requests = match &self.target {
            UpkeepTarget::Session => session_compactions(cx),
            UpkeepTarget::HostLog { room, in_flight } => {
                let log = cx.logs.get(&Scope::Ambient)?;
                let host_log = HostLog { state: cx.state, log, in_flight, counter: cx.counter };
                host_log.render(*room).compaction.into_iter().collect()
            }
            UpkeepTarget::ClientHistory(coverage) => {
                coverage.next_request(cx.state, |scope| self.uncompactable.contains(scope)).into_iter().collect()
            }
        };
        requests.into_iter().find(|request| !self.uncompactable.contains(request.scope()))
    }
}

/// What a session needs when its prompt or window is nearly full.
fn session_compactions(cx: &TurnContext<'_>) -> Vec<CompactionRequest> {
    let policy = cx.state.policy();
    let near = policy.window_prepare_percent;
    // Without a growing prompt (a host runs the model, or nothing was sent yet), only the window counts.
    let percent = if policy.rewrites_every_turn() || !cx.sent_prompt.is_growing() {
        near
    } else if cx.assembler().is_epoch_near(cx.sent_prompt, near, cx.now) {
        // A message will be added: what remains then must fit without another summary.
        (policy.epoch_low_percent * near / 100).max(1)
    } else {
        return Vec::new();
    };
    let assembled = cx.assembler().assemble(&Selection::of(cx.state), ThisTurn::default(), percent);
    assembled.map(|assembled| assembled.compactions).unwrap_or_default()
}
