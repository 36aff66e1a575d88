//! The state machines that the engine drives: a turn, a tool call outside a turn, upkeep, a memory command. A machine
//! says what to do next and does no I/O itself.
//!
//! The driver (in `neap-engine`) performs each [`Step`] and returns its result as an [`Input`]. A turn: accept → check censors
//! → recall memories → load logs → assemble → call the model → run its tool calls → assemble again, so that an expanded log is visible in the
//! same turn → … → reply → route, references, decay, eviction → done.
//!
//! A decision is applied to the state at once and handed out in [`Step::Commit`]. If that commit conflicts with
//! another process, the driver reloads the state and sends [`Input::Stale`], and the machine decides that part
//! again.

mod agent_context;
mod bare_calls;
mod censor_checks;
mod context;
mod effort_search;
mod effort_summary;
mod finish;
mod learning;
mod limits;
mod memory_calls;
mod memory_use;
mod model_call;
mod reply;
mod round;
mod span_compaction;
mod standalone;
mod step;
mod summarization;
mod text_calls;
mod text_summary;
mod tool_execution;
pub mod tools;
mod undo_turn;
mod upkeep;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

pub use agent_context::{AgentContext, PastAgent};
pub use context::TurnContext;
pub use limits::truncate_message;
pub use standalone::{StandaloneOutcome, StandaloneToolCall};
use step::TurnProgress;
pub use step::{Input, Machine, ModelReply, ModelRequest, Progress, Step, TurnEnd, TurnError, TurnOutcome};
pub use text_calls::{StreamedText, read_reply};
pub use undo_turn::undo_turn;
pub use upkeep::Upkeep;

use crate::base::cost::Cost;
use crate::base::ids::{EffortId, Seq, Stamp, TurnNo};
use crate::base::ledger::Ledger;
use crate::base::message::{CountedMessage, Exchange, Message, Scope, ToolRound};
use crate::base::policy::Policy;
use crate::context::{Selection, check_budget};
use crate::memory::knowledge::LoadCause;
use crate::memory::learn::{LearnMachine, MemoryCommand, MemoryUse};
use crate::memory::{Author, MemoryId};
use crate::session::event::{AbandonReason, Event, RecordedEvent, RoundVisibility, TurnEvent};
use crate::text::secrets::mask_id;
use crate::turn::tools::Banner;
use round::PendingRound;
use span_compaction::SpanCompaction;

/// Checks that a message and its reply are within the accepted length.
pub fn check_length(policy: &Policy, text: &str, reply: Option<&str>) -> Result<(), TurnError> {
    let (longest, bytes_max) = (text.len().max(reply.map_or(0, str::len)) as u64, policy.message_bytes_max);
    if longest > bytes_max {
        return Err(TurnError::MessageTooLong { bytes: longest, bytes_max });
    }
    Ok(())
}

#[derive(Debug)]
pub struct Turn {
    message: CountedMessage,
    /// The message's author, according to the surface that received it.
    author: Author,
    turn_id: Option<String>,
    /// Set when a host ran the model itself and only reports the reply.
    host_reply: Option<CountedMessage>,
    turn: TurnNo,
    /// The event that began it, and when. A turn number alone could belong to another process.
    first_seq: Seq,
    began: Stamp,
    /// Whether its beginning is durable. Until then, a stale commit means that it never began.
    is_accepted: bool,
    phase: Phase,
    /// Decided and applied, not yet committed.
    batch: Vec<RecordedEvent>,
    /// This turn's tool rounds, committed.
    rounds: Vec<(ToolRound, RoundVisibility)>,
    calls_made: u64,
    /// The model wrote nothing but calls of tools that do not exist, and is asked once more without tools.
    is_without_tools: bool,
    banners: Vec<Banner>,
    refusals: Vec<String>,
    touched_efforts: BTreeSet<EffortId>,
    ledger: Ledger,
    cost: Cost,
    /// The model's latest text, without the texts of earlier tool rounds.
    last_text: String,
    /// Span summaries made during the turn, and logs for which none could be made.
    compactions: usize,
    uncompactable: BTreeSet<Scope>,
    /// What censors say about the message.
    guidance: Option<CountedMessage>,
    replies_refused: u64,
    /// Events that are not durable yet and must be recorded again after a stale commit.
    retry_events: Vec<Event>,
    /// Whether the model's output is held back for a censor's check; the same for the whole turn.
    buffer_output: Option<bool>,
    /// Memories that it used, to be counted when it is over.
    memory_uses: Vec<(MemoryId, MemoryUse)>,
    /// Memory commands to run once the turn is durable.
    memory_commands: VecDeque<MemoryCommand>,
}

#[derive(Debug)]
enum Phase {
    Accepting,
    Recalling {
        cause: LoadCause,
    },
    /// A reply that a censor refused is being committed.
    RetryingReply {
        round: Box<ToolRound>,
    },
    /// The agent's memories are being updated.
    Learning {
        learning: Box<LearnMachine>,
        outcome: Box<TurnOutcome>,
    },
    LoadingLogs,
    /// A stretch of a log that no longer fits is being summarised.
    Compacting(Box<SpanCompaction>),
    CommittingSpan,
    CallingModel,
    CallingTools(Box<PendingRound>),
    CommittingRound(Box<PendingRound>),
    /// Logs are fetched again after a conflict, because decay is measured against them.
    ReloadingLogs {
        reply: CountedMessage,
    },
    Completing {
        reply: CountedMessage,
        ended: Box<TurnEnd>,
    },
    Abandoning {
        reason: AbandonReason,
        ended: Box<TurnEnd>,
    },
    Done,
}

impl Machine for Turn {
    type Outcome = Box<TurnOutcome>;

    fn step(&mut self, cx: &mut TurnContext<'_>, input: Input) -> TurnProgress {
        if matches!(input, Input::Stale) {
            self.drop_batch(cx);
        } else if matches!(input, Input::Committed) {
            self.retry_events.clear();
        }
        match (std::mem::replace(&mut self.phase, Phase::Done), input) {
            (Phase::Accepting, Input::Begin | Input::Stale) => self.accept(cx),
            (Phase::Accepting, Input::Committed) => {
                self.is_accepted = true;
                self.recall_memories(cx)
            }
            (Phase::Recalling { cause }, Input::Recalled(result)) => self.select_memories(cx, cause, result),
            (Phase::RetryingReply { round }, Input::Committed) => {
                self.rounds.push((*round, RoundVisibility::ThisTurn));
                self.load_logs(cx)
            }
            (Phase::RetryingReply { round }, Input::Stale) => {
                let event = TurnEvent::ToolsCalled {
                    turn: self.turn,
                    round: (*round).clone(),
                    visibility: RoundVisibility::ThisTurn,
                };
                self.record(cx, event);
                self.commit(Phase::RetryingReply { round })
            }
            (Phase::Learning { outcome, .. }, Input::MemoriesFailed) => Progress::Done(outcome),
            (Phase::Learning { learning, outcome }, input) => self.continue_learning(cx, learning, outcome, input),
            (Phase::LoadingLogs, Input::LogsLoaded(loaded)) => {
                cx.cache_logs(loaded);
                self.call_model(cx)
            }
            (Phase::Compacting(compaction), input) => self.step_compaction(cx, compaction, input),
            (Phase::CommittingSpan, Input::Committed | Input::Stale) => self.load_logs(cx),
            (Phase::CallingModel, Input::Replied(reply)) => self.receive_reply(cx, reply),
            (Phase::CallingModel, Input::WroteCalls(reply)) => self.retry_without_tools(cx, &reply),
            (Phase::CallingModel, Input::ModelFailed { message, partial }) => self.fail(cx, &message, &partial),
            (Phase::CallingModel, Input::Interrupted { partial }) => self.interrupt(cx, &partial),
            (Phase::CallingTools(round), input) => self.step_call(cx, round, input),
            (Phase::CommittingRound(round), Input::Committed) => self.finish_round(cx, *round),
            (Phase::CommittingRound(round), Input::Stale) => self.restart_round(cx, *round),
            (Phase::Completing { ended, .. } | Phase::Abandoning { ended, .. }, Input::Committed) => {
                let TurnEnd { scope, exchange, outcome } = *ended;
                self.append_reply(cx, &exchange);
                cx.logs.push(&scope, Arc::new(exchange), cx.state.policy().context_budget());
                self.learn_from_turn(cx, Box::new(outcome))
            }
            (Phase::Completing { .. } | Phase::Abandoning { .. }, Input::Stale) if !self.is_accepted => {
                self.accept(cx)
            }
            (Phase::Completing { reply, .. }, Input::Stale) => self.finish(cx, reply),
            (Phase::ReloadingLogs { reply }, Input::LogsLoaded(loaded)) => {
                cx.cache_logs(loaded);
                self.finish(cx, reply)
            }
            (Phase::Abandoning { reason, .. }, Input::Stale) => self.abandon(cx, reason),
            (phase, input) => panic!("the driver answered {phase:?} with {input:?}"),
        }
    }

    fn banners(&self) -> &[Banner] {
        &self.banners
    }

    fn may_fail(&self) -> bool {
        matches!(self.phase, Phase::Learning { .. })
    }

    /// Length of the message and the host's reply.
    fn bytes(&self) -> usize {
        let reply_bytes = self.host_reply.as_ref().map_or(0, |reply| reply.message.content.len());
        self.message.message.content.len() + reply_bytes
    }
}

impl Turn {
    /// A turn from messages that are already masked and counted
    /// ([`SessionState::mask_and_count`](crate::session::state::SessionState::mask_and_count)) and of checked length
    /// ([`check_length`]). With a reply, the host has completed the turn.
    pub fn new(
        cx: &TurnContext<'_>,
        author: Author,
        message: CountedMessage,
        host_reply: Option<CountedMessage>,
        turn_id: Option<String>,
    ) -> Result<Self, TurnError> {
        let turn_id = turn_id.map(|id| mask_id(cx.state.masking(), &id));
        check_budget(cx.state.policy(), cx.tools, cx.counter)?;
        Ok(Self {
            message,
            author,
            turn_id,
            host_reply,
            turn: TurnNo(0),
            first_seq: Seq(0),
            began: cx.now,
            is_accepted: false,
            phase: Phase::Accepting,
            batch: Vec::new(),
            rounds: Vec::new(),
            calls_made: 0,
            is_without_tools: false,
            banners: Vec::new(),
            refusals: Vec::new(),
            touched_efforts: BTreeSet::new(),
            ledger: Ledger::default(),
            cost: Cost::default(),
            last_text: String::new(),
            compactions: 0,
            uncompactable: BTreeSet::new(),
            guidance: None,
            replies_refused: 0,
            retry_events: Vec::new(),
            buffer_output: None,
            memory_uses: Vec::new(),
            memory_commands: VecDeque::new(),
        })
    }

    /// Makes the message durable before any model is called (I2).
    fn accept(&mut self, cx: &mut TurnContext<'_>) -> TurnProgress {
        self.begin_turn(cx, self.turn_id.clone());
        if self.host_reply.is_some() {
            return self.load_logs(cx);
        }
        self.commit(Phase::Accepting)
    }

    fn begin_turn(&mut self, cx: &mut TurnContext<'_>, turn_id: Option<String>) {
        (self.turn, self.first_seq, self.began) = (cx.state.turn().next(), cx.state.seq().next(), cx.now);
        let (message, author) = (self.message.clone(), Some(self.author));
        self.record(cx, TurnEvent::Started { turn: self.turn, message, turn_id, author });
    }

    fn load_logs(&mut self, cx: &mut TurnContext<'_>) -> TurnProgress {
        let selection = Selection::of(cx.state);
        let wanted: BTreeSet<Scope> = selection.scopes().collect();
        cx.logs.retain(|scope| wanted.contains(scope));
        let requests = cx.missing_logs(&selection);
        if requests.is_empty() {
            return self.call_model(cx);
        }
        self.phase = Phase::LoadingLogs;
        Progress::Perform(Step::LoadLogs(requests))
    }

    fn finish_host_turn(&mut self, cx: &mut TurnContext<'_>) -> TurnProgress {
        self.check_host_turn(cx);
        let reply = self.host_reply.clone().unwrap_or_else(|| cx.mask_and_count(Message::assistant("")));
        self.finish(cx, reply)
    }

    /// The turn's messages so far, for the summary of an effort that it closes.
    fn messages_so_far(&self, text: &str) -> Vec<Message> {
        let mut messages = vec![self.message.message.clone()];
        messages.extend((!text.is_empty()).then(|| Message::assistant(text)));
        messages
    }

    /// Drops what a stale commit would have recorded.
    fn drop_batch(&mut self, cx: &mut TurnContext<'_>) {
        self.batch.clear();
        if !self.is_accepted {
            // The turn begins anew, under another number.
            return self.retry_events.clear();
        }
        // These were found along the way and are not decided again.
        for event in self.retry_events.clone() {
            self.record(cx, event);
        }
    }

    /// Records an event that is recorded again, not decided again, after a stale commit.
    fn record_for_retry(&mut self, cx: &mut TurnContext<'_>, event: impl Into<Event>) {
        let event = event.into();
        self.retry_events.push(event.clone());
        self.record(cx, event);
    }

    fn record(&mut self, cx: &mut TurnContext<'_>, event: impl Into<Event>) {
        self.batch.push(cx.state.record(cx.now, event));
    }

    fn commit(&mut self, then: Phase) -> TurnProgress {
        self.phase = then;
        Progress::Perform(Step::Commit(std::mem::take(&mut self.batch)))
    }

    fn exchange(&self, reply: Option<CountedMessage>) -> Exchange {
        let transcript = self.rounds.iter().filter(|(_, v)| *v == RoundVisibility::Transcript);
        let rounds = transcript.flat_map(|(round, _)| round.messages().cloned());
        let messages = std::iter::once(self.message.clone()).chain(rounds).chain(reply).collect();
        Exchange { turn: self.turn, at: self.began, messages }
    }
}
