//! Remembers what a person states in passing, on surfaces where no turn of ours does: the host holds the conversation, or
//! another agent's hook reports it. A turn of ours does it itself, with banners for the person ([`LiveMessage::commands`] is the
//! rule of both).

use neap_core::base::ids::AgentId;
use neap_core::session::live_message::LiveMessage;

use crate::agent_stream::{run_command, token_counter};
use crate::error::EngineError;
use crate::parts::Parts;
use crate::stream::OpenStream;

impl Parts {
    /// Remembers what was said live, for the engine's own agent, if it has one.
    pub(crate) async fn remember_stated(&self, live_message: Option<LiveMessage>) {
        if let Some(agent) = &self.agent {
            self.remember_stated_for(&agent.id, live_message).await;
        }
    }

    /// The message is durable, so a failure here is reported and fails nothing.
    pub(crate) async fn remember_stated_for(&self, agent: &AgentId, live_message: Option<LiveMessage>) {
        let Some(live_message) = live_message.filter(LiveMessage::states_something) else { return };
        if let Err(error) = self.write_stated(agent, &live_message).await {
            tracing::warn!(target: "neap::memory", %error, session = %live_message.stream, "a statement was not remembered");
        }
    }

    async fn write_stated(&self, agent: &AgentId, live_message: &LiveMessage) -> Result<(), EngineError> {
        let mut stream = OpenStream::load(self.store.as_ref(), agent.stream()).await?;
        let head = stream.state.head().agent.as_deref().cloned().unwrap_or_default();
        let session = self.store.load(&live_message.stream).await?;
        let project = session.as_ref().and_then(|state| state.head().project.as_ref());
        for command in live_message.commands(&head, project) {
            let counter = token_counter(self, &stream);
            run_command(self, counter.as_ref(), &mut stream, command).await?;
        }
        Ok(())
    }
}
