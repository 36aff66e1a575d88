//! Remembers what a person states in passing, on surfaces where no turn of ours does: the host holds the conversation, or
//! another agent's hook reports it. A turn of ours does it itself, with banners for the person ([`Heard::commands`] is the
//! rule of both).

use neap_core::base::ids::AgentId;
use neap_core::session::heard::Heard;

use crate::agent_stream::{run_command, token_counter};
use crate::error::EngineError;
use crate::parts::Parts;
use crate::stream::OpenStream;

impl Parts {
    /// Remembers what was heard for the engine's own agent, if it has one.
    pub(crate) async fn remember_stated(&self, heard: Option<Heard>) {
        if let Some(agent) = &self.agent {
            self.remember_stated_for(&agent.id, heard).await;
        }
    }

    /// The message is durable, so a failure here is reported and fails nothing.
    pub(crate) async fn remember_stated_for(&self, agent: &AgentId, heard: Option<Heard>) {
        let Some(heard) = heard.filter(Heard::states_something) else { return };
        if let Err(error) = self.write_stated(agent, &heard).await {
            tracing::warn!(target: "neap::memory", %error, session = %heard.stream, "a statement was not remembered");
        }
    }

    async fn write_stated(&self, agent: &AgentId, heard: &Heard) -> Result<(), EngineError> {
        let mut stream = OpenStream::load(self.store.as_ref(), agent.stream()).await?;
        let head = stream.state.head().agent.as_deref().cloned().unwrap_or_default();
        for command in heard.commands(&head) {
            let counter = token_counter(self, &stream);
            run_command(self, counter.as_ref(), &mut stream, command).await?;
        }
        Ok(())
    }
}
