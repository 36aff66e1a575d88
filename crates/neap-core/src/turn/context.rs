//! What the turn machines work on.

use crate::base::ids::{Stamp, StreamId};
use crate::base::message::{CountedMessage, Message, Scope};
use crate::base::model_name::ModelName;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::context::epoch::SentPrompt;
use crate::context::tools::ToolSet;
use crate::context::{Assembler, FULL_PERCENT, Selection, ThisTurn};
use crate::memory::MemoryWrite;
use crate::memory::learn::LearnContext;
use crate::session::event::RecordedEvent;
use crate::session::log::{Log, LogCache, LogRequest};
use crate::session::state::SessionState;
use crate::turn::agent_context::{AgentContext, record_writes};

pub struct TurnContext<'a> {
    pub id: &'a StreamId,
    /// Decisions are applied to it at once.
    pub state: &'a mut SessionState,
    /// The logs in play.
    pub logs: &'a mut LogCache,
    /// What was sent to the model so far.
    pub sent_prompt: &'a mut SentPrompt,
    pub counter: &'a dyn TokenCounter,
    pub tools: &'a ToolSet,
    /// The model that is called, if it has a name.
    pub model: Option<&'a ModelName>,
    /// The session's agent, if its memories are used.
    pub agent: Option<AgentContext<'a>>,
    pub now: Stamp,
}

impl TurnContext<'_> {
    pub(super) fn assembler(&self) -> Assembler<'_> {
        let knowledge = self.agent.as_ref().and_then(|agent| agent.memories.page());
        Assembler { state: self.state, logs: self.logs, tools: self.tools, counter: self.counter, knowledge }
    }

    /// The context for writing memories; `None` without an agent.
    pub(super) fn learn_context(&self) -> Option<LearnContext<'_>> {
        let agent = self.agent.as_ref()?;
        Some(LearnContext { head: agent.head(), counter: agent.counter, now: self.now })
    }

    /// Applies changes to the agent's memories.
    pub(super) fn record_writes(&mut self, writes: Vec<MemoryWrite>) -> Vec<RecordedEvent> {
        let now = self.now;
        self.agent
            .as_mut()
            .map_or_else(Vec::new, |agent| record_writes((agent.id, agent.agent), agent.counter, now, writes))
    }

    /// Masks a message's secrets and counts what is left.
    pub(super) fn mask_and_count(&self, message: Message) -> CountedMessage {
        self.state.mask_and_count(self.counter, message)
    }

    /// Masks a text's secrets.
    pub(super) fn mask(&self, text: &str) -> String {
        self.state.masking().mask(text).0.into_owned()
    }

    pub(super) fn cache_logs(&mut self, loaded: Vec<(Scope, Log)>) {
        for (scope, log) in loaded {
            self.logs.put(scope, log);
        }
    }

    /// What the context would cost with this selection, without a new message.
    pub(super) fn context_tokens(&self, selection: &Selection<'_>) -> Tokens {
        let nothing_new = ThisTurn::default();
        let assembled = self.assembler().assemble(selection, nothing_new, FULL_PERCENT);
        assembled.map_or_else(|too_small| too_small.floor, |assembled| assembled.context.tokens())
    }

    /// Requests for the logs of a selection that are not in memory.
    pub(super) fn missing_logs(&self, selection: &Selection<'_>) -> Vec<LogRequest> {
        selection.log_requests(self.state.policy(), |scope| self.logs.get(scope).is_some())
    }
}
