//! A host's conversation in the store, on which every memory of this module is built.

use std::sync::Arc;

use neap_core::base::handle::Handle;
use neap_core::base::ids::{SessionId, Stamp, TurnNo};
use neap_core::base::message::{CountedMessage, Exchange, Message, Role, Scope};
use neap_core::base::policy::Policy;
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_core::context::host_log::{HostLog, RenderedLog, TextChunk, best_chunks};
use neap_core::context::tools::ToolSet;
use neap_core::memory::Author;
use neap_core::recall::{Filter, ParsedQuestion, RankWeights, TextSearch};
use neap_core::session::append_message;
use neap_core::session::log::{Log, LogRequest};
use neap_core::session::summary::SummarizerKind;
use neap_core::turn::{TurnError, Upkeep};
use neap_model::bpe::counter_for;

use crate::driver::{Driver, DriverRun};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::handle_lookup::fetch_exchanges;
use crate::observer::{Interrupt, NullObserver};
use crate::parts::Parts;
use crate::record::prepare_message;
use crate::retrieval::find_texts;
use crate::stream::{OpenStream, Recorder};

/// Most texts that are ranked for a query.
const TEXTS_MAX: usize = 128;

pub(super) struct ConversationLog {
    id: SessionId,
    parts: Arc<Parts>,
    stream: OpenStream,
    counter: Arc<dyn TokenCounter>,
    tools: ToolSet,
    interrupt: Interrupt,
    in_flight: Vec<CountedMessage>,
    /// Tokens of the log that stay in memory.
    log_tokens_max: Tokens,
}

impl ConversationLog {
    /// Opens a conversation, or creates it. An exchange that was in flight continues.
    pub(super) async fn open(
        engine: &Engine,
        id: &SessionId,
        log_tokens_max: Tokens,
    ) -> Result<Self, EngineError> {
        let parts = engine.parts.clone();
        let mut stream = OpenStream::load(parts.store.as_ref(), id.clone()).await?;
        let mut recorder = Recorder::new(&parts);
        loop {
            let policy = Policy::for_recorded_conversations();
            let created = stream.create_if_new(&parts.encoding, policy, parts.clock.now());
            if !recorder.commit(&mut stream, created.into_iter().collect()).await?.is_stale() {
                break;
            }
        }
        let (counter, tools) = (counter_for(&stream.state.head().encoding), ToolSet::none());
        let (interrupt, in_flight) = (Interrupt::default(), Vec::new());
        let mut conversation =
            Self { id: id.clone(), parts, stream, counter, tools, interrupt, in_flight, log_tokens_max };
        conversation.load_in_flight().await?;
        Ok(conversation)
    }

    pub(super) fn session(&self) -> &SessionId {
        &self.id
    }

    pub(super) fn counter(&self) -> &Arc<dyn TokenCounter> {
        &self.counter
    }

    /// Share of the budget, in per cent, from which summaries are prepared.
    pub(super) fn prepare_percent(&self) -> u64 {
        self.stream.state.policy().window_prepare_percent
    }

    pub(super) async fn append_message(
        &mut self,
        role: Role,
        content: &str,
        at: Stamp,
    ) -> Result<(), EngineError> {
        let bytes_max = self.stream.state.policy().message_bytes_max;
        if content.len() as u64 > bytes_max {
            return Err(TurnError::MessageTooLong { bytes: content.len() as u64, bytes_max }.into());
        }
        let message =
            prepare_message(&self.stream.state, &self.counter, Message { role, ..Message::user(content) }).await;
        let parts = self.parts.clone();
        let mut recorder = Recorder::new(&parts);
        loop {
            self.sync().await?;
            let stream = &mut self.stream;
            let before = stream.state.head().pending.clone();
            // The host chooses the role, which proves no author; these memories pin nothing.
            let events = append_message(&stream.state, message.clone(), Author::Model);
            let decided = events.into_iter().map(|event| stream.state.record(at, event)).collect();
            if !recorder.commit(stream, decided).await?.is_stale() {
                let joined = before.contains_key(&stream.state.turn());
                let closed = before.into_iter().map(|(turn, pending)| (turn, pending.at)).collect();
                self.track_appended(message, if joined { Vec::new() } else { closed });
                parts.remember_stated(recorder.take_live_message()).await;
                return Ok(());
            }
            self.load_in_flight().await?;
        }
    }

    fn track_appended(&mut self, message: CountedMessage, closed: Vec<(TurnNo, Stamp)>) {
        match closed[..] {
            [] => {}
            [(turn, at)] => {
                let exchange = Exchange { turn, at, messages: std::mem::take(&mut self.in_flight) };
                self.stream.logs.push(&Scope::Ambient, Arc::new(exchange), self.log_tokens_max);
            }
            // Several processes write: read again what they wrote.
            [_, _, ..] => {
                self.stream.logs.clear();
                self.in_flight.clear();
            }
        }
        self.in_flight.push(message);
    }

    pub(super) async fn render(&mut self, budget: Tokens) -> Result<RenderedLog, EngineError> {
        self.sync().await?;
        let log = self.log().await?;
        let host_log = HostLog {
            state: &self.stream.state,
            log: &log,
            in_flight: &self.in_flight,
            counter: self.counter.as_ref(),
        };
        Ok(host_log.render(budget))
    }

    async fn log(&mut self) -> Result<Log, EngineError> {
        if let Some(log) = self.stream.logs.get(&Scope::Ambient) {
            return Ok(log.clone());
        }
        let request = LogRequest::newest(Scope::Ambient, self.log_tokens_max);
        let log = self.parts.store.log(&self.stream.id, &request).await?;
        self.stream.logs.put(Scope::Ambient, log.clone());
        Ok(log)
    }

    /// Makes every summary that a budget of this size could use; returns how many.
    pub(super) async fn ensure_summaries(
        &mut self,
        budget: Tokens,
        by: SummarizerKind,
    ) -> Result<usize, EngineError> {
        self.sync().await?;
        let mut total = 0;
        loop {
            // Loads the whole log: upkeep would load only what it needs itself.
            self.log().await?;
            let upkeep = Upkeep::for_host_log(budget, by, self.in_flight.clone());
            let driver = Driver {
                parts: &self.parts,
                counter: self.counter.as_ref(),
                tools: &self.tools,
                interrupt: &self.interrupt,
                said_at: None,
            };
            let made =
                driver.run(&mut self.stream, upkeep, &mut DriverRun::new(driver.parts, &mut NullObserver)).await?;
            total += made;
            if made == 0 {
                return Ok(total);
            }
        }
    }

    pub(super) async fn latest_query(&mut self) -> Result<Option<(TurnNo, Arc<str>)>, EngineError> {
        let turn = self.stream.state.turn();
        let user_text = |messages: &[CountedMessage]| {
            let user = messages.iter().rev().find(|counted| counted.message.role == Role::User);
            user.map(|counted| counted.message.content.clone())
        };
        if let Some(text) = user_text(&self.in_flight) {
            return Ok(Some((turn, text)));
        }
        let log = self.log().await?;
        let mut newest = log.exchanges().rev();
        Ok(newest.find_map(|exchange| user_text(&exchange.messages).map(|text| (exchange.turn, text))))
    }

    pub(super) async fn recall(
        &mut self,
        query: &str,
        max: usize,
        keep: impl Fn(TurnNo) -> bool,
    ) -> Result<Vec<TextChunk>, EngineError> {
        let question = ParsedQuestion::parse(query, self.parts.clock.now());
        let filter = Filter::for_stream(&self.stream.id);
        let search = TextSearch { question, filter, weights: RankWeights::for_search(), max: TEXTS_MAX };
        let found = find_texts(&self.parts, &search).await?;
        let mut chunks = best_chunks(&search.question.terms, &found, keep);
        chunks.truncate(max);
        for chunk in &mut chunks {
            self.locate(chunk).await?;
        }
        Ok(chunks)
    }

    async fn locate(&self, chunk: &mut TextChunk) -> Result<(), EngineError> {
        let turn = Handle::Turn(chunk.turn);
        let store = self.parts.store.as_ref();
        let exchanges = fetch_exchanges(store, &self.stream.id, &self.stream.state, &turn).await?;
        let mut messages = exchanges.iter().flat_map(|exchange| &exchange.messages).enumerate();
        let position = messages.find_map(|(index, counted)| {
            let at = counted.message.content.find(&chunk.text).filter(|_| counted.message.role == chunk.role)?;
            Some((index, at))
        });
        if let Some((index, at)) = position {
            chunk.position = (index, at);
            chunk.handle = Handle::Message { turn: chunk.turn, index };
        }
        Ok(())
    }

    pub(super) async fn original(&self, handle: &Handle) -> Result<Vec<Message>, EngineError> {
        let exchanges =
            fetch_exchanges(self.parts.store.as_ref(), &self.stream.id, &self.stream.state, handle).await?;
        Ok(handle.select(&exchanges).into_iter().cloned().collect())
    }

    pub(super) async fn reload(&mut self) -> Result<(), EngineError> {
        self.stream.reload(self.parts.store.as_ref()).await?;
        self.load_in_flight().await
    }

    /// Drops what never became durable, and reloads if upkeep met changes by others.
    async fn sync(&mut self) -> Result<(), EngineError> {
        let held: Tokens = self.in_flight.iter().map(|counted| counted.tokens).sum();
        let pending: Tokens = self.stream.state.head().pending.values().map(|pending| pending.tokens).sum();
        if self.stream.is_ahead_of_store() || held != pending {
            self.reload().await?;
        }
        Ok(())
    }

    async fn load_in_flight(&mut self) -> Result<(), EngineError> {
        let turns: Vec<TurnNo> = self.stream.state.head().pending.keys().copied().collect();
        self.in_flight.clear();
        for turn in turns {
            let store = self.parts.store.as_ref();
            let exchanges =
                fetch_exchanges(store, &self.stream.id, &self.stream.state, &Handle::Turn(turn)).await?;
            self.in_flight.extend(exchanges.into_iter().flat_map(|exchange| exchange.messages));
        }
        Ok(())
    }
}
