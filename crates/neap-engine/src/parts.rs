//! The parts of an engine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use neap_core::base::ids::StreamId;
use neap_core::base::message::ToolCall;
use neap_core::base::model_name::ModelName;
use neap_core::base::project_id::{Place, ProjectId};
use neap_core::base::tenant::Tenant;
use neap_core::context::tools::ToolSpec;
use neap_core::recall::Filter;
use neap_core::session::summary::{SummarizerKind, SummaryRequest};
use neap_model::caller::Tenancy;
use neap_model::compute::{INLINE_BYTES_MAX, run_blocking};
use neap_model::envelope::{KeyError, Keyring};
use neap_model::{ChatModel, Embedder, ModelError, Summarizer};
use neap_store::Store;
use neap_store::folder::FolderViews;

use crate::agent_stream::AgentConfig;
use crate::clock::Clock;
use crate::embedding::QueryEmbedState;
use crate::error::EngineError;
use crate::foreground::ForegroundLoad;
use crate::ingest::{Backlog, SessionCache};
use crate::prompt_history::PastStates;
use crate::tool_answer::ToolAnswer;

/// Knows the projects of this machine's folders.
pub trait ProjectFinder: Send + Sync {
    /// The project that a folder is in, if it exists and is in one.
    fn project_of(&self, folder: &Path) -> Option<ProjectId>;
}

pub(crate) struct NoProjects;

impl ProjectFinder for NoProjects {
    fn project_of(&self, _folder: &Path) -> Option<ProjectId> {
        None
    }
}

/// The host's own tools.
#[async_trait]
pub trait HostTools: Send + Sync {
    /// Schemas for the model.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Runs a tool; a failure is text for the model to read. The engine signs plain text; tools that run elsewhere
    /// can sign their own results ([`ToolAnswer::Sealed`]).
    async fn call(&self, call: &ToolCall) -> ToolAnswer;
}

pub(crate) struct NoHostTools;

#[async_trait]
impl HostTools for NoHostTools {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    async fn call(&self, call: &ToolCall) -> ToolAnswer {
        format!("{{\"error\":\"Unknown tool: {}\"}}", call.name.escape_default()).into()
    }
}

pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) model_name: Option<ModelName>,
    pub(crate) summarizer: Arc<dyn Summarizer>,
    /// Time limit for `summarizer`; `None`, as for the built-in one, waits for as long as it takes.
    pub(crate) summary_timeout: Option<Duration>,
    /// For summaries that are needed at once.
    pub(crate) fallback_summarizer: Arc<dyn Summarizer>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) query_embed: QueryEmbedState,
    pub(crate) foreground: ForegroundLoad,
    /// Whether sessions keep efforts by rule where their model calls no tools.
    pub(crate) keeps_efforts_by_rule: bool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) host_tools: Arc<dyn HostTools>,
    /// What other hosts of the same sessions offer.
    pub(crate) other_host_tools: Vec<ToolSpec>,
    pub(crate) project_finder: Arc<dyn ProjectFinder>,
    /// What new sessions are about, unless their programs tell.
    pub(crate) project: Option<ProjectId>,
    pub(crate) encoding: String,
    pub(crate) agent: Option<AgentConfig>,
    pub(crate) views: Option<FolderViews>,
    pub(crate) callers: Tenancy,
    /// Whether it serves one request without a credential.
    pub(crate) is_anonymous: bool,
    /// Whether sessions of a proxy's callers are treated as absent.
    pub(crate) hides_callers: bool,
    pub(crate) session_cache: SessionCache,
    pub(crate) backlog: Backlog,
    /// The signing keys, or why there are none.
    pub(crate) keyring: Result<Arc<Keyring>, KeyError>,
    pub(crate) past_states: PastStates,
}

/// Runs a summariser without a time limit, off the async workers if the text is long: the built-in one computes.
async fn summarize_off_worker(
    summarizer: &Arc<dyn Summarizer>,
    request: &SummaryRequest,
) -> Result<String, ModelError> {
    let bytes = request.messages.iter().map(|message| message.content.len()).sum();
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return summarizer.summarize(request).await };
    if bytes < INLINE_BYTES_MAX {
        return summarizer.summarize(request).await;
    }
    let (summarizer, request) = (summarizer.clone(), request.clone());
    run_blocking(bytes, move || runtime.block_on(summarizer.summarize(&request))).await
}

impl Parts {
    pub(crate) fn keyring(&self) -> Result<&Keyring, KeyError> {
        self.keyring.as_deref().map_err(Clone::clone)
    }

    pub(crate) fn is_visible(&self, tenant: Option<Tenant>) -> bool {
        !self.hides_callers || tenant.is_none_or(|tenant| tenant == Tenant::local())
    }

    /// Leaves out the sessions of a proxy's callers, where they are hidden (I11).
    pub(crate) async fn restrict_to_visible(&self, mut filter: Filter) -> Result<Filter, EngineError> {
        if self.hides_callers && filter.streams.is_none() {
            let sessions = self.store.sessions().await?.into_iter();
            let visible = sessions.filter(|info| self.is_visible(info.tenant));
            filter.streams = Some(visible.map(|info| info.session.into()).collect());
        }
        Ok(filter)
    }

    pub(crate) fn project_at(&self, place: &Place) -> Option<ProjectId> {
        match place {
            Place::Project(project) => Some(project.clone()),
            Place::Folder(folder) => self.project_finder.project_of(Path::new(folder)),
            Place::Unknown => None,
        }
    }

    /// Makes a summary. A configured summariser has a time limit, since a turn may be waiting.
    pub(crate) async fn summarize(&self, request: &SummaryRequest) -> Result<String, ModelError> {
        let made = self.run_summarizer(request).await?;
        // A model may join the parts of a secret.
        Ok(self.store.masking().mask(&made).0.into_owned())
    }

    async fn run_summarizer(&self, request: &SummaryRequest) -> Result<String, ModelError> {
        match (request.summarizer, self.summary_timeout) {
            (SummarizerKind::BuiltIn, _) => summarize_off_worker(&self.fallback_summarizer, request).await,
            (SummarizerKind::Configured, None) => summarize_off_worker(&self.summarizer, request).await,
            (SummarizerKind::Configured, Some(limit)) => {
                let made = tokio::time::timeout(limit, self.summarizer.summarize(request)).await;
                made.unwrap_or(Err(ModelError::TimedOut(limit)))
            }
        }
    }

    pub(crate) fn mark_changed(&self, session: &StreamId) {
        if let Some(views) = &self.views {
            views.mark_changed(session);
        }
    }
}
