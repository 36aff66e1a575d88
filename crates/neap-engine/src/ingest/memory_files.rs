//! The files of Anthropic's memory tool: one stream for each tenant. The files are a fold of the recorded calls,
//! by the rules of [`neap_model::memory_tool`]; none is a file on this machine.

use neap_core::base::ids::{Seq, StreamId};
use neap_core::base::message::{CountedMessage, Message, ToolCall, ToolRound};
use neap_core::base::policy::Policy;
use neap_core::client::{HistoryHead, Tenant};
use neap_core::session::event::{ClientEvent, Event, RecordedEvent, RoundVisibility, TurnEvent};
use neap_core::text::secrets::mask_call;
use neap_model::bpe::counter_for;
use neap_model::caller::Caller;
use neap_model::memory_tool::{FileCommand, MemoryFiles, perform};
use neap_store::{Store, StoreError, StoredEvent};

use super::session_cache::check_owner;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::stream::{OpenStream, Recorder};

const PAGE: usize = 256;

impl Engine {
    /// Runs a call of the memory tool for a caller; changes are durable when this returns.
    pub(super) async fn call_memory_tool(&self, caller: &Caller, call: &ToolCall) -> Result<String, EngineError> {
        // The files must follow from the calls as they are recorded.
        let call = &mask_call(self.parts.store.masking(), call.clone());
        let command: FileCommand = match serde_json::from_str(&call.arguments) {
            Ok(command) => command,
            Err(error) => return Ok(format!("Error: the command cannot be read: {error}")),
        };
        let store = self.parts.store.as_ref();
        let mut stream = OpenStream::load(store, self.files_session_for(caller).await?).await?;
        let mut recorder = Recorder::new(&self.parts);
        loop {
            check_owner(&stream, &caller.tenant)?;
            let mut files = load_files(store, &stream.id).await?;
            let reply = match perform(&mut files, &command) {
                Ok(reply) if matches!(command, FileCommand::View { .. }) => return Ok(reply),
                Ok(reply) => reply,
                Err(why) => return Ok(why),
            };
            let decided = self.change_events(&mut stream, &caller.tenant, call, &reply);
            if !recorder.commit(&mut stream, decided).await?.is_stale() {
                return Ok(reply);
            }
        }
    }

    fn change_events(
        &self,
        stream: &mut OpenStream,
        owner: &Tenant,
        call: &ToolCall,
        reply: &str,
    ) -> Vec<RecordedEvent> {
        let now = self.parts.clock.now();
        let created = stream.create_if_new(&self.parts.encoding, Policy::default(), now);
        let mut decided: Vec<_> = created.into_iter().collect();
        if stream.state.head().tenant.is_none() {
            // No history: the head is where every history of this caller begins.
            let history = HistoryHead { asked: *owner.digest(), answered: Vec::new() };
            let (turn, links, tenant) = (stream.state.turn(), Vec::new(), Some(*owner));
            decided.push(stream.state.record(now, ClientEvent::HistoryLinked { turn, links, history, tenant }));
        }
        let counter = counter_for(&stream.state.head().encoding);
        let count = |message: Message| CountedMessage::new(counter.as_ref(), message);
        let round = ToolRound {
            assistant: count(Message { tool_calls: vec![call.clone()], ..Message::assistant("") }),
            results: vec![count(Message::tool(call.id.as_str(), reply))],
            seals: Vec::new(),
            notes: Vec::new(),
        };
        let turn = stream.state.turn();
        let called = TurnEvent::ToolsCalled { turn, round, visibility: RoundVisibility::ThisTurn };
        decided.push(stream.state.record(now, called));
        decided
    }
}

async fn load_files(store: &dyn Store, id: &StreamId) -> Result<MemoryFiles, StoreError> {
    let (mut files, mut from) = (MemoryFiles::new(), Seq(1));
    loop {
        let page = store.events(id, from, PAGE).await?;
        for stored in &page {
            let (seq, event) = match stored {
                StoredEvent::Whole(recorded) => (recorded.seq, Some(&recorded.event)),
                StoredEvent::Damaged { seq, .. } => (*seq, None),
            };
            from = seq.next();
            if let Some(Event::Turn(TurnEvent::ToolsCalled { round, .. })) = event {
                for call in &round.assistant.message.tool_calls {
                    // Only calls that succeeded were recorded.
                    let command = serde_json::from_str(&call.arguments);
                    let _ = command.map(|command| perform(&mut files, &command));
                }
            }
        }
        if page.len() < PAGE {
            return Ok(files);
        }
    }
}
