//! Embeds what was imported. Texts wait for that in the store, so that whichever process gets to them embeds them:
//! a background process of the import, or any later one that embeds.

use std::process::ExitCode;

use neap_engine::{Engine, lower_priority};
use serde::Serialize;

use crate::env::DataDir;
use crate::out::Failure;
use crate::{app, background, embedder, files, progress};

/// Who embeds the new texts of an import that did not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EmbeddedBy {
    /// A process that is running.
    Background,
    /// None is running, and none could be started.
    LaterCommand,
}

/// Embeds the new texts, so that search finds them by meaning.
pub(super) async fn embed_new(engine: &Engine, new: u64) -> Result<(), Failure> {
    let mut done = 0;
    loop {
        let count = engine.index_batch().await?;
        if count == 0 {
            break;
        }
        done += count as u64;
        progress::show("embedding", done.min(new), new);
    }
    // Texts may have been embedded elsewhere in the meantime.
    progress::show("embedding", new, new);
    Ok(())
}

/// Starts a process that embeds all waiting texts, unless one runs; `None` without an embedder.
pub(super) fn start_in_background(data: &DataDir) -> Result<Option<EmbeddedBy>, Failure> {
    if embedder::from_env()?.is_none() {
        return Ok(None);
    }
    if is_embedded_elsewhere(data) || files::try_lock(&data.embedding_lock()).is_none() {
        return Ok(Some(EmbeddedBy::Background));
    }
    let started = background::spawn(data, &["embed-waiting"]);
    Ok(Some(if started.is_ok() { EmbeddedBy::Background } else { EmbeddedBy::LaterCommand }))
}

/// Whether a server embeds new texts of all processes.
fn is_embedded_elsewhere(data: &DataDir) -> bool {
    files::try_lock(&data.index_lock()).is_none()
}

/// The background process. It ends when nothing waits, or when a server that embeds has been started.
pub(crate) async fn embed_waiting(data: &DataDir) -> Result<ExitCode, Failure> {
    lower_priority();
    let engine = app::read_engine(data)?;
    loop {
        let Some(lock) = files::try_lock(&data.embedding_lock()) else { return Ok(ExitCode::SUCCESS) };
        while !is_embedded_elsewhere(data) && engine.index_batch().await? > 0 {}
        drop(lock);
        // An import that ended just now saw the lock taken and started no process.
        if is_embedded_elsewhere(data) || engine.index_batch().await? == 0 {
            return Ok(ExitCode::SUCCESS);
        }
    }
}
