//! Uses the agent's memories in a turn: loads them when the loaded ones are not relevant, and counts their use.

use super::context::TurnContext;
use super::learning::learn_input;
use super::memory_calls::memory_outcome;
use super::step::{Input, Progress, Step, TurnOutcome, TurnProgress};
use super::{Phase, Turn};
use crate::context::memory_budget;
use crate::memory::knowledge::{LoadCause, MemoryLoad};
use crate::memory::learn::{LearnInput, LearnMachine, LearnStep, MemoryCommand, MemoryQueryResult, MemoryUse};
use crate::memory::{MemoryEvent, MemoryId, MemoryKind};
use crate::session::live_message::LiveMessage;

impl Turn {
    /// Searches for memories relevant to the message, unless the loaded ones are.
    pub(super) fn recall_memories(&mut self, cx: &mut TurnContext<'_>) -> TurnProgress {
        if let Some(reason) = self.check_input(cx) {
            return self.abandon(cx, reason);
        }
        let text = self.message.message.content.clone();
        let (state, now) = (&*cx.state, cx.now);
        match cx.agent.as_mut().and_then(|agent| agent.plan_load(state, &text, now)) {
            Some((cause, query)) => {
                self.phase = Phase::Recalling { cause };
                Progress::Perform(Step::Recall(query))
            }
            None => self.load_logs(cx),
        }
    }

    /// Selects from the search results.
    pub(super) fn select_memories(
        &mut self,
        cx: &mut TurnContext<'_>,
        cause: LoadCause,
        result: MemoryQueryResult,
    ) -> TurnProgress {
        let MemoryQueryResult::Records(recalled) = result else { panic!("the driver gave versions for a search") };
        let text = self.message.message.content.clone();
        let room = memory_budget(cx.state.policy(), cx.tools, cx.counter);
        let (state, counter, now) = (&*cx.state, cx.counter, cx.now);
        let loaded = cx.agent.as_mut().map(|agent| agent.load(state, &text, &recalled, cause, room, counter, now));
        if let Some(loaded) = loaded {
            self.record_for_retry(cx, MemoryEvent::Loaded { turn: self.turn, loaded: Box::new(loaded) });
        }
        self.load_logs(cx)
    }

    /// Records that memories were dropped for lack of room, once for as long as the same ones are out.
    pub(super) fn record_memory_pressure(&mut self, cx: &mut TurnContext<'_>, reduced: Option<&MemoryLoad>) {
        let is_new = cx.agent.as_mut().is_some_and(|agent| agent.memories.note_trimmed(reduced));
        if let (true, Some(remaining)) = (is_new, reduced) {
            self.record_for_retry(
                cx,
                MemoryEvent::Loaded { turn: self.turn, loaded: Box::new(remaining.clone()) },
            );
        }
    }

    /// Memories that this reply is the first to use; procedures among them count as followed.
    pub(super) fn note_memory_uses(&mut self, cx: &mut TurnContext<'_>, reply: &str) -> Vec<MemoryId> {
        let used = cx.agent.as_mut().map_or_else(Vec::new, |agent| agent.memories.note_used(reply));
        let followed = used.iter().filter(|id| id.kind() == MemoryKind::Procedure);
        self.memory_uses.extend(followed.map(|id| (*id, MemoryUse::Activated)));
        used
    }

    /// After the turn is durable: counts its memory uses and records what the person stated.
    pub(super) fn learn_from_turn(&mut self, cx: &mut TurnContext<'_>, outcome: Box<TurnOutcome>) -> TurnProgress {
        let uses = std::mem::take(&mut self.memory_uses);
        self.memory_commands.extend((!uses.is_empty()).then_some(MemoryCommand::CountUses(uses)));
        if cx.agent.is_some() && outcome.reply.is_ok() {
            self.memory_commands.extend(self.stated_commands(cx));
        }
        self.learn_next(cx, outcome)
    }

    fn learn_next(&mut self, cx: &mut TurnContext<'_>, outcome: Box<TurnOutcome>) -> TurnProgress {
        match self.memory_commands.pop_front() {
            Some(command) => {
                self.step_learning(cx, Box::new(LearnMachine::new(command)), outcome, LearnInput::Begin)
            }
            None => Progress::Done(outcome),
        }
    }

    /// Preferences and standing instructions in the message, which is live.
    fn stated_commands(&self, cx: &TurnContext<'_>) -> Vec<MemoryCommand> {
        let text = self.message.message.content.clone();
        let live_message = LiveMessage { stream: cx.id.clone(), turn: self.turn, author: self.author, text };
        let head = cx.learn_context().and_then(|context| context.head.cloned()).unwrap_or_default();
        live_message.commands(&head, cx.state.head().project.as_ref())
    }

    pub(super) fn continue_learning(
        &mut self,
        cx: &mut TurnContext<'_>,
        learning: Box<LearnMachine>,
        outcome: Box<TurnOutcome>,
        input: Input,
    ) -> TurnProgress {
        self.step_learning(cx, learning, outcome, learn_input(input))
    }

    fn step_learning(
        &mut self,
        cx: &mut TurnContext<'_>,
        mut learning: Box<LearnMachine>,
        mut outcome: Box<TurnOutcome>,
        input: LearnInput,
    ) -> TurnProgress {
        let Some(context) = cx.learn_context() else { return Progress::Done(outcome) };
        let step = match learning.step(&context, input) {
            LearnStep::Query(query) => Progress::Perform(Step::Recall(query)),
            LearnStep::Commit(writes) => Progress::Perform(Step::CommitMemories(cx.record_writes(writes))),
            LearnStep::Done(response) => {
                outcome.banners.extend(memory_outcome(&response).banner);
                return self.learn_next(cx, outcome);
            }
        };
        self.phase = Phase::Learning { learning, outcome };
        step
    }
}
