//! The end of a turn: route, references, decay, eviction, in one commit.

use super::desk::Desk;
use super::perform::collapsed;
use super::step::{Ended, Outcome, Step};
use super::{Phase, Turn, intake};
use crate::assemble::Selection;
use crate::decay;
use crate::event::{AbandonReason, CollapseCause, Event, RoundVisibility};
use crate::message::{Counted, Incomplete, Message, Scope};
use crate::project::withhold;
use crate::route::route;
use crate::state::Pending;
use crate::tools::Banner;

impl Turn {
    /// The reply is known.
    pub(super) fn finish(&mut self, desk: &mut Desk<'_>, reply: Counted) -> Step {
        let requests = desk.missing(&Selection::of(desk.state));
        if !requests.is_empty() && desk.state.expanded().next().is_some() {
            self.phase = Phase::Refilling { reply };
            return Step::Load(requests);
        }
        self.start_again_if_lost(desk);
        let (turn, scope) = (self.turn, self.scope(desk));
        let mut banners = self.banners.clone();
        let used = self.note_uses(desk, &reply.message.content);
        self.ledger.memories_used.extend(used);
        let ledger = Box::new(self.ledger.clone());
        let completed = Event::TurnCompleted { turn, reply: reply.clone(), scope: scope.clone(), ledger };
        self.record(desk, completed);
        self.fade(desk, &reply.message.content, &mut banners);

        let exchange = self.exchange(Some(reply.clone()));
        let outcome = Outcome {
            incomplete: reply.message.incomplete.clone(),
            ..self.outcome(Ok(reply.message.content.to_string()), banners, scope.clone())
        };
        let ended = Box::new(Ended { scope, exchange, outcome });
        self.commit(Phase::Completing { reply, ended })
    }

    /// No reply: what the user said stays, and belongs where it would have.
    pub(super) fn abandon(&mut self, desk: &mut Desk<'_>, reason: AbandonReason) -> Step {
        self.start_again_if_lost(desk);
        let scope = self.scope(desk);
        let event = Event::TurnAbandoned { turn: self.turn, reason: reason.clone(), scope: scope.clone() };
        self.record(desk, event);
        let mut exchange = self.exchange(None);
        if let AbandonReason::Censored { id, .. } = &reason {
            withhold(&mut exchange, *id);
            desk.sent.forget();
        }
        let outcome = self.outcome(Err(reason.clone()), self.banners.clone(), scope.clone());
        let ended = Box::new(Ended { scope, exchange, outcome });
        self.commit(Phase::Abandoning { reason, ended })
    }

    /// The user stopped it.
    pub(super) fn interrupted(&mut self, desk: &mut Desk<'_>, partial: &str) -> Step {
        self.cut_short(desk, partial, Incomplete::Interrupted, AbandonReason::Interrupted)
    }

    /// The model failed. Half an answer is none, but it was read: it stays, and it is known to be half.
    pub(super) fn failed(&mut self, desk: &mut Desk<'_>, message: &str, partial: &str) -> Step {
        let message = intake::shorten(&desk.mask(message));
        let why = Incomplete::BrokenOff { reason: message.clone() };
        self.cut_short(desk, partial, why, AbandonReason::ModelFailed { message })
    }

    /// What was said before the end that did not come is kept, with why there is no more.
    fn cut_short(&mut self, desk: &mut Desk<'_>, partial: &str, why: Incomplete, reason: AbandonReason) -> Step {
        let partial = desk.mask(partial);
        // Words that were held back and that a rule would have refused are not said.
        let whole = self.said_beside_calls(partial.clone());
        let said = if self.is_refused(desk, &whole) { String::new() } else { whole };
        if said.is_empty() {
            return self.abandon(desk, reason);
        }
        self.last_said = partial.trim_end().to_owned();
        let reply = desk.count(Message { incomplete: Some(why), ..Message::assistant(said.trim_end()) });
        self.finish(desk, reply)
    }

    /// References first, so that what was just spoken of does not fade.
    fn fade(&mut self, desk: &mut Desk<'_>, reply: &str, banners: &mut Vec<Banner>) {
        let turn = self.turn;
        let user = self.message.message.content.clone();
        let ids = decay::referenced(desk.state, &[&user, reply], &self.touched);
        if !ids.is_empty() {
            self.record(desk, Event::EffortsReferenced { turn, ids });
        }
        for (id, inactive_turns) in decay::decayed(desk.state) {
            let event = collapsed(desk, turn, &id, CollapseCause::Decayed { inactive_turns });
            self.record(desk, event);
            banners.push(Banner::AutoCollapsed { id, inactive_turns });
        }
        for id in decay::crowded(desk.state) {
            let event = collapsed(desk, turn, &id, CollapseCause::Crowded);
            self.record(desk, event);
            banners.push(Banner::Collapsed { id });
        }
        let ids = decay::evicted(desk.state);
        if !ids.is_empty() {
            self.record(desk, Event::SummariesEvicted { turn, ids });
        }
    }

    /// Another process took this turn for dead and closed it: what was said, and what the host's tools answered,
    /// is recorded as a new one.
    fn start_again_if_lost(&mut self, desk: &mut Desk<'_>) {
        if self.pending(desk).is_none() {
            // The caller's id stays with the turn that was closed.
            self.begin_turn(desk, None);
            let rounds = self.rounds.iter().filter(|(_, visibility)| *visibility == RoundVisibility::Transcript);
            for (round, visibility) in rounds.cloned().collect::<Vec<_>>() {
                self.record(desk, Event::ToolsCalled { turn: self.turn, round, visibility });
            }
        }
    }

    fn scope(&self, desk: &Desk<'_>) -> Scope {
        self.pending(desk).map_or(Scope::Ambient, route)
    }

    /// This very turn in the state, if it is still in flight there.
    fn pending<'d>(&self, desk: &'d Desk<'_>) -> Option<&'d Pending> {
        desk.state.head().pending.get(&self.turn).filter(|pending| pending.first_seq == self.first_seq)
    }

    fn outcome(&self, reply: Result<String, AbandonReason>, banners: Vec<Banner>, scope: Scope) -> Outcome {
        let (refusals, ledger) = (self.refusals.clone(), self.ledger.clone());
        Outcome { turn: self.turn, reply, incomplete: None, banners, refusals, scope, ledger }
    }
}
