//! A told conversation in a store: what every memory stands on.

use std::sync::Arc;

use neap_core::event::Event;
use neap_core::handle::Handle;
use neap_core::ids::{SessionId, Stamp, TurnNo};
use neap_core::log::{Log, LogRequest};
use neap_core::memory::Author;
use neap_core::message::{Counted, Exchange, Message, Role, Scope};
use neap_core::policy::Policy;
use neap_core::recall::{Filter, Search, Wanted, Weights};
use neap_core::summary::SummaryBy;
use neap_core::tokens::{TokenCounter, Tokens};
use neap_core::told::{Chunk, Shown, Told, best, tell};
use neap_core::tools::ToolSet;
use neap_core::turn::{Tending, TurnError};
use neap_model::bpe::counter_for;
use neap_store::StoreError;

use crate::drive::Driver;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::live::Live;
use crate::original::fetch;
use crate::parts::Parts;
use crate::recollect::find;
use crate::record::take_in;
use crate::watch::{Interrupt, Quiet};

/// Longest message of a new memory, in bytes.
const MESSAGE_BYTES_MAX: u64 = 67_108_864;

/// Texts that are looked at for what answers a question, at most.
const TEXTS_MAX: usize = 128;

/// An open conversation.
pub(super) struct Keeper {
    parts: Arc<Parts>,
    live: Live,
    counter: Arc<dyn TokenCounter>,
    tools: ToolSet,
    interrupt: Interrupt,
    /// The exchange in flight.
    in_flight: Vec<Counted>,
    /// How much of the log is held.
    held_max: Tokens,
}

impl Keeper {
    /// Opens a conversation, or begins it. An exchange that was in flight goes on.
    pub(super) async fn open(engine: &Engine, id: &SessionId, held_max: Tokens) -> Result<Self, EngineError> {
        let parts = engine.parts.clone();
        let live = loop {
            let mut live = Live::load(parts.store.as_ref(), id.clone()).await?;
            if live.state.head().session.is_some() {
                break live;
            }
            let policy = Policy { message_bytes_max: MESSAGE_BYTES_MAX, ..Policy::default() };
            let (session, encoding) = (id.clone(), parts.encoding.clone());
            let created = Event::SessionCreated { session, encoding, policy, imported_from: None };
            let decided = vec![live.state.record(parts.clock.now(), created)];
            match live.commit(parts.store.as_ref(), decided).await {
                Ok(()) => break live,
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        };
        let (counter, tools) = (counter_for(&live.state.head().encoding), ToolSet::none());
        let (interrupt, in_flight) = (Interrupt::default(), Vec::new());
        let mut keeper = Self { parts, live, counter, tools, interrupt, in_flight, held_max };
        keeper.take_up().await?;
        Ok(keeper)
    }

    pub(super) fn session(&self) -> &SessionId {
        &self.live.id
    }

    pub(super) fn counter(&self) -> &Arc<dyn TokenCounter> {
        &self.counter
    }

    /// The fullness at which summaries are prepared, in per cent.
    pub(super) fn prepare_percent(&self) -> u64 {
        self.live.state.policy().window_prepare_percent
    }

    /// Records a message.
    pub(super) async fn tell(&mut self, role: Role, content: &str, at: Stamp) -> Result<(), EngineError> {
        let bytes_max = self.live.state.policy().message_bytes_max;
        if content.len() as u64 > bytes_max {
            return Err(TurnError::MessageTooLong { bytes: content.len() as u64, bytes_max }.into());
        }
        let message = take_in(&self.live.state, &self.counter, Message { role, ..Message::user(content) }).await;
        loop {
            self.settle().await?;
            let before = self.live.state.head().pending.clone();
            // A role is the host's word, and these memories pin nothing.
            let events = tell(&self.live.state, message.clone(), Author::Model);
            let decided = events.into_iter().map(|event| self.live.state.record(at, event)).collect();
            match self.live.commit(self.parts.store.as_ref(), decided).await {
                Ok(()) => {
                    self.parts.changed(&self.live.id);
                    let joined = before.contains_key(&self.live.state.turn());
                    let closed = before.into_iter().map(|(turn, pending)| (turn, pending.at)).collect();
                    self.follow(message, if joined { Vec::new() } else { closed });
                    return Ok(());
                }
                Err(StoreError::Conflict { .. }) => self.reload().await?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Keeps in memory what was just recorded.
    fn follow(&mut self, message: Counted, closed: Vec<(TurnNo, Stamp)>) {
        match closed[..] {
            [] => {}
            [(turn, at)] => {
                let exchange = Exchange { turn, at, messages: std::mem::take(&mut self.in_flight) };
                self.live.logs.push(&Scope::Ambient, Arc::new(exchange), self.held_max);
            }
            // More than one process tells: what they said is read again.
            [_, _, ..] => {
                self.live.logs.clear();
                self.in_flight.clear();
            }
        }
        self.in_flight.push(message);
    }

    /// What is shown of the conversation in a room.
    pub(super) async fn show(&mut self, room: Tokens) -> Result<Shown, EngineError> {
        self.settle().await?;
        let log = self.log().await?;
        let told = Told {
            state: &self.live.state,
            log: &log,
            in_flight: &self.in_flight,
            counter: self.counter.as_ref(),
        };
        Ok(told.show(room))
    }

    async fn log(&mut self) -> Result<Log, EngineError> {
        if let Some(log) = self.live.logs.get(&Scope::Ambient) {
            return Ok(log.clone());
        }
        let request = LogRequest::newest(Scope::Ambient, self.held_max);
        let log = self.parts.store.log(&self.live.id, &request).await?;
        self.live.logs.put(Scope::Ambient, log.clone());
        Ok(log)
    }

    /// Makes every summary that a room of this size could use; says how many.
    pub(super) async fn shrink(&mut self, room: Tokens, by: SummaryBy) -> Result<usize, EngineError> {
        self.settle().await?;
        let mut all = 0;
        loop {
            // Held here in full: upkeep would load no more than it needs itself.
            self.log().await?;
            let tending = Tending::told(room, by, self.in_flight.clone());
            let driver = Driver {
                parts: &self.parts,
                counter: self.counter.as_ref(),
                tools: &self.tools,
                interrupt: &self.interrupt,
            };
            let made = driver.tend(&mut self.live, tending, &mut Quiet).await?;
            all += made;
            if made == 0 {
                return Ok(all);
            }
        }
    }

    /// What the latest user message asks, and its turn.
    pub(super) async fn asked(&mut self) -> Result<Option<(TurnNo, Arc<str>)>, EngineError> {
        let turn = self.live.state.turn();
        let of = |messages: &[Counted]| {
            let user = messages.iter().rev().find(|said| said.message.role == Role::User);
            user.map(|said| said.message.content.clone())
        };
        if let Some(text) = of(&self.in_flight) {
            return Ok(Some((turn, text)));
        }
        let log = self.log().await?;
        let mut newest = log.exchanges().rev();
        Ok(newest.find_map(|exchange| of(&exchange.messages).map(|text| (exchange.turn, text))))
    }

    /// The chunks that answer a query, best first, of turns that may be recalled.
    pub(super) async fn recall(
        &mut self,
        query: &str,
        max: usize,
        keep: impl Fn(TurnNo) -> bool,
    ) -> Result<Vec<Chunk>, EngineError> {
        let wanted = Wanted::of(query, self.parts.clock.now());
        let filter = Filter::of_stream(&self.live.id);
        let search = Search { wanted, filter, weights: Weights::to_find(), max: TEXTS_MAX };
        let found = find(&self.parts, &search).await?;
        let mut chunks = best(&search.wanted.terms, &found, keep);
        chunks.truncate(max);
        for chunk in &mut chunks {
            self.locate(chunk).await?;
        }
        Ok(chunks)
    }

    /// Finds the message that a chunk is of.
    async fn locate(&self, chunk: &mut Chunk) -> Result<(), EngineError> {
        let turn = Handle::Turn(chunk.turn);
        let store = self.parts.store.as_ref();
        let exchanges = fetch(store, &self.live.id, &self.live.state, &turn).await?;
        let mut messages = exchanges.iter().flat_map(|exchange| &exchange.messages).enumerate();
        let place = messages.find_map(|(index, said)| {
            let at = said.message.content.find(&chunk.text).filter(|_| said.message.role == chunk.role)?;
            Some((index, at))
        });
        if let Some((index, at)) = place {
            chunk.place = (index, at);
            chunk.handle = Handle::Message { turn: chunk.turn, index };
        }
        Ok(())
    }

    /// The words behind a handle.
    pub(super) async fn original(&self, handle: &Handle) -> Result<Vec<Message>, EngineError> {
        let exchanges = fetch(self.parts.store.as_ref(), &self.live.id, &self.live.state, handle).await?;
        Ok(handle.pick(&exchanges).into_iter().cloned().collect())
    }

    /// Reads again what others may have changed.
    pub(super) async fn reload(&mut self) -> Result<(), EngineError> {
        self.live.reload(self.parts.store.as_ref()).await?;
        self.take_up().await
    }

    /// Forgets what never became durable, and reads what upkeep found changed by others.
    async fn settle(&mut self) -> Result<(), EngineError> {
        let held: Tokens = self.in_flight.iter().map(|said| said.tokens).sum();
        let pending: Tokens = self.live.state.head().pending.values().map(|pending| pending.tokens).sum();
        if self.live.is_ahead_of_store() || held != pending {
            self.reload().await?;
        }
        Ok(())
    }

    /// Reads what was said in the exchange in flight.
    async fn take_up(&mut self) -> Result<(), EngineError> {
        let turns: Vec<TurnNo> = self.live.state.head().pending.keys().copied().collect();
        self.in_flight.clear();
        for turn in turns {
            let store = self.parts.store.as_ref();
            let exchanges = fetch(store, &self.live.id, &self.live.state, &Handle::Turn(turn)).await?;
            self.in_flight.extend(exchanges.into_iter().flat_map(|exchange| exchange.messages));
        }
        Ok(())
    }
}
