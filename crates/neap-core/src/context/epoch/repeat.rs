//! Repeats what was sent long ago: the same drafts on the states of that time, with the decisions that were recorded.

use super::SentPrompt;
use super::draft::PromptDraft;
use crate::base::ids::Stamp;
use crate::base::message::CountedMessage;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::context::{Assembler, BudgetTooSmall, FULL_PERCENT, Selection, ThisTurn, WorkingContext};
use crate::session::event::EpochCause;
use crate::text::render;

impl SentPrompt {
    /// A call as it was made: with a rewritten prompt if the stream says so, else with a longer one, or, where every turn
    /// has its own, with one from scratch. Also gives the tokens that the provider had from the call before.
    pub fn repeat_call(
        &mut self,
        view: &Assembler<'_>,
        turn: ThisTurn<'_>,
        rewritten: Option<EpochCause>,
        now: Stamp,
    ) -> Result<(WorkingContext, Tokens), BudgetTooSmall> {
        let (policy, selection) = (view.state.policy(), Selection::of(view.state));
        let rewrite = || view.assemble(&selection, turn, policy.epoch_low_percent);
        let draft = match (&self.epoch, rewritten) {
            (_, Some(cause)) => view.begin_epoch(rewrite()?, &selection, turn, cause),
            (Some(epoch), None) => match view.extend_prompt(epoch, &selection, turn) {
                Some(extended) => extended,
                None => view.begin_epoch(rewrite()?, &selection, turn, EpochCause::Full),
            },
            (None, None) => {
                let assembled = view.assemble(&selection, turn, FULL_PERCENT)?;
                PromptDraft::Rewritten { assembled, epoch: None }
            }
        };
        let (context, cost) = self.commit_draft(draft, policy, now);
        Ok((context, cost.cached))
    }

    /// The end of a turn that was repeated.
    pub fn repeat_end(&mut self, counter: &dyn TokenCounter, reply: CountedMessage) {
        self.end_turn(render::messages(counter, &Some(reply)));
    }
}
