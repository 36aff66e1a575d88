//! Taking in a session folder made by another tool. Its originals are not touched.

use std::path::Path;

use neap_core::ids::SessionId;
use neap_core::import::{ImportedFolder, events};
use neap_core::policy::Policy;
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
    /// What could not be read, or was changed in reading.
    pub notes: Vec<String>,
}

impl Engine {
    /// Makes a new session of a folder that was read.
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
        let told = events(folder, id, &Policy::default(), counter.as_ref(), &name, now);
        // In one commit: a folder is taken in whole or not at all.
        let recorded = told.into_iter().map(|(at, event)| live.state.record(at, event)).collect();
        live.commit(store, recorded).await?;
        self.parts.changed(id);
        Ok(Imported {
            session: id.clone(),
            turns: live.state.turn().0,
            efforts: live.state.efforts().len() as u64,
            notes: folder.notes.clone(),
        })
    }
}
