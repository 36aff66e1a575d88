//! The engine: built from its parts, it opens sessions.

use std::sync::Arc;
use std::time::Duration;

use neap_core::base::handle::Handle;
use neap_core::base::ids::{AgentId, EffortId, SessionId, TurnNo};
use neap_core::base::message::Message;
use neap_core::base::model_name::ModelName;
use neap_core::base::policy::Policy;
use neap_core::base::project_id::ProjectId;
use neap_core::base::tokens::TokenCounter;
use neap_core::context::tools::{ToolSet, ToolSpec};
use neap_core::context::{check_budget, session_tools};
use neap_core::memory::knowledge::AgentProfile;
use neap_core::memory::{AgentHead, Episode};
use neap_core::recall::Filter;
use neap_core::session::event::{Event, RecordedEvent, SessionEvent};
use neap_core::session::resume::resume;
use neap_core::session::state::SessionHead;
use neap_core::session::summary_account::{SUMMARY_EVENT_KINDS, SummaryAccount, summary_accounts};
use neap_model::bpe::counter_for;
use neap_model::caller::Tenancy;
use neap_model::envelope::Keyring;
use neap_model::offline::OfflineModel;
use neap_model::summarize::ExtractiveSummarizer;
use neap_model::{ChatModel, Embedder, Summarizer};
use neap_store::folder::FolderViews;
use neap_store::{SessionInfo, Store, StoredEvent};

use crate::agent::Agent;
use crate::agent_stream::{AgentConfig, AgentStream};
use crate::clock::{Clock, SystemClock};
use crate::embedding::QueryEmbedState;
use crate::error::EngineError;
use crate::explain::{TurnExplanation, explain};
use crate::foreground::ForegroundLoad;
use crate::handle_lookup::fetch_exchanges;
use crate::ingest::{Backlog, SessionCache};
use crate::parts::{HostTools, NoHostTools, NoProjects, Parts, ProjectFinder};
use crate::prompt_history::PastStates;
use crate::session::Session;
use crate::stream::{OpenStream, Recorder};

const DEFAULT_ENCODING: &str = "o200k_base";

const SUMMARY_TIMEOUT: Duration = Duration::from_secs(20);

/// Options for opening a session.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// Settings as `key`, `value`; they are stored with the session.
    pub set: Vec<(String, String)>,
    /// What the session is about.
    pub project: ProjectChoice,
}

/// What becomes of an opened session's project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ProjectChoice {
    /// It stays; a new session gets the engine's ([`EngineBuilder::project`]).
    #[default]
    Keep,
    /// A person chose it, or none.
    Set(Option<ProjectId>),
}

/// Opens sessions and reads their store.
#[derive(Clone)]
pub struct Engine {
    pub(crate) parts: Arc<Parts>,
}

/// Builds an engine; every part but the store has a built-in default.
pub struct EngineBuilder {
    parts: Parts,
}

impl EngineBuilder {
    /// Sets the chat model; the offline model by default.
    pub fn model(mut self, model: Arc<dyn ChatModel>) -> Self {
        self.parts.model_name = ModelName::from_name(model.name());
        self.parts.model = model;
        self
    }

    /// Has sessions open and close efforts by what the person says, once the model has called no tool in turns in which
    /// it should have. For models that may be weak; [`Session`] says so by a banner.
    pub fn keep_efforts_by_rule(mut self) -> Self {
        self.parts.keeps_efforts_by_rule = true;
        self
    }

    /// Sets the summariser; the extractive one by default.
    pub fn summarizer(mut self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.parts.summarizer = summarizer;
        self.parts.summary_timeout = Some(SUMMARY_TIMEOUT);
        self
    }

    /// Sets the summariser for urgent summaries and failures of the other; the extractive one by default.
    pub fn fallback_summarizer(mut self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.parts.fallback_summarizer = summarizer;
        self
    }

    /// Limits the summariser's time, after which the built-in one is used: 20 seconds by default, `None` for no
    /// limit. Needs a runtime with time enabled.
    pub fn summary_timeout(mut self, limit: Option<Duration>) -> Self {
        self.parts.summary_timeout = limit;
        self
    }

    /// Sets an embedder, to find the same meaning in other words; by default search goes by words alone.
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.parts.embedder = Some(embedder);
        self
    }

    /// Limits the time for embedding a query; no limit by default. After it, and for some seconds after a failure,
    /// search goes by words alone. Needs a runtime with time enabled.
    pub fn embed_timeout(mut self, limit: Option<Duration>) -> Self {
        self.parts.query_embed.timeout = limit;
        self
    }

    /// Sets the clock; the system clock by default.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.parts.clock = clock;
        self
    }

    /// Tools that hosts of the same sessions offer at other times: a past prompt may have had them.
    pub fn tools_of_other_hosts(mut self, tools: Vec<ToolSpec>) -> Self {
        self.parts.other_host_tools = tools;
        self
    }

    /// Adds the host's tools to the effort tools.
    pub fn host_tools(mut self, tools: Arc<dyn HostTools>) -> Self {
        self.parts.host_tools = tools;
        self
    }

    /// Sets what new sessions are about, unless their programs tell. None by default.
    pub fn project(mut self, project: Option<ProjectId>) -> Self {
        self.parts.project = project;
        self
    }

    /// Sets what knows the projects of folders that programs work in; by default nothing does.
    pub fn project_finder(mut self, finder: Arc<dyn ProjectFinder>) -> Self {
        self.parts.project_finder = finder;
        self
    }

    /// Sets the token encoding of new sessions; `o200k_base` by default.
    pub fn encoding(mut self, encoding: &str) -> Self {
        encoding.clone_into(&mut self.parts.encoding);
        self
    }

    /// Sets the sessions' agent: its memories are in their contexts, with memory tools. None by default.
    pub fn agent(mut self, id: AgentId, profile: AgentProfile) -> Self {
        self.parts.agent = Some(AgentConfig { id, profile: Arc::new(profile) });
        self
    }

    /// Writes a folder view of every session that changes.
    pub fn views(mut self, views: FolderViews) -> Self {
        self.parts.views = Some(views);
        self
    }

    /// Sets how many callers send requests ([`Engine::ingest`]). Several by default, told apart by everything that
    /// looks like a credential; a request without one is bounded, but not stored.
    pub fn callers(mut self, callers: Tenancy) -> Self {
        self.parts.callers = callers;
        self
    }

    /// Treats the sessions of a proxy's callers as absent (I11), except those of this machine's one caller. By
    /// default everything in the store is visible.
    pub fn hide_callers(mut self) -> Self {
        self.parts.hides_callers = true;
        self
    }

    /// Sets the keys that sign and verify tool results; by default a key that lives as long as the engine.
    pub fn keyring(mut self, keyring: Arc<Keyring>) -> Self {
        self.parts.keyring = Ok(keyring);
        self
    }

    /// Builds the engine.
    pub fn build(self) -> Engine {
        Engine { parts: Arc::new(self.parts) }
    }
}

impl Engine {
    /// Starts with a store and the built-in parts.
    pub fn builder(store: Arc<dyn Store>) -> EngineBuilder {
        let parts = Parts {
            store,
            model: Arc::new(OfflineModel::new()),
            model_name: None,
            summary_timeout: None,
            summarizer: Arc::new(ExtractiveSummarizer::new(counter_for(DEFAULT_ENCODING))),
            fallback_summarizer: Arc::new(ExtractiveSummarizer::new(counter_for(DEFAULT_ENCODING))),
            embedder: None,
            query_embed: QueryEmbedState::default(),
            foreground: ForegroundLoad::default(),
            keeps_efforts_by_rule: false,
            clock: Arc::new(SystemClock),
            host_tools: Arc::new(NoHostTools),
            other_host_tools: Vec::new(),
            project_finder: Arc::new(NoProjects),
            project: None,
            encoding: DEFAULT_ENCODING.to_owned(),
            agent: None,
            views: None,
            callers: Tenancy::Multi,
            is_anonymous: false,
            hides_callers: false,
            session_cache: SessionCache::default(),
            backlog: Backlog::default(),
            keyring: Keyring::generate().map(Arc::new),
            past_states: PastStates::default(),
        };
        EngineBuilder { parts }
    }

    /// The engine's store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    /// Opens a session to continue it, or creates it. As after a restart, expansions are gone and an interrupted
    /// turn is closed.
    pub async fn resume(&self, id: &SessionId, options: &SessionOptions) -> Result<Session, EngineError> {
        let mut stream = self.load_visible(id).await?;
        self.load_agent(&mut stream, self.parts.agent.as_ref()).await?;
        let mut recorder = Recorder::new(&self.parts);
        loop {
            self.check_visible(&stream)?;
            let mut policy = stream.state.policy().clone();
            policy.set_all(options.set.iter().map(|(key, value)| (key.as_str(), value.as_str())))?;
            let decided = self.opening_events(&mut stream, policy, &options.project);
            let (tools, counter) = self.tools_for(&stream);
            check_budget(stream.state.policy(), &tools, counter.as_ref())?;
            if !recorder.commit(&mut stream, decided).await?.is_stale() {
                return Ok(self.session_of(id.clone(), stream));
            }
        }
    }

    /// Opens an existing session without changing it.
    pub async fn attach(&self, id: &SessionId) -> Result<Session, EngineError> {
        let stream = self.load_visible(id).await?;
        if stream.state.head().stream.is_none() {
            return Err(EngineError::NoSession(id.clone().into()));
        }
        self.open_session(id, stream).await
    }

    /// The engine's agent, without a conversation; `None` if it has none.
    pub async fn agent(&self) -> Result<Option<Agent>, EngineError> {
        match &self.parts.agent {
            Some(AgentConfig { id, profile }) => {
                Ok(Some(Agent::open(self.parts.clone(), id.clone(), profile.clone()).await?))
            }
            None => Ok(None),
        }
    }

    /// All visible sessions.
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>, EngineError> {
        let mut sessions = self.parts.store.sessions().await?;
        sessions.retain(|info| self.parts.is_visible(info.tenant));
        Ok(sessions)
    }

    pub(crate) async fn restrict_to_visible(&self, filter: Filter) -> Result<Filter, EngineError> {
        self.parts.restrict_to_visible(filter).await
    }

    async fn load_visible(&self, id: &SessionId) -> Result<OpenStream, EngineError> {
        let stream = OpenStream::load(self.parts.store.as_ref(), id.clone()).await?;
        self.check_visible(&stream)?;
        Ok(stream)
    }

    fn check_visible(&self, stream: &OpenStream) -> Result<(), EngineError> {
        match self.parts.is_visible(stream.state.head().tenant) {
            true => Ok(()),
            false => Err(EngineError::NoSession(stream.id.clone())),
        }
    }

    /// A visible session's head: one row, whatever its length. An erased session counts as absent.
    pub async fn head(&self, id: &SessionId) -> Result<SessionHead, EngineError> {
        let head = self.parts.store.head(id).await?;
        let head = head.filter(|head| head.stream.is_some() && self.parts.is_visible(head.tenant));
        head.ok_or_else(|| EngineError::NoSession(id.clone().into()))
    }

    /// The record of a turn, by default the latest.
    pub async fn explain(&self, id: &SessionId, turn: Option<TurnNo>) -> Result<TurnExplanation, EngineError> {
        let turn = match turn {
            Some(turn) => turn,
            None => self.attach(id).await?.state().turn(),
        };
        explain(self.parts.store.as_ref(), id, turn).await
    }

    /// The messages behind a handle, verbatim; empty if there are none.
    pub async fn original(&self, id: &SessionId, handle: &Handle) -> Result<Vec<Message>, EngineError> {
        let session = self.attach(id).await?;
        let exchanges = fetch_exchanges(self.parts.store.as_ref(), id, session.state(), handle).await?;
        Ok(handle.select(&exchanges).into_iter().cloned().collect())
    }

    /// A concluded effort as an episode; `None` if there is no such effort, or it is still open.
    pub async fn episode_of(&self, id: &SessionId, effort: &EffortId) -> Result<Option<Episode>, EngineError> {
        let session = self.attach(id).await?;
        let concluded = session.state().effort(effort).filter(|effort| effort.is_concluded());
        Ok(concluded.map(|effort| {
            let summary = effort.summary.as_ref().map_or_else(|| effort.name.clone(), |s| s.text.clone());
            let (session, effort) = (Some(id.clone()), Some(effort.id.clone()));
            Episode { session, effort, ..Episode::new(summary) }
        }))
    }

    /// Receipts of conclusions and compactions, newest first, at most `max`.
    pub async fn receipts(&self, id: &SessionId, max: usize) -> Result<Vec<SummaryAccount>, EngineError> {
        let session = self.attach(id).await?;
        // A conclusion may be two events.
        let stored =
            self.parts.store.events_of_kinds(id, &SUMMARY_EVENT_KINDS, None, max.saturating_mul(2)).await?;
        let events: Vec<RecordedEvent> = stored.into_iter().filter_map(StoredEvent::whole).collect();
        let mut found = summary_accounts(&events, session.state());
        found.truncate(max);
        Ok(found)
    }

    /// Erases a session from the store and its folder; a tombstone stays. Returns how many events were erased.
    pub async fn scrub(&self, id: &SessionId) -> Result<u64, EngineError> {
        if self.parts.store.load(id).await?.is_none_or(|state| state.head().stream.is_none()) {
            return Err(EngineError::NoSession(id.clone().into()));
        }
        let events = self.parts.store.scrub(id, self.parts.clock.now()).await?;
        self.parts.past_states.forget(id);
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

    fn opening_events(
        &self,
        stream: &mut OpenStream,
        policy: Policy,
        project: &ProjectChoice,
    ) -> Vec<RecordedEvent> {
        let now = self.parts.clock.now();
        if let Some(created) = stream.create_if_new(&self.parts.encoding, policy.clone(), now) {
            let project = match project {
                ProjectChoice::Keep => self.parts.project.as_ref(),
                ProjectChoice::Set(project) => project.as_ref(),
            };
            return [created].into_iter().chain(stream.state.assign_project(now, project)).collect();
        }
        let changed =
            (policy != *stream.state.policy()).then_some(Event::Session(SessionEvent::PolicyChanged { policy }));
        let moved = match project {
            ProjectChoice::Set(project) if *project != stream.state.head().project => {
                Some(Event::Session(SessionEvent::ProjectSet { project: project.clone() }))
            }
            ProjectChoice::Set(_) | ProjectChoice::Keep => None,
        };
        let events = resume(&stream.state).into_iter().chain(changed).chain(moved);
        events.map(|event| stream.state.record(now, event)).collect()
    }

    pub(crate) async fn open_session(&self, id: &SessionId, stream: OpenStream) -> Result<Session, EngineError> {
        self.open_session_as(id, stream, self.parts.agent.as_ref()).await
    }

    pub(crate) async fn open_session_as(
        &self,
        id: &SessionId,
        mut stream: OpenStream,
        agent: Option<&AgentConfig>,
    ) -> Result<Session, EngineError> {
        self.load_agent(&mut stream, agent).await?;
        Ok(self.session_of(id.clone(), stream))
    }

    async fn load_agent(&self, stream: &mut OpenStream, agent: Option<&AgentConfig>) -> Result<(), EngineError> {
        if let Some(agent) = agent {
            stream.agent = Some(Box::new(AgentStream::load(&self.parts, agent).await?));
        }
        Ok(())
    }

    fn session_of(&self, id: SessionId, stream: OpenStream) -> Session {
        let (tools, counter) = self.tools_for(&stream);
        Session::new(id, self.parts.clone(), stream, counter, tools)
    }

    fn tools_for(&self, stream: &OpenStream) -> (ToolSet, Arc<dyn TokenCounter>) {
        let counter = counter_for(&stream.state.head().encoding);
        let tools = tools_of(&self.parts, stream, stream.state.policy(), counter.as_ref());
        (tools, counter)
    }
}

/// The tools of a session with these settings.
pub(crate) fn tools_of(
    parts: &Parts,
    stream: &OpenStream,
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> ToolSet {
    let knows_nothing = AgentHead::default();
    let agent = stream.agent.as_ref().map(|agent| agent.stream.state.head().agent.as_deref());
    let agent = agent.map(|head| head.unwrap_or(&knows_nothing));
    session_tools(policy, agent, &parts.host_tools.specs(), counter)
}
