//! Taking down what was said elsewhere: a conversation that another program holds, as it goes or afterwards.

use std::sync::Arc;

use neap_core::event::Event;
use neap_core::ids::{SessionId, Stamp};
use neap_core::memory::Author;
use neap_core::message::{Counted, Message};
use neap_core::policy::Policy;
use neap_core::secrets::mask_message;
use neap_core::state::SessionState;
use neap_core::tokens::TokenCounter;
use neap_core::told::tell;
use neap_model::bpe::counter_for;
use neap_model::compute::off_worker;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::live::{Live, overtaken};

/// Messages that are written in one commit, at most.
const AT_ONCE: usize = 256;

/// A message as it is recorded: without its secrets, and counted so. A long one is worked on off the async workers.
pub(crate) async fn take_in(state: &SessionState, counter: &Arc<dyn TokenCounter>, message: Message) -> Counted {
    let (masking, counter) = (state.masking(), counter.clone());
    let bytes = message.content.len() + message.tool_calls.iter().map(|call| call.arguments.len()).sum::<usize>();
    off_worker(bytes, move || Counted::new(counter.as_ref(), mask_message(masking, message).0)).await
}

impl Engine {
    /// Adds what was said to a session, in order, each message at its own time; begins the session if there is none.
    /// All of it is ambient, and durable when this returns. `author` is whose words messages in the user's role are.
    pub async fn record(
        &self,
        id: &SessionId,
        author: Author,
        said: &[(Stamp, Message)],
    ) -> Result<(), EngineError> {
        let store = self.parts.store.as_ref();
        let mut live = Live::load(store, id.clone()).await?;
        let mut conflicts = 0;
        for some in said.chunks(AT_ONCE) {
            loop {
                let mut decided = Vec::new();
                if live.state.head().session.is_none() {
                    let at = some.first().map_or_else(|| self.parts.clock.now(), |(at, _)| *at);
                    let (session, encoding) = (id.clone(), self.parts.encoding.clone());
                    let policy = Policy::default();
                    let created = Event::SessionCreated { session, encoding, policy, imported_from: None };
                    decided.push(live.state.record(at, created));
                }
                let counter = counter_for(&live.state.head().encoding);
                for (at, message) in some {
                    let counted = take_in(&live.state, &counter, message.clone()).await;
                    for event in tell(&live.state, counted, author) {
                        decided.push(live.state.record(*at, event));
                    }
                }
                match live.commit(store, decided).await {
                    Ok(()) => break,
                    Err(error) => overtaken(&mut live, store, error, &mut conflicts).await?,
                }
            }
        }
        self.parts.changed(id);
        Ok(())
    }
}
