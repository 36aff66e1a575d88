//! The files that Anthropic's memory tool keeps: a stream of their own for each tenant, in which every change is an event.
//!
//! What the files are is a fold of the calls that changed them, by the rules of [`neap_core::memory_tool`]; nothing is a file of this machine.

use neap_core::event::{Event, Recorded, RoundVisibility};
use neap_core::ids::{Seq, SessionId};
use neap_core::ingest::{Caller, Line, Tenant};
use neap_core::memory_tool::{Command, Files, perform};
use neap_core::message::{Counted, Message, ToolCall, ToolRound};
use neap_core::policy::Policy;
use neap_core::secrets::mask_call;
use neap_model::bpe::counter_for;
use neap_store::{Store, StoreError, Stored};

use super::lines::check_owner;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::live::{Live, overtaken};

/// Events that are read at once.
const PAGE: usize = 256;

impl Engine {
    /// Carries out a call of the memory tool for a tenant; what it changes is durable when this returns.
    pub(super) async fn memory_file(&self, caller: &Caller, call: &ToolCall) -> Result<String, EngineError> {
        // What the files are is told by what is recorded of the calls.
        let call = &mask_call(self.parts.store.masking(), call.clone());
        let command: Command = match serde_json::from_str(&call.arguments) {
            Ok(command) => command,
            Err(error) => return Ok(format!("Error: the command cannot be read: {error}")),
        };
        let store = self.parts.store.as_ref();
        let mut live = Live::load(store, self.files_of(caller).await?).await?;
        let mut conflicts = 0;
        loop {
            check_owner(&live, &caller.tenant)?;
            let mut files = files(store, &live.id).await?;
            let reply = match perform(&mut files, &command) {
                Ok(reply) if matches!(command, Command::View { .. }) => return Ok(reply),
                Ok(reply) => reply,
                Err(why) => return Ok(why),
            };
            let decided = self.decided(&mut live, &caller.tenant, call, &reply);
            match live.commit(store, decided).await {
                Ok(()) => return Ok(reply),
                Err(error) => overtaken(&mut live, store, error, &mut conflicts).await?,
            }
        }
    }

    fn decided(&self, live: &mut Live, owner: &Tenant, call: &ToolCall, reply: &str) -> Vec<Recorded> {
        let now = self.parts.clock.now();
        let mut decided = Vec::new();
        if live.state.head().session.is_none() {
            let (session, encoding) = (live.id.clone(), self.parts.encoding.clone());
            let created =
                Event::SessionCreated { session, encoding, policy: Policy::default(), imported_from: None };
            decided.push(live.state.record(now, created));
        }
        if live.state.head().tenant.is_none() {
            // Nothing of a history: it ends where every history of this caller begins.
            let line = Line { asked: *owner.digest(), answered: Vec::new() };
            let (turn, links, tenant) = (live.state.turn(), Vec::new(), Some(*owner));
            decided.push(live.state.record(now, Event::HistoryLinked { turn, links, line, tenant }));
        }
        let counter = counter_for(&live.state.head().encoding);
        let count = |message: Message| Counted::new(counter.as_ref(), message);
        let round = ToolRound {
            assistant: count(Message { tool_calls: vec![call.clone()], ..Message::assistant("") }),
            results: vec![count(Message::tool(call.id.as_str(), reply))],
            seals: Vec::new(),
            notes: Vec::new(),
        };
        let turn = live.state.turn();
        let called = Event::ToolsCalled { turn, round, visibility: RoundVisibility::ThisTurn };
        decided.push(live.state.record(now, called));
        decided
    }
}

/// The files as they are.
async fn files(store: &dyn Store, id: &SessionId) -> Result<Files, StoreError> {
    let (mut files, mut from) = (Files::new(), Seq(1));
    loop {
        let page = store.events(id, from, PAGE).await?;
        for stored in &page {
            let (seq, event) = match stored {
                Stored::Event(recorded) => (recorded.seq, Some(&recorded.event)),
                Stored::Damaged { seq, .. } => (*seq, None),
            };
            from = seq.next();
            if let Some(Event::ToolsCalled { round, .. }) = event {
                for call in &round.assistant.message.tool_calls {
                    // Only what could be done was recorded.
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
