//! Asking the model: what it is sent, and what must be summarised before that.

use super::censoring::must_hold;
use super::compacting::{Compacting, Progress};
use super::desk::Desk;
use super::step::{Input, ModelReply, ModelRequest, Step};
use super::{Phase, Turn};
use crate::assemble::{ALL, BudgetTooSmall, Selection, ThisTurn};
use crate::cost::Cost;
use crate::epoch::Draft;
use crate::event::{AbandonReason, Event};
use crate::message::{Exchange, Message, Role, ToolRound, message_tokens};
use crate::render;
use crate::summary::SummaryBy;
use crate::window::Wish;

/// Summaries of spans made while a turn waits, at most; what they do not cover waits for upkeep.
const COMPACTIONS_MAX: usize = 16;

impl Turn {
    pub(super) fn think(&mut self, desk: &mut Desk<'_>) -> Step {
        let draft = match self.draft(desk) {
            Ok(draft) => draft,
            // What was said elsewhere is kept, whatever could be shown here.
            Err(_) if self.told_reply.is_some() => return self.finish_told(desk),
            Err(too_small) => {
                let message = too_small.to_string();
                return self.abandon(desk, AbandonReason::ModelFailed { message });
            }
        };
        if self.told_reply.is_some() {
            self.ledger = draft.context().ledger.clone();
            desk.sent.forget();
            return self.finish_told(desk);
        }
        if let Some(wish) = self.due(&draft) {
            // At the limit, whoever is at hand: the reply waits for it.
            let (compacting, progress) = Compacting::start(desk, wish, SummaryBy::BuiltIn);
            return self.compacting(desk, Box::new(compacting), progress);
        }
        if let Some(cause) = draft.cause() {
            self.record(desk, Event::EpochBegan { turn: self.turn, cause });
        }
        self.note_pressure(desk, draft.pressed());
        let (context, cost) = desk.sent.send(draft, desk.state.policy(), desk.now);
        self.cost += cost;
        self.ledger = context.ledger.clone();
        self.phase = Phase::Thinking;
        let may_call = self.may_call(desk);
        Step::CallModel(ModelRequest {
            messages: context.request_messages(),
            tools: context.tools,
            reply_may_call: may_call,
            hold: *self.hold.get_or_insert_with(|| must_hold(desk)),
        })
    }

    fn draft(&self, desk: &Desk<'_>) -> Result<Draft, BudgetTooSmall> {
        let rounds: Vec<ToolRound> = self.rounds.iter().map(|(round, _)| round.clone()).collect();
        let this_turn = ThisTurn {
            turn: self.turn,
            message: Some(&self.message),
            guidance: self.guidance.as_ref(),
            rounds: &rounds,
        };
        if self.told_reply.is_some() {
            let assembled = desk.view().assemble(&Selection::of(desk.state), this_turn, ALL)?;
            return Ok(Draft::Anew { assembled, epoch: None });
        }
        desk.view().draft(desk.sent, this_turn, desk.now)
    }

    fn due(&self, draft: &Draft) -> Option<Wish> {
        let wish = draft.wishes().iter().find(|wish| !self.given_up.contains(wish.scope()));
        wish.filter(|_| self.compactions < COMPACTIONS_MAX).cloned()
    }

    pub(super) fn compact(&mut self, desk: &mut Desk<'_>, mut compacting: Box<Compacting>, input: Input) -> Step {
        let progress = compacting.step(desk, input);
        self.compacting(desk, compacting, progress)
    }

    fn compacting(&mut self, desk: &mut Desk<'_>, compacting: Box<Compacting>, progress: Progress) -> Step {
        match progress {
            Progress::Ask(step) => {
                self.phase = Phase::Compacting(compacting);
                step
            }
            Progress::Finished(Some(event)) => {
                self.compactions += 1;
                self.record(desk, event);
                self.commit(Phase::Compacted)
            }
            Progress::Finished(None) => {
                self.given_up.insert(compacting.scope().clone());
                self.think(desk)
            }
        }
    }

    /// What the model said is paid for, whatever comes of it.
    pub(super) fn pay_for(&mut self, desk: &Desk<'_>, reply: &ModelReply) {
        let said = Message { tool_calls: reply.calls.clone(), ..Message::assistant(reply.text.as_str()) };
        self.cost += Cost::of_reply(desk.state.policy(), message_tokens(desk.counter, &said));
        self.ledger.cost = self.cost;
    }

    /// The turn's last words join the prompt that grows. What was said beside calls is in it already.
    pub(super) fn end_of_prompt(&self, desk: &mut Desk<'_>, exchange: &Exchange) {
        let reply = exchange.messages.last().filter(|said| said.message.role == Role::Assistant);
        let said = if self.last_said.trim().is_empty() { None } else { Some(self.last_said.as_str()) };
        let reply = reply.map(|whole| match said {
            Some(said) => desk.count(Message { content: said.into(), ..whole.message.clone() }),
            None => whole.clone(),
        });
        desk.sent.end_turn(render::messages(desk.counter, &reply));
    }
}
