//! What an engine is made of.

use std::sync::Arc;

use async_trait::async_trait;
use neap_core::ids::SessionId;
use neap_core::message::ToolCall;
use neap_core::tools::ToolSpec;
use neap_model::{ChatModel, Summarizer};
use neap_store::Store;
use neap_store::folder::FolderViews;

use crate::clock::Clock;

/// Runs the host's own tools.
#[async_trait]
pub trait HostTools: Send + Sync {
    /// Their schemas.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Runs one; a failure is told in words, for the model to read.
    async fn call(&self, call: &ToolCall) -> String;
}

/// A host without tools of its own.
pub(crate) struct NoHostTools;

#[async_trait]
impl HostTools for NoHostTools {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    async fn call(&self, call: &ToolCall) -> String {
        format!("{{\"error\":\"Unknown tool: {}\"}}", call.name.escape_default())
    }
}

pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) summarizer: Arc<dyn Summarizer>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) host_tools: Arc<dyn HostTools>,
    pub(crate) encoding: String,
    pub(crate) views: Option<FolderViews>,
}

impl Parts {
    /// The session's folder will follow, off the reply's path.
    pub(crate) fn changed(&self, session: &SessionId) {
        if let Some(views) = &self.views {
            views.changed(session);
        }
    }
}
