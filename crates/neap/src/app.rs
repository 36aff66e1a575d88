//! Putting the engine together over a data directory.

use std::sync::Arc;
use std::time::Duration;

use neap_core::ids::SessionId;
use neap_engine::{Agent, Engine, EngineBuilder};
use neap_store::folder::FolderViews;
use neap_store::sqlite::{Misfit, OpenOptions, misfit};
use neap_store::{SqliteStore, Store, StoreError};

use crate::embedder;
use crate::env::DataDir;
use crate::keys;
use crate::out::Failure;
use crate::outlook;
use crate::settings::StoreSettings;

/// Opens the store, making it if there is none and nothing that it has lost.
pub(crate) fn open_store(data: &DataDir) -> Result<Arc<dyn Store>, Failure> {
    Ok(Arc::new(opened(data, &options(data))?))
}

/// The same for a process that stays for a moment.
pub(crate) fn open_store_briefly(data: &DataDir) -> Result<Arc<dyn Store>, Failure> {
    let options = OpenOptions { is_brief: true, ..options(data) };
    Ok(Arc::new(opened(data, &options)?))
}

/// The same to repair it.
pub(crate) fn open_to_repair(data: &DataDir) -> Result<SqliteStore, StoreError> {
    SqliteStore::open_with(&data.database(), &OpenOptions { is_repair: true, ..options(data) })
}

fn options(data: &DataDir) -> OpenOptions {
    OpenOptions { folders: Some(data.sessions()), ..OpenOptions::default() }
}

/// The store as its owner wants it.
fn opened(data: &DataDir, options: &OpenOptions) -> Result<SqliteStore, Failure> {
    let masking = StoreSettings::read(data)?.masking();
    Ok(SqliteStore::open_with(&data.database(), options)?.with_masking(masking))
}

/// Whether there is a store. Fails where there is none but something is left of one: whoever would take that for a new place would not see it.
pub(crate) fn has_store(data: &DataDir) -> Result<bool, Failure> {
    let path = data.database();
    if path.exists() {
        return Ok(true);
    }
    match misfit(&path, Some(&data.sessions()))? {
        Some(Misfit { why, .. }) => Err(StoreError::Lost { path, why }.into()),
        None => Ok(false),
    }
}

/// Fails if there is no store.
pub(crate) fn check_store(data: &DataDir) -> Result<(), Failure> {
    if has_store(data)? {
        return Ok(());
    }
    Err(Failure::new(format!("there is no store at {}", data.database().display()))
        .hint("`neap chat` and `neap remember` make one; --data-dir names another place"))
}

/// Opens the store for looking; fails if there is none.
pub(crate) fn open_existing(data: &DataDir) -> Result<Arc<dyn Store>, Failure> {
    check_store(data)?;
    open_store(data)
}

/// How long a request that passes through the proxy waits for another process's lock on the store.
const REQUEST_LOCK_WAIT: Duration = Duration::from_millis(250);

/// An engine with the built-in parts and live session folders.
pub(crate) fn engine(data: &DataDir) -> Result<EngineBuilder, Failure> {
    engine_over(open_store(data)?, data)
}

/// The same for the proxy, whose requests do not wait for a lock: they are recorded when it is released.
pub(crate) fn proxy_engine(data: &DataDir) -> Result<EngineBuilder, Failure> {
    let options = OpenOptions { lock_wait: Some(REQUEST_LOCK_WAIT), ..options(data) };
    engine_over(Arc::new(opened(data, &options)?), data)
}

fn engine_over(store: Arc<dyn Store>, data: &DataDir) -> Result<EngineBuilder, Failure> {
    let views = FolderViews::start(data.sessions(), store.clone());
    let keyring = Arc::new(keys::load(data)?);
    let builder = Engine::builder(store).views(views).keyring(keyring);
    Ok(embedder::with(builder, embedder::choose()?.as_ref()))
}

/// An engine for looking: nothing is written but what makes looking better.
pub(crate) fn reader(data: &DataDir) -> Result<Engine, Failure> {
    Ok(embedder::with(Engine::builder(open_existing(data)?), embedder::choose()?.as_ref()).build())
}

/// An engine whose sessions are conversations of the agent that is named.
pub(crate) fn agent_engine(data: &DataDir) -> Result<EngineBuilder, Failure> {
    Ok(engine(data)?.agent(data.agent().clone(), outlook::read(data)?))
}

/// The agent that is named, to teach it; makes a store if there is none.
pub(crate) async fn agent(data: &DataDir) -> Result<Agent, Failure> {
    agent_over(open_store(data)?, data).await
}

/// The agent that is named, to look at what it knows; fails if there is no store.
pub(crate) async fn known_agent(data: &DataDir) -> Result<Agent, Failure> {
    agent_over(open_existing(data)?, data).await
}

async fn agent_over(store: Arc<dyn Store>, data: &DataDir) -> Result<Agent, Failure> {
    let engine = Engine::builder(store).agent(data.agent().clone(), outlook::read(data)?).build();
    let agent = engine.memory().await?;
    Ok(agent.expect("an engine that was given an agent has one"))
}

/// A session's id from what was typed.
pub(crate) fn session_id(name: &str) -> Result<SessionId, Failure> {
    SessionId::from_name(name).map_err(|error| {
        Failure::new(format!("cannot use '{}' as a session name: {error}", crate::out::clean(name)))
            .hint("use letters, digits and hyphens")
    })
}

/// `key=value` as it is typed after --set.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        Some(_) | None => Err("write it as key=value, e.g. decay_threshold=5".to_owned()),
    }
}
