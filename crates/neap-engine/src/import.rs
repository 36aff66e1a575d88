//! Taking in a session folder made by another tool, or an export of our own. Originals are not touched.

use std::path::Path;

use neap_core::event::{Event, Recorded};
use neap_core::ids::SessionId;
use neap_core::import::{ImportedFolder, events};
use neap_core::policy::Policy;
use neap_core::secrets::{mask_exported, masked_places};
use neap_core::vet::vet;
use neap_model::bpe::counter_for;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::live::Live;

/// What was taken in.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Imported {
    /// The session it became.
    pub session: SessionId,
    /// Turns.
    pub turns: u64,
    /// Efforts.
    pub efforts: u64,
    /// Secrets that were masked.
    pub masked: u64,
    /// What could not be read, or was changed in reading.
    pub notes: Vec<String>,
}

impl Engine {
    /// Makes a new session of a folder that was read; secrets in it are masked, as in all that other programs kept.
    pub async fn import(
        &self,
        folder: &ImportedFolder,
        source: &Path,
        id: &SessionId,
    ) -> Result<Imported, EngineError> {
        let store = self.parts.store.as_ref();
        let mut live = Live::load(store, id.clone()).await?;
        if live.state.head().session.is_some() {
            return Err(EngineError::SessionExists(id.clone()));
        }
        let counter = counter_for(&self.parts.encoding);
        let name = source.file_name().map_or_else(|| "folder".into(), |name| name.to_string_lossy());
        let now = self.parts.clock.now();
        let (folder, masked) = folder.without_secrets(live.state.masking());
        let told = events(&folder, id, &Policy::default(), counter.as_ref(), &name, now);
        // In one commit: a folder is taken in whole or not at all.
        let recorded = told.into_iter().map(|(at, event)| live.state.record(at, event)).collect();
        live.commit(store, recorded).await?;
        self.parts.changed(id);
        Ok(Imported {
            session: id.clone(),
            turns: live.state.turn().0,
            efforts: live.state.efforts().len() as u64,
            masked,
            notes: folder.notes,
        })
    }
}

/// An export that cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It does not begin with the beginning of a session.
    #[error("the file does not begin with the creation of a session")]
    NoBeginning,
    /// Its events lead to a state that cannot be.
    #[error("the events do not fit together: {0}")]
    Impossible(String),
    /// The store or the session is in the way.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Engine {
    /// Makes a session of exported events; under its own name if no other is given.
    pub async fn import_events(
        &self,
        events: Vec<Recorded>,
        id: Option<SessionId>,
    ) -> Result<Imported, ExportError> {
        // What an erasure left of an earlier session of the same name is not part of this one.
        let erased = |recorded: &Recorded| matches!(recorded.event, Event::Scrubbed { .. });
        // Nor is whose history it was and by what it was known: a client's next conversation would go on in whatever a file says it is.
        let known_by = |recorded: &Recorded| matches!(recorded.event, Event::HistoryLinked { .. });
        let events = events.into_iter().skip_while(erased).filter(|recorded| !known_by(recorded));
        let events: Vec<Recorded> = events.collect();
        let Some(Event::SessionCreated { session: original, encoding, .. }) =
            events.first().map(|first| &first.event)
        else {
            return Err(ExportError::NoBeginning);
        };
        let (id, counter) = (id.unwrap_or_else(|| original.clone()), counter_for(encoding));
        let store = self.parts.store.as_ref();
        let mut live = Live::load(store, id.clone()).await.map_err(EngineError::from)?;
        if live.state.head().session.is_some() {
            return Err(EngineError::SessionExists(id).into());
        }
        let is_renamed = id != *original;
        let (events, masked) = mask_exported(live.state.masking(), events).map_err(ExportError::Impossible)?;
        let mut seals = 0;
        let mut recorded = Vec::with_capacity(events.len());
        for Recorded { at, mut event, .. } in events {
            if let Event::SessionCreated { session, .. } = &mut event {
                session.clone_from(&id);
            }
            // A seal is for the session that it names, and for the words that it was made for; otherwise it would look like damage.
            if let Event::ToolsCalled { round, .. } = &mut event
                && (is_renamed || round.messages().any(|said| masked_places(&said.message.content) > 0))
            {
                seals += round.seals.len();
                round.seals.clear();
            }
            let counter = counter.as_ref();
            let event = vet(&live.state, counter, event).map_err(ExportError::Impossible)?;
            recorded.push(live.state.record(at, event));
        }
        if let Some(violation) = live.state.violations().into_iter().next() {
            return Err(ExportError::Impossible(violation));
        }
        live.commit(store, recorded).await.map_err(EngineError::from)?;
        self.parts.changed(&id);
        let (turns, efforts) = (live.state.turn().0, live.state.efforts().len() as u64);
        let left =
            || format!("tool results without their seals, which are for a session of another name: {seals}");
        let notes = (seals > 0).then(left).into_iter().collect();
        Ok(Imported { session: id, turns, efforts, masked, notes })
    }
}
