//! The engine: put together from its parts, it opens sessions.

use std::sync::Arc;
use std::time::Duration;

use neap_core::account::{Account, SUMMARY_KINDS, accounts};
use neap_core::assemble::tools_of_agent;
use neap_core::event::{Event, Recorded};
use neap_core::handle::Handle;
use neap_core::ids::{AgentId, SessionId, TurnNo};
use neap_core::ingest::Callers;
use neap_core::knowledge::Outlook;
use neap_core::message::Message;
use neap_core::policy::Policy;
use neap_core::recall::Filter;
use neap_core::resume::resume;
use neap_core::tools::ToolSet;
use neap_model::bpe::counter_for;
use neap_model::envelope::Keyring;
use neap_model::offline::Offline;
use neap_model::summarize::Extractive;
use neap_model::{ChatModel, Embedder, Summarizer};
use neap_store::folder::FolderViews;
use neap_store::{SessionInfo, Store, StoreError, Stored};

use crate::agent::Agent;
use crate::clock::{Clock, SystemClock};
use crate::error::EngineError;
use crate::explain::{Explained, explain};
use crate::hush::Waiting;
use crate::ingest::{Backlog, Lines};
use crate::live::Live;
use crate::meaning::Patience;
use crate::mind::{AgentPart, MindLive};
use crate::original::fetch;
use crate::parts::{HostTools, NoHostTools, Parts};
use crate::session::Session;

/// The encoding in which a new session's tokens are counted.
const DEFAULT_ENCODING: &str = "o200k_base";

/// How long a configured summariser may take.
const SUMMARY_LIMIT: Duration = Duration::from_secs(20);

/// How to open a session.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// Settings to make, as `key`, `value`; they stay with the session.
    pub set: Vec<(String, String)>,
}

/// Opens sessions.
#[derive(Clone)]
pub struct Engine {
    pub(crate) parts: Arc<Parts>,
}

/// Puts an engine together; every part but the store has a built-in default.
pub struct EngineBuilder {
    parts: Parts,
}

impl EngineBuilder {
    /// Who answers; the offline model by default.
    pub fn model(mut self, model: Arc<dyn ChatModel>) -> Self {
        self.parts.model = model;
        self
    }

    /// Who summarises; the extractive summariser by default.
    pub fn summarizer(mut self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.parts.summarizer = summarizer;
        self.parts.summary_limit = Some(SUMMARY_LIMIT);
        self
    }

    /// Who summarises where a summary must be there at once, and where the other summariser fails; the extractive
    /// one. A simulation puts one in its place to hear what is asked.
    pub fn built_in_summarizer(mut self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.parts.built_in = summarizer;
        self
    }

    /// How long the summariser may take; after that the built-in one is asked. Twenty seconds by default, which
    /// needs a runtime with time enabled; none waits for as long as it takes.
    pub fn summary_limit(mut self, limit: Option<Duration>) -> Self {
        self.parts.summary_limit = limit;
        self
    }

    /// Who tells what texts mean, so that search also finds what says the same in other words. By default nobody: search goes by
    /// words alone.
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.parts.embedder = Some(embedder);
        self
    }

    /// How long a question may wait for its embedding, which needs a runtime with time enabled; after that, and for some seconds
    /// after a failure, words alone find. None, the default, waits for as long as it takes.
    pub fn meaning_limit(mut self, limit: Option<Duration>) -> Self {
        self.parts.patience.limit = limit;
        self
    }

    /// What time it is; the machine's clock by default.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.parts.clock = clock;
        self
    }

    /// Tools of the host that the model may call besides the effort tools.
    pub fn host_tools(mut self, tools: Arc<dyn HostTools>) -> Self {
        self.parts.host_tools = tools;
        self
    }

    /// The encoding in which new sessions count their tokens; `o200k_base` by default.
    pub fn encoding(mut self, encoding: &str) -> Self {
        encoding.clone_into(&mut self.parts.encoding);
        self
    }

    /// The agent whose conversations the sessions are: what it knows comes into their contexts, and memory tools are
    /// offered. By default there is none.
    pub fn agent(mut self, id: AgentId, outlook: Outlook) -> Self {
        self.parts.agent = Some(AgentPart { id, outlook: Arc::new(outlook) });
        self
    }

    /// Keeps a folder view of every session that changes.
    pub fn views(mut self, views: FolderViews) -> Self {
        self.parts.views = Some(views);
        self
    }

    /// How many callers send clients' requests ([`Engine::ingest`]). By default several, who are told apart by all that looks like a
    /// credential; who shows none is bounded all the same, and nothing of it is kept.
    pub fn callers(mut self, callers: Callers) -> Self {
        self.parts.callers = callers;
        self
    }

    /// Opens, lists and searches no session of a proxy's callers, as if there were none (I11); those of this machine's one caller are
    /// its owner's. By default whoever has the store reads all of it.
    pub fn without_callers(mut self) -> Self {
        self.parts.hides_callers = true;
        self
    }

    /// Who signs what tools answer, and verifies it; by default a key that lives as long as the engine.
    pub fn keyring(mut self, keyring: Arc<Keyring>) -> Self {
        self.parts.keyring = Ok(keyring);
        self
    }

    /// The engine.
    pub fn build(self) -> Engine {
        Engine { parts: Arc::new(self.parts) }
    }
}

impl Engine {
    /// Starts with a store and the built-in parts.
    pub fn builder(store: Arc<dyn Store>) -> EngineBuilder {
        let parts = Parts {
            store,
            model: Arc::new(Offline::new()),
            summary_limit: None,
            summarizer: Arc::new(Extractive::new(counter_for(DEFAULT_ENCODING))),
            built_in: Arc::new(Extractive::new(counter_for(DEFAULT_ENCODING))),
            embedder: None,
            patience: Patience::default(),
            waiting: Waiting::default(),
            clock: Arc::new(SystemClock),
            host_tools: Arc::new(NoHostTools),
            encoding: DEFAULT_ENCODING.to_owned(),
            agent: None,
            views: None,
            callers: Callers::Many,
            is_alone: false,
            hides_callers: false,
            lines: Lines::default(),
            backlog: Backlog::default(),
            keyring: Keyring::generate().map(Arc::new),
        };
        EngineBuilder { parts }
    }

    /// The store beneath.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    /// Opens a session to go on with it, or begins it. As after any restart, expansions are gone and a turn
    /// that was cut off is closed.
    pub async fn resume(&self, id: &SessionId, options: &SessionOptions) -> Result<Session, EngineError> {
        loop {
            let mut live = self.shown(id).await?;
            let mut policy = live.state.policy().clone();
            policy.set_all(options.set.iter().map(|(key, value)| (key.as_str(), value.as_str())))?;
            let events = self.opening(&live, policy);
            let now = self.parts.clock.now();
            let decided = events.into_iter().map(|event| live.state.record(now, event)).collect();
            let mut session = self.session_of(live).await?;
            session.check_budget()?;
            match session.commit(decided).await {
                Ok(()) => return Ok(session),
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Opens an existing session and changes nothing about it.
    pub async fn attach(&self, id: &SessionId) -> Result<Session, EngineError> {
        let live = self.shown(id).await?;
        if live.state.head().session.is_none() {
            return Err(EngineError::NoSession(id.clone()));
        }
        self.session_of(live).await
    }

    /// The agent, without a conversation; none if the engine has none.
    pub async fn memory(&self) -> Result<Option<Agent>, EngineError> {
        match &self.parts.agent {
            Some(AgentPart { id, outlook }) => {
                Ok(Some(Agent::open(self.parts.clone(), id.clone(), outlook.clone()).await?))
            }
            None => Ok(None),
        }
    }

    /// Every session there is.
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>, EngineError> {
        let mut sessions = self.parts.store.sessions().await?;
        sessions.retain(|info| self.parts.shows(info.tenant));
        Ok(sessions)
    }

    /// Narrows a search of all sessions to those that may be shown.
    pub(crate) async fn shown_in(&self, mut filter: Filter) -> Result<Filter, EngineError> {
        if self.parts.hides_callers && filter.streams.is_none() {
            filter.streams = Some(self.sessions().await?.into_iter().map(|info| info.session).collect());
        }
        Ok(filter)
    }

    /// A stream, if it may be shown.
    async fn shown(&self, id: &SessionId) -> Result<Live, EngineError> {
        let live = Live::load(self.parts.store.as_ref(), id.clone()).await?;
        match self.parts.shows(live.state.head().tenant) {
            true => Ok(live),
            false => Err(EngineError::NoSession(id.clone())),
        }
    }

    /// The record of a turn; the latest if none is named.
    pub async fn explain(&self, id: &SessionId, turn: Option<TurnNo>) -> Result<Explained, EngineError> {
        let turn = match turn {
            Some(turn) => turn,
            None => self.attach(id).await?.state().turn(),
        };
        explain(self.parts.store.as_ref(), id, turn).await
    }

    /// The words behind a handle, exactly as they were said; empty if there are none.
    pub async fn original(&self, id: &SessionId, handle: &Handle) -> Result<Vec<Message>, EngineError> {
        let session = self.attach(id).await?;
        let exchanges = fetch(self.parts.store.as_ref(), id, session.state(), handle).await?;
        Ok(handle.pick(&exchanges).into_iter().cloned().collect())
    }

    /// What conclusions and compactions kept, newest first, at most `max`.
    pub async fn receipts(&self, id: &SessionId, max: usize) -> Result<Vec<Account>, EngineError> {
        let session = self.attach(id).await?;
        // A conclusion may be two events.
        let stored = self.parts.store.events_of(id, &SUMMARY_KINDS, None, max.saturating_mul(2)).await?;
        let whole = stored.into_iter().filter_map(|stored| match stored {
            Stored::Event(recorded) => Some(recorded),
            Stored::Damaged { .. } => None,
        });
        let events: Vec<Recorded> = whole.collect();
        let mut found = accounts(&events, session.state());
        found.truncate(max);
        Ok(found)
    }

    /// Erases a session: its words are gone from the store and its folder; a tombstone stays.
    pub async fn scrub(&self, id: &SessionId) -> Result<u64, EngineError> {
        if self.parts.store.load(id).await?.is_none_or(|state| state.head().session.is_none()) {
            return Err(EngineError::NoSession(id.clone()));
        }
        let events = self.parts.store.scrub(id, self.parts.clock.now()).await?;
        if let Some(views) = &self.parts.views {
            views.remove(id).await?;
        }
        Ok(events)
    }

    /// Waits until every folder view is current.
    pub async fn flush(&self) {
        if let Some(views) = &self.parts.views {
            views.flush().await;
        }
    }

    fn opening(&self, live: &Live, policy: Policy) -> Vec<Event> {
        if live.state.head().session.is_none() {
            let (session, encoding) = (live.id.clone(), self.parts.encoding.clone());
            return vec![Event::SessionCreated { session, encoding, policy, imported_from: None }];
        }
        let changed = (policy != *live.state.policy()).then_some(Event::PolicyChanged { policy });
        resume(&live.state).into_iter().chain(changed).collect()
    }

    pub(crate) async fn session_of(&self, live: Live) -> Result<Session, EngineError> {
        self.session_for(live, self.parts.agent.as_ref()).await
    }

    /// The same as a conversation of another agent, or of none.
    pub(crate) async fn session_for(
        &self,
        mut live: Live,
        agent: Option<&AgentPart>,
    ) -> Result<Session, EngineError> {
        let counter = counter_for(&live.state.head().encoding);
        let host = self.parts.host_tools.specs();
        let tools = match agent {
            Some(agent) => {
                let mind = MindLive::load(&self.parts, agent).await?;
                let head = mind.live.state.head().agent.as_deref();
                let tools = tools_of_agent(live.state.policy(), head, &host, counter.as_ref());
                live.mind = Some(Box::new(mind));
                tools
            }
            None => ToolSet::with_efforts(counter.as_ref(), host),
        };
        Ok(Session::new(self.parts.clone(), live, counter, tools))
    }
}
