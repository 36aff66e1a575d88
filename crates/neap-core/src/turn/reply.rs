//! Takes the model's reply: runs its tool calls, or ends the turn.

use super::round::PendingRound;
use super::step::TurnProgress;
use super::{ModelReply, Turn, TurnContext, limits};
use crate::base::message::Incomplete;
use crate::session::event::RoundVisibility;

impl Turn {
    pub(super) fn may_call_tools(&self, cx: &TurnContext<'_>) -> bool {
        let policy = cx.state.policy();
        (self.rounds.len() as u64) < policy.tool_rounds_max && self.calls_made < policy.tool_calls_max
    }

    pub(super) fn receive_reply(&mut self, cx: &mut TurnContext<'_>, mut reply: ModelReply) -> TurnProgress {
        self.add_reply_cost(cx, &reply);
        // Calls stay unmasked: a host's tool needs its real arguments. What is recorded is masked later.
        reply.text = cx.mask(&reply.text);
        let calls_left =
            if self.may_call_tools(cx) { cx.state.policy().tool_calls_max - self.calls_made } else { 0 };
        let reply = limits::sanitize_reply(reply, self.turn, self.rounds.len(), calls_left, cx.state.policy());
        self.refusals.extend(reply.refusals);
        self.last_text.clone_from(&reply.text);
        if reply.calls.is_empty() {
            return self.accept_reply(cx, reply.text, reply.incomplete);
        }
        match self.check_round(cx, reply.text, &reply.calls) {
            Ok(text) => {
                self.last_text.clone_from(&text);
                self.start_next_call(cx, Box::new(PendingRound::new(text, reply.calls)))
            }
            Err(reason) => self.abandon(cx, reason),
        }
    }

    /// Checks the model's final reply against the censors and ends the turn.
    fn accept_reply(
        &mut self,
        cx: &mut TurnContext<'_>,
        text: String,
        incomplete: Option<Incomplete>,
    ) -> TurnProgress {
        let whole = self.full_reply_text(text.clone());
        let reply = match self.check_output(cx, &text, &whole) {
            Ok(None) => limits::reply_message(whole, incomplete),
            Ok(Some(withheld)) => {
                self.last_text.clear();
                limits::reply_message(String::new(), Some(withheld))
            }
            Err(step) => return *step,
        };
        self.finish(cx, cx.mask_and_count(reply))
    }

    /// Joins the reply with the texts beside its tool calls: rounds that only this turn shows would otherwise lose
    /// them.
    pub(super) fn full_reply_text(&self, last: String) -> String {
        // A reply that a censor refused has no calls and is left out.
        let earlier = self.rounds.iter().filter(|(round, visibility)| {
            *visibility == RoundVisibility::ThisTurn && !round.assistant.message.tool_calls.is_empty()
        });
        let texts = earlier.map(|(round, _)| round.assistant.message.content.to_string()).chain([last]);
        texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}
