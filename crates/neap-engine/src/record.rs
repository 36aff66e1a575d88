//! Records conversations that another program held, as they go or afterwards.

use std::collections::VecDeque;
use std::sync::Arc;

use neap_core::base::handle::Handle;
use neap_core::base::ids::{SessionId, Stamp, TurnNo};
use neap_core::base::message::{CountedMessage, Message};
use neap_core::base::policy::Policy;
use neap_core::base::tokens::TokenCounter;
use neap_core::memory::Author;
use neap_core::session::state::SessionState;
use neap_core::session::{append_message, begin_exchange};
use neap_core::text::secrets::{mask_id, mask_message};
use neap_model::bpe::counter_for;
use neap_model::compute::run_blocking;
use neap_store::StoreError;
use serde::Serialize;

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

/// What became of messages with a caller's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Appended {
    /// How many were recorded: none if the key was used before.
    pub recorded: usize,
    /// The turn that the first of them began, under this key.
    pub turn: TurnNo,
}

impl Engine {
    /// Appends messages like [`Engine::record`], once: the same key again records nothing, also after a restart. The
    /// first of them begins an exchange, whatever its role. All are durable in one commit.
    pub async fn record_once(
        &self,
        id: &SessionId,
        author: Author,
        messages: &[(Stamp, Message)],
        key: &str,
    ) -> Result<Appended, EngineError> {
        let store = self.parts.store.clone();
        let mut stream = OpenStream::load(store.as_ref(), id.clone()).await?;
        let mut recorder = Recorder::new(&self.parts);
        let appended = loop {
            let stored_key = mask_id(stream.state.masking(), key);
            if let Some(turn) = store.turn_by_id(id, &stored_key).await? {
                return self.recorded_before(&stream.state, id, turn, messages).await;
            }
            let at = messages.first().map_or_else(|| self.parts.clock.now(), |(at, _)| *at);
            let mut decided: Vec<_> =
                stream.create_if_new(&self.parts.encoding, Policy::default(), at).into_iter().collect();
            let counter = counter_for(&stream.state.head().encoding);
            let mut begins = Some(stored_key);
            let mut turn = stream.state.turn().next();
            for (at, message) in messages {
                let counted = prepare_message(&stream.state, &counter, message.clone()).await;
                let events = match begins.take() {
                    Some(key) => {
                        turn = stream.state.turn().next();
                        begin_exchange(&stream.state, counted, author, Some(key))
                    }
                    None => append_message(&stream.state, counted, author),
                };
                for event in events {
                    decided.push(stream.state.record(*at, event));
                }
            }
            match recorder.commit(&mut stream, decided).await {
                Ok(committed) if committed.is_stale() => {}
                Ok(_) => break Appended { recorded: messages.len(), turn },
                Err(EngineError::Store(StoreError::DuplicateTurn { turn })) => {
                    return self.recorded_before(&stream.state, id, turn, messages).await;
                }
                Err(error) => return Err(error),
            }
        };
        self.parts.remember_stated(recorder.take_live_message()).await;
        Ok(appended)
    }

    /// What became of messages whose key began `turn` before: they are in it, unless the key was used for others.
    async fn recorded_before(
        &self,
        state: &SessionState,
        id: &SessionId,
        turn: TurnNo,
        messages: &[(Stamp, Message)],
    ) -> Result<Appended, EngineError> {
        let last = self.head(id).await?.turn;
        let mut stored: VecDeque<Message> = VecDeque::new();
        let mut next = turn;
        for (_, given) in messages {
            while stored.is_empty() && next <= last {
                stored.extend(self.original(id, &Handle::Turn(next)).await?);
                next = next.next();
            }
            let given = prepare_message(state, &counter_for(&state.head().encoding), given.clone()).await;
            if stored.pop_front() != Some(given.message) {
                return Err(EngineError::IdReused { turn });
            }
        }
        Ok(Appended { recorded: 0, turn })
    }

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
