//! The prompt of any turn, built again from the stream: the state of that time, the logs up to it, the memories that
//! were loaded, and the drafts since the prompt was last rewritten. The ledger that was stored with the turn tells whether the result is what was sent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use neap_core::base::ids::{Seq, SessionId, Stamp, StreamId, TurnNo};
use neap_core::base::ledger::{Layer, Ledger};
use neap_core::base::message::{CountedMessage, ToolRound};
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_core::context::epoch::SentPrompt;
use neap_core::context::tools::ToolSet;
use neap_core::context::{Assembler, Selection, ThisTurn, WorkingContext, possible_session_tools};
use neap_core::memory::MemoryEvent;
use neap_core::memory::knowledge::{Knowledge, LoadCause};
use neap_core::session::event::{EpochCause, Event, RecordedEvent, TurnEvent, WindowEvent};
use neap_core::session::log::{LogCache, LogRequest};
use neap_core::session::state::SessionState;
use neap_store::{StoreError, StoredEvent};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::past_memories::PastMemories;

const PAGE: usize = 512;
/// States kept, so that the next turn that somebody looks at need not begin at the first event.
const STATES_MAX: usize = 12;
const MEMORIES_LOADED: &str = "memories_loaded";
/// Loads looked at for the one whose page a prompt still had: in others the page was only made shorter.
const LOADS_MAX: usize = 16;

/// A turn's prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PastPrompt {
    /// The turn whose prompt this is.
    pub turn: TurnNo,
    /// The prompt of its last model call.
    pub context: WorkingContext,
    /// Tokens that the provider had from the call before.
    pub cached: Tokens,
    /// What was recorded when it was sent.
    pub ledger: Ledger,
    /// The layers whose tokens differ from that record; none if it is what was sent.
    pub differing: Vec<Layer>,
}

/// States of sessions at earlier times, the latest used last.
#[derive(Debug, Default)]
pub(crate) struct PastStates(Mutex<VecDeque<(StreamId, SessionState)>>);

impl PastStates {
    /// The latest state of a stream before an event.
    fn before(&self, id: &StreamId, seq: Seq) -> Option<SessionState> {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let usable = states.iter().filter(|(stream, state)| stream == id && state.seq() < seq);
        usable.max_by_key(|(_, state)| state.seq()).map(|(_, state)| state.clone())
    }

    fn keep(&self, id: &StreamId, state: SessionState) {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.retain(|(stream, kept)| stream != id || kept.seq() != state.seq());
        states.push_back((id.clone(), state));
        if states.len() > STATES_MAX {
            states.pop_front();
        }
    }

    /// Of an erased session, nothing is kept.
    pub(crate) fn forget(&self, id: &StreamId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(stream, _)| stream != id);
    }
}

impl Engine {
    /// The prompt of a turn that a model answered here; `None` if Neap assembled none for it.
    pub async fn past_prompt(&self, id: &SessionId, turn: TurnNo) -> Result<Option<PastPrompt>, EngineError> {
        self.head(id).await?;
        let explained = crate::explain::explain(self.parts.store.as_ref(), id, turn).await?;
        let Some(ledger) = explained.ledger else { return Ok(None) };
        let since = ledger.epoch_since.unwrap_or(turn);
        let Some((first, _)) = self.parts.store.turn_span(id, since).await? else { return Ok(None) };
        let Some((_, last)) = self.parts.store.turn_span(id, turn).await? else { return Ok(None) };
        let state = self.state_before(id, first).await?;
        let session = self.attach(id).await?;
        let counter = session.counter().clone();
        let tools = self.tools_of_then(session.tools(), &state, &ledger, counter.as_ref());
        let mut memories = self.parts.agent.as_ref().map(PastMemories::new);
        let knowledge = match &mut memories {
            Some(memories) => self.page_before(id, first, memories, counter.as_ref()).await?,
            None => None,
        };
        let mut repeat = Repetition {
            engine: self,
            id,
            counter,
            tools,
            state,
            sent: SentPrompt::default(),
            turn: None,
            latest: None,
            memories,
            knowledge,
        };
        let mut from = first;
        while from <= last {
            let page = self.parts.store.events(id, from, PAGE).await?;
            let Some(newest) = page.last().map(StoredEvent::seq) else { break };
            for recorded in page.into_iter().filter_map(StoredEvent::whole).filter(|recorded| recorded.seq <= last)
            {
                repeat.add(recorded).await?;
            }
            from = newest.next();
        }
        let Some((context, cached)) = repeat.latest else { return Ok(None) };
        let cached = if ledger.cost.calls == 1 { ledger.cost.cached } else { cached };
        let differing = differing(&context.ledger, &ledger);
        Ok(Some(PastPrompt { turn, context, cached, ledger, differing }))
    }

    /// The page of memories that was loaded before an event, if there was one.
    async fn page_before(
        &self,
        id: &SessionId,
        seq: Seq,
        memories: &mut PastMemories,
        counter: &dyn TokenCounter,
    ) -> Result<Option<Knowledge>, EngineError> {
        let store = self.parts.store.as_ref();
        let loads = store.events_of_kinds(id, &[MEMORIES_LOADED], Some(seq), LOADS_MAX).await?;
        for recorded in loads.into_iter().filter_map(StoredEvent::whole) {
            let Event::Memory(MemoryEvent::Loaded { turn, loaded }) = &recorded.event else { continue };
            if loaded.cause == LoadCause::Pressure {
                continue;
            }
            let state = self.state_before(id, recorded.seq).await?;
            let message = crate::explain::explain(store, id, *turn).await?.message.unwrap_or_default();
            return Ok(memories.page(store, (&state, &message), (loaded, recorded.at), counter).await?);
        }
        Ok(None)
    }

    /// An agent that has learned something since is offered other tools now, and so may its host. The record tells
    /// which it had.
    fn tools_of_then(
        &self,
        now: &ToolSet,
        state: &SessionState,
        ledger: &Ledger,
        counter: &dyn TokenCounter,
    ) -> ToolSet {
        let recorded = ledger.tokens.get(Layer::Tools);
        if now.tokens() == recorded {
            return now.clone();
        }
        let own = self.parts.host_tools.specs();
        let hosts = [own.clone(), [own, self.parts.other_host_tools.clone()].concat()];
        let then = hosts.iter().find_map(|host| {
            // From a model that calls nothing, Neap's tools are withdrawn.
            let withdrawn = std::iter::once_with(|| ToolSet::host_only(counter, host.clone()));
            let mut possible = possible_session_tools(state.policy(), host, counter).chain(withdrawn);
            possible.find(|tools| tools.tokens() == recorded)
        });
        then.unwrap_or_else(|| now.clone())
    }

    /// The state before an event: folded from the stream, in pages.
    async fn state_before(&self, id: &SessionId, seq: Seq) -> Result<SessionState, StoreError> {
        let states = &self.parts.past_states;
        let mut state = states.before(id, seq).unwrap_or_default();
        while state.seq().next() < seq {
            let page = self.parts.store.events(id, state.seq().next(), PAGE).await?;
            let Some(newest) = page.last().map(StoredEvent::seq) else { break };
            for stored in page.iter().filter(|stored| stored.seq() < seq) {
                match stored {
                    StoredEvent::Whole(recorded) => state.apply_after_gap(recorded),
                    StoredEvent::Damaged { seq, .. } => state.skip_to(*seq),
                }
            }
            if newest >= seq {
                break;
            }
        }
        states.keep(id, state.clone());
        Ok(state)
    }
}

/// Layers with other tokens than recorded. The record of a turn within an epoch has the head's layers as they were.
fn differing(now: &Ledger, recorded: &Ledger) -> Vec<Layer> {
    Layer::ALL.into_iter().filter(|layer| now.tokens.get(*layer) != recorded.tokens.get(*layer)).collect()
}

struct Repetition<'a> {
    engine: &'a Engine,
    id: &'a SessionId,
    counter: Arc<dyn TokenCounter>,
    tools: ToolSet,
    state: SessionState,
    sent: SentPrompt,
    turn: Option<RepeatedTurn>,
    latest: Option<(WorkingContext, Tokens)>,
    memories: Option<PastMemories>,
    knowledge: Option<Knowledge>,
}

struct RepeatedTurn {
    turn: TurnNo,
    message: CountedMessage,
    rounds: Vec<ToolRound>,
    rewritten: Option<EpochCause>,
    /// Whether a call is to come.
    is_due: bool,
}

/// What is decided for a call before it is made.
fn precedes_call(event: &Event) -> bool {
    matches!(event, Event::Window(_) | Event::Memory(_))
}

impl Repetition<'_> {
    /// Takes the next event. A call comes after the message, or the results, that it answers and what was decided for it,
    /// and before anything that it led to.
    async fn add(&mut self, recorded: RecordedEvent) -> Result<(), EngineError> {
        let (event, at) = (&recorded.event, recorded.at);
        let is_current = self.turn.as_ref().is_some_and(|current| event.turn() == Some(current.turn));
        if is_current && !precedes_call(event) && self.turn.as_ref().is_some_and(|current| current.is_due) {
            self.call(at).await?;
        }
        match event {
            Event::Turn(TurnEvent::Started { turn, message, .. }) => {
                let (turn, message) = (*turn, message.clone());
                self.turn =
                    Some(RepeatedTurn { turn, message, rounds: Vec::new(), rewritten: None, is_due: true });
            }
            Event::Window(WindowEvent::EpochBegan { cause, .. }) if is_current => {
                if let Some(current) = &mut self.turn {
                    current.rewritten = Some(*cause);
                }
            }
            Event::Memory(MemoryEvent::Loaded { loaded, .. }) if is_current => {
                if let (Some(current), Some(memories)) = (&self.turn, &mut self.memories) {
                    let text = (&self.state, &*current.message.message.content);
                    let store = self.engine.parts.store.as_ref();
                    let page = memories.page(store, text, (loaded.as_ref(), at), self.counter.as_ref()).await?;
                    self.knowledge = page.or(self.knowledge.take());
                }
            }
            Event::Turn(TurnEvent::ToolsCalled { round, .. }) if is_current => {
                if let Some(current) = &mut self.turn {
                    current.rounds.push(round.clone());
                    current.is_due = true;
                }
            }
            Event::Turn(TurnEvent::Completed { reply, .. }) if is_current => {
                self.sent.repeat_end(self.counter.as_ref(), reply.clone());
                self.turn = None;
            }
            Event::Turn(_)
            | Event::Client(_)
            | Event::Memory(_)
            | Event::Effort(_)
            | Event::Window(_)
            | Event::Session(_) => {}
        }
        self.state.apply_after_gap(&recorded);
        Ok(())
    }

    async fn call(&mut self, at: Stamp) -> Result<(), EngineError> {
        let Some(current) = &mut self.turn else { return Ok(()) };
        current.is_due = false;
        let mut logs = LogCache::default();
        // What was said until then.
        let turns = (TurnNo(0), TurnNo(current.turn.0.saturating_sub(1)));
        for request in Selection::of(&self.state).log_requests(self.state.policy(), |_| false) {
            let request = LogRequest { turns, ..request };
            let log = self.engine.store().log(self.id, &request).await?;
            logs.put(request.scope, log);
        }
        let view = Assembler {
            state: &self.state,
            logs: &logs,
            tools: &self.tools,
            counter: self.counter.as_ref(),
            knowledge: self.knowledge.as_ref(),
        };
        let turn = ThisTurn {
            turn: current.turn,
            message: Some(&current.message),
            guidance: None,
            rounds: &current.rounds,
        };
        self.latest = Some(self.sent.repeat_call(&view, turn, current.rewritten.take(), at)?);
        Ok(())
    }
}
