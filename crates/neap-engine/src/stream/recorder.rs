//! Appends to streams: everything that is stored goes through here.
//!
//! What a person said live is handed on from here ([`Recorder::take_live_message`]), whichever surface it came in by.
//!
//! Events are decided from a stream's state. If another process commits first, nothing is written: the stream is
//! reloaded and the caller decides again, a bounded number of times.

use neap_core::base::ids::StreamId;
use neap_core::session::event::RecordedEvent;
use neap_core::session::live_message::LiveMessage;
use neap_store::StoreError;

use super::OpenStream;
use crate::error::EngineError;
use crate::parts::Parts;

/// Conflicts after which a commit is given up.
const CONFLICTS_MAX: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "events that are stale must be decided again, or given up"]
pub(crate) enum Committed {
    Yes,
    /// Another process committed first: nothing was written, and the stream was reloaded.
    Stale,
}

impl Committed {
    pub(crate) fn is_stale(self) -> bool {
        self == Committed::Stale
    }
}

pub(crate) struct Recorder<'a> {
    parts: &'a Parts,
    conflicts: usize,
    live_message: Option<LiveMessage>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(parts: &'a Parts) -> Self {
        Self { parts, conflicts: 0, live_message: None }
    }

    /// Commits events that are applied to the stream's state.
    pub(crate) async fn commit(
        &mut self,
        stream: &mut OpenStream,
        events: Vec<RecordedEvent>,
    ) -> Result<Committed, EngineError> {
        let (store, is_empty) = (self.parts.store.as_ref(), events.is_empty());
        let live_message = LiveMessage::last_of(&stream.id, &events);
        match stream.commit(store, events).await {
            Ok(()) => {
                self.live_message = live_message.or(self.live_message.take());
                if !is_empty && stream.id.agent().is_none() {
                    self.parts.mark_changed(&stream.id);
                }
                Ok(Committed::Yes)
            }
            Err(StoreError::Conflict { .. }) => {
                self.count_conflict(&stream.id)?;
                stream.reload(store).await?;
                Ok(Committed::Stale)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The latest live message that this recorder made durable.
    pub(crate) fn take_live_message(&mut self) -> Option<LiveMessage> {
        self.live_message.take()
    }

    /// Counts a conflict with another process; [`EngineError::Contended`] after too many.
    pub(crate) fn count_conflict(&mut self, stream: &StreamId) -> Result<(), EngineError> {
        self.conflicts += 1;
        if self.conflicts > CONFLICTS_MAX { Err(EngineError::Contended(stream.clone())) } else { Ok(()) }
    }
}
