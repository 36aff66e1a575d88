//! A session in memory: its state, its logs in play, and how far it is durable.

use neap_core::epoch::Sent;
use neap_core::event::{Event, Recorded};
use neap_core::ids::{Seq, SessionId, TurnNo};
use neap_core::log::Logs;
use neap_core::project::{InFlight, project};
use neap_core::state::SessionState;
use neap_model::envelope::Seen;
use neap_store::{Commit, Store, StoreError};

use crate::error::EngineError;
use crate::mind::MindLive;

/// A commit is decided anew this often if others keep coming first.
const CONFLICTS_MAX: usize = 100;

/// Another process came first: loads what it left, so that the commit can be decided again. Any other error, and one
/// conflict too many, is the caller's.
pub(crate) async fn overtaken(
    live: &mut Live,
    store: &dyn Store,
    error: StoreError,
    conflicts: &mut usize,
) -> Result<(), EngineError> {
    if !matches!(error, StoreError::Conflict { .. }) {
        return Err(error.into());
    }
    if *conflicts >= CONFLICTS_MAX {
        return Err(EngineError::Contended(live.id.clone()));
    }
    *conflicts += 1;
    Ok(live.reload(store).await?)
}

/// What the driver works on.
pub(crate) struct Live {
    pub(crate) id: SessionId,
    pub(crate) state: SessionState,
    pub(crate) logs: Logs,
    /// What was sent to the model; whoever reloads the session begins with an empty page.
    pub(crate) sent: Sent,
    committed: Seq,
    in_flight: InFlight,
    /// The turn that was begun here and has not ended.
    pub(crate) turn: Option<TurnNo>,
    /// Envelopes that were accepted here.
    pub(crate) seen: Seen,
    /// The agent whose conversation it is, if what it knows is used.
    pub(crate) mind: Option<Box<MindLive>>,
}

impl Live {
    pub(crate) async fn load(store: &dyn Store, id: SessionId) -> Result<Self, StoreError> {
        let mut state = store.load(&id).await?.unwrap_or_default();
        state.set_masking(store.masking());
        let (committed, in_flight) = (state.seq(), InFlight::of(&state));
        let (logs, sent, seen) = (Logs::default(), Sent::default(), Seen::new());
        Ok(Self { id, state, logs, sent, committed, in_flight, turn: None, seen, mind: None })
    }

    /// Forgets everything that is not durable, and what others have overtaken.
    pub(crate) async fn reload(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let loaded = Self::load(store, self.id.clone()).await?;
        *self = Self { turn: self.turn, seen: std::mem::take(&mut self.seen), mind: self.mind.take(), ..loaded };
        Ok(())
    }

    /// Whether decisions were applied that never became durable: a turn was dropped half-way.
    pub(crate) fn is_ahead_of_store(&self) -> bool {
        self.state.seq() != self.committed
    }

    /// Makes events durable that were already applied to the state.
    pub(crate) async fn commit(&mut self, store: &dyn Store, events: Vec<Recorded>) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let turn = events.iter().fold(self.turn, |turn, recorded| {
            let begins = matches!(recorded.event, Event::TurnStarted { .. });
            let ends = matches!(
                recorded.event,
                Event::TurnCompleted { .. } | Event::TurnAbandoned { .. } | Event::TurnClosed { .. }
            );
            if begins { recorded.event.turn() } else { turn.filter(|_| !ends) }
        });
        let projection = project(&self.in_flight, &self.state, &events);
        let commit = Commit { session: self.id.clone(), expected: self.committed, events, projection };
        store.commit(commit).await?;
        self.turn = turn;
        self.committed = self.state.seq();
        self.in_flight = InFlight::of(&self.state);
        Ok(())
    }
}
