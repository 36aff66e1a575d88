//! Runs a memory command on an agent's own stream, outside a conversation.

use super::agent_context::record_writes;
use super::context::TurnContext;
use super::step::{Input, Machine, Progress, Step};
use crate::memory::learn::{LearnContext, LearnInput, LearnMachine, LearnStep, MemoryResponse};

/// The context's stream is the agent's.
impl Machine for LearnMachine {
    type Outcome = Box<MemoryResponse>;

    fn step(&mut self, cx: &mut TurnContext<'_>, input: Input) -> Progress<Self::Outcome> {
        let input = learn_input(input);
        let head = cx.state.head().agent.as_deref();
        match LearnMachine::step(self, &LearnContext { head, counter: cx.counter, now: cx.now }, input) {
            LearnStep::Query(query) => Progress::Perform(Step::Recall(query)),
            LearnStep::Commit(writes) => {
                let events = record_writes((cx.id, cx.state), cx.counter, cx.now, writes);
                Progress::Perform(Step::Commit(events))
            }
            LearnStep::Done(response) => Progress::Done(response),
        }
    }
}

/// Converts the driver's input for the memory machine: memories are in the context's stream or in its agent's.
pub(super) fn learn_input(input: Input) -> LearnInput {
    match input {
        Input::Begin => LearnInput::Begin,
        Input::Recalled(result) => LearnInput::QueryResult(result),
        Input::Committed | Input::MemoriesCommitted => LearnInput::Committed,
        Input::Stale | Input::MemoriesStale => LearnInput::Stale,
        Input::LogsLoaded(_)
        | Input::Fetched(_)
        | Input::Found(_)
        | Input::Replied(_)
        | Input::WroteCalls(_)
        | Input::ModelFailed { .. }
        | Input::Interrupted { .. }
        | Input::Summarized(_)
        | Input::MemoriesFailed
        | Input::ToolAnswered { .. } => panic!("the driver answered a memory command with {input:?}"),
    }
}
