//! A stream in memory: its state, its logs, and how far it is durable.

mod recorder;

pub(crate) use recorder::{Committed, Recorder};

use neap_core::base::ids::{Seq, Stamp, StreamId, TurnNo};
use neap_core::base::policy::Policy;
use neap_core::context::epoch::SentPrompt;
use neap_core::session::event::RecordedEvent;
use neap_core::session::log::LogCache;
use neap_core::session::project::{TurnsInFlight, project};
use neap_core::session::state::{NewSession, SessionState, open_turn_after};
use neap_model::envelope::ReplayGuard;
use neap_store::{Commit, Store, StoreError};

use crate::agent_stream::AgentStream;

pub(crate) struct OpenStream {
    pub(crate) id: StreamId,
    pub(crate) state: SessionState,
    pub(crate) logs: LogCache,
    /// The prompt as it was sent to the model; empty after a reload.
    pub(crate) sent: SentPrompt,
    committed: Seq,
    in_flight: TurnsInFlight,
    /// The turn that began here and has not ended.
    pub(crate) turn: Option<TurnNo>,
    pub(crate) seen_envelopes: ReplayGuard,
    pub(crate) agent: Option<Box<AgentStream>>,
}

impl OpenStream {
    pub(crate) async fn load(store: &dyn Store, id: impl Into<StreamId>) -> Result<Self, StoreError> {
        let id = id.into();
        let mut state = store.load(&id).await?.unwrap_or_default();
        state.set_masking(store.masking());
        let (committed, in_flight) = (state.seq(), TurnsInFlight::of(&state));
        let (logs, sent, seen_envelopes) = (LogCache::default(), SentPrompt::default(), ReplayGuard::new());
        Ok(Self { id, state, logs, sent, committed, in_flight, turn: None, seen_envelopes, agent: None })
    }

    /// Drops what is not durable, and loads what others wrote.
    pub(crate) async fn reload(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let loaded = Self::load(store, self.id.clone()).await?;
        *self = Self {
            turn: self.turn,
            seen_envelopes: std::mem::take(&mut self.seen_envelopes),
            agent: self.agent.take(),
            ..loaded
        };
        Ok(())
    }

    /// Creates the session if it does not exist yet.
    pub(crate) fn create_if_new(&mut self, encoding: &str, policy: Policy, at: Stamp) -> Option<RecordedEvent> {
        self.state.create_if_new(at, NewSession { id: &self.id, encoding, policy, imported_from: None })
    }

    /// Forgets logs and prompt: a turn or a budget changed behind them.
    pub(crate) fn forget_logs(&mut self) {
        self.logs.clear();
        self.sent.invalidate();
    }

    /// Drops what a cancelled operation applied but never committed.
    pub(crate) async fn drop_uncommitted(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        if self.is_ahead_of_store() { self.reload(store).await } else { Ok(()) }
    }

    /// Whether events were applied that never became durable: a turn was dropped midway.
    pub(crate) fn is_ahead_of_store(&self) -> bool {
        self.state.seq() != self.committed
    }

    /// Commits events that are already applied to the state. Only the [`Recorder`] calls this.
    async fn commit(&mut self, store: &dyn Store, events: Vec<RecordedEvent>) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let turn = open_turn_after(self.turn, &events);
        let projection = project(&self.in_flight, &self.state, &events);
        let commit = Commit { stream: self.id.clone(), expected: self.committed, events, projection };
        store.commit(commit).await?;
        self.turn = turn;
        self.committed = self.state.seq();
        self.in_flight = TurnsInFlight::of(&self.state);
        Ok(())
    }
}
