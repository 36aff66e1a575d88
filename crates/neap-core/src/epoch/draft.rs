//! The next request: the prompt so far with more at its end, or one that is written anew.

use super::{Epoch, Sent, recall, sum};
use crate::assemble::{
    ALL, Assembled, BudgetTooSmall, Placed, Selection, ShownTurn, ThisTurn, View, WorkingContext, standing,
};
use crate::event::EpochCause;
use crate::ids::Stamp;
use crate::knowledge::Loaded;
use crate::ledger::{Layer, Ledger};
use crate::policy::Policy;
use crate::tokens::Tokens;
use crate::window::Wish;

/// A request that could be sent.
#[derive(Debug)]
pub(crate) enum Draft {
    /// Written anew.
    Anew {
        /// What is sent.
        assembled: Assembled,
        /// If it is to grow: the prompt to come, and why it was written.
        epoch: Option<(Box<Epoch>, EpochCause)>,
    },
    /// The prompt so far, and more.
    Longer {
        /// What is sent.
        context: WorkingContext,
        /// The prompt to come.
        epoch: Box<Epoch>,
    },
}

impl Draft {
    /// What is sent.
    pub(crate) fn context(&self) -> &WorkingContext {
        match self {
            Draft::Anew { assembled, .. } => &assembled.context,
            Draft::Longer { context, .. } => context,
        }
    }

    /// Summaries of spans that it could use.
    pub(crate) fn wishes(&self) -> &[Wish] {
        match self {
            Draft::Anew { assembled, .. } => &assembled.wishes,
            Draft::Longer { .. } => &[],
        }
    }

    /// What is left of what the agent knows, if something had to leave for lack of room.
    pub(crate) fn pressed(&self) -> Option<&Loaded> {
        match self {
            Draft::Anew { assembled, .. } => assembled.pressed.as_deref(),
            Draft::Longer { .. } => None,
        }
    }

    /// Why the prompt was written anew, if it is one that grows.
    pub(crate) fn cause(&self) -> Option<EpochCause> {
        match self {
            Draft::Anew { epoch, .. } => epoch.as_ref().map(|(_, cause)| *cause),
            Draft::Longer { .. } => None,
        }
    }

    /// Makes it the prompt that was sent.
    pub(super) fn take_up(self, prompt: &mut Option<Epoch>) -> WorkingContext {
        let (context, epoch) = match self {
            Draft::Anew { assembled, epoch } => (assembled.context, epoch.map(|(epoch, _)| *epoch)),
            Draft::Longer { context, epoch } => (context, Some(*epoch)),
        };
        *prompt = epoch;
        context
    }
}

impl View<'_> {
    /// What to send for a turn, given what was sent before.
    pub(crate) fn draft(&self, sent: &Sent, turn: ThisTurn<'_>, now: Stamp) -> Result<Draft, BudgetTooSmall> {
        let policy = self.state.policy();
        let selection = Selection::of(self.state);
        if policy.rewrites_every_turn() {
            let assembled = self.assemble(&selection, turn, ALL)?;
            return Ok(Draft::Anew { assembled, epoch: None });
        }
        let anew = || self.assemble(&selection, turn, policy.epoch_low_percent);
        let Some(epoch) = &sent.epoch else { return Ok(self.begin(anew()?, &selection, turn, EpochCause::First)) };
        let begins = epoch.turn.is_empty();
        if begins && turn.turn.since(epoch.since) >= policy.epoch_turns_max {
            return Ok(self.begin(anew()?, &selection, turn, EpochCause::TurnsOver));
        }
        if begins && sent.is_forgotten_by_cache(policy, now) {
            return Ok(self.begin(anew()?, &selection, turn, EpochCause::Expired));
        }
        let Some(longer) = self.longer(epoch, &selection, turn) else {
            return Ok(self.begin(anew()?, &selection, turn, EpochCause::Full));
        };
        if begins {
            let fresh = anew()?;
            if pays(policy, longer.context().tokens(), fresh.context.tokens()) {
                return Ok(self.begin(fresh, &selection, turn, EpochCause::Cheaper));
            }
        }
        Ok(longer)
    }

    /// What would be sent for a turn; nothing is taken up.
    pub fn preview(&self, sent: &Sent, turn: ThisTurn<'_>, now: Stamp) -> Result<WorkingContext, BudgetTooSmall> {
        Ok(self.draft(sent, turn, now)?.context().clone())
    }

    /// Whether the next turn will begin an epoch, or may: its prompt fills the budget nearly before anything new is
    /// said. What the last turn called for again is in that prompt, so it counts.
    pub(crate) fn epoch_is_near(&self, sent: &Sent, near_percent: u64, now: Stamp) -> bool {
        let turn = ThisTurn { turn: self.state.turn().next(), ..ThisTurn::default() };
        match self.draft(sent, turn, now) {
            Ok(Draft::Longer { context, .. }) => {
                context.tokens() >= self.state.policy().context_budget().percent(near_percent)
            }
            Ok(Draft::Anew { .. }) | Err(_) => true,
        }
    }

    fn begin(
        &self,
        mut fresh: Assembled,
        selection: &Selection<'_>,
        turn: ThisTurn<'_>,
        cause: EpochCause,
    ) -> Draft {
        fresh.context.ledger.epoch_since = Some(turn.turn);
        let Assembled { context, turn_at, .. } = &fresh;
        let (head, this_turn) = context.messages.split_at(*turn_at);
        let turn_part: Vec<_> = this_turn.iter().map(|placed| placed.said.clone()).collect();
        let mut tokens = context.ledger.tokens;
        tokens.take(Layer::Message, sum(&turn_part));
        let epoch = Epoch {
            since: turn.turn,
            system: context.system.clone(),
            records: context.records.clone(),
            head: head.to_vec(),
            tail: Vec::new(),
            turn: turn_part,
            rounds: turn.rounds.len(),
            logs: selection.scopes().collect(),
            summaries: selection.summaries.iter().map(|effort| effort.id.clone()).collect(),
            known: self.known.into_iter().flat_map(|known| known.lines().map(str::to_owned)).collect(),
            standing: standing(self.counter, selection, self.tools),
            ledger: Ledger { tokens, epoch_since: Some(turn.turn), ..Ledger::default() },
        };
        Draft::Anew { assembled: fresh, epoch: Some((Box::new(epoch), cause)) }
    }

    /// The prompt so far with what is new; none if that does not fit.
    fn longer(&self, epoch: &Epoch, selection: &Selection<'_>, turn: ThisTurn<'_>) -> Option<Draft> {
        let shown = ShownTurn::of(self.counter, turn);
        let turn = shown.this_turn();
        let mut next = epoch.clone();
        let mut added = Vec::new();
        if epoch.turn.is_empty() {
            added.extend(recall::now(self, &mut next, selection));
            added.extend(recall::summaries(self, &mut next, selection));
            added.extend(recall::logs(self, &mut next, selection)?);
            added.extend(recall::memories(self, &mut next));
            added.extend(turn.message.into_iter().chain(turn.guidance).cloned());
        } else {
            let rounds = turn.rounds.get(epoch.rounds..)?;
            added.extend(rounds.iter().flat_map(|round| round.with_notes().cloned()));
            added.extend(recall::logs(self, &mut next, selection)?);
        }
        // A long reply may have filled it by itself.
        if epoch.tokens() + sum(&added) > self.state.policy().context_budget() {
            return None;
        }
        next.turn.extend(added);
        next.rounds = turn.rounds.len();
        let mut ledger = next.ledger.clone();
        ledger.budget = self.state.policy().context_budget();
        ledger.evicted = selection.evicted as u64;
        ledger.memories =
            self.known.into_iter().flat_map(|known| known.items.iter().map(|item| item.id)).collect();
        ledger.tokens.add(Layer::Tail, sum(&next.tail));
        ledger.tokens.add(Layer::Message, sum(&next.turn));
        ledger.naive_tokens = self.naive(&ledger, turn);
        assert!(ledger.tokens.total() <= ledger.budget, "I1: the prompt exceeds its budget");
        let of = |layer: Layer| move |said: &crate::message::Counted| Placed { layer, said: said.clone() };
        let messages = next.head.iter().cloned();
        let messages = messages.chain(next.tail.iter().map(of(Layer::Tail)));
        let messages = messages.chain(next.turn.iter().map(of(Layer::Message))).collect();
        let (system, records) = (next.system.clone(), next.records.clone());
        let context = WorkingContext { system, records, messages, tools: self.tools.specs().clone(), ledger };
        Some(Draft::Longer { context, epoch: Box::new(next) })
    }

    /// What sending everything would cost.
    fn naive(&self, ledger: &Ledger, turn: ThisTurn<'_>) -> Tokens {
        let is_sent_anyway =
            |layer: &Layer| layer.is_of_memory() || matches!(layer, Layer::Protocol | Layer::Tools | Layer::Note);
        let fixed = Layer::ALL.into_iter().filter(is_sent_anyway).map(|layer| ledger.tokens.get(layer));
        fixed.sum::<Tokens>() + self.state.head().all_logs.tokens + turn.tokens()
    }
}

/// Whether a prompt written anew costs less over the horizon than one that goes on.
fn pays(policy: &Policy, going_on: Tokens, anew: Tokens) -> bool {
    let horizon = policy.epoch_horizon_turns;
    let read = |tokens: Tokens, turns: u64| tokens.0 * policy.price_cache_read_cents * turns;
    let rewritten = anew.0 * policy.price_cache_write_cents + read(anew, horizon - 1);
    rewritten < read(going_on, horizon)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_rewritten_early_only_if_that_pays() {
        let policy = Policy::default();
        assert!(pays(&policy, Tokens(10_000), Tokens(4_000)));
        assert!(!pays(&policy, Tokens(10_000), Tokens(4_200)), "12.5 + 7 reads of it against 8");
        assert!(!pays(&policy, Tokens(1_000), Tokens(1_000)));
    }
}
