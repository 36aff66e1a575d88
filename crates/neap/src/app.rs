//! Builds engines and opens stores over a data directory.

use std::sync::Arc;
use std::time::Duration;

use neap_core::base::ids::SessionId;
use neap_engine::{Agent, Engine, EngineBuilder, EngineError};
use neap_sqlite::{FileMismatch, OpenOptions, SqliteStore, find_mismatch};
use neap_store::folder::FolderViews;
use neap_store::{Store, StoreError};

use crate::agent_profile;
use crate::database;
use crate::embedder;
use crate::env::DataDir;
use crate::keys;
use crate::out::{self, Failure};
use crate::project::GitFolders;
use crate::settings::StoreSettings;

/// Opens the store, creating it unless the data directory shows that one was lost.
pub(crate) fn open_store(data: &DataDir) -> Result<Arc<dyn Store>, Failure> {
    open_with(data, &open_options(data))
}

/// For a process that exits within moments.
pub(crate) fn open_store_briefly(data: &DataDir) -> Result<Arc<dyn Store>, Failure> {
    open_with(data, &OpenOptions { is_brief: true, ..open_options(data) })
}

pub(crate) fn open_to_repair(data: &DataDir) -> Result<SqliteStore, StoreError> {
    SqliteStore::open_with(&data.database_file(), &OpenOptions { is_repair: true, ..open_options(data) })
}

fn open_options(data: &DataDir) -> OpenOptions {
    OpenOptions { folders: Some(data.sessions_folder()), ..OpenOptions::default() }
}

/// The options are a file's.
fn open_with(data: &DataDir, options: &OpenOptions) -> Result<Arc<dyn Store>, Failure> {
    let masking = StoreSettings::read(data)?.masking();
    if let Some(store) = data.database() {
        return Ok(Arc::new(store.clone().with_masking(masking)));
    }
    if data.store_url().is_some() {
        return Err(database::not_here("this command"));
    }
    Ok(Arc::new(SqliteStore::open_with(&data.database_file(), options)?.with_masking(masking)))
}

/// Whether there is a store. Fails where one is missing but has left traces, so that nobody starts a new one over
/// it.
pub(crate) fn has_store(data: &DataDir) -> Result<bool, Failure> {
    if data.store_url().is_some() {
        // Connecting made it.
        return Ok(true);
    }
    let path = data.database_file();
    if path.exists() {
        return Ok(true);
    }
    match find_mismatch(&path, Some(&data.sessions_folder()))? {
        Some(FileMismatch { why, .. }) => Err(StoreError::Lost { path, why }.into()),
        None => Ok(false),
    }
}

pub(crate) fn check_store(data: &DataDir) -> Result<(), Failure> {
    if has_store(data)? {
        return Ok(());
    }
    Err(Failure::new(format!("there is no store at {}", data.database_file().display()))
        .hint("`neap chat` and `neap remember` create one; --data-dir selects another directory"))
}

pub(crate) fn open_existing(data: &DataDir) -> Result<Arc<dyn Store>, Failure> {
    check_store(data)?;
    open_store(data)
}

/// How long a proxied request waits for another process's lock on the store.
const REQUEST_LOCK_WAIT: Duration = Duration::from_millis(250);

/// An engine with the built-in parts and live session folders.
pub(crate) fn engine_builder(data: &DataDir) -> Result<EngineBuilder, Failure> {
    builder_with_store(open_store(data)?, data)
}

/// For the proxy: requests hardly wait for a lock and are recorded once it is released.
pub(crate) fn proxy_engine_builder(data: &DataDir) -> Result<EngineBuilder, Failure> {
    let options = OpenOptions { lock_wait: Some(REQUEST_LOCK_WAIT), ..open_options(data) };
    builder_with_store(open_with(data, &options)?, data)
}

fn builder_with_store(store: Arc<dyn Store>, data: &DataDir) -> Result<EngineBuilder, Failure> {
    let keyring = Arc::new(keys::load_or_create(data)?);
    let builder = with_folders(Engine::builder(store.clone()), store, data);
    let builder = builder.keyring(keyring).project_finder(Arc::new(GitFolders));
    Ok(embedder::with_embedder(builder, embedder::from_env()?.as_ref()))
}

/// With live session folders, if the store is a file beside them: what is in a database is many machines'.
pub(crate) fn with_folders(builder: EngineBuilder, store: Arc<dyn Store>, data: &DataDir) -> EngineBuilder {
    match data.database() {
        Some(_) => builder,
        None => builder.views(FolderViews::start(data.sessions_folder(), store)),
    }
}

/// An engine for reading; writes nothing but index data.
pub(crate) fn read_engine(data: &DataDir) -> Result<Engine, Failure> {
    Ok(embedder::with_embedder(Engine::builder(open_existing(data)?), embedder::from_env()?.as_ref()).build())
}

pub(crate) fn agent_engine_builder(data: &DataDir) -> Result<EngineBuilder, Failure> {
    Ok(engine_builder(data)?.agent(data.agent().clone(), agent_profile::load(data)?))
}

/// The selected agent, for writing; creates the store if there is none.
pub(crate) async fn agent(data: &DataDir) -> Result<Agent, Failure> {
    agent_with_store(open_store(data)?, data).await
}

/// The selected agent, for reading; fails if there is no store.
pub(crate) async fn existing_agent(data: &DataDir) -> Result<Agent, Failure> {
    agent_with_store(open_existing(data)?, data).await
}

/// The same, for questions: its engine has the embedder.
pub(crate) async fn asked_agent(data: &DataDir) -> Result<(Engine, Agent), Failure> {
    let builder = builder_with_agent(open_existing(data)?, data)?;
    let engine = embedder::with_embedder(builder, embedder::from_env()?.as_ref()).build();
    let agent = agent_of(&engine).await?;
    if let Err(error) = index_briefly(&engine).await {
        tracing::warn!(%error, "what is new is searched by words alone");
    }
    Ok((engine, agent))
}

/// Says that a question was not embedded.
pub(crate) fn note_embed_fault(engine: &Engine, json: bool) -> Result<(), Failure> {
    match engine.embed_fault() {
        Some(reason) => out::print_note(&format!("searched by words alone: {reason}"), json),
        None => Ok(()),
    }
}

/// Makes missing embeddings for a moment: texts without one are found by their words.
pub(crate) async fn index_briefly(engine: &Engine) -> Result<(), EngineError> {
    const TIMEOUT: Duration = Duration::from_millis(500);
    tokio::time::timeout(TIMEOUT, engine.index_all()).await.unwrap_or(Ok(0)).map(drop)
}

async fn agent_with_store(store: Arc<dyn Store>, data: &DataDir) -> Result<Agent, Failure> {
    agent_of(&builder_with_agent(store, data)?.build()).await
}

fn builder_with_agent(store: Arc<dyn Store>, data: &DataDir) -> Result<EngineBuilder, Failure> {
    Ok(Engine::builder(store).agent(data.agent().clone(), agent_profile::load(data)?))
}

async fn agent_of(engine: &Engine) -> Result<Agent, Failure> {
    Ok(engine.agent().await?.expect("an engine that was given an agent has one"))
}

pub(crate) fn parse_session_id(name: &str) -> Result<SessionId, Failure> {
    SessionId::from_name(name).map_err(|error| {
        Failure::new(format!("cannot use '{}' as a session name: {error}", crate::out::escape_control(name)))
            .hint("use letters, digits and hyphens")
    })
}

/// The session of a chat that names none.
pub(crate) const DEFAULT_SESSION: &str = "default";

/// The named session, else the one used last. Which one that is is said, unless it is the one that a chat without a
/// name has: clients of the proxy have sessions that nobody named.
pub(crate) async fn named_or_latest(engine: &Engine, named: Option<&str>) -> Result<SessionId, Failure> {
    if let Some(name) = named {
        return parse_session_id(name);
    }
    let sessions = engine.sessions().await?;
    // Streams without a turn hold a client's files.
    let used = sessions.into_iter().filter(|info| !info.scrubbed && info.turns.0 > 0);
    let latest =
        used.max_by(|a, b| (a.updated, &a.session).cmp(&(b.updated, &b.session))).map(|info| info.session);
    let latest = latest.ok_or_else(|| {
        Failure::new("there is no session yet").hint("`neap chat`, `neap run` and `neap import` make one")
    })?;
    if latest.as_str() != DEFAULT_SESSION {
        crate::out::print_notice(format!("session {latest}, the one used last"));
    }
    Ok(latest)
}

pub(crate) fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        Some(_) | None => Err("write it as key=value, e.g. decay_threshold=5".to_owned()),
    }
}
