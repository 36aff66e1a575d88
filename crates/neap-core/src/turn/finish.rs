//! The end of a turn: route, references, decay and eviction, in one commit.

use super::context::TurnContext;
use super::step::{Progress, Step, TurnEnd, TurnOutcome, TurnProgress};
use super::tool_execution::collapse_event;
use super::{Phase, Turn, limits};
use crate::base::message::{CountedMessage, Incomplete, Message, Scope};
use crate::context::Selection;
use crate::session::decay;
use crate::session::event::{AbandonReason, CollapseCause, EffortEvent, RoundVisibility, TurnEvent};
use crate::session::project::withhold;
use crate::session::route::route;
use crate::session::state::PendingTurn;
use crate::turn::tools::Banner;

impl Turn {
    pub(super) fn finish(&mut self, cx: &mut TurnContext<'_>, reply: CountedMessage) -> TurnProgress {
        let requests = cx.missing_logs(&Selection::of(cx.state));
        if !requests.is_empty() && cx.state.expanded_efforts().next().is_some() {
            self.phase = Phase::ReloadingLogs { reply };
            return Progress::Perform(Step::LoadLogs(requests));
        }
        self.restart_if_closed(cx);
        let (turn, scope) = (self.turn, self.scope(cx));
        let mut banners = self.banners.clone();
        let used = self.note_memory_uses(cx, &reply.message.content);
        self.ledger.memories_used.extend(used);
        let ledger = Box::new(self.ledger.clone());
        let completed = TurnEvent::Completed { turn, reply: reply.clone(), scope: scope.clone(), ledger };
        self.record(cx, completed);
        self.apply_decay(cx, &reply.message.content, &mut banners);

        let exchange = self.exchange(Some(reply.clone()));
        let outcome = TurnOutcome {
            incomplete: reply.message.incomplete.clone(),
            ..self.outcome(Ok(reply.message.content.to_string()), banners, scope.clone())
        };
        let ended = Box::new(TurnEnd { scope, exchange, outcome });
        self.commit(Phase::Completing { reply, ended })
    }

    /// Ends the turn without a reply; the user's message stays in the log it was routed to.
    pub(super) fn abandon(&mut self, cx: &mut TurnContext<'_>, reason: AbandonReason) -> TurnProgress {
        self.restart_if_closed(cx);
        let scope = self.scope(cx);
        let event = TurnEvent::Abandoned { turn: self.turn, reason: reason.clone(), scope: scope.clone() };
        self.record(cx, event);
        let mut exchange = self.exchange(None);
        if let AbandonReason::Censored { id, .. } = &reason {
            withhold(&mut exchange, *id);
            cx.sent_prompt.invalidate();
        }
        let outcome = self.outcome(Err(reason.clone()), self.banners.clone(), scope.clone());
        let ended = Box::new(TurnEnd { scope, exchange, outcome });
        self.commit(Phase::Abandoning { reason, ended })
    }

    pub(super) fn interrupt(&mut self, cx: &mut TurnContext<'_>, partial: &str) -> TurnProgress {
        self.finish_partial(cx, partial, Incomplete::Interrupted, AbandonReason::Interrupted)
    }

    /// The model failed. Partial output was already read by the user, so it is stored, marked as incomplete.
    pub(super) fn fail(&mut self, cx: &mut TurnContext<'_>, message: &str, partial: &str) -> TurnProgress {
        let message = limits::truncate_error(&cx.mask(message));
        let why = Incomplete::BrokenOff { reason: message.clone() };
        self.finish_partial(cx, partial, why, AbandonReason::ModelFailed { message })
    }

    /// Stores partial output with the reason why it is incomplete.
    fn finish_partial(
        &mut self,
        cx: &mut TurnContext<'_>,
        partial: &str,
        why: Incomplete,
        reason: AbandonReason,
    ) -> TurnProgress {
        let partial = cx.mask(partial);
        // Buffered output that a censor would have refused is dropped.
        let whole = self.full_reply_text(partial.clone());
        let text = if self.is_refused(cx, &whole) { String::new() } else { whole };
        if text.is_empty() {
            return self.abandon(cx, reason);
        }
        self.last_text = partial.trim_end().to_owned();
        let reply = cx.mask_and_count(Message { incomplete: Some(why), ..Message::assistant(text.trim_end()) });
        self.finish(cx, reply)
    }

    /// References come first, so that what this turn mentioned does not decay.
    fn apply_decay(&mut self, cx: &mut TurnContext<'_>, reply: &str, banners: &mut Vec<Banner>) {
        let turn = self.turn;
        let user = self.message.message.content.clone();
        let ids = decay::referenced_efforts(cx.state, &[&user, reply], &self.touched_efforts);
        if !ids.is_empty() {
            self.record(cx, EffortEvent::Referenced { turn, ids });
        }
        for (id, inactive_turns) in decay::decayed_expansions(cx.state) {
            let event = collapse_event(cx, turn, &id, CollapseCause::Decayed { inactive_turns });
            self.record(cx, event);
            banners.push(Banner::AutoCollapsed { id, inactive_turns });
        }
        for id in decay::excess_expansions(cx.state) {
            let event = collapse_event(cx, turn, &id, CollapseCause::Crowded);
            self.record(cx, event);
            banners.push(Banner::Collapsed { id });
        }
        let ids = decay::evictable_summaries(cx.state);
        if !ids.is_empty() {
            self.record(cx, EffortEvent::Evicted { turn, ids });
        }
    }

    /// Another process took this turn for dead and closed it: record the message and the host's tool results as a
    /// new turn.
    fn restart_if_closed(&mut self, cx: &mut TurnContext<'_>) {
        if self.pending(cx).is_none() {
            // The caller's id stays with the closed turn.
            self.begin_turn(cx, None);
            let rounds = self.rounds.iter().filter(|(_, visibility)| *visibility == RoundVisibility::Transcript);
            for (round, visibility) in rounds.cloned().collect::<Vec<_>>() {
                self.record(cx, TurnEvent::ToolsCalled { turn: self.turn, round, visibility });
            }
        }
    }

    fn scope(&self, cx: &TurnContext<'_>) -> Scope {
        self.pending(cx).map_or(Scope::Ambient, route)
    }

    /// This very turn in the state, if it is still in flight.
    fn pending<'d>(&self, cx: &'d TurnContext<'_>) -> Option<&'d PendingTurn> {
        cx.state.head().pending.get(&self.turn).filter(|pending| pending.first_seq == self.first_seq)
    }

    fn outcome(&self, reply: Result<String, AbandonReason>, banners: Vec<Banner>, scope: Scope) -> TurnOutcome {
        let (refusals, ledger) = (self.refusals.clone(), self.ledger.clone());
        TurnOutcome {
            turn: self.turn,
            reply,
            incomplete: None,
            banners,
            refusals,
            tool_calls: self.calls_made,
            scope,
            ledger,
        }
    }
}
