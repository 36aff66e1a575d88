//! Calls the model: drafts the prompt and makes the summaries it needs first.

use std::sync::Arc;

use super::censor_checks::needs_buffering;
use super::context::TurnContext;
use super::span_compaction::{CompactionProgress, SpanCompaction};
use super::step::{Input, ModelReply, ModelRequest, Progress, Step, TurnProgress};
use super::{Phase, Turn};
use crate::base::cost::Cost;
use crate::base::message::{Exchange, Message, Role, ToolRound, message_tokens};
use crate::context::epoch::PromptDraft;
use crate::context::{BudgetTooSmall, FULL_PERCENT, Selection, ThisTurn};
use crate::session::event::{AbandonReason, WindowEvent};
use crate::session::summary::SummarizerKind;
use crate::session::window::CompactionRequest;
use crate::text::render;

/// Most span summaries made while a turn waits; upkeep makes the rest.
const COMPACTIONS_MAX: usize = 16;

impl Turn {
    pub(super) fn call_model(&mut self, cx: &mut TurnContext<'_>) -> TurnProgress {
        let draft = match self.draft_prompt(cx) {
            Ok(draft) => draft,
            // A turn that a host completed is stored, whether or not a context fits here.
            Err(_) if self.host_reply.is_some() => return self.finish_host_turn(cx),
            Err(too_small) => {
                let message = too_small.to_string();
                return self.abandon(cx, AbandonReason::ModelFailed { message });
            }
        };
        if self.host_reply.is_some() {
            self.ledger = draft.context().ledger.clone();
            cx.sent_prompt.invalidate();
            return self.finish_host_turn(cx);
        }
        if let Some(request) = self.next_compaction(&draft) {
            // The reply waits for this, so use the summariser that is always available.
            let (compaction, progress) = SpanCompaction::start(cx, request, SummarizerKind::BuiltIn);
            return self.apply_compaction(cx, Box::new(compaction), progress);
        }
        if let Some(cause) = draft.epoch_cause() {
            self.record(cx, WindowEvent::EpochBegan { turn: self.turn, cause });
        }
        self.record_memory_pressure(cx, draft.reduced_memories());
        let (context, cost) = cx.sent_prompt.commit_draft(draft, cx.state.policy(), cx.now);
        self.cost += cost;
        self.ledger = context.ledger.clone();
        self.phase = Phase::CallingModel;
        let may_call_tools = self.may_call_tools(cx) && !self.is_without_tools;
        let offers_tools = !context.tools.is_empty();
        Progress::Perform(Step::CallModel(ModelRequest {
            messages: context.request_messages(),
            tools: if self.is_without_tools { Arc::new([]) } else { context.tools },
            may_call_tools,
            offers_tools,
            buffer_output: *self.buffer_output.get_or_insert_with(|| needs_buffering(cx)),
        }))
    }

    fn draft_prompt(&self, cx: &TurnContext<'_>) -> Result<PromptDraft, BudgetTooSmall> {
        let rounds: Vec<ToolRound> = self.rounds.iter().map(|(round, _)| round.clone()).collect();
        let this_turn = ThisTurn {
            turn: self.turn,
            message: Some(&self.message),
            guidance: self.guidance.as_ref(),
            rounds: &rounds,
        };
        if self.host_reply.is_some() {
            let assembled = cx.assembler().assemble(&Selection::of(cx.state), this_turn, FULL_PERCENT)?;
            return Ok(PromptDraft::Rewritten { assembled, epoch: None });
        }
        cx.assembler().draft(cx.sent_prompt, this_turn, cx.now)
    }

    fn next_compaction(&self, draft: &PromptDraft) -> Option<CompactionRequest> {
        let request = draft.compactions().iter().find(|request| !self.uncompactable.contains(request.scope()));
        request.filter(|_| self.compactions < COMPACTIONS_MAX).cloned()
    }

    pub(super) fn step_compaction(
        &mut self,
        cx: &mut TurnContext<'_>,
        mut compaction: Box<SpanCompaction>,
        input: Input,
    ) -> TurnProgress {
        let progress = compaction.step(cx, input);
        self.apply_compaction(cx, compaction, progress)
    }

    fn apply_compaction(
        &mut self,
        cx: &mut TurnContext<'_>,
        compaction: Box<SpanCompaction>,
        progress: CompactionProgress,
    ) -> TurnProgress {
        match progress {
            CompactionProgress::Ask(step) => {
                self.phase = Phase::Compacting(compaction);
                Progress::Perform(step)
            }
            CompactionProgress::Finished(Some(event)) => {
                self.compactions += 1;
                self.record(cx, event);
                self.commit(Phase::CommittingSpan)
            }
            CompactionProgress::Finished(None) => {
                self.uncompactable.insert(compaction.scope().clone());
                self.call_model(cx)
            }
        }
    }

    /// Asks once more, without tools, a model that wrote nothing but calls of tools that do not exist. If it does so again,
    /// there is no answer.
    pub(super) fn retry_without_tools(&mut self, cx: &mut TurnContext<'_>, reply: &ModelReply) -> TurnProgress {
        if self.is_without_tools {
            return self.receive_reply(cx, ModelReply::default());
        }
        self.add_reply_cost(cx, reply);
        self.is_without_tools = true;
        self.call_model(cx)
    }

    /// The output is paid for, whatever happens to it.
    pub(super) fn add_reply_cost(&mut self, cx: &TurnContext<'_>, reply: &ModelReply) {
        let message = Message { tool_calls: reply.calls.clone(), ..Message::assistant(reply.text.as_str()) };
        self.cost += Cost::of_reply(cx.state.policy(), message_tokens(cx.counter, &message));
        (self.ledger.cost, self.ledger.model) = (self.cost, cx.model.cloned());
    }

    /// Appends the turn's last text to the growing prompt, which already contains the texts beside tool calls.
    pub(super) fn append_reply(&self, cx: &mut TurnContext<'_>, exchange: &Exchange) {
        let reply = exchange.messages.last().filter(|counted| counted.message.role == Role::Assistant);
        let last_text = if self.last_text.trim().is_empty() { None } else { Some(self.last_text.as_str()) };
        let reply = reply.map(|whole| match last_text {
            Some(last_text) => cx.mask_and_count(Message { content: last_text.into(), ..whole.message.clone() }),
            None => whole.clone(),
        });
        cx.sent_prompt.end_turn(render::messages(cx.counter, &reply));
    }
}
