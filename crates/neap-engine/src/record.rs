//! Records conversations that another program held, as they go or afterwards.

use std::sync::Arc;

use neap_core::base::ids::{SessionId, Stamp};
use neap_core::base::message::{CountedMessage, Message};
use neap_core::base::policy::Policy;
use neap_core::base::tokens::TokenCounter;
use neap_core::memory::Author;
use neap_core::session::append_message;
use neap_core::session::state::SessionState;
use neap_core::text::secrets::mask_message;
use neap_model::bpe::counter_for;
use neap_model::compute::run_blocking;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::stream::{OpenStream, Recorder};

const COMMIT_MESSAGES_MAX: usize = 256;

/// Masks and counts a message for recording; a long one off the async workers.
pub(crate) async fn prepare_message(
    state: &SessionState,
    counter: &Arc<dyn TokenCounter>,
    message: Message,
) -> CountedMessage {
    let (masking, counter) = (state.masking(), counter.clone());
    let bytes = message.content.len() + message.tool_calls.iter().map(|call| call.arguments.len()).sum::<usize>();
    run_blocking(bytes, move || CountedMessage::new(counter.as_ref(), mask_message(masking, message).0)).await
}

impl Engine {
    /// Appends messages to a session in order, each with its own time; creates the session if there is none. They
    /// are ambient, and durable when this returns. `author` is who wrote the messages in the user's role.
    pub async fn record(
        &self,
        id: &SessionId,
        author: Author,
        messages: &[(Stamp, Message)],
    ) -> Result<(), EngineError> {
        let mut stream = OpenStream::load(self.parts.store.as_ref(), id.clone()).await?;
        let mut recorder = Recorder::new(&self.parts);
        for chunk in messages.chunks(COMMIT_MESSAGES_MAX) {
            loop {
                let at = chunk.first().map_or_else(|| self.parts.clock.now(), |(at, _)| *at);
                let created = stream.create_if_new(&self.parts.encoding, Policy::default(), at);
                let is_new = created.is_some();
                let mut decided: Vec<_> = created.into_iter().collect();
                let project = self.parts.project.as_ref().filter(|_| is_new);
                decided.extend(stream.state.assign_project(at, project));
                let counter = counter_for(&stream.state.head().encoding);
                for (at, message) in chunk {
                    let counted = prepare_message(&stream.state, &counter, message.clone()).await;
                    for event in append_message(&stream.state, counted, author) {
                        decided.push(stream.state.record(*at, event));
                    }
                }
                if !recorder.commit(&mut stream, decided).await?.is_stale() {
                    break;
                }
            }
        }
        self.parts.remember_stated(recorder.take_live_message()).await;
        Ok(())
    }
}
