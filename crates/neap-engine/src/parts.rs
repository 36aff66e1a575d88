//! What an engine is made of.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use neap_core::ids::SessionId;
use neap_core::ingest::{Callers, Tenant};
use neap_core::message::ToolCall;
use neap_core::summary::{SummaryBy, SummaryRequest};
use neap_core::tools::ToolSpec;
use neap_model::compute::{SMALL_BYTES, off_worker};
use neap_model::envelope::{KeyError, Keyring};
use neap_model::{ChatModel, Embedder, ModelError, Summarizer};
use neap_store::Store;
use neap_store::folder::FolderViews;

use crate::answer::ToolAnswer;
use crate::clock::Clock;
use crate::hush::Waiting;
use crate::ingest::{Backlog, Lines};
use crate::meaning::Patience;
use crate::mind::AgentPart;

/// Runs the host's own tools.
#[async_trait]
pub trait HostTools: Send + Sync {
    /// Their schemas.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Runs one; a failure is told in words, for the model to read. Text is an answer as it is; a host whose tools
    /// run elsewhere can have them sign their answers ([`ToolAnswer::Sealed`]).
    async fn call(&self, call: &ToolCall) -> ToolAnswer;
}

/// A host without tools of its own.
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
    /// Whoever is configured.
    pub(crate) summarizer: Arc<dyn Summarizer>,
    /// How long that one may take; none if it is the built-in one.
    pub(crate) summary_limit: Option<Duration>,
    /// Whoever is always at hand.
    pub(crate) built_in: Arc<dyn Summarizer>,
    /// Who tells what texts mean.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// How long a question waits for that.
    pub(crate) patience: Patience,
    /// Who waits, so that what can be done at any other time rests.
    pub(crate) waiting: Waiting,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) host_tools: Arc<dyn HostTools>,
    pub(crate) encoding: String,
    /// The agent whose conversations sessions are.
    pub(crate) agent: Option<AgentPart>,
    pub(crate) views: Option<FolderViews>,
    /// How many callers send clients' requests.
    pub(crate) callers: Callers,
    /// Whether it serves one request of whom nothing is known.
    pub(crate) is_alone: bool,
    /// Whether sessions of a proxy's callers are as if they were not there.
    pub(crate) hides_callers: bool,
    /// Histories of clients that are in play.
    pub(crate) lines: Lines,
    /// What the store could not take yet.
    pub(crate) backlog: Backlog,
    /// Who signs; or why nobody can.
    pub(crate) keyring: Result<Arc<Keyring>, KeyError>,
}

/// Asks a summariser that computes: a long text takes it some time, and others wait for the worker meanwhile.
async fn computed(summarizer: &Arc<dyn Summarizer>, request: &SummaryRequest) -> Result<String, ModelError> {
    let bytes = request.messages.iter().map(|message| message.content.len()).sum();
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return summarizer.summarize(request).await };
    if bytes < SMALL_BYTES {
        return summarizer.summarize(request).await;
    }
    let (summarizer, request) = (summarizer.clone(), request.clone());
    off_worker(bytes, move || runtime.block_on(summarizer.summarize(&request))).await
}

impl Parts {
    pub(crate) fn keyring(&self) -> Result<&Keyring, KeyError> {
        self.keyring.as_deref().map_err(Clone::clone)
    }

    /// Whether a session may be shown that belongs to this caller, or to none.
    pub(crate) fn shows(&self, tenant: Option<Tenant>) -> bool {
        !self.hides_callers || tenant.is_none_or(|tenant| tenant == Tenant::local())
    }

    /// Asks for a summary. Whoever was configured has only so much time: a turn may be waiting.
    pub(crate) async fn summarize(&self, request: &SummaryRequest) -> Result<String, ModelError> {
        let made = self.summarized(request).await?;
        // A model may put together what was apart.
        Ok(self.store.masking().text(&made).0.into_owned())
    }

    async fn summarized(&self, request: &SummaryRequest) -> Result<String, ModelError> {
        match (request.by, self.summary_limit) {
            (SummaryBy::BuiltIn, _) => computed(&self.built_in, request).await,
            (SummaryBy::Configured, None) => computed(&self.summarizer, request).await,
            (SummaryBy::Configured, Some(limit)) => {
                let made = tokio::time::timeout(limit, self.summarizer.summarize(request)).await;
                made.unwrap_or(Err(ModelError::TimedOut(limit)))
            }
        }
    }

    /// The session's folder will follow, off the reply's path.
    pub(crate) fn changed(&self, session: &SessionId) {
        if let Some(views) = &self.views {
            views.changed(session);
        }
    }
}
