//! Texts that a host stores in a session for itself: its state, which no prompt shows and no search finds.

use neap_core::base::ids::{Seq, SessionId};
use neap_core::base::policy::Policy;
use neap_core::session::event::{Event, SessionEvent};
use neap_core::text::secrets::mask_id;
use neap_store::StoredEvent;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::stream::{OpenStream, Recorder};

/// What became of a host's entries with a caller's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HostEntriesAdded {
    /// How many were stored: none if the key was used before.
    pub recorded: usize,
    /// The event that has them.
    pub seq: Seq,
}

impl Engine {
    /// Appends entries, durable in one commit; creates the session if there is none. One of a session's latest keys
    /// again stores nothing, also after a restart.
    pub async fn add_host_entries(
        &self,
        id: &SessionId,
        entries: &[String],
        key: &str,
    ) -> Result<HostEntriesAdded, EngineError> {
        let store = self.parts.store.clone();
        let mut stream = OpenStream::load(store.as_ref(), id.clone()).await?;
        let mut recorder = Recorder::new(&self.parts);
        loop {
            let key = mask_id(stream.state.masking(), key);
            let known = stream.state.head().host_keys.iter().find(|(used, _)| *used == key).map(|(_, seq)| *seq);
            if let Some(seq) = known {
                return self.entries_added_before(id, seq, entries).await;
            }
            let at = self.parts.clock.now();
            let created = stream.create_if_new(&self.parts.encoding, Policy::default(), at);
            let added = stream.state.record(at, SessionEvent::HostEntriesAdded { key, entries: entries.to_vec() });
            let seq = added.seq;
            if !recorder.commit(&mut stream, created.into_iter().chain([added]).collect()).await?.is_stale() {
                return Ok(HostEntriesAdded { recorded: entries.len(), seq });
            }
        }
    }

    /// What became of entries whose key added those of event `seq`: they are in it, unless the key was used for others.
    async fn entries_added_before(
        &self,
        id: &SessionId,
        seq: Seq,
        entries: &[String],
    ) -> Result<HostEntriesAdded, EngineError> {
        let stored = self.parts.store.events(id, seq, 1).await?.into_iter().find_map(StoredEvent::whole);
        match stored.map(|recorded| recorded.event) {
            Some(Event::Session(SessionEvent::HostEntriesAdded { entries: before, .. })) if before == entries => {
                Ok(HostEntriesAdded { recorded: 0, seq })
            }
            _ => Err(EngineError::KeyReused { seq }),
        }
    }
}
