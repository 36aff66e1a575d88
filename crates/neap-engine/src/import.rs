//! Imports session folders of other tools, and Neap's own exports. The originals are not changed.

use std::path::Path;

use neap_core::base::ids::SessionId;
use neap_core::base::policy::Policy;
use neap_core::session::event::{ClientEvent, Event, RecordedEvent, SessionEvent, TurnEvent};
use neap_core::session::import::{ImportedFolder, folder_events};
use neap_core::session::mask_exported;
use neap_core::session::validate::validate_imported;
use neap_core::text::secrets::count_masks;
use neap_model::bpe::counter_for;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::stream::{OpenStream, Recorder};

/// The outcome of an import.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Imported {
    /// The new session.
    pub session: SessionId,
    /// Turns in it.
    pub turns: u64,
    /// Efforts in it.
    pub efforts: u64,
    /// Secrets that were masked.
    pub masked: u64,
    /// What could not be read, or was changed.
    pub notes: Vec<String>,
}

impl Engine {
    /// Creates a session from a folder; secrets in it are masked.
    pub async fn import(
        &self,
        folder: &ImportedFolder,
        source: &Path,
        id: &SessionId,
    ) -> Result<Imported, EngineError> {
        let store = self.parts.store.as_ref();
        let mut stream = OpenStream::load(store, id.clone()).await?;
        if stream.state.head().stream.is_some() {
            return Err(EngineError::SessionExists(id.clone()));
        }
        let counter = counter_for(&self.parts.encoding);
        let name = source.file_name().map_or_else(|| "folder".into(), |name| name.to_string_lossy());
        let now = self.parts.clock.now();
        let (folder, masked) = folder.without_secrets(stream.state.masking());
        let events = folder_events(&folder, id, &Policy::default(), counter.as_ref(), &name, now);
        // One commit: a folder is imported as a whole, or not at all.
        let recorded = events.into_iter().map(|(at, event)| stream.state.record(at, event)).collect();
        if Recorder::new(&self.parts).commit(&mut stream, recorded).await?.is_stale() {
            return Err(EngineError::SessionExists(id.clone()));
        }
        Ok(Imported {
            session: id.clone(),
            turns: stream.state.turn().0,
            efforts: stream.state.efforts().len() as u64,
            masked,
            notes: folder.notes,
        })
    }
}

/// Why an export cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportEventsError {
    /// It does not begin with the creation of a session.
    #[error("the file does not begin with the creation of a session")]
    NoSessionCreated,
    /// Its events lead to an invalid state.
    #[error("the events do not fit together: {0}")]
    InvalidEvents(String),
    /// The store failed, or the session exists already.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Engine {
    /// Creates a session from exported events, under its own name by default.
    pub async fn import_events(
        &self,
        events: Vec<RecordedEvent>,
        id: Option<SessionId>,
    ) -> Result<Imported, ImportEventsError> {
        // The tombstone of an erased session of the same name is not part of this one.
        let is_tombstone =
            |recorded: &RecordedEvent| matches!(recorded.event, Event::Session(SessionEvent::Scrubbed { .. }));
        // Neither are owner and digests: a file must not decide which session a client's next request continues.
        let is_link =
            |recorded: &RecordedEvent| matches!(recorded.event, Event::Client(ClientEvent::HistoryLinked { .. }));
        let events = events.into_iter().skip_while(is_tombstone).filter(|recorded| !is_link(recorded));
        let events: Vec<RecordedEvent> = events.collect();
        let Some(Event::Session(SessionEvent::Created { session: original, encoding, .. })) =
            events.first().map(|first| &first.event)
        else {
            return Err(ImportEventsError::NoSessionCreated);
        };
        let id = id.or_else(|| original.session()).ok_or(ImportEventsError::NoSessionCreated)?;
        let counter = counter_for(encoding);
        let store = self.parts.store.as_ref();
        let mut stream = OpenStream::load(store, id.clone()).await.map_err(EngineError::from)?;
        if stream.state.head().stream.is_some() {
            return Err(EngineError::SessionExists(id).into());
        }
        let is_renamed = id != *original;
        let (events, masked) =
            mask_exported(stream.state.masking(), events).map_err(ImportEventsError::InvalidEvents)?;
        let mut seals = 0;
        let mut recorded = Vec::with_capacity(events.len());
        for RecordedEvent { at, mut event, .. } in events {
            if let Event::Session(SessionEvent::Created { session, .. }) = &mut event {
                session.clone_from(&id);
            }
            // A seal is bound to its session and its exact text; on others it would look like damage.
            if let Event::Turn(TurnEvent::ToolsCalled { round, .. }) = &mut event
                && (is_renamed || round.messages().any(|counted| count_masks(&counted.message.content) > 0))
            {
                seals += round.seals.len();
                round.seals.clear();
            }
            let counter = counter.as_ref();
            let event =
                validate_imported(&stream.state, counter, event).map_err(ImportEventsError::InvalidEvents)?;
            recorded.push(stream.state.record(at, event));
        }
        if let Some(violation) = stream.state.violations().into_iter().next() {
            return Err(ImportEventsError::InvalidEvents(violation));
        }
        if Recorder::new(&self.parts).commit(&mut stream, recorded).await?.is_stale() {
            return Err(EngineError::SessionExists(id).into());
        }
        let (turns, efforts) = (stream.state.turn().0, stream.state.efforts().len() as u64);
        let note = || {
            format!(
                "tool results imported without their seals, which are for another session or an unmasked text: {seals}"
            )
        };
        let notes = (seals > 0).then(note).into_iter().collect();
        Ok(Imported { session: id, turns, efforts, masked, notes })
    }
}
