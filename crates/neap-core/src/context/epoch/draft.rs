//! The next request: the prompt so far, extended at its end, or a rewritten one.

use super::{Epoch, SentPrompt, additions};
use crate::base::ids::Stamp;
use crate::base::ledger::{Layer, Ledger};
use crate::base::message::total_tokens;
use crate::base::policy::Policy;
use crate::base::tokens::Tokens;
use crate::context::{
    Assembled, Assembler, BudgetTooSmall, FULL_PERCENT, LayeredMessage, RenderedTurn, Selection, ThisTurn,
    WorkingContext, efforts_line,
};
use crate::memory::knowledge::MemoryLoad;
use crate::session::event::EpochCause;
use crate::session::window::CompactionRequest;

#[derive(Debug)]
pub(crate) enum PromptDraft {
    Rewritten {
        assembled: Assembled,
        /// If the prompt is to grow: its new state, and why it was rewritten.
        epoch: Option<(Box<Epoch>, EpochCause)>,
    },
    Extended {
        context: WorkingContext,
        epoch: Box<Epoch>,
    },
}

impl PromptDraft {
    pub(crate) fn context(&self) -> &WorkingContext {
        match self {
            PromptDraft::Rewritten { assembled, .. } => &assembled.context,
            PromptDraft::Extended { context, .. } => context,
        }
    }

    /// Span summaries that it could use.
    pub(crate) fn compactions(&self) -> &[CompactionRequest] {
        match self {
            PromptDraft::Rewritten { assembled, .. } => &assembled.compactions,
            PromptDraft::Extended { .. } => &[],
        }
    }

    /// The memories that remain, if some were dropped for lack of room.
    pub(crate) fn reduced_memories(&self) -> Option<&MemoryLoad> {
        match self {
            PromptDraft::Rewritten { assembled, .. } => assembled.reduced_memories.as_deref(),
            PromptDraft::Extended { .. } => None,
        }
    }

    pub(crate) fn epoch_cause(&self) -> Option<EpochCause> {
        match self {
            PromptDraft::Rewritten { epoch, .. } => epoch.as_ref().map(|(_, cause)| *cause),
            PromptDraft::Extended { .. } => None,
        }
    }

    /// Makes it the growing prompt.
    pub(super) fn install_epoch(self, prompt: &mut Option<Epoch>) -> WorkingContext {
        let (context, epoch) = match self {
            PromptDraft::Rewritten { assembled, epoch } => (assembled.context, epoch.map(|(epoch, _)| *epoch)),
            PromptDraft::Extended { context, epoch } => (context, Some(*epoch)),
        };
        *prompt = epoch.map(|epoch| Epoch { sent: context.tokens(), ..epoch });
        context
    }
}

impl Assembler<'_> {
    /// What to send for a turn, given what was sent before.
    pub(crate) fn draft(
        &self,
        sent: &SentPrompt,
        turn: ThisTurn<'_>,
        now: Stamp,
    ) -> Result<PromptDraft, BudgetTooSmall> {
        let policy = self.state.policy();
        let selection = Selection::of(self.state);
        if policy.rewrites_every_turn() {
            let assembled = self.assemble(&selection, turn, FULL_PERCENT)?;
            return Ok(PromptDraft::Rewritten { assembled, epoch: None });
        }
        let rewrite = || self.assemble(&selection, turn, policy.epoch_low_percent);
        let Some(epoch) = &sent.epoch else {
            return Ok(self.begin_epoch(rewrite()?, &selection, turn, EpochCause::First));
        };
        let is_first_call = epoch.turn.is_empty();
        if is_first_call && turn.turn.since(epoch.since) >= policy.epoch_turns_max {
            return Ok(self.begin_epoch(rewrite()?, &selection, turn, EpochCause::TurnsOver));
        }
        if is_first_call && sent.is_cache_expired(policy, now) {
            return Ok(self.begin_epoch(rewrite()?, &selection, turn, EpochCause::Expired));
        }
        let Some(extended) = self.extend_prompt(epoch, &selection, turn) else {
            return Ok(self.begin_epoch(rewrite()?, &selection, turn, EpochCause::Full));
        };
        if is_first_call {
            let fresh = rewrite()?;
            if is_rewrite_cheaper(policy, extended.context().tokens(), fresh.context.tokens()) {
                return Ok(self.begin_epoch(fresh, &selection, turn, EpochCause::Cheaper));
            }
        }
        Ok(extended)
    }

    /// What would be sent for a turn; changes nothing.
    pub fn preview(
        &self,
        sent: &SentPrompt,
        turn: ThisTurn<'_>,
        now: Stamp,
    ) -> Result<WorkingContext, BudgetTooSmall> {
        Ok(self.draft(sent, turn, now)?.context().clone())
    }

    /// Whether the next turn will or may begin an epoch: its prompt nearly fills the budget before any new
    /// message. That prompt already includes what the last turn brought back.
    pub(crate) fn is_epoch_near(&self, sent: &SentPrompt, near_percent: u64, now: Stamp) -> bool {
        let turn = ThisTurn { turn: self.state.turn().next(), ..ThisTurn::default() };
        match self.draft(sent, turn, now) {
            Ok(PromptDraft::Extended { context, .. }) => {
                context.tokens() >= context.ledger.budget.percent(near_percent)
            }
            Ok(PromptDraft::Rewritten { .. }) | Err(_) => true,
        }
    }

    pub(super) fn begin_epoch(
        &self,
        mut fresh: Assembled,
        selection: &Selection<'_>,
        turn: ThisTurn<'_>,
        cause: EpochCause,
    ) -> PromptDraft {
        fresh.context.ledger.epoch_since = Some(turn.turn);
        let Assembled { context, turn_start, .. } = &fresh;
        let (head, this_turn) = context.messages.split_at(*turn_start);
        let turn_part: Vec<_> = this_turn.iter().map(|placed| placed.counted.clone()).collect();
        let mut tokens = context.ledger.tokens;
        tokens.subtract(Layer::Message, total_tokens(&turn_part));
        let epoch = Epoch {
            since: turn.turn,
            system: context.system.clone(),
            records: context.records.clone(),
            head: head.to_vec(),
            tail: Vec::new(),
            turn: turn_part,
            rounds: turn.rounds.len(),
            sent: Tokens::ZERO,
            logs: selection.scopes().collect(),
            summaries: selection.summaries.iter().map(|effort| effort.id.clone()).collect(),
            memory_lines: self
                .knowledge
                .into_iter()
                .flat_map(|knowledge| knowledge.lines().map(str::to_owned))
                .collect(),
            efforts_line: efforts_line(self.counter, selection, self.tools),
            ledger: Ledger { tokens, epoch_since: Some(turn.turn), ..Ledger::default() },
        };
        PromptDraft::Rewritten { assembled: fresh, epoch: Some((Box::new(epoch), cause)) }
    }

    /// Extends the prompt so far; `None` if the result does not fit.
    pub(super) fn extend_prompt(
        &self,
        epoch: &Epoch,
        selection: &Selection<'_>,
        turn: ThisTurn<'_>,
    ) -> Option<PromptDraft> {
        let shown = RenderedTurn::of(self.counter, turn);
        let turn = shown.this_turn();
        let mut next = epoch.clone();
        let mut added = Vec::new();
        if epoch.turn.is_empty() {
            added.extend(additions::efforts_notice(self, &mut next, selection));
            added.extend(additions::recalled_summaries(self, &mut next, selection));
            added.extend(additions::recalled_logs(self, &mut next, selection)?);
            added.extend(additions::added_memories(self, &mut next));
            added.extend(turn.message.into_iter().chain(turn.guidance).cloned());
        } else {
            let rounds = turn.rounds.get(epoch.rounds..)?;
            added.extend(rounds.iter().flat_map(|round| round.messages_with_notes().cloned()));
            added.extend(additions::recalled_logs(self, &mut next, selection)?);
        }
        // A long reply alone may have filled it.
        let tokens = epoch.tokens() + total_tokens(&added);
        let budget = self.state.policy().budget_with(tokens.saturating_sub(epoch.sent));
        if tokens > budget {
            return None;
        }
        next.turn.extend(added);
        next.rounds = turn.rounds.len();
        let mut ledger = next.ledger.clone();
        ledger.budget = budget;
        ledger.evicted = selection.evicted as u64;
        ledger.memories =
            self.knowledge.into_iter().flat_map(|knowledge| knowledge.items.iter().map(|item| item.id)).collect();
        ledger.tokens.add(Layer::Tail, total_tokens(&next.tail));
        ledger.tokens.add(Layer::Message, total_tokens(&next.turn));
        ledger.naive_tokens = self.naive_tokens(&ledger, turn);
        assert!(ledger.tokens.total() <= ledger.budget, "I1: the prompt exceeds its budget");
        let layered = |layer: Layer| {
            move |counted: &crate::base::message::CountedMessage| LayeredMessage {
                layer,
                counted: counted.clone(),
            }
        };
        let messages = next.head.iter().cloned();
        let messages = messages.chain(next.tail.iter().map(layered(Layer::Tail)));
        let messages = messages.chain(next.turn.iter().map(layered(Layer::Message))).collect();
        let (system, records) = (next.system.clone(), next.records.clone());
        let context = WorkingContext { system, records, messages, tools: self.tools.specs().clone(), ledger };
        Some(PromptDraft::Extended { context, epoch: Box::new(next) })
    }

    fn naive_tokens(&self, ledger: &Ledger, turn: ThisTurn<'_>) -> Tokens {
        let is_sent_anyway =
            |layer: &Layer| layer.is_memory() || matches!(layer, Layer::Protocol | Layer::Tools | Layer::Note);
        let fixed = Layer::ALL.into_iter().filter(is_sent_anyway).map(|layer| ledger.tokens.get(layer));
        fixed.sum::<Tokens>() + self.state.head().all_logs.tokens + turn.tokens()
    }
}

/// Whether a rewritten prompt costs less over the horizon than the extended one.
fn is_rewrite_cheaper(policy: &Policy, extended: Tokens, fresh: Tokens) -> bool {
    let horizon = policy.epoch_horizon_turns;
    let read = |tokens: Tokens, turns: u64| tokens.0 * policy.price_cache_read_cents * turns;
    let rewritten = fresh.0 * policy.price_cache_write_cents + read(fresh, horizon - 1);
    rewritten < read(extended, horizon)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_rewritten_early_only_if_that_pays() {
        let policy = Policy::default();
        assert!(is_rewrite_cheaper(&policy, Tokens(10_000), Tokens(4_000)));
        assert!(!is_rewrite_cheaper(&policy, Tokens(10_000), Tokens(4_200)), "12.5 + 7 reads of it against 8");
        assert!(!is_rewrite_cheaper(&policy, Tokens(1_000), Tokens(1_000)));
    }
}
