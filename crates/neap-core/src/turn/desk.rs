//! What the machines work on.

use crate::assemble::{ALL, Selection, ThisTurn, View};
use crate::epoch::Sent;
use crate::ids::Stamp;
use crate::knowledge::Mind;
use crate::learn::AgentDesk;
use crate::log::{Log, LogRequest, Logs};
use crate::message::{Counted, Message, Scope};
use crate::state::SessionState;
use crate::tokens::{TokenCounter, Tokens};
use crate::tools::ToolSet;

/// A session's state and logs, with the means to count and the time of day.
pub struct Desk<'a> {
    /// The state; decisions are applied to it at once.
    pub state: &'a mut SessionState,
    /// The logs in play.
    pub logs: &'a mut Logs,
    /// What was sent to the model so far.
    pub sent: &'a mut Sent,
    /// How tokens are counted.
    pub counter: &'a dyn TokenCounter,
    /// The tools offered.
    pub tools: &'a ToolSet,
    /// The agent whose conversation this is, if what it knows is used.
    pub mind: Option<Mind<'a>>,
    /// The time.
    pub now: Stamp,
}

impl Desk<'_> {
    pub(super) fn view(&self) -> View<'_> {
        let known = self.mind.as_ref().and_then(|mind| mind.known.page());
        View { state: self.state, logs: self.logs, tools: self.tools, counter: self.counter, known }
    }

    /// What it takes to teach the agent; none if there is none.
    pub(super) fn agent(&mut self) -> Option<AgentDesk<'_>> {
        let now = self.now;
        self.mind.as_mut().map(|mind| AgentDesk { id: mind.id, agent: mind.agent, counter: mind.counter, now })
    }

    /// A message as it is recorded and shown: without its secrets.
    pub(super) fn count(&self, message: Message) -> Counted {
        self.state.counted(self.counter, message)
    }

    /// A text without its secrets.
    pub(super) fn mask(&self, text: &str) -> String {
        self.state.masking().text(text).0.into_owned()
    }

    pub(super) fn hold(&mut self, loaded: Vec<(Scope, Log)>) {
        for (scope, log) in loaded {
            self.logs.put(scope, log);
        }
    }

    /// What the context would cost with this selection, before anything new is said.
    pub(super) fn cost(&self, selection: &Selection<'_>) -> Tokens {
        let nothing_new = ThisTurn::default();
        let assembled = self.view().assemble(selection, nothing_new, ALL);
        assembled.map_or_else(|too_small| too_small.floor, |assembled| assembled.context.tokens())
    }

    /// Requests for the logs of a selection that are not in memory.
    pub(super) fn missing(&self, selection: &Selection<'_>) -> Vec<LogRequest> {
        selection.requests(self.state.policy(), |scope| self.logs.get(scope).is_some())
    }
}
